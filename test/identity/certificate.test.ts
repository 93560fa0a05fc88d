import { generateKeyPairSync, X509Certificate } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Result } from "effect"
import fc from "fast-check"
import {
  type Authority,
  authoritiesOf,
  fieldsOf,
  parseAuthorities,
  parseCertificate
} from "../../src/identity/certificate.ts"
import { parseRevocationLists } from "../../src/identity/crl.ts"
import { runNow } from "../../src/wire/slices.ts"
import { makeAuthority } from "./certificates.ts"

const folder = mkdtempSync(join(tmpdir(), "gateway-certificates-"))
const other = mkdtempSync(join(tmpdir(), "gateway-certificates-"))
const third = mkdtempSync(join(tmpdir(), "gateway-certificates-"))
afterAll(() => {
  for (const used of [folder, other, third]) rmSync(used, { recursive: true, force: true })
})

let agency: ReturnType<typeof makeAuthority>
let stranger: ReturnType<typeof makeAuthority>
beforeAll(() => {
  agency = makeAuthority(folder, "Agency CA")
  stranger = makeAuthority(other, "Agency CA")
})

/** After what the test makes has become valid. */
const now = Date.now() + 60_000
const authority = (lists: Authority["issuers"][number]["lists"] = []): ReadonlyArray<Authority> => [
  {
    name: "agency",
    issuers: Result.getOrThrow(parseAuthorities(readFileSync(agency.pem))).map((certificate) => ({
      certificate,
      lists
    })),
    needsList: lists.length > 0
  }
]
const parseLists = (bytes: Buffer) => runNow(parseRevocationLists(bytes))
const listsOf = (bytes: Buffer) => Result.getOrThrow(parseLists(bytes))

