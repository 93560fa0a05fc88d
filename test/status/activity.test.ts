import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Layer, Metric, Result } from "effect"
import { TestClock } from "effect/testing"
import { shippedCatalog } from "../../src/catalog/CatalogStore.ts"
import type { Outcome } from "../../src/catalog/RequestFacts.ts"
import { requestable } from "../../src/catalog/Resolver.ts"
import { RequestRecord } from "../../src/http/RequestRecord.ts"
import type { Key } from "../../src/limits/KeyFile.ts"
import { Keys } from "../../src/limits/Keys.ts"
import { LedgerError } from "../../src/limits/Ledger.ts"
import { Quota } from "../../src/limits/Quota.ts"
import { type Users, usageTotalsOf } from "../../src/limits/usageTotals.ts"
import { type Activity, makeActivity } from "../../src/operators/status/Activity.ts"
import {
  hourOf,
  joinCounts,
  joinDeployments,
  type ProcessState,
  processState
} from "../../src/operators/status/processState.ts"
import { makeUse, type UseRow } from "../../src/operators/status/view.ts"
import { noSpan } from "../support/noSpan.ts"

const [route] = requestable(Result.getOrThrow(shippedCatalog), {
  bedrock: { place: "us-gov-west-1", declared: undefined }
}).list
if (route === undefined) throw new Error("the shipped catalog serves nothing")

/** Noon, at the beginning of a minute. */
const noon = Date.UTC(2026, 10, 22, 12)
const minute = 60_000

interface Past {
  readonly endedAt: number
  readonly took?: number
  readonly first?: number
  readonly outcome?: Outcome
  readonly failure?: RequestRecord["failure"]
  readonly region?: string | undefined
  readonly flags?: number
  readonly surface?: "chat" | "count_tokens"
}

const record = (log: Activity["Service"], past: Past) => {
  const { endedAt, failure, first, flags = 0, outcome = "ok", region, surface = "chat", took = 100 } = past
  const startedAt = endedAt - took
  const facts = new RequestRecord({ id: "", startedAt, method: "POST", path: "/", source: "10.1.2.3", surface })
  facts.route = route
  const attempted = "region" in past ? region : "us-gov-west-1"
  if (attempted !== undefined)
    facts.attempts.push({
      region: attempted,
      sent: true,
      requestId: undefined,
      lastBytesAt: 0,
      noteLimit: () => {},
      span: noSpan
    })
  facts.status = outcome === "ok" ? 200 : 502
  facts.failure = failure
  facts.firstEventAt = first === undefined ? undefined : startedAt + first
  facts.flags = flags
  log.record(facts, outcome, endedAt)
}

const stateOf = (log: Activity["Service"], now: number): ProcessState => ({
  ...log.snapshot(now),
  instance: crypto.randomUUID(),
  host: "h",
  pid: 1,
  startedAt: 0,
  memory: 0,
  requestsInFlight: 0,
  streamsInFlight: 0,
  openCircuits: [],
  lostStores: [],
  refusedFiles: []
})

const only = (logs: ReadonlyArray<Activity["Service"]>, now: number) => {
  const [one] = Object.values(joinDeployments(logs.map((log) => stateOf(log, now))))
  const { cloud, lastError, minutes = [], model, region } = one ?? {}
  return { cloud, lastError, model, region, hour: hourOf(minutes, now) }
}

describe("the state of a process", () => {
  it.effect("names files that were not read for long", () =>
    Effect.gen(function* () {
      const readAt = Metric.gauge("gateway_file_read_timestamp_seconds", { attributes: { kind: "of this test" } })
      yield* Metric.update(readAt, noon / 1000)
      const refusedAt = (now: number) => processState(makeActivity(), now).refusedFiles
      assert.notInclude(refusedAt(noon + 5000), "of this test")
      assert.include(refusedAt(noon + 30_000), "of this test")
    })
  )
})

