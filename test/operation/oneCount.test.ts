/** One request has one count: its record, the metrics and the quota say the same, wherever its stream ends. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { Effect, Metric } from "effect"
import { type Detector, guardsFile, startDetector } from "../support/detector.ts"
import { type Gateway, startGateway } from "../support/gateway.ts"
import { saying } from "../support/guarded.ts"
import { until } from "./child.ts"
import { keysFileWith } from "./keysFile.ts"
import { openSurface, readUntil, streaming } from "./surfaces.ts"

const directory = mkdtempSync(join(tmpdir(), "gateway-count-"))
const stateDir = join(directory, "state")
const ends = ["whole", "cut", "left", "revoked", "blocked"] as const
/** Events of the cloud that come before the end. */
const places = [1, 2, 3, 5, 8, 21, 40]
const cases = streaming.flatMap((surface) =>
  ends.flatMap((end) => places.map((after) => ({ surface, end, after, id: `${surface}-${end}-${after}` })))
)
const run = crypto.randomUUID().slice(0, 8)
const keyOf = (id: string) => `${id}-${run}`
const quota = { monthlyTokens: 1_000_000, tokensPerMinute: 1_000_000 }
const initial = Object.fromEntries(
  cases.map(({ end, id }) => [keyOf(id), end === "blocked" ? { ...quota, team: "guarded" } : quota])
)
const { file, secrets, write } = keysFileWith(directory, initial, [{ name: "guarded" }])
let detector: Detector
let guards: ReturnType<typeof guardsFile>
let gateway: Gateway
let database: DatabaseSync

beforeAll(async () => {
  detector = await startDetector()
  guards = guardsFile([{ name: "words", url: detector.url, when: "after", action: "block", teams: ["guarded"] }])
  gateway = await startGateway({
    settings: {
      GATEWAY_KEYS_FILE: file,
      GATEWAY_GUARDS_FILE: guards.path,
      GATEWAY_STATE_DIR: stateDir,
      GATEWAY_METRICS_BY: "key"
    }
  })
  database = new DatabaseSync(join(stateDir, "quota.sqlite"), { readOnly: true })
})
afterAll(async () => {
  database.close()
  await gateway.stop()
  await detector.stop()
  guards.remove()
  rmSync(directory, { recursive: true, force: true })
})

const directives = {
  whole: (after: number) => `[sandbox: events=${after}]`,
  cut: (after: number) => `[sandbox: events=50] [sandbox: cut after=${after}]`,
  left: (after: number) => `[sandbox: events=50] [sandbox: stall after=${after}]`,
  revoked: (after: number) => `[sandbox: events=50] [sandbox: stall after=${after}]`,
  blocked: (after: number) => saying(`${"Yes. ".repeat(after)}BLOCKME. And more. ${"No. ".repeat(20)}`)
}

interface Counted {
  readonly key_id: string
  readonly outcome: string
  readonly tokens: { readonly input: number; readonly output: number } | null
  readonly counts: { readonly guarded?: object } | null
  readonly quota: { readonly charged: number } | null
}

it("the record, the metrics and the quota have the same tokens, wherever a stream ends", async () => {
  const revoked = cases.filter(({ end }) => end === "revoked")
  const opened = await Promise.all(
    cases.map(async ({ after, end, id, surface }) => {
      const leave = new AbortController()
      const secret = secrets[keyOf(id)] ?? assert.fail()
      const response = await openSurface(gateway.url, secret, surface, directives[end](after), {
        stream: true,
        signal: leave.signal
      })
      return { end, leave, response }
    })
  )
  const read = opened.map(async ({ end, leave, response }) => {
    if (end === "left") {
      await readUntil(response, "\n\n").catch(() => "")
      leave.abort()
    } else await response.text().catch(() => "")
  })
  write({
    ...initial,
    ...Object.fromEntries(revoked.map(({ id }) => [keyOf(id), { revoked: new Date().toISOString() }]))
  })
  await Promise.all(read)

  const records = () => gateway.records() as unknown as ReadonlyArray<Counted>
  await until(() => records().length === cases.length, "every record", 15_000)
  const held = () => Number(database.prepare("SELECT count(*) AS n FROM hold").get()?.n)
  await until(() => held() === 0, "the settlements")
  const metrics = Effect.runSync(Metric.snapshot).filter(({ id }) => id === "gateway_tokens_total")
  for (const { end, id } of cases) {
    const key = keyOf(id)
    const record = records().find(({ key_id }) => key_id === key) ?? assert.fail(id)
    const inRecord = (record.tokens?.input ?? 0) + (record.tokens?.output ?? 0)
    const inMetrics = metrics
      .filter(({ attributes }) => attributes?.key === key)
      .reduce((sum, { state }) => sum + Number("count" in state ? state.count : 0), 0)
    const inQuota = Number(
      database.prepare("SELECT sum(spent) AS spent FROM account WHERE name LIKE ?").get(`${key}:____-__`)?.spent ?? 0
    )
    assert.deepStrictEqual(
      { id, charged: record.quota?.charged, inMetrics, inQuota },
      { id, charged: inRecord, inMetrics: inRecord, inQuota: inRecord }
    )
    assert.isAbove(inRecord, 0, id)
    if (end === "blocked") assert.deepStrictEqual(record.counts?.guarded, { words: 1 }, id)
    else if (end !== "whole") assert.notStrictEqual(record.outcome, "ok", id)
  }
})
