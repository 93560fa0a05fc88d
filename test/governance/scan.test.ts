import { assert, describe, it } from "@effect/vitest"
import { maxDestinationLength, maxDestinations, scanArguments, scanText, scanValue } from "../../src/governance/scan.ts"

const one = (text: string) => JSON.stringify({ field: text })

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
    [
      "HTML and code",
      `<a href='https://a.example'>x</a> fetch("https://b.example")`,
      ["https://a.example", "https://b.example"]
    ],
    [
      "list without spaces",
      "https://a.example,http://b.example;c://d|e://f",
      ["https://a.example", "http://b.example", "c://d", "e://f"]
    ],
    ["URL inside a URL is one", "https://a.example/?u=https://b.example", ["https://a.example/?u=https://b.example"]],
    ["address inside a URL is not repeated", "http://10.1.2.3/x", ["http://10.1.2.3/x"]],
    ["glued to other scripts", "请访问https://a.example。谢谢10.1.2.3", ["https://a.example", "10.1.2.3"]],
    ["unique, in order", "b://1 a://1 b://1 10.0.0.1 10.0.0.1", ["b://1", "a://1", "10.0.0.1"]]
  ])("%s", (_, text, expected) => {
    assert.deepStrictEqual(scanArguments(one(text)), expected)
    assert.deepStrictEqual(scanValue({ field: text }), expected)
  })
})

describe("scan: what must not be flagged", () => {
  it.each([
    "999.1.1.1",
    "256.1.1.1 1.256.1.1 1.1.1.256",
    "1.2.3",
    "1.2.3.4.5",
    "v1.2.3.4 1.2.3.4th 1.2.3.4.example 1.2.3.4.nip.io a.1.2.3.4",
    "1..2.3.4 1.2.3. 4",
    "0000.1.1.1",
    "example.com www.example.com/path a.b.c.d",
    "user@example.com",
    "Note: this is prose: with colons:everywhere 10:30:00 a:b",
    "data: foo mailto: someone metadata:text/plain data:x data:a,b data:",
    "URLs start with https:// or http://, never 'ftp://'.",
    "std::vector<int> C:\\\\dir C:/dir {a:1}",
    "https: http: the scheme",
    "://nothing //a.example/x",
    "12://x -://x",
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

describe("scan: limits", () => {
  it("cuts a long destination, and not inside a character", () => {
    const long = `https://a.example/${"x".repeat(5000)}`
    assert.deepStrictEqual(scanText(long), [long.slice(0, maxDestinationLength)])
    const [found = ""] = scanText(`x://${"😀".repeat(5000)}`)
    assert.isTrue(found.isWellFormed())
    assert.isAtLeast(found.length, maxDestinationLength - 1)
    const [odd = ""] = scanText(`xy://${"😀".repeat(5000)}`)
    assert.isTrue(odd.isWellFormed())
    assert.strictEqual(odd.length, maxDestinationLength - 1)
  })

  it("keeps the first destinations of many", () => {
    const many = Array.from({ length: maxDestinations * 2 }, (_, at) => `x://${at}`)
    assert.deepStrictEqual(scanValue(many), many.slice(0, maxDestinations))
  })

  // 4 MB take some 10 to 150 ms each. Anything worse than linear takes minutes, so that a loaded machine does not matter.
  const size = 4_000_000
  const fill = (unit: string) => unit.repeat(Math.ceil(size / unit.length))
  it.each<[what: string, text: string]>([
    ["a long scheme", `${fill("a")}://`],
    ["colons", fill(":")],
    ["slashes", `a:${fill("/")}`],
    ["schemes without a body", fill('https://"')],
    ["schemes in one body", `x://${fill("b:c,d://")}`],
    ["numbers and dots", fill("1.")],
    ["digits", fill("1")],
    ["bad addresses", fill("1.1.1.1.1 ")],
    ["data", fill("data:")],
    ["a long media type", `data:${fill("a")}`],
    ["mailto", fill("mailto:. ")],
    ["closing brackets", `https://${fill(")")}`],
    ["trailing punctuation", `https://x${fill("!.")}`],
    ["backslashes", fill("\\")],
    ["escapes of escapes", fill("\\u005cu005c")],
    ["depth", fill("[")],
    ["prose", fill("The fox, e.g. 1.2.3, jumps: over. ")]
  ])("4 MB of %s end in time", (_, text) => {
    const started = performance.now()
    scanArguments(text)
    scanValue([text])
    assert.isBelow(performance.now() - started, 5000)
  })
})
