import { generateKeyPairSync } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { lineDigest, noDigest } from "../../src/limits/usageChain.ts"
import { evidence } from "../../src/operators/doctor/evidence.ts"
import { settingNames } from "../../src/unknownSettings.ts"
import { makeAuthority } from "../identity/certificates.ts"
import { serve, start, until } from "../operation/child.ts"
import { cert, key } from "../support/selfSigned.ts"

const directory = mkdtempSync(join(tmpdir(), "gateway-evidence-"))
afterAll(() => rmSync(directory, { recursive: true }))
const file = (name: string, text: string) => {
  const path = join(directory, name)
  writeFileSync(path, text, { mode: 0o600 })
  return path
}
const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString()
const keyOf = (id: string, days: number, more: object) => ({
  ...{ id, name: id, digest: id.padEnd(64, "0"), created: daysAgo(days), acknowledged: daysAgo(days) },
  ...more
})

const record = (seq: number, prev: string) =>
  JSON.stringify({ time: "2026-11-01", outcome: "ok", instance: "ab", seq, prev })
const records = [record(1, noDigest), record(2, lineDigest(record(1, noDigest)))]

const base = {
  GATEWAY_PORT: "0",
  GATEWAY_STATE_DIR: join(directory, "state"),
  GATEWAY_KEYS_FILE: join(directory, "none")
}
const of = (environment: Readonly<Record<string, string>>) =>
  Effect.provide(evidence({ ...base, ...environment }), NodeServices.layer)

