import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, type Layer } from "effect"
import type * as RateLimiter from "effect/persistence/RateLimiter"
import { afterAll, beforeAll } from "vitest"
import { type Account, Ledger, type LedgerError } from "../../src/access/Ledger.ts"
import { Quota } from "../../src/access/Quota.ts"
import { RateLimit } from "../../src/access/RateLimit.ts"
import { layerRedis } from "../../src/access/redisStore.ts"
import { layerFile, layerMemory } from "../../src/access/sqliteStore.ts"
import { hasRedis, type TestRedis, testRedis } from "./redis.ts"
import { keyWith } from "./support.ts"

type Store = Layer.Layer<Ledger | RateLimiter.RateLimiterStore, LedgerError>

const lease = Duration.minutes(20)
const account = (): Account => ({ name: crypto.randomUUID(), keep: Duration.minutes(5) })

/** What every store must do alike. */
const conforms = (store: () => Store) => {
  const run = <A, E>(effect: Effect.Effect<A, E, Ledger | RateLimiter.RateLimiterStore>) =>
    Effect.suspend(() => Effect.provide(effect, store()))

  it.live("holds, settles once, and tells what is left", () =>
    run(
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const a = account()
        const hold = (id: string, amount: number) =>
          ledger.hold({ account: a, id: `${a.name}-${id}`, amount, limit: 100, lease })
        const settle = (id: string, amount: number) => ledger.settle(a, `${a.name}-${id}`, amount)
        assert.deepStrictEqual(yield* hold("1", 60), { granted: true, left: 40 })
        assert.deepStrictEqual(yield* hold("2", 41), { granted: false, left: 40 })
        assert.deepStrictEqual(yield* hold("3", 40), { granted: true, left: 0 })
        yield* settle("1", 10)
        yield* settle("1", 10)
        assert.strictEqual(yield* ledger.spent(a), 10)
        yield* settle("3", 0)
        yield* settle("never held", 50)
        assert.strictEqual(yield* ledger.spent(a), 10)
        assert.deepStrictEqual(yield* hold("4", 90), { granted: true, left: 0 })
        yield* settle("4", 95)
        assert.deepStrictEqual(yield* hold("5", 1), { granted: false, left: 0 })
        assert.strictEqual(yield* ledger.spent(a), 105)
        assert.strictEqual(yield* ledger.spent(account()), 0)
      })
    )
  )

  it.live("a hold comes back at the end of its lease, and a late settlement still counts, once", () =>
    run(
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const a = account()
        const short = { account: a, id: crypto.randomUUID(), amount: 100, limit: 100, lease: Duration.millis(40) }
        assert.isTrue((yield* ledger.hold(short)).granted)
        assert.isFalse((yield* ledger.hold({ ...short, id: crypto.randomUUID() })).granted)
        yield* Effect.sleep("80 millis")
        assert.isTrue((yield* ledger.hold({ ...short, id: crypto.randomUUID(), amount: 30, lease })).granted)
        yield* ledger.settle(a, short.id, 70)
        yield* ledger.settle(a, short.id, 70)
        assert.strictEqual(yield* ledger.spent(a), 70)
        assert.deepStrictEqual(yield* ledger.hold({ ...short, id: crypto.randomUUID(), amount: 1 }), {
          granted: false,
          left: 0
        })
      })
    )
  )

  it.live("200 requests at once never pass the quota, and what they do not use comes back", () =>
    run(
      Effect.gen(function* () {
        const quota = yield* Quota
        const key = keyWith({ monthlyTokens: 1000 })
        let running = 0
        let most = 0
        const request = Effect.gen(function* () {
          const reservation = yield* quota.reserve(key, 100)
          running += 100
          most = Math.max(most, running)
          yield* Effect.sleep("300 millis")
          running -= 100
          reservation.use(7)
        }).pipe(Effect.scoped, Effect.result)
        const results = yield* Effect.all(
          Array.from({ length: 200 }, () => request),
          { concurrency: "unbounded" }
        )
        const served = results.filter(({ _tag }) => _tag === "Success").length
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