describe("a client certificate", () => {
  it("says who its subject is, in every kind of name", () => {
    const person = agency.issue("person", {
      subject: "/O=Agency/CN=DOE.JANE.1234567890",
      names:
        "otherName:1.3.6.1.4.1.311.20.2.3;UTF8:1234567890@mil,otherName:1.3.6.1.5.5.7.8.7;IA5STRING:admin@mil,email:jane@agency.gov"
    })
    const workload = agency.issue("workload", {
      subject: "/O=Agency, Office/CN=job",
      names: "URI:spiffe://agency.gov/ns/a/sa/job,DNS:job.agency.gov,DNS:two.agency.gov"
    })
    assert.deepInclude(fieldsOf(person), {
      subject: "CN=DOE.JANE.1234567890,O=Agency",
      issuer: "O=Agency,CN=Agency CA",
      serial: "1000",
      upn: ["1234567890@mil"],
      email: ["jane@agency.gov"],
      uri: [],
      name: "DOE.JANE.1234567890"
    })
    assert.deepInclude(fieldsOf(workload), {
      subject: "CN=job,O=Agency\\, Office",
      uri: ["spiffe://agency.gov/ns/a/sa/job"],
      dns: ["job.agency.gov", "two.agency.gov"],
      upn: []
    })
  })

  it("may have alternative names only, as those of workloads do", () => {
    const workload = agency.issue("nameless", { subject: "/", names: "URI:spiffe://agency.gov/a,DNS:a.agency.gov" })
    const other = agency.issue("other-nameless", { subject: "/", names: "URI:spiffe://agency.gov/b" })
    const fields = fieldsOf(workload)
    assert.deepInclude(fields, { subject: "", uri: ["spiffe://agency.gov/a"], name: "spiffe://agency.gov/a" })
    assert.deepStrictEqual(authoritiesOf(workload, authority(), now), Result.succeed(["agency"]))
    // One is not refused or counted for the other.
    assert.notStrictEqual(fields.holder, fieldsOf(other).holder)
    // Addresses are no names that rules know.
    const at = (address: string) => agency.issue(`at-${address}`, { subject: "/", names: `IP:${address}` })
    assert.deepInclude(fieldsOf(at("10.0.0.1")), { subject: "", name: "IP Address:10.0.0.1" })
    assert.notStrictEqual(fieldsOf(at("10.0.0.2")).holder, fieldsOf(at("10.0.0.3")).holder)
  })

  it("cannot write one name so that it is read as two", () => {
    // In a section of its configuration, OpenSSL takes commas for a part of the value.
    writeFileSync(
      agency.path("names.cnf"),
      `${readFileSync(agency.path("ca.cnf"), "utf8")}
[ext]
extendedKeyUsage = clientAuth
subjectAltName = @names
[names]
URI.1 = "spiffe://a, URI:spiffe://agency.gov/admin"
otherName.1 = "1.3.6.1.4.1.311.20.2.3;UTF8:x, othername:UPN:admin@mil"
`
    )
    agency.openssl(
      ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=forger"],
      ...["-config", "names.cnf", "-extensions", "ext", "-keyout", "forger.key", "-out", "forger.pem"]
    )
    const forger = Result.getOrThrow(parseCertificate(readFileSync(agency.path("forger.pem"))))
    assert.deepInclude(fieldsOf(forger), {
      uri: ["spiffe://a, URI:spiffe://agency.gov/admin"],
      upn: ["x, othername:UPN:admin@mil"]
    })
  })

  it("is trusted where it is signed with SHA-2, in each way in which authorities sign", () => {
    const pss = (digest: string) => [
      ...["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:digest"],
      ...["-sigopt", `rsa_mgf1_md:${digest}`]
    ]
    const kinds = [
      {
        key: ["-newkey", "rsa:2048", "-nodes"],
        good: ["sha256", "sha384", "sha512"],
        weak: ["sha1", "md5"],
        signing: () => []
      },
      { key: ["-newkey", "rsa:2048", "-nodes"], good: ["sha256", "sha512"], weak: ["sha1"], signing: pss },
      { key: ["-newkey", "ed25519", "-nodes"], good: ["null"], weak: [], signing: () => [] }
    ]
    for (const { good, key, signing, weak } of kinds) {
      const own = mkdtempSync(join(tmpdir(), "gateway-certificates-"))
      const one = makeAuthority(own, "One CA", undefined, key)
      const issuers = Result.getOrThrow(parseAuthorities(readFileSync(one.pem))).map((certificate) => ({
        certificate,
        lists: []
      }))
      const isTrusted = (digest: string) => {
        const certificate = one.issue(digest, { subject: `/CN=${digest}`, digest, signing: signing(digest) })
        return Result.isSuccess(authoritiesOf(certificate, [{ name: "one", issuers, needsList: false }], now))
      }
      assert.deepStrictEqual(
        [good, weak].map((digests) => digests.filter(isTrusted)),
        [good, []]
      )
      rmSync(own, { recursive: true })
    }
  })

  it("is trusted where the authority has issued it, and for nothing else", () => {
    const good = agency.issue("good", { subject: "/O=Agency/CN=good" })
    const any = agency.issue("any", { subject: "/O=Agency/CN=any", usage: "" })
    const server = agency.issue("server", { subject: "/O=Agency/CN=server", usage: "serverAuth" })
    const old = agency.issue("old", {
      subject: "/O=Agency/CN=old",
      days: { from: "20200101000000Z", to: "20210101000000Z" }
    })
    const early = agency.issue("early", {
      subject: "/O=Agency/CN=early",
      days: { from: "20980101000000Z", to: "20990101000000Z" }
    })
    const weak = agency.issue("weak", { subject: "/O=Agency/CN=weak", digest: "sha1" })
    // An authority of the same name with another key.
    const foreign = stranger.issue("foreign", { subject: "/O=Agency/CN=good" })
    // One that says the key's identifier too: only the signature tells them apart.
    const identifier = agency.openssl("x509", "-in", "ca.pem", "-noout", "-ext", "subjectKeyIdentifier")
    const forger = makeAuthority(third, "Agency CA", `subjectKeyIdentifier=${/[0-9A-F:]{59}/.exec(String(identifier))}`)
    const forged = forger.issue("forged", { subject: "/O=Agency/CN=good" })
    const [own] = Result.getOrThrow(parseAuthorities(readFileSync(agency.pem)))
    if (own === undefined) return assert.fail("no authority")
    assert.isTrue(forged.checkIssued(own))
    const why = (certificate: typeof good) =>
      Result.match(authoritiesOf(certificate, authority(), now), {
        onSuccess: String,
        onFailure: ({ message }) => message
      })
    assert.deepStrictEqual([good, any, server, old, early, weak, foreign, forged, own].map(why), [
      "agency",
      "agency",
      "the client certificate is not for clients",
      "the client certificate has expired or is not valid yet",
      "the client certificate has expired or is not valid yet",
      "the client certificate is not signed with SHA-2",
      "the client certificate is of no authority that is trusted here",
      "the client certificate is of no authority that is trusted here",
      "the client certificate is an authority's"
    ])
  })

  it("is trusted while one certificate of an authority that was renewed with its key is in time", () => {
    const days = { from: "20250101000000Z", to: "20980101000000Z" }
    const good = agency.issue("renewed", { subject: "/O=Agency/CN=renewed", days })
    const renewed = ["-key", "ca.key", "-days", "3650", "-subj", "/O=Agency/CN=Agency CA", "-out", "next.pem"]
    agency.openssl("req", "-x509", ...renewed, "-addext", "keyUsage=critical,keyCertSign,cRLSign")
    const issuers = [agency.pem, agency.path("next.pem")].flatMap((file) =>
      Result.getOrThrow(parseAuthorities(readFileSync(file))).map((certificate) => ({ certificate, lists: [] }))
    )
    const afterFirst = now + 35 * 86_400_000
    for (const order of [issuers, issuers.toReversed()]) {
      const trusted = authoritiesOf(good, [{ name: "agency", issuers: order, needsList: false }], afterFirst)
      assert.deepStrictEqual(trusted, Result.succeed(["agency"]))
    }
    const first = [{ name: "agency", issuers: issuers.slice(0, 1), needsList: false }]
    assert.isTrue(Result.isFailure(authoritiesOf(good, first, afterFirst)))
  })

  it("is refused when it was revoked, and when the list is out of date", () => {
    const kept = agency.issue("kept", { subject: "/O=Agency/CN=kept" })
    const lost = agency.issue("lost", { subject: "/O=Agency/CN=lost" })
    agency.revoke("lost")
    const lists = listsOf(agency.list("agency.crl"))
    const why = (certificate: typeof kept, at: number) =>
      Result.match(authoritiesOf(certificate, authority(lists), at), {
        onSuccess: String,
        onFailure: ({ message }) => message
      })
    assert.deepStrictEqual(
      [why(kept, now), why(lost, now), why(kept, now + 6 * 86_400_000)],
      [
        "agency",
        "the client certificate has been revoked",
        "the revocation list of the client certificate's authority is out of date"
      ]
    )
  })

  it.each(["-5", "-0xff00aa", "-0x80", "0"])("is refused when it was revoked by the number %s", (serial) => {
    const { openssl, path } = agency
    agency.issue("numbered", { subject: "/O=Agency/CN=numbered" })
    const signing = `-CA ca.pem -CAkey ca.key -set_serial ${serial} -out numbered.pem`
    openssl("x509", "-req", "-in", "numbered.csr", ...signing.split(" "))
    agency.revoke("numbered")
    const certificate = new X509Certificate(readFileSync(path("numbered.pem")))
    const judged = authoritiesOf(certificate, authority(listsOf(agency.list("numbered.crl"))), now)
    assert.strictEqual(Result.isFailure(judged) && judged.failure.why, "certificate-revoked")
  })
})

