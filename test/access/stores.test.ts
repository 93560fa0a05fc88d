import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, type Layer, Result } from "effect"
import { afterAll, beforeAll } from "vitest"
import { type Account, type Demand, Ledger, type LedgerError } from "../../src/access/Ledger.ts"
import { Quota } from "../../src/access/Quota.ts"
import { RateLimit } from "../../src/access/RateLimit.ts"
import { layerRedis } from "../../src/access/redisStore.ts"
import { layerFile, layerMemory } from "../../src/access/sqliteStore.ts"
import { hasRedis, type TestRedis, testRedis } from "./redis.ts"
import { keyWith, whole } from "./support.ts"

type Store = Layer.Layer<Ledger, LedgerError>

const lease = Duration.minutes(20)
const account = (): Account => ({ name: crypto.randomUUID(), keep: Duration.minutes(5) })

/** What every store must do alike. */
const conforms = (store: () => Store) => {
  const run = <A, E>(effect: Effect.Effect<A, E, Ledger>) => Effect.suspend(() => Effect.provide(effect, store()))

  it.live("holds all or nothing, settles once, and tells how the accounts stand", () =>
    run(
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const [a, b] = [account(), account()]
        const demand = (of: Account, amount: number, least = amount) => ({ account: of, amount, least, limit: 100 })
        const hold = (id: string, ...demands: ReadonlyArray<Demand>) =>
          ledger.hold({ id: `${a.name}-${id}`, demands, lease })
        const settle = (id: string, ...amounts: ReadonlyArray<number>) =>
          ledger.settle(
            `${a.name}-${id}`,
            amounts.map((amount, n) => ({ account: n === 0 ? a : b, amount }))
          )
        const spent = Effect.suspend(() => ledger.spent([a.name, b.name, account().name]))
        const standing = { spent: 0, held: 0, amount: 0 }

        assert.deepStrictEqual(yield* hold("1", demand(a, 60), demand(b, 20)), {
          granted: true,
          shares: [
            { ...standing, amount: 60 },
            { ...standing, amount: 20 }
          ]
        })
        assert.deepStrictEqual(yield* hold("2", demand(a, 41), demand(b, 1)), {
          granted: false,
          shares: [
            { spent: 0, held: 60, amount: 40 },
            { spent: 0, held: 20, amount: 1 }
          ]
        })
        assert.deepStrictEqual(yield* hold("3", demand(a, 90, 40), demand(b, 90, 0)), {
          granted: true,
          shares: [
            { spent: 0, held: 60, amount: 40 },
            { spent: 0, held: 20, amount: 80 }
          ]
        })
        yield* settle("1", 10, 5)
        yield* settle("1", 10, 5)
        assert.deepStrictEqual(yield* spent, [10, 5, 0])
        yield* settle("3", 0, 0)
        yield* settle("never held", 50, 50)
        assert.deepStrictEqual(yield* spent, [10, 5, 0])
        yield* hold("4", demand(a, 90), demand(b, 95))
        yield* settle("4", 95, 0)
        assert.deepStrictEqual(yield* hold("5", demand(a, 1)), {
          granted: false,
          shares: [{ spent: 105, held: 0, amount: -5 }]
        })
        assert.deepStrictEqual(yield* spent, [105, 5, 0])
      })
    )
  )

  it.live("charges a batch once, however often it is sent", () =>
    run(
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const [a, b] = [account(), account()]
        const charges = [
          { account: a, amount: 7 },
          { account: b, amount: 3_000_000_000_000 }
        ]
        yield* ledger.charge(a.name, charges)
        yield* ledger.charge(a.name, charges)
        yield* ledger.charge(b.name, charges)
        assert.deepStrictEqual(yield* ledger.spent([a.name, b.name]), [14, 6_000_000_000_000])
      })
    )
  )

  it.live("a hold comes back at the end of its lease, and a late settlement still counts, once", () =>
    run(
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const a = account()
        const hold = (id: string, amount: number, lasts: Duration.Duration) =>
          ledger.hold({ id, demands: [{ account: a, amount, least: amount, limit: 100 }], lease: lasts })
        const short = crypto.randomUUID()
        assert.isTrue((yield* hold(short, 100, Duration.millis(40))).granted)
        assert.isFalse((yield* hold(crypto.randomUUID(), 100, lease)).granted)
        yield* Effect.sleep("80 millis")
        assert.isTrue((yield* hold(crypto.randomUUID(), 30, lease)).granted)
        const late = ledger.settle(short, [{ account: a, amount: 70 }])
        yield* Effect.andThen(late, late)
        assert.deepStrictEqual(yield* ledger.spent([a.name]), [70])
        assert.isFalse((yield* hold(crypto.randomUUID(), 1, lease)).granted)
      })
    )
  )

  it.live(
    "1,000 requests at once never pass the quota, none is turned away for the store, and what is not used comes back",
    () =>
      run(
        Effect.gen(function* () {
          const quota = yield* Quota
          const key = keyWith({ monthlyTokens: 1000 })
          let running = 0
          let most = 0
          const request = Effect.gen(function* () {
            const reservation = yield* quota.reserve(key, whole(100))
            // A process that is busy is no reason to take the store for lost.
            const until = performance.now() + (running === 0 ? 1200 : 0)
            running += 100
            most = Math.max(most, running)
            while (performance.now() < until);
            yield* Effect.sleep("300 millis")
            running -= 100
            reservation.use(7)
          }).pipe(Effect.scoped, Effect.result)
          const results = yield* Effect.all(
            Array.from({ length: 1000 }, () => request),
            { concurrency: "unbounded" }
          )
          const reasons = new Set(results.map((result) => (Result.isFailure(result) ? result.failure.reason : "ok")))
          assert.deepStrictEqual([...reasons].sort(), ["ok", "quota"])
          const served = results.filter(Result.isSuccess).length
          assert.deepStrictEqual([served, most], [10, 1000])
          assert.strictEqual(yield* quota.used(key.id), 70)
        }).pipe(Effect.provide(Quota.layer({ lease })))
      )
  )

  it.live("requests a minute and streams at a time", () =>
    run(
      Effect.gen(function* () {
        const limit = yield* RateLimit
        const key = keyWith({ requestsPerMinute: 2, streams: 2 })
        const headers = yield* limit.take(key)
        assert.deepStrictEqual(headers, {
          "x-ratelimit-limit-requests": "2",
          "x-ratelimit-remaining-requests": "1",
          "x-ratelimit-reset-requests": "30s"
        })
        yield* limit.take(key)
        const error = yield* Effect.flip(limit.take(key))
        assert.strictEqual(error.reason, "rate-limit")
        assert.isTrue(error.retryAfter !== undefined && error.retryAfter >= 29 && error.retryAfter <= 30)
        assert.strictEqual(error.headers?.["x-ratelimit-remaining-requests"], "0")
        const other = yield* limit.take(keyWith({ requestsPerMinute: 5 }))
        assert.strictEqual(other["x-ratelimit-remaining-requests"], "4")

        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* Effect.scoped(limit.stream(key))
            yield* limit.stream(key)
            yield* limit.stream(key)
            const error = yield* Effect.flip(Effect.scoped(limit.stream(key)))
            assert.strictEqual(error.reason, "rate-limit")
            assert.include(error.message, "2 streams at a time")
          })
        )
        yield* Effect.scoped(limit.stream(key))
      }).pipe(Effect.provide(RateLimit.layer({ streamCeiling: "15 minutes" })))
    )
  )
}

describe("in memory", () => conforms(() => layerMemory))

describe("in a file", () => {
  const directory = mkdtempSync(join(tmpdir(), "gateway-state-"))
  afterAll(() => rmSync(directory, { recursive: true }))
  conforms(() => layerFile(join(directory, "state")))
})

describe.skipIf(!hasRedis)("in Redis", () => {
  let redis: TestRedis
  beforeAll(async () => {
    redis = await testRedis()
  })
  afterAll(() => redis.stop())
  conforms(() => layerRedis(redis.url))
})
