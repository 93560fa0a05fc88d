import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import { Ledger, LedgerError } from "../../src/access/Ledger.ts"
import { estimateTokens, Quota } from "../../src/access/Quota.ts"
import { layerMemory } from "../../src/access/sqliteStore.ts"
import { keyWith } from "./support.ts"

const store = Quota.layer({ lease: "20 minutes" }).pipe(Layer.provideMerge(Layer.fresh(layerMemory)))

describe("Quota", () => {
  it.effect("every way out charges what was used, once, and gives the rest back", () =>
    Effect.gen(function* () {
      const quota = yield* Quota
      const key = keyWith({ monthlyTokens: 1000 })
      const use = (tokens: number) => Effect.map(quota.reserve(key, 900), (reservation) => reservation.use(tokens))
      yield* Effect.scoped(use(10))
      yield* Effect.exit(Effect.scoped(Effect.andThen(use(20), Effect.fail("cut"))))
      yield* Effect.exit(Effect.scoped(Effect.andThen(use(0), Effect.die("bug"))))
      const stream = yield* Effect.forkChild(Effect.scoped(Effect.andThen(use(40), Effect.never)), {
        startImmediately: true
      })
      assert.strictEqual((yield* Effect.flip(Effect.scoped(quota.reserve(key, 900)))).reason, "quota")
      yield* Fiber.interrupt(stream)
      assert.strictEqual(yield* quota.used(key.id), 70)
    }).pipe(Effect.provide(store))
  )

  it.effect("settling early is once; what comes later is not counted", () =>
    Effect.gen(function* () {
      const quota = yield* Quota
      const key = keyWith({ monthlyTokens: 1000 })
      yield* Effect.scoped(
        Effect.gen(function* () {
          const reservation = yield* quota.reserve(key, 300)
          assert.strictEqual(reservation.reserved, 300)
          reservation.use(10)
          reservation.use(25)
          yield* reservation.settle
          reservation.use(500)
          yield* reservation.settle
          assert.strictEqual(reservation.charged(), 25)
        })
      )
      assert.strictEqual(yield* quota.used(key.id), 25)
    }).pipe(Effect.provide(store))
  )

  it.effect("a refusal says what is left and when the month ends", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2026, 10, 30, 23, 0, 0))
      const quota = yield* Quota
      const key = keyWith({ monthlyTokens: 1000 })
      const tooMuch = yield* Effect.flip(Effect.scoped(quota.reserve(key, 1001)))
      assert.deepStrictEqual([tooMuch.reason, tooMuch.retryAfter], ["quota", 3600])
      assert.match(tooMuch.message, /up to 1001 tokens, and 1000 of .* 1000 tokens .* 2026-12-01/)
      yield* Effect.scoped(Effect.map(quota.reserve(key, 1000), (reservation) => reservation.use(1000)))
      const empty = yield* Effect.flip(Effect.scoped(quota.reserve(key, 1)))
      assert.match(empty.message, /has used its 1000 tokens of this month.*2026-12-01/)
      assert.deepStrictEqual(empty.headers, {
        "x-ratelimit-limit-tokens": "1000",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "1h0m0s"
      })
    }).pipe(Effect.provide(store))
  )

  it.effect("a new month starts from zero; a request belongs to the month in which it began", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2026, 11, 31, 23, 59, 59))
      const quota = yield* Quota
      const key = keyWith({ monthlyTokens: 1000 })
      yield* Effect.scoped(
        Effect.gen(function* () {
          const reservation = yield* quota.reserve(key, 1000)
          yield* TestClock.adjust("1 second")
          reservation.use(900)
          assert.strictEqual(
            (yield* Effect.scoped(quota.reserve(key, 1000))).headers["x-ratelimit-reset-tokens"],
            "744h0m0s"
          )
        })
      )
      assert.strictEqual(yield* quota.used(key.id), 0)
      yield* TestClock.setTime(Date.UTC(2026, 11, 31))
      assert.strictEqual(yield* quota.used(key.id), 900)
    }).pipe(Effect.provide(store))
  )

  it.effect("a reservation says what it holds, and its headers what is left", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2026, 10, 30, 23, 0, 0))
      const reservation = yield* (yield* Quota).reserve(keyWith({ monthlyTokens: 1000 }), 300)
      const headers = {
        "x-ratelimit-limit-tokens": "1000",
        "x-ratelimit-remaining-tokens": "700",
        "x-ratelimit-reset-tokens": "1h0m0s"
      }
      assert.deepStrictEqual([reservation.reserved, reservation.headers], [300, headers])
    }).pipe(Effect.provide(store))
  )

  it.effect("a settlement that fails is tried until it works", () =>
    Effect.gen(function* () {
      let failures = 3
      const settled: Array<number> = []
      const ledger = Ledger.of({
        hold: () => Effect.succeed({ granted: true, left: 0 }),
        settle: (_, __, spent) =>
          Effect.suspend(() => {
            if (failures-- > 0) return Effect.fail(new LedgerError({ message: "lost" }))
            settled.push(spent)
            return Effect.void
          }),
        spent: () => Effect.succeed(0)
      })
      yield* Effect.gen(function* () {
        const quota = yield* Quota
        yield* Effect.scoped(
          Effect.map(quota.reserve(keyWith({ monthlyTokens: 10 }), 10), (reservation) => reservation.use(7))
        )
        yield* TestClock.adjust(Duration.minutes(1))
        assert.deepStrictEqual(settled, [7])
      }).pipe(Effect.provide(Quota.layer({ lease: "1 minute" }).pipe(Layer.provide(Layer.succeed(Ledger, ledger)))))
    })
  )
})

it.prop(
  "the estimate is never below the tokens that a request can use",
  { text: Schema.String, output: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 200_000 })) },
  ({ output, text }) => {
    const bytes = new TextEncoder().encode(text).length
    assert.isAtLeast(estimateTokens(bytes, output), bytes + output)
    assert.isTrue(Number.isSafeInteger(estimateTokens(bytes, output)))
  }
)
