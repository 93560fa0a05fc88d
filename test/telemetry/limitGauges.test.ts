import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Layer, Metric } from "effect"
import { TestClock } from "effect/testing"
import { limitGauges } from "../../src/http/limitGauges.ts"
import type { Key, KeyBook } from "../../src/limits/KeyFile.ts"
import { Keys } from "../../src/limits/Keys.ts"
import { Quota } from "../../src/limits/Quota.ts"
import type { MetricsBy } from "../../src/telemetry/metrics.ts"

const now = Date.UTC(2026, 10, 22)
const inDays = (days: number) => DateTime.makeUnsafe(now + days * 86_400_000)
const key = (id: string, fields: Partial<Key>): Key => ({
  ...{ id, name: id, digest: "", created: inDays(-1), acknowledged: inDays(-1) },
  ...fields
})
const book: KeyBook = {
  keys: [
    key("a", { team: "blue", monthlyTokens: 1000, dailyCost: 2, expires: inDays(10) }),
    key("b", { team: "blue", expires: inDays(5) }),
    key("c", { dailyTokens: 100 }),
    key("e", { dailyTokens: 1, expires: inDays(-1) }),
    key("d", { monthlyTokens: 1, revoked: inDays(-1), expires: inDays(1) })
  ],
  teams: [{ name: "blue", monthlyCost: 100 }, { name: "red" }]
}
const none = { monthlyTokens: 0, monthlyCost: 0, dailyTokens: 0, dailyCost: 0, lastUse: 0 }
const use = { ...none, monthlyTokens: 250, dailyTokens: 90, dailyCost: 1_000_000, monthlyCost: 80_000_000 }

/** What the gauges are while there are these keys and teams. */
const shown = (by: MetricsBy) =>
  Effect.gen(function* () {
    let current = book
    const services = Layer.mergeAll(
      Layer.mock(Keys, {
        authenticate: () => assert.fail(),
        credentialOf: () => assert.fail(),
        refusalOf: () => undefined,
        onEnd: () => () => {},
        inForce: () => ({ ...current, since: 0 })
      }),
      Layer.mock(Quota, {
        note: () => {},
        usageTotals: ({ keys, teams }) => Effect.succeed({ keys: keys.map(() => use), teams: teams.map(() => use) })
      })
    )
    yield* TestClock.setTime(now)
    yield* Layer.build(limitGauges(by).pipe(Layer.provide(services)))
    const read = Effect.map(Metric.snapshot, (metrics) =>
      metrics
        .filter(({ id }) => id === "gateway_limit_used_ratio" || id === "gateway_keys_expire_days")
        .map(({ attributes, id, state }) => [
          `${id.includes("days") ? "days" : "used"} ${Object.values(attributes ?? {}).join(" ")}`.trim(),
          "value" in state ? state.value : undefined
        ])
    )
    yield* TestClock.adjust("1 second")
    const first = Object.fromEntries(yield* read)
    current = { keys: [], teams: [] }
    yield* TestClock.adjust("1 minute")
    assert.deepStrictEqual(yield* read, [])
    return first
  })

describe("gauges of limits and ends", () => {
  it.effect("by team", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* shown("team"), {
        "used monthly-cost team blue": 0.8,
        "used monthly-tokens key blue": 0.25,
        "used daily-cost key blue": 0.5,
        "used daily-tokens key": 0.9,
        "days blue": 5
      })
    })
  )

  it.effect("by key", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* shown("key"), {
        "used monthly-cost team blue": 0.8,
        "used monthly-tokens key a blue": 0.25,
        "used daily-cost key a blue": 0.5,
        "used daily-tokens key c": 0.9,
        "days a blue": 10,
        "days b blue": 5
      })
    })
  )

  it.effect("of all", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* shown("none"), {
        "used monthly-cost team": 0.8,
        "used monthly-tokens key": 0.25,
        "used daily-cost key": 0.5,
        "used daily-tokens key": 0.9,
        days: 5
      })
    })
  )
})
