import { generateKeyPairSync } from "node:crypto"
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { connect, createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { examine } from "../../src/operators/doctor/examine.ts"
import { type Finding, passed, reportJson, reportText, runChecks } from "../../src/operators/doctor/Finding.ts"
import { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { makeAuthority } from "../identity/certificates.ts"
import { hasOwnRedis, hasRedis, startRedis, testRedis } from "../limits/redis.ts"
import { sharedCommands } from "../operation/commands.ts"
import { guardsFile, startDetector } from "../support/detector.ts"
import { answering, fakeUpstream, reply } from "../support/fakeUpstream.ts"
import { cloudsAt, gateway } from "../support/gateway.ts"
import { cert, key } from "../support/selfSigned.ts"

const directory = mkdtempSync(join(tmpdir(), "gateway-doctor-"))
const file = (name: string, text: string, mode = 0o600) => {
  const path = join(directory, name)
  writeFileSync(path, text, { mode })
  return path
}
const taken = createServer()
let port = 0
beforeAll(async () => {
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve))
  const address = taken.address()
  port = typeof address === "object" && address !== null ? address.port : 0
})
afterAll(() => {
  taken.close()
  rmSync(directory, { recursive: true, force: true })
})

const base = {
  GATEWAY_PORT: "0",
  GATEWAY_STATE_DIR: join(directory, "state"),
  GATEWAY_KEYS_FILE: join(directory, "none")
}

const guards = (name: string, guard: object) => ({
  GATEWAY_GUARDS_FILE: file(
    name,
    JSON.stringify({ version: 1, guards: [{ when: "before", action: "block", ...guard }] })
  )
})
const issuer = "https://id.agency.example"
const identity = {
  version: 1,
  issuers: [{ issuer, audience: "gateway", jwks: "https://127.0.0.1:1/keys" }],
  rules: [{ issuer, claims: { sub: "*" } }]
}
const authorities = (name: string, authority: object) => ({
  GATEWAY_IDENTITY_FILE: file(
    name,
    JSON.stringify({
      version: 1,
      authorities: [authority],
      rules: [{ authority: "agency", certificate: { uri: "*" } }]
    })
  )
})
const privateKey = (name: string, namedCurve: string) => ({
  GATEWAY_RECORD_SIGNING_KEY: file(
    name,
    generateKeyPairSync("ec", { namedCurve }).privateKey.export({ type: "pkcs8", format: "pem" }).toString()
  )
})

const check = (environment: Readonly<Record<string, string>>, live = false) =>
  Effect.provide(examine({ ...base, ...environment }, live), NodeServices.layer)

/** `state: message -> fix` of each finding of a check. */
const shown = (findings: ReadonlyArray<Finding>, check: string) =>
  findings
    .filter((finding) => finding.check === check)
    .map(({ fix, message, state }) => `${state}: ${message}${fix === undefined ? "" : ` -> ${fix}`}`)
    .join("\n")

