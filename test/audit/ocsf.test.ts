/** Records in the form of OCSF: what they say, their chain, and that sums and checks read them. */
import { hash } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { AuditName, eventOf } from "../../src/audit/Audit.ts"
import { UsageRecord } from "../../src/limits/UsageRecord.ts"
import { lastHead, makeChain } from "../../src/limits/usageChain.ts"
import { makeChainChecking } from "../../src/operators/usage/chainCheck.ts"
import { makeSumming } from "../../src/operators/usage/summary.ts"
import { sharedCommands } from "../operation/commands.ts"
import { keysFileWith } from "../operation/keysFile.ts"
import { startGateway } from "../support/gateway.ts"
import { record } from "../usage/records.ts"
import { problemsOf } from "./ocsfSchema.ts"

const folder = mkdtempSync(join(tmpdir(), "gateway-ocsf-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const command = sharedCommands()

type Parsed = ReturnType<typeof JSON.parse>
const parsed = (line: string): Parsed => JSON.parse(line)
const linesIn = (file: string) => readFileSync(file, "utf8").match(/.+/g) ?? []
const chain = () => makeChain(undefined, { format: "ocsf", instance: "a1" })
const check = (lines: ReadonlyArray<string>) => {
  const checking = makeChainChecking(() => false)
  for (const [at, line] of lines.entries()) checking.line(line, { file: "records", line: at + 1 })
  return checking.result()
}

describe("an OCSF event", () => {
  it.prop("of any request is one of the schema, on one line", { value: UsageRecord }, ({ value }) => {
    // Times of the gateway's own are always there.
    const timed = { ...value, time: "2026-11-26T00:00:00.000Z" }
    const line = chain().link(timed)
    assert.match(line, /^[^\p{Cc}\p{Zl}\p{Zp}]*\n$/u)
    const texts = [value.key_id, value.key_name, value.team, value.model, value.source, value.request_id]
    const bare = [...texts, value.deployment?.model, value.deployment?.region].includes("")
    if (!bare) assert.deepStrictEqual(problemsOf(parsed(line)), [])
  })

  it("of a request says who asked which model of which cloud, and how it ended", () => {
    const { attestation_list, metadata, ...event }: Parsed = parsed(
      chain().link(record(1, { team: "atlas", key_name: "job" }))
    )
    assert.deepInclude(event, {
      class_uid: 6003,
      type_uid: 600301,
      status: "Success",
      status_code: "200",
      time: Date.UTC(2026, 10, 21) + 1,
      src_endpoint: { ip: "127.0.0.1" },
      dst_endpoint: { svc_name: "azure/usgov" },
      ai_model: { ai_provider: "azure", name: "gpt-5.1", uid: "gpt-5.1:il5" }
    })
    assert.deepStrictEqual(event.actor.user, { uid: "key_1", name: "job", type_id: 0, groups: [{ name: "atlas" }] })
    assert.deepInclude(event.message_context, { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 })
    assert.deepInclude(metadata, { version: "1.9.0", sequence: 1, correlation_uid: "request-1" })
    assert.deepInclude(attestation_list[0], { chain_uid: "a1", uid: "a1:1" })
    assert.isUndefined(attestation_list[0].prev_event)
  })

  it("is there for every kind of audit event", () => {
    const own = chain()
    for (const audit of AuditName.literals) {
      for (const actor of [
        { kind: "gateway" },
        { kind: "operator", user: "jane", host: "h" },
        { kind: "caller", key_id: "key_1", source: "::1" }
      ] as const) {
        const detail = { key_id: "key_1", name: "job", team: "atlas", path: "/k", kind: "keys", sha256: "ab" }
        const line = own.link(eventOf({ audit, outcome: "failure", reason: "revoked", actor, detail }))
        const event = parsed(line)
        assert.deepStrictEqual(problemsOf(event), [], audit)
        assert.strictEqual(event.unmapped.audit, audit)
      }
    }
    const switched = parsed(
      own.link(eventOf({ audit: "key.changed", outcome: "success", detail: { changes: "enabled -> disabled" } }))
    )
    assert.strictEqual(switched.activity_name, "Disable")
  })

  it("has the fingerprint of RFC 8785's form without itself, and names the one before", () => {
    const own = chain()
    const [first, second] = [own.link(record(1, { tags: { "10": "ü", "9": "\u2028" } })), own.link(record(2))].map(
      parsed
    )
    const sorted = (value: Parsed): Parsed =>
      Array.isArray(value)
        ? `[${value.map(sorted)}]`
        : typeof value === "object" && value !== null
          ? `{${Object.keys(value)
              .sort()
              .map((name) => `${JSON.stringify(name)}:${sorted(value[name])}`)}}`
          : JSON.stringify(value)
    const [{ fingerprint, ...attestation }] = first.attestation_list
    const digest = hash("sha256", sorted({ ...first, attestation_list: [attestation] }), "hex")
    assert.strictEqual(fingerprint.value, digest)
    assert.deepStrictEqual(second.attestation_list[0].prev_event, { uid: "a1:1", fingerprint })
  })
})

describe("a chain of OCSF events", () => {
  const own = chain()
  const lines = Array.from({ length: 6 }, (_, n) => own.link(record(n)).trim())

  it("is whole, goes on after a restart, and ends at its head", () => {
    assert.deepStrictEqual(lastHead(`${lines.join("\n")}\n`), own.head())
    const next = makeChain(lastHead(`${lines.join("\n")}\n`), { format: "ocsf" })
    const plain = makeChain(next.head())
    const all = [...lines, next.link(record(7)).trim(), plain.link(record(8)).trim()]
    // The last head is of no record: the two others follow one another.
    assert.deepInclude(check(all.slice(0, 7)), { breaks: 0, records: 7, open: [] })
  })

  it.each([
    ["changed", (at: number) => lines.with(at, (lines[at] ?? "").replace('"output":20', '"output":21'))],
    ["without a record", (at: number) => lines.toSpliced(at, 1)],
    ["in another order", (at: number) => lines.toSpliced(at, 1).toSpliced(at + 1, 0, lines[at] ?? "")]
  ] as const)("shows where it is %s", (_, change) => {
    for (const at of [1, 3]) assert.isAbove(check(change(at)).breaks, 0)
  })

  it("shows a time that is none", () => {
    const late = (lines[1] ?? "").replace(/"time":\d+/, '"time":1e300')
    assert.match(check(lines.with(1, late)).breaksAt[0]?.text ?? "", /own fingerprint/)
  })

  it.each([
    ["a null that is a number out of range", '"first_event_ms":null', '"first_event_ms":1e999'],
    ["another attestation", "}]}", '},{"uid":"x"}]}']
  ])("shows %s", (_, from, to) => {
    const changed = (lines[1] ?? "").replace(from, to)
    assert.notStrictEqual(changed, lines[1])
    assert.match(check(lines.with(1, changed)).breaksAt[0]?.text ?? "", /own fingerprint/)
  })

  it("shows a last record that was changed, by its own fingerprint", () => {
    const changed = lines.with(-1, (lines.at(-1) ?? "").replace("key_1", "key_2"))
    assert.match(check(changed).breaksAt[0]?.text ?? "", /own fingerprint/)
  })

  it("shows a name that stands twice, of which other readers take the other value", () => {
    const line = lines[1] ?? ""
    for (const twice of [
      line.replace("{", '{"message":"other",'),
      line.replace('"tokens":{', '"tokens":{"input" : 1,'),
      line.replace('"key_id"', '"key_\\u0069d":"key_2","key_id"')
    ]) {
      assert.match(check(lines.with(1, twice)).breaksAt[0]?.text ?? "", /own fingerprint/)
    }
    const odd = chain()
    const written = odd.link(record(1, { model: '"a": {"b":\\', tags: { a: '":', "10": "" } }))
    const printed = JSON.stringify(JSON.parse(written), null, 1).replaceAll("\n", " ")
    assert.deepInclude(check([printed]), { breaks: 0, records: 1 })
  })

  it("is summed as the gateway's own records are", () => {
    const of = (lines: ReadonlyArray<string>) => {
      const summing = makeSumming({ by: ["key", "model", "day"] })
      for (const [at, line] of lines.entries()) summing.line(line, { file: "records", line: at + 1 })
      return summing.result()
    }
    const plain = makeChain(undefined, { instance: "a1" })
    const audits = [own, plain].map((chain) => chain.link(eventOf({ audit: "gateway.stopped", outcome: "success" })))
    const [ocsf, gateway] = [
      [...lines, audits[0] ?? ""],
      [...Array.from({ length: 6 }, (_, n) => plain.link(record(n)).trim()), audits[1] ?? ""]
    ].map(of)
    assert.deepStrictEqual(ocsf, gateway)
    assert.deepInclude(ocsf?.lines, { damaged: 0, other: 1 })
  })
})

describe("GATEWAY_RECORD_FORMAT=ocsf", () => {
  it("writes what a gateway and its commands do as events of the schema, in one chain that verify reads", async () => {
    const log = join(folder, "events.jsonl")
    const keys = keysFileWith(folder, { good: {}, revoked: { revoked: "2026-01-02T00:00:00.000Z" } })
    const environment = {
      GATEWAY_RECORD_FORMAT: "ocsf",
      GATEWAY_KEYS_FILE: keys.file,
      GATEWAY_AUDIT_LOG: log,
      GATEWAY_USAGE_LOG: log
    }
    const gateway = await startGateway({ settings: environment, sandbox: true })
    const ask = (key: string) =>
      fetch(`${gateway.url}/v1/messages`, {
        method: "POST",
        headers: { "x-api-key": key, "content-type": "application/json" },
        body: JSON.stringify({
          model: "claude-sonnet-4-5:il5",
          max_tokens: 20,
          messages: [{ role: "user", content: "Hello" }]
        })
      })
    for (const key of [keys.secrets.good, keys.secrets.revoked, "wrong"]) await (await ask(key)).text()
    await gateway.stop()
    const run = (...args: ReadonlyArray<string>) => command(args, { ...environment, HOME: folder })
    const created = await run("keys", "create", "--name", "x")
    assert.strictEqual(created.code, 0, created.stderr)

    const events = linesIn(log).map(parsed)
    for (const event of events) assert.deepStrictEqual(problemsOf(event), [], JSON.stringify(event))
    const kinds = new Set(events.map(({ class_uid }) => class_uid))
    assert.deepStrictEqual([...kinds].sort(), [3001, 3002, 3004, 6002, 6003])
    const refused = events.filter(({ class_uid }) => class_uid === 3002)
    assert.deepStrictEqual(
      refused.map(({ status_code, user }) => [status_code, user.uid ?? user.name]),
      [
        ["revoked", "revoked"],
        ["unknown", "unknown"]
      ]
    )
    const verified = await run("usage", "verify")
    assert.strictEqual(verified.code, 0, verified.stdout + verified.stderr)
    const summed = await run("usage", "--by", "model", "--format", "json")
    assert.strictEqual(JSON.parse(summed.stdout).total.requests, 3)
    writeFileSync(log, readFileSync(log, "utf8").replace('"outcome":"unauthenticated"', '"outcome":"ok"'))
    assert.strictEqual((await run("usage", "verify")).code, 1)
  }, 60_000)
})