describe("doctor --evidence", () => {
  it.live("says what is in force", () =>
    Effect.gen(function* () {
      const keys = [keyOf("a1", 5, {}), keyOf("a2", 60, { expires: "2999-01-01T00:00:00.000Z" })]
      const over = [keyOf("a3", 400, { revoked: daysAgo(1) }), keyOf("a4", 400, { expires: daysAgo(1) })]
      const found = yield* of({
        BEDROCK_REGION: "us-gov-west-1",
        BEDROCK_BASE_URL: "https://bedrock.agency.example",
        BEDROCK_BASE_URL_BOUNDARY: "il5",
        GATEWAY_TLS_CERT: file("cert.pem", cert),
        GATEWAY_TLS_KEY: file("key.pem", key),
        GATEWAY_KEYS_FILE: file("keys.json", JSON.stringify({ version: 1, keys: [...keys, ...over] })),
        GATEWAY_USAGE_LOG: file("usage.jsonl", `${records.join("\n")}\n`)
      })
      assert.deepInclude(found.keys, { all: 4, revoked: 1, working: 2, without_end: 1, oldest_days: 60 })
      assert.deepInclude(found.keys, { working_by_age: { "30 days": 1, "90 days": 2, "365 days": 2 } })
      assert.deepNestedInclude(found, { "tls.listener": "on", "crypto.required": false, "catalog.source": "shipped" })
      assert.deepNestedInclude(found, { "clouds[0].declared": "il5" })
      assert.deepNestedInclude(found, { "clouds[0].address": "https://bedrock.agency.example", sandbox: false })
      assert.deepNestedInclude(found, { "records.usage.verified.records": 2, "records.usage.verified.ok": true })
      assert.deepInclude(found.records, { audit: null, signed_by: null })
      const changed = yield* of({ GATEWAY_USAGE_LOG: file("changed.jsonl", `${records[0]} \n${records[1]}\n`) })
      assert.deepNestedInclude(changed, { "records.usage.verified.ok": false })
      assert.isTrue(found.findings.some(({ check }) => check === "fips"))
    })
  )

  it.live("names FIPS endpoints, the chain of audit events, who signs, and files by what is in them", () =>
    Effect.gen(function* () {
      const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
      const audit = file("audit.jsonl", `${records.join("\n")}\n`)
      const notice = { GATEWAY_NOTICE_FILE: file("notice.txt", "Authorized use only.\n") }
      const one = yield* of({
        ...notice,
        BEDROCK_REGION: "us-gov-west-1",
        GATEWAY_AUDIT_LOG: audit,
        GATEWAY_RECORD_SIGNING_KEY: file("signing.pem", String(privateKey.export({ format: "pem", type: "pkcs8" })))
      })
      assert.deepNestedInclude(one, { "clouds[0].address": "https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com" })
      assert.deepNestedInclude(one, { "records.audit.verified.ok": true })
      assert.match(String(one.records.signed_by), /^[0-9a-f]{16}$/)
      file("notice.txt", "Authorized use only!\n")
      const other = yield* of({ ...notice, BEDROCK_REGION: "us-gov-west-1", GATEWAY_USAGE_LOG: audit })
      assert.strictEqual(other.files.GATEWAY_NOTICE_FILE?.file, notice.GATEWAY_NOTICE_FILE)
      assert.notDeepEqual(one.files, other.files)
      const together = yield* of({ GATEWAY_USAGE_LOG: audit, GATEWAY_AUDIT_LOG: audit })
      assert.strictEqual(together.records.audit, audit)
    })
  )

  it.live("names who issued a server's certificate, also one without a subject", () =>
    Effect.gen(function* () {
      const authority = makeAuthority(directory, "CA")
      authority.issue("nameless", { subject: "/", names: "DNS:gateway.agency.gov", usage: "serverAuth" })
      const { path } = authority
      const found = yield* of({ GATEWAY_TLS_CERT: path("nameless.pem"), GATEWAY_TLS_KEY: path("nameless.key") })
      assert.deepNestedInclude(found, { "tls.certificate.subject": "", "tls.certificate.issuer": "O=Agency,CN=CA" })
    })
  )

  it.live("says which part cannot be read, and has the others", () =>
    Effect.gen(function* () {
      const broken = file("broken.pem", "no PEM")
      const found = yield* of({ GATEWAY_TLS_CERT: broken, GATEWAY_TLS_KEY: broken, GATEWAY_KEYS_FILE: broken })
      assert.deepStrictEqual(found.tls, { problem: `cannot read ${broken}: it has no certificate (PEM)` })
      assert.match(JSON.stringify(found.keys), /"problem":".*is not a key file/)
      assert.deepNestedInclude(found, { "catalog.source": "shipped" })
    })
  )

  it.live("says that the sandbox is none of the clouds", () =>
    Effect.gen(function* () {
      const found = yield* of({})
      assert.isTrue(found.sandbox)
      assert.deepStrictEqual(found.listens, { callers: "127.0.0.1:0", metrics: "off", docs: "public" })
      assert.deepNestedInclude(found, { "clouds[1].cloud": "sandbox-bedrock", "catalog.ids": 114 })
    })
  )

  it.live("has the same digests for the same setup, and others for another", () =>
    Effect.gen(function* () {
      const sums = ({ catalog, settings }: Effect.Success<ReturnType<typeof of>>) => [settings.sha256, catalog]
      const one = yield* of({ BEDROCK_REGION: "us-gov-west-1", AWS_BEARER_TOKEN_BEDROCK: "one" })
      const same = yield* of({ BEDROCK_REGION: "us-gov-west-1", AWS_BEARER_TOKEN_BEDROCK: "other" })
      const other = yield* of({ BEDROCK_REGION: "us-gov-east-1", AWS_BEARER_TOKEN_BEDROCK: "one" })
      assert.deepStrictEqual(sums(one), sums(same), "a secret is no part of a digest")
      assert.notStrictEqual(one.settings.sha256, other.settings.sha256)
    })
  )

  it("has the digest of settings that a gateway says at its start", async () => {
    const log = join(directory, "started.jsonl")
    const environment = {
      ...{ ...base, BEDROCK_REGION: "us-gov-west-1", AWS_BEARER_TOKEN_BEDROCK: "t" },
      ...{ GATEWAY_AUDIT_LOG: log, GATEWAY_USAGE_LOG: log, GATEWAY_HTTPS_PROXY: "http://name:one@127.0.0.1:1" }
    }
    const gateway = await serve(environment)
    await until(() => readFileSync(log, "utf8").includes("gateway.started"), "the event")
    await gateway.stop()
    const said = readFileSync(log, "utf8").match(/(?<="gateway.started".*"settings":")[0-9a-f]+/g)
    const other = { ...environment, GATEWAY_HTTPS_PROXY: "http://name:other@127.0.0.1:1" }
    const { settings } = await Effect.runPromise(Effect.provide(evidence(other), NodeServices.layer))
    assert.deepStrictEqual(said, [settings.sha256])
  }, 60_000)

  it("holds no secret of any setting, nor a digest of a key", async () => {
    const canary = "canary-7f3a"
    const secrets = [...settingNames()].filter((name) => /TOKEN|SECRET|API_KEY|ACCESS_KEY|_URL$|PROXY$/.test(name))
    const urls: Readonly<Record<string, string>> = {
      GATEWAY_REDIS_URL: `rediss://user:${canary}@127.0.0.1:1`,
      GATEWAY_HTTPS_PROXY: `http://user:${canary}@127.0.0.1:1`
    }
    const environment = Object.fromEntries(
      secrets.filter((name) => name in urls || !/_URL$|PROXY$/.test(name)).map((name) => [name, urls[name] ?? canary])
    )
    const digest = "d".repeat(64)
    const { code, stderr, stdout } = await start(["doctor", "--evidence"], {
      ...environment,
      VERTEX_PROJECT: "p",
      BEDROCK_REGION: "us-gov-west-1",
      AZURE_OPENAI_ENDPOINT: "https://a.openai.azure.us",
      GATEWAY_KEYS_FILE: file("secret.json", JSON.stringify({ version: 1, keys: [keyOf("a", 1, { digest })] }))
    }).ended
    assert.strictEqual(code, 0, stderr)
    assert.strictEqual(JSON.parse(stdout).keys.all, 1)
    assert.notInclude(stdout, canary)
    assert.notInclude(stdout, digest)
  }, 60_000)
})