describe("doctor", () => {
  it.live("finds that clouds answer, deployment by deployment", () =>
    Effect.gen(function* () {
      let calls = 0
      const layer = Sandbox.layer({ pace: 0, onCall: () => calls++ })
      const sandbox = Context.get(yield* Layer.build(layer), Sandbox)
      const found = yield* check(sandbox.environment, true)
      assert.isTrue(passed(found), reportText(found))
      assert.match(shown(found, "clouds"), /^ok: vertex at us-east5.*\nok: bedrock at us-gov-west-1.*\nok: azure at /)
      for (const cloud of ["vertex", "bedrock", "azure"]) {
        assert.match(shown(found, `credentials ${cloud}`), /is set/)
        assert.match(shown(found, `reach ${cloud}`), /^ok: .* answers; this clock is [01] s (?:ahead|behind)/)
      }
      const lines = shown(found, "live").split("\n")
      assert.isAbove(lines.length, 10)
      for (const line of lines) assert.match(line, /^ok: \S+ on (\w+\/\S+) answered in \d+ ms$/)
      assert.strictEqual(calls, lines.length + 3)
    })
  )

  it.live("says what it checked in the sandbox, and asks it when asked to", () =>
    Effect.gen(function* () {
      const found = yield* check({}, true)
      assert.isTrue(passed(found), reportText(found))
      assert.match(shown(found, "clouds"), /^warn: no cloud is configured: the sandbox starts .*\nok: .*--live/)
      assert.match(shown(found, "catalog"), /^ok: .* [1-9]\d* IDs served by the sandbox$/)
      assert.match(shown(found, "key file"), /^ok: the sandbox takes sandbox-key/)
      const lines = shown(found, "live").split("\n")
      assert.isAbove(lines.length, 10)
      for (const line of lines) assert.match(line, /^ok: \S+ on sandbox-\w+\/\S+ answered in \d+ ms$/)
      const { findings, ok } = JSON.parse(reportJson(found))
      assert.isTrue(ok)
      assert.includeMembers(Object.keys(findings[0]), ["ok", "check", "message"])
      for (const { ok, state } of findings) assert.strictEqual(ok, state !== "fail")
    })
  )

  it.live("asks each guard about a harmless text", () =>
    Effect.gen(function* () {
      const detector = yield* Effect.acquireRelease(
        Effect.promise(() => startDetector()),
        ({ stop }) => Effect.promise(stop)
      )
      const silent = { name: "silent", url: "http://127.0.0.1:1", when: "before", action: "block" }
      const named = (name: string, more = {}) => ({ name, url: detector.url, when: "both", action: "flag", ...more })
      const { path, remove } = guardsFile([named("good"), named("after", { when: "after" }), silent])
      const found = shown(yield* check({ GATEWAY_GUARDS_FILE: path }, true), "live guards").split("\n")
      assert.match(found[0] ?? "", /^ok: good at http:\S+ answered in \d+ ms$/)
      assert.match(found[1] ?? "", /^ok: after at /)
      assert.match(found[2] ?? "", /^fail: silent at http:\S+ cannot be reached \(\d+ ms\) -> Check its address/)
      assert.deepStrictEqual(
        detector.asked.map(({ texts }) => texts),
        [["Hello"], ["Hello"]]
      )
      detector.use(({ input_type }) => (input_type === "request" ? { action: "BLOCKED", blocked_reason: "x" } : {}))
      const wrong = shown(yield* check({ GATEWAY_GUARDS_FILE: path }, true), "live guards").split("\n")
      assert.match(wrong[0] ?? "", /^warn: good .* finds x in the word Hello/)
      assert.match(wrong[1] ?? "", /^fail: after .* not of the contract/)
      remove()
    })
  )

  it.live("explains the refusals of a cloud", () =>
    Effect.gen(function* () {
      const upstream = yield* Effect.acquireRelease(
        Effect.promise(() =>
          fakeUpstream(answering(reply("403 Forbidden", '{"message":"no access for secret-project"}')))
        ),
        ({ stop }) => Effect.promise(stop)
      )
      const found = yield* check(cloudsAt(upstream.url), true)
      assert.isFalse(passed(found))
      assert.match(
        shown(found, "live"),
        /^fail: claude-\S+ on vertex\/us-east5: .*status 403\) -> The identity may not use this model/
      )
      assert.notInclude(reportText(found), "secret")
    })
  )

  const cases: ReadonlyArray<
    readonly [fault: string, environment: () => Readonly<Record<string, string>>, check: string, expected: RegExp]
  > = [
    ["a misspelt setting", () => ({ GATEWAY_HARTBEAT: "1" }), "settings", /\nwarn: .*is GATEWAY_HEARTBEAT meant\?/],
    ["a wrong setting", () => ({ GATEWAY_WORKERS: "many" }), "settings", /^fail: GATEWAY_WORKERS must be auto .* -> /],
    ["no cloud", () => ({ GATEWAY_SANDBOX: "off" }), "clouds", /^fail: no cloud .* -> Set VERTEX_PROJECT/],
    [
      "a cloud on loopback, of which nothing is declared",
      () => ({ AZURE_OPENAI_ENDPOINT: "http://127.0.0.1:1", AZURE_OPENAI_API_KEY: "k" }),
      "clouds",
      /^ok: azure at 127\.0\.0\.1\nwarn: AZURE_OPENAI_ENDPOINT is on loopback: replies name azure\/usgov,.* -> Unset it, unless/
    ],
    [
      "a place that may serve nothing",
      () => ({ BEDROCK_REGION: "us-east-1", AWS_BEARER_TOKEN_BEDROCK: "x" }),
      "catalog",
      /^fail: .*no model ID.*\nwarn: .*us-east-1/s
    ],
    [
      "a proxy that is down",
      () => ({ VERTEX_PROJECT: "p", VERTEX_ACCESS_TOKEN: "t", GATEWAY_HTTPS_PROXY: "http://127.0.0.1:1" }),
      "reach vertex",
      /^fail: us-east5-aiplatform\.googleapis\.com cannot be reached: .*127\.0\.0\.1:1 -> .*GATEWAY_HTTPS_PROXY/
    ],
    [
      "no FIPS provider",
      () => ({ GATEWAY_FIPS: "required" }),
      "fips",
      /^fail: GATEWAY_FIPS is required.* -> .*docs\/fips\.md/
    ],
    ["no catalog", () => ({ GATEWAY_CATALOG_FILE: join(directory, "none") }), "catalog", /^fail: .*no such file/],
    [
      "no keys",
      () => ({ BEDROCK_REGION: "us-gov-west-1", AWS_BEARER_TOKEN_BEDROCK: "x" }),
      "key file",
      /^warn: .*none does not exist.* -> .*keys create/
    ],
    [
      "keys that others may read",
      () => ({ GATEWAY_KEYS_FILE: file("keys.json", '{"version":1,"keys":[]}', 0o644) }),
      "key file",
      /^warn: .*none of 0.*\nwarn: .*others may read it \(mode 0644\) -> chmod 600/s
    ],
    [
      "limits on cost without prices",
      () => ({
        BEDROCK_REGION: "us-gov-west-1",
        AWS_BEARER_TOKEN_BEDROCK: "x",
        GATEWAY_KEYS_FILE: file("costs.json", '{"version":1,"keys":[],"teams":[{"name":"blue","monthlyCost":5}]}')
      }),
      "key file",
      /\nwarn: blue: with a limit on cost, and (\d+) of \1 IDs have no price, .* -> .*#prices/
    ],
    [
      "broken keys",
      () => ({ GATEWAY_KEYS_FILE: file("broken.json", "{") }),
      "key file",
      /^fail: .*is not a key file: not JSON: it ends/
    ],
    [
      "plain HTTP",
      () => ({ GATEWAY_HOST: "0.0.0.0" }),
      "tls",
      /^fail: plain HTTP on 0\.0\.0\.0.*-> Set GATEWAY_TLS_CERT/
    ],
    [
      "plain HTTP behind a proxy",
      () => ({ GATEWAY_HOST: "0.0.0.0", GATEWAY_PLAIN_HTTP: "true" }),
      "tls",
      /^ok: off: GATEWAY_PLAIN_HTTP is set/
    ],
    ["plain HTTP on loopback", () => ({}), "tls", /^ok: off: only this machine reaches 127\.0\.0\.1/],
    ["half of TLS", () => ({ GATEWAY_TLS_CERT: file("cert.pem", cert) }), "tls", /^fail: .*GATEWAY_TLS_KEY is not set/],
    [
      "a port that is taken",
      () => ({ GATEWAY_PORT: String(port) }),
      "ports",
      /^fail: 127\.0\.0\.1:\d+ is taken -> .*GATEWAY_PORT/
    ],
    [
      "a metrics port that is taken",
      () => ({ GATEWAY_METRICS_PORT: String(port) }),
      "ports",
      /^ok.*\nfail: .* taken -> .*GATEWAY_METRICS_PORT/
    ],
    [
      "a Redis that is down",
      () => ({ GATEWAY_REDIS_URL: "redis://:secret@127.0.0.1:1" }),
      "redis",
      /^fail: .*ECONNREFUSED (?!.*secret).* -> .*NODE_EXTRA_CA_CERTS/
    ],
    [
      "a metrics port that a worker would take from the gateway",
      () => ({ GATEWAY_PORT: "9465", GATEWAY_METRICS_PORT: "9464", GATEWAY_WORKERS: "2" }),
      "ports",
      /\nfail: GATEWAY_METRICS_PORT: 127\.0\.0\.1:9465 for metrics is GATEWAY_PORT, too; each worker takes the next port -> Set GATEWAY_METRICS_PORT/
    ],
    [
      "more workers than there are metrics ports",
      () => ({ GATEWAY_METRICS_PORT: "65534", GATEWAY_WORKERS: "3" }),
      "ports",
      /\nfail: GATEWAY_METRICS_PORT must be at most 65533: each of 3 workers takes the next port -> /
    ],
    [
      "a protocol of OpenTelemetry that is not spoken",
      () => ({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1", OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" }),
      "collector",
      /^warn: .*traces go by http\/protobuf, not by grpc -> Correct it.*4318/
    ],
    [
      "a collector that is down",
      () => ({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" }),
      "collector",
      /^warn: 127\.0\.0\.1:1 cannot be reached/
    ],
    [
      "a usage log without a directory",
      () => ({ GATEWAY_USAGE_LOG: join(directory, "no/usage") }),
      "usage log",
      /^fail: .*no does not exist/
    ],
    [
      "an audit log that is a folder",
      () => ({ GATEWAY_AUDIT_LOG: directory }),
      "audit log",
      /^fail: .* cannot be written \(EISDIR: .*set GATEWAY_AUDIT_LOG to another place/
    ],
    [
      "guards of this machine",
      () => guards("guards.json", { name: "pii", url: "http://127.0.0.1:9" }),
      "guards file",
      /^ok: .*guards\.json: 1 guard\nok: pii: texts of .*\bil5\b.* may go to http:\/\/127\.0\.0\.1:9$/
    ],
    [
      "a guard outside of the boundary of some levels",
      () => guards("far.json", { name: "pii", url: "https://guards.agency.example", boundary: "il4" }),
      "guards file",
      /^ok.*\nwarn: pii: texts of .*\bil4\b.*; requests at .*\bil5\b.* are refused -> .*docs\/guards\.md/
    ],
    [
      "a broken guards file",
      () => ({ GATEWAY_GUARDS_FILE: file("broken-guards.json", "{}") }),
      "guards file",
      /^fail: .*is not a guards file/
    ],
    [
      "an identity file",
      () => ({ GATEWAY_IDENTITY_FILE: file("identity.json", JSON.stringify(identity)) }),
      "identity file",
      /^ok: .*identity\.json: 1 issuer, 0 authorities, 1 rule\nfail: the keys at https:.* cannot be fetched: .* -> Check the address/
    ],
    [
      "an identity file that names what cannot be used",
      () => {
        file("none.pem", "no certificate")
        return authorities("unusable.json", { name: "agency", certificates: "none.pem" })
      },
      "identity file",
      /^fail: .*names none\.pem, which cannot be used: it has no certificate/
    ],
    [
      "a missing identity file",
      () => ({ GATEWAY_IDENTITY_FILE: join(directory, "none") }),
      "identity file",
      /^fail: .*does not exist/
    ],
    ["a signing key", () => privateKey("records.key", "P-256"), "signing key", /^ok: .*by the key [0-9a-f]{16}$/],
    [
      "a signing key that others may read",
      () => {
        const settings = privateKey("shared.key", "P-256")
        chmodSync(settings.GATEWAY_RECORD_SIGNING_KEY, 0o644)
        return settings
      },
      "signing key",
      /^ok: .*\nwarn: .*others may read it \(mode 0644\) -> chmod 600 /
    ],
    [
      "a signing key of another kind",
      () => privateKey("other.key", "P-384"),
      "signing key",
      /^fail: .*is no private key on P-256 .*openssl genpkey/
    ],
    [
      "a notice",
      () => ({ GATEWAY_NOTICE_FILE: file("notice.txt", "Be careful") }),
      "notice",
      /^ok: .*: 10 characters$/
    ],
    ["an empty notice", () => ({ GATEWAY_NOTICE_FILE: file("empty.txt", " ") }), "notice", /^fail: .*is empty/],
    ["more requests than files", () => ({ GATEWAY_MAX_IN_FLIGHT: "99999999" }), "open files", /^warn: .* -> Raise it/]
  ]
  it.live.each(cases)("finds %s", ([, environment, name, expected]) =>
    Effect.map(check(environment()), (found) => assert.match(shown(found, name), expected))
  )

  it.live("knows the gateway that is running", () =>
    Effect.gen(function* () {
      const running = yield* gateway()
      assert.match(
        shown(yield* check({ GATEWAY_PORT: String(running.port) }), "ports"),
        /^ok: .* a gateway is running there/
      )
    })
  )

  it.effect("knows when a certificate ends", () =>
    Effect.gen(function* () {
      const tls = { GATEWAY_TLS_CERT: file("c.pem", cert), GATEWAY_TLS_KEY: file("k.pem", key, 0o644) }
      const at = (time: string) =>
        Effect.andThen(
          TestClock.setTime(Date.parse(time)),
          Effect.map(check(tls), (found) => shown(found, "tls"))
        )
      assert.match(yield* at("2026-11-01"), /^fail: .*not valid yet.*\nwarn: .*others may read it \(mode 0644\)/)
      assert.match(yield* at("2027-01-01"), /^ok: .*\(CN=localhost\) is valid until 2126-10-28/)
      assert.match(yield* at("2126-10-18"), /^warn: .*expires on 2126-10-28, in 11 days -> Renew/)
      assert.match(yield* at("2126-10-28"), /^warn: .*expires on 2126-10-28, in 1 day -> Renew/)
      assert.match(yield* at("2127-01-01"), /^fail: .*expired on 2126-10-28 -> Renew/)
      // Of a certificate without a subject, as public authorities issue them.
      const authority = makeAuthority(directory, "CA")
      authority.issue("nameless", { subject: "/", names: "DNS:gateway.agency.gov", usage: "serverAuth" })
      const nameless = {
        GATEWAY_TLS_CERT: authority.path("nameless.pem"),
        GATEWAY_TLS_KEY: authority.path("nameless.key")
      }
      yield* TestClock.setTime(Date.now() + 60_000)
      assert.match(shown(yield* check(nameless), "tls"), /^warn: .*nameless\.pem \(no subject\) expires on /)
      authority.list("ca.crl")
      const agency = authorities("authority.json", { name: "agency", certificates: "ca.pem", crl: "ca.crl" })
      const trusted = () => Effect.map(check(agency), (found) => shown(found, "identity file"))
      assert.match(
        yield* trusted(),
        /^ok: .*1 authority.*\nwarn: .*agency \(O=Agency,CN=CA\) expires on \S+, in \d+ days[^\n]*$/
      )
      authority.list("ca.crl", "-crlhours", "5")
      assert.match(
        yield* trusted(),
        /\nwarn: .*agency \(O=Agency,CN=CA\): the revocation list ends in 5 hours -> Fetch/
      )
      yield* TestClock.setTime(Date.parse("2127-01-01"))
      assert.match(
        yield* trusted(),
        /\nfail: .*agency .*expired on .*\nfail: .*agency \(O=Agency,CN=CA\) has no revocation list in force/
      )
      // Of several certificates, one may have ended, or have no list and no subject.
      const options = ["-subj", "/", "-days", "36500", "-out", "nameless-ca.pem"]
      authority.openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "nameless-ca.key", ...options)
      const pems = ["ca.pem", "nameless-ca.pem"].map((name) => readFileSync(authority.path(name), "utf8"))
      file("both.pem", pems.join(""))
      const both = authorities("both.json", { name: "agency", certificates: "both.pem" })
      yield* TestClock.setTime(Date.parse("2100-01-01"))
      assert.match(
        shown(yield* check(both), "identity file"),
        /^ok: .*\nwarn: .*agency \(O=Agency,CN=CA\) expired on .*\nok: .*agency \(no subject\) is valid until [^\n]*$/
      )
      yield* TestClock.setTime(Date.parse("2026-11-01"))
      assert.match(shown(yield* check(both), "identity file"), /\nfail: .*agency \(no subject\) is not valid yet/)
      yield* TestClock.setTime(Date.now() + 60_000)
      const listed = authorities("listed.json", { name: "agency", certificates: "both.pem", crl: "ca.crl" })
      assert.match(
        shown(yield* check(listed), "identity file"),
        /\nwarn: .*agency \(no subject\) has no revocation list in force[^\n]*$/
      )
      yield* TestClock.setTime(Date.parse("2127-01-01"))
      const own = { name: "pii", url: "https://127.0.0.1:9", certificate: "c.pem", key: "k.pem" }
      const found = shown(yield* check(guards("own.json", own)), "guards file")
      assert.match(found, /\nfail: .*c\.pem .*expired on 2126-10-28 -> Renew.*\nwarn: .*k\.pem: others may read it/)
    })
  )

  it.effect("knows when each certificate that a setting names ends", () =>
    Effect.gen(function* () {
      const authority = makeAuthority(mkdtempSync(join(directory, "ends-")), "CA")
      const ca = readFileSync(authority.pem, "utf8")
      const chain = file("chain.pem", cert + ca)
      const bundle = file("bundle.pem", cert + ca)
      const own = file("own.pem", key + cert, 0o644)
      const settings = {
        GATEWAY_TLS_CERT: chain,
        GATEWAY_TLS_KEY: file("chain.key", key),
        GATEWAY_TLS_CLIENT_CA: bundle,
        NODE_EXTRA_CA_CERTS: bundle,
        AZURE_OPENAI_ENDPOINT: "http://127.0.0.1:1",
        AZURE_OPENAI_API_KEY: "k",
        AZURE_CLIENT_CERTIFICATE_PATH: own,
        OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1",
        OTEL_EXPORTER_OTLP_CERTIFICATE: authority.pem,
        OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE: chain
      }
      const at = (days: number, more = {}) =>
        Effect.andThen(TestClock.setTime(Date.now() + days * 86_400_000 + 60_000), check({ ...settings, ...more }))
      const found = yield* at(0)
      const next = "bundle\\.pem: of 2 certificates the next"
      assert.match(
        shown(found, "tls"),
        new RegExp(
          `^ok: .*chain.* 2126-.*\nwarn: .*chain.*CN=CA.* expires .*again without.*\nwarn: .*${next} .*CN=CA.*`
        )
      )
      assert.match(shown(found, "extra CA"), /^ok: .*bundle\.pem: of 2 certificates the last .* is valid until 2126-/)
      assert.match(shown(found, "certificate azure"), /^ok: .*own\.pem .* until 2126-.*\nwarn: .*others may read it/)
      assert.match(
        shown(found, "collector"),
        /^warn: .*reached.*\nwarn: .*ca\.pem .*expires.*restart\.\nok: .*chain.*\nwarn: .*chain.*CN=CA.* expires .*restart\.$/
      )
      const later = yield* at(40)
      assert.match(
        shown(later, "tls"),
        new RegExp(`^ok: .*\nfail: .*chain.*CN=CA.* expired .*\nok: .*${next} .*localhost.* is valid until 2126-.*`)
      )
      assert.match(shown(later, "extra CA"), /^ok: /)
      assert.match(shown(later, "collector"), /\nfail: .*ca\.pem .*expired.*\nfail: .*chain.*expired/s)
      const missing = yield* at(0, { NODE_EXTRA_CA_CERTS: "none.pem", OTEL_EXPORTER_OTLP_CERTIFICATE: `${own}x` })
      assert.match(
        shown(missing, "extra CA"),
        /^fail: NODE_EXTRA_CA_CERTS: cannot read none\.pem: there is no such file/
      )
      assert.match(
        shown(missing, "collector"),
        /^fail: an OTEL_ certificate: cannot read .*own\.pemx: there is no such file/
      )
    })
  )

  it.live.skipIf(!hasRedis)("measures a Redis that works", () =>
    Effect.gen(function* () {
      const redis = yield* Effect.acquireRelease(Effect.promise(testRedis), ({ stop }) => Effect.promise(stop))
      const found = yield* check({ GATEWAY_REDIS_URL: redis.url })
      assert.match(shown(found, "redis"), /Redis \d+\.\d+\.\d+ answers in \d+\.\d ms, and runs the scripts/)
    })
  )

  it.live.skipIf(!hasOwnRedis)("finds a Redis that evicts, and takes a user without dangerous commands", () =>
    Effect.gen(function* () {
      const redis = yield* Effect.acquireRelease(
        Effect.promise(() => startRedis()),
        ({ stop }) => Effect.promise(stop)
      )
      const url = new URL(redis.url)
      const commands = [
        "CONFIG SET maxmemory-policy allkeys-lru",
        "ACL SETUSER gateway on >secret ~gateway:* +@all -@dangerous",
        "QUIT"
      ]
      const socket = connect(Number(url.port), url.hostname)
      socket.write(commands.map((command) => `${command}\r\n`).join(""))
      assert.strictEqual(yield* Effect.promise(() => text(socket)), "+OK\r\n+OK\r\n+OK\r\n")
      const evicting = yield* check({ GATEWAY_REDIS_URL: redis.url })
      assert.match(shown(evicting, "redis"), /^warn: .* may evict counts \(allkeys-lru\) -> Set its maxmemory-policy/)
      const limited = yield* check({ GATEWAY_REDIS_URL: `redis://gateway:secret@${url.host}` })
      assert.match(shown(limited, "redis"), /Redis of a version that it does not tell answers in .*runs the scripts/)
    })
  )

  it.effect("waits for no check for long, and survives one that breaks", () =>
    Effect.gen(function* () {
      const running = yield* Effect.forkChild(
        runChecks([
          ["hangs", Effect.never],
          ["breaks", Effect.die(new Error("a\nbug"))],
          ["fails", Effect.fail({ message: "no" })]
        ])
      )
      yield* TestClock.adjust("8 seconds")
      const found = yield* Fiber.join(running)
      assert.deepStrictEqual(
        found.map(({ check, message, state }) => [check, state, message]),
        [
          ["hangs", "fail", "no answer within 8 s"],
          ["breaks", "fail", "a bug"],
          ["fails", "fail", "no"]
        ]
      )
    }).pipe(Effect.provide(NodeServices.layer), Effect.scoped)
  )

  const command = sharedCommands()
  it("reports to scripts by its exit code, and in JSON", async () => {
    const [passing, failing] = await Promise.all([
      command(["doctor", "--json"]),
      command(["doctor"], {
        GATEWAY_PORT: String(port),
        BEDROCK_REGION: "us-gov-west-1",
        BEDROCK_BASE_URL: "http://127.0.0.1:1",
        AWS_PROFILE: "here",
        AWS_SHARED_CREDENTIALS_FILE: file("aws", "[here]\naws_access_key_id = id\naws_secret_access_key = secret\n")
      })
    ])
    assert.strictEqual(passing.code, 0)
    const { findings, ok } = JSON.parse(passing.stdout)
    assert.isTrue(ok)
    assert.deepInclude(findings, {
      ...{ ok: true, state: "warn", check: "clouds", message: "no cloud is configured: the sandbox starts" },
      fix: "Set VERTEX_PROJECT, BEDROCK_REGION or AZURE_OPENAI_ENDPOINT. For a trial nothing needs to be done."
    })
    assert.includeMembers(
      findings.map(({ check }: Finding) => check),
      ["ports"]
    )
    assert.strictEqual(failing.code, 1)
    assert.match(failing.stdout, /^fail {2}ports +.*taken\n {6,}-> Stop/m)
    assert.match(failing.stdout, /^ok {4}credentials bedrock +got by the AWS default chain \(profile\)$/m)
    assert.match(failing.stdout, /\n2 fail, \d+ warn, \d+ ok\n$/)
    assert.strictEqual(failing.stderr, "")
  })
})