describe("a revocation list", () => {
  it("is read in PEM and in DER, and is its authority's", () => {
    const pem = agency.list("both.crl")
    agency.openssl("crl", "-in", "both.crl", "-outform", "DER", "-out", "both.der")
    const [own] = Result.getOrThrow(parseAuthorities(readFileSync(agency.pem)))
    const [foreign] = Result.getOrThrow(parseAuthorities(readFileSync(stranger.pem)))
    if (own === undefined || foreign === undefined) return assert.fail("no authority")
    const [first] = listsOf(pem)
    const [second] = listsOf(readFileSync(agency.path("both.der")))
    assert.deepStrictEqual(first?.revoked, second?.revoked)
    assert.isTrue(first?.isSignedBy(own.publicKey))
    assert.isFalse(first?.isSignedBy(foreign.publicKey))
    // Of an authority that signs in a way of its own, in the same file.
    assert.isFalse(first?.isSignedBy(generateKeyPairSync("ed25519").publicKey))
  })

  it("may have a hundred thousand entries, which hold up nothing else", () => {
    const lines = Array.from(
      { length: 100_000 },
      (_, n) =>
        `R\t401205214155Z\t261125214155Z\t${(0x100000 + n).toString(16).toUpperCase()}\tunknown\t/O=Agency/CN=x${n}\n`
    )
    const before = readFileSync(agency.path("index.txt"))
    writeFileSync(agency.path("index.txt"), lines.join(""))
    const bytes = agency.list("large.crl")
    writeFileSync(agency.path("index.txt"), before)
    const [list] = listsOf(bytes)
    assert.isAtLeast([...parseRevocationLists(bytes)].length, 100)
    assert.strictEqual(list?.revoked.size, 100_000)
    assert.isTrue(list?.revoked.has("100000"))
    assert.isTrue(list?.revoked.has("11869F"))
  })

  it("is refused where it is of a part of the certificates, or changes of another list", () => {
    const config = readFileSync(agency.path("ca.cnf"), "utf8")
    const sections = "[part]\nissuingDistributionPoint=critical,@users\n[users]\nonlyuser=TRUE\n"
    writeFileSync(agency.path("parts.cnf"), `${config}${sections}[changes]\n2.5.29.27=critical,DER:02:01:01\n`)
    const parsed = (section: string) =>
      parseLists(agency.list(`${section}.crl`, "-config", "parts.cnf", "-crlexts", section))
    for (const section of ["part", "changes"]) {
      assert.deepStrictEqual(parsed(section), Result.fail("it is a delta, indirect or partial list"))
    }
  })

  it("is refused where it is cut, changed, or none", () => {
    agency.list("whole.crl")
    agency.openssl("crl", "-in", "whole.crl", "-outform", "DER", "-out", "whole.der")
    const whole = readFileSync(agency.path("whole.der"))
    const [own] = Result.getOrThrow(parseAuthorities(readFileSync(agency.pem)))
    const [{ nextUpdate, revoked } = assert.fail("no list")] = listsOf(whole)
    fc.assert(
      fc.property(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
        assert.isTrue(Result.isFailure(parseLists(whole.subarray(0, at))))
        const changed = Buffer.from(whole)
        changed[at] = (changed[at] ?? 0) ^ change
        const parsed = parseLists(changed)
        if (Result.isSuccess(parsed) && own !== undefined) {
          // What is not signed, such as the bits that a signature leaves unused, says nothing.
          for (const { isSignedBy, ...list } of parsed.success) {
            if (isSignedBy(own.publicKey)) assert.deepStrictEqual(list, { revoked, nextUpdate })
          }
        }
      })
    )
    for (const text of [
      "",
      "x",
      "-----BEGIN X509 CRL-----\n-----END X509 CRL-----",
      "0",
      "\u0030\u0084\u00ff\u00ff\u00ff\u00ff"
    ]) {
      assert.isTrue(Result.isFailure(parseLists(Buffer.from(text, "latin1"))), JSON.stringify(text))
    }
  })
})

describe("a file of several in PEM", () => {
  it("is refused where one is cut off, as in a file that is being written", () => {
    const certificates = readFileSync(agency.pem, "utf8") + readFileSync(stranger.pem, "utf8")
    const lists = [agency, stranger].map((authority) => authority.list("one.crl").toString()).join("")
    const kinds: ReadonlyArray<
      readonly [text: string, parse: (file: Buffer) => Result.Result<ReadonlyArray<unknown>, string>, label: string]
    > = [
      [certificates, parseAuthorities, "-----BEGIN CERTIFICATE-----"],
      [lists, parseLists, "-----BEGIN X509 CRL-----"]
    ]
    for (const [text, parse, label] of kinds) {
      assert.lengthOf(Result.getOrThrow(parse(Buffer.from(text))), 2)
      const second = text.lastIndexOf(label) + label.length
      // The last line says where it ends, and holds nothing.
      for (let end = second; end < text.lastIndexOf("\n-----END") - 4; end++)
        assert.isTrue(Result.isFailure(parse(Buffer.from(text.slice(0, end)))), `${label} ${end}`)
    }
  })
})