describe("the last hour", () => {
  it("has requests, failures, times and the last error by minute, and forgets what is older", () => {
    const log = makeActivity()
    record(log, { endedAt: noon, took: 512, first: 64 })
    record(log, { endedAt: noon + 1, took: 512, first: 64 })
    record(log, { endedAt: noon + 5 * minute, outcome: "upstream_error", failure: "upstream-rate-limit" })
    record(log, { endedAt: noon + 5 * minute, outcome: "cancelled", took: 64 })
    const now = noon + 59 * minute
    const { cloud, hour, lastError, model, region } = only([log], now)
    assert.deepStrictEqual([cloud, region, model], [route.deployment.cloud, "us-gov-west-1", route.model.id])
    assert.deepStrictEqual([hour.requests, hour.failures, hour.p50, hour.p95, hour.first50], [4, 1, 512, 512, 64])
    assert.deepStrictEqual(lastError, { at: noon + 5 * minute, code: "upstream-rate-limit", status: 502 })
    assert.deepStrictEqual(hour.minutes?.requests.slice(0, 6), [2, 0, 0, 0, 0, 2])
    assert.deepStrictEqual(hour.minutes?.failures.slice(0, 6), [0, 0, 0, 0, 0, 1])
    assert.deepStrictEqual(hour.minutes?.p50.slice(0, 6), [512, null, null, null, null, 64])
    assert.deepStrictEqual(only([log], now + minute).hour.requests, 2)
    assert.deepStrictEqual(only([log], now + 6 * minute).hour, {
      requests: 0,
      failures: 0,
      p50: undefined,
      p95: undefined,
      first50: undefined,
      first95: undefined
    })
  })

  it("keeps sixty minutes", () => {
    const log = makeActivity()
    for (let n = 0; n < 200; n++) record(log, { endedAt: noon + n * minute })
    const now = noon + 199 * minute
    assert.lengthOf(log.snapshot(now).deployments[0]?.minutes ?? [], 60)
    assert.deepStrictEqual(only([log], now).hour.minutes?.requests, new Array(60).fill(1))
  })

  it("is bounded in deployments", () => {
    const log = makeActivity()
    for (let n = 0; n < 1000; n++) record(log, { endedAt: noon, region: `region-${n}` })
    assert.lengthOf(log.snapshot(noon).deployments, 256)
  })

  it("is the same from one process and from several", () => {
    const all = makeActivity()
    const some = [makeActivity(), makeActivity(), makeActivity()]
    for (let n = 0; n < 300; n++) {
      const failed = n % 7 === 0
      const past: Past = {
        endedAt: noon + ((n * 7919) % 3_600_000),
        took: 1 + ((n * 37) % 5000),
        first: (n * 13) % 900,
        outcome: failed ? "timeout" : "ok"
      }
      record(all, past)
      record(some[n % 3] ?? all, past)
    }
    const now = noon + 59 * minute
    assert.deepStrictEqual(only(some, now), only([all], now))
  })

  it("counts refusals of our own by reason, and no deployment's", () => {
    const log = makeActivity()
    record(log, { endedAt: noon, outcome: "invalid", failure: "screen", region: undefined })
    record(log, { endedAt: noon, outcome: "quota", failure: "quota" })
    record(log, { endedAt: noon, outcome: "quota", failure: "quota" })
    record(log, { endedAt: noon, flags: 3, surface: "count_tokens" })
    const { deployments, flags, refusals } = log.snapshot(noon)
    assert.lengthOf(deployments, 0)
    assert.deepStrictEqual(joinCounts([refusals, { screen: 4 }]), [
      { name: "screen", count: 5 },
      { name: "quota", count: 2 }
    ])
    assert.deepStrictEqual(flags, { count_tokens: 3 })
  })
})

describe("use", () => {
  it.effect(
    "is of keys and teams that used something or are limited, the fullest first, read every ten seconds at most",
    () =>
      Effect.gen(function* () {
        const created = DateTime.makeUnsafe(0)
        const key = (id: string, monthlyTokens?: number): Key => ({
          id,
          name: id.toUpperCase(),
          digest: "",
          created,
          acknowledged: created,
          monthlyTokens
        })
        let keys = [key("a", 1000), key("b", 100), key("c", 10), key("d"), key("e")]
        const teams = [{ name: "blue", monthlyTokens: 200, monthlyCost: 2 }, { name: "red" }]
        const spent: Readonly<Record<string, number>> = {
          a: 500,
          b: 90,
          e: 7,
          "team/blue": 150,
          "team/blue:cost": 1_900_000
        }
        let lost = false
        let reads = 0
        const usageTotals = (users: Users) => {
          reads++
          return lost
            ? Effect.fail(new LedgerError({ message: "lost" }))
            : usageTotalsOf(
                { spent: (names) => Effect.succeed(names.map((name) => spent[name.replace(/:[\d-]+$/, "")] ?? 0)) },
                users,
                noon
              )
        }
        const use = yield* makeUse.pipe(
          Effect.provide(
            Layer.merge(
              Layer.mock(Keys, {
                authenticate: () => assert.fail("no secret is needed"),
                credentialOf: () => assert.fail("no stream is open"),
                refusalOf: () => undefined,
                onEnd: () => () => {},
                inForce: () => ({ keys, teams, since: 0 })
              }),
              Layer.mock(Quota, { note: () => {}, usageTotals })
            )
          )
        )
        yield* TestClock.setTime(noon)
        const row = (id: string, used: number, limit?: number): UseRow => ({
          kind: "key",
          id,
          name: id.toUpperCase(),
          used,
          limit,
          cost: undefined,
          costLimit: undefined
        })
        const blue: UseRow = { kind: "team", id: "blue", name: "blue", used: 150, limit: 200, cost: 1.9, costLimit: 2 }
        const rows = [blue, row("b", 90, 100), row("a", 500, 1000), row("c", 0, 10), row("e", 7)]
        assert.deepStrictEqual(yield* use, rows)
        yield* TestClock.adjust("9 seconds")
        lost = true
        assert.deepStrictEqual(yield* use, rows)
        assert.strictEqual(reads, 1)
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(
          (yield* use).map(({ used }) => used),
          [null, null, null, null]
        )
        assert.strictEqual(reads, 2)
        lost = false
        // The fullest may stand behind any number of others.
        keys = [...Array.from({ length: 300 }, (_, n) => key(`unused-${n}`, 1000)), ...keys]
        yield* TestClock.adjust("10 seconds")
        const many = yield* use
        assert.deepStrictEqual(many.slice(0, 3), rows.slice(0, 3))
        assert.lengthOf(many, 200)
      })
  )
})
