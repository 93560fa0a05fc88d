import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { estimateInput } from "../../src/catalog/Tokens.ts"
import type { CallerIdentity } from "../../src/contract/Security.ts"
import { Ledger, LedgerError } from "../../src/limits/Ledger.ts"
import { leaseOf } from "../../src/limits/limits.ts"
import { Quota } from "../../src/limits/Quota.ts"
import { layerMemory } from "../../src/limits/sqliteStore.ts"
import { callerWith, usedBy, whole } from "./support.ts"

const store = Quota.layer("20 minutes").pipe(Layer.provideMerge(Layer.fresh(layerMemory)))

/** Sets the clock before the store is made, which cleans up once for each day that passes. */
const startingAt =
  (time: number) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.andThen(TestClock.setTime(time), effect)

it("a request may hold what it reserved for as long as it may wait and run", () => {
  const { minutes } = Duration
  const lease = (streamCeiling: number, requestCeiling: number, queueWait: number) =>
    Duration.toMinutes(
      leaseOf({
        streamCeiling: minutes(streamCeiling),
        requestCeiling: minutes(requestCeiling),
        queueWait: minutes(queueWait)
      })
    )
  assert.deepStrictEqual([lease(15, 5, 0), lease(1, 5, 3)], [16, 9])
})

describe("Quota", () => {
  it.effect("every way out charges what was used, once, and gives the rest back", () =>
    Effect.gen(function* () {
      const quota = yield* Quota
      const key = callerWith({ monthlyTokens: 1000 })
      const use = (tokens: number) =>
        Effect.map(quota.reserve(key, whole(900)), (reservation) => reservation.use(tokens))
      yield* Effect.scoped(use(10))
      yield* Effect.exit(Effect.scoped(Effect.andThen(use(20), Effect.fail("cut"))))
      yield* Effect.exit(Effect.scoped(Effect.andThen(use(0), Effect.die("bug"))))
      const stream = yield* Effect.forkChild(Effect.scoped(Effect.andThen(use(40), Effect.never)), {
        startImmediately: true
      })
      assert.strictEqual((yield* Effect.flip(Effect.scoped(quota.reserve(key, whole(900))))).reason, "quota")
      yield* Fiber.interrupt(stream)
      assert.strictEqual(yield* usedBy(key), 70)
    }).pipe(Effect.provide(store))
  )

  it.effect("settling early is once; what comes later is not counted", () =>
    Effect.gen(function* () {
      const quota = yield* Quota
      const key = callerWith({ monthlyTokens: 1000 })
      yield* Effect.scoped(
        Effect.gen(function* () {
          const prices = { currency: "USD", date: "2026-11-01", input: 5, output: 25 }
          const reservation = yield* quota.reserve(key, { ...whole(300), prices })
          assert.strictEqual(reservation.reserved, 300)
          assert.strictEqual((yield* Effect.flip(Effect.scoped(quota.reserve(key, whole(701))))).reason, "quota")
          reservation.use(10)
          reservation.use(25)
          yield* reservation.settle
          reservation.use(500)
          yield* reservation.settle
          assert.strictEqual(reservation.charged(), 25)
        })
      )
      assert.strictEqual(yield* usedBy(key), 25)
    }).pipe(Effect.provide(store))
  )

  it.effect("a refusal says what it needs, what is left, and when to come back", () =>
    Effect.gen(function* () {
      const quota = yield* Quota
      const key = callerWith({ monthlyTokens: 1000 })
      const refusal = (tokens: number) => Effect.flip(Effect.scoped(quota.reserve(key, whole(tokens))))
      const spend = (tokens: number) =>
        Effect.scoped(Effect.map(quota.reserve(key, whole(tokens)), (reservation) => reservation.use(tokens)))

      const never = yield* refusal(1001)
      assert.deepStrictEqual([never.reason, never.retryAfter], ["quota", undefined])
      assert.match(never.message, /at least 1001 tokens, more than all of this API key's 1000 tokens of this month/)

      yield* spend(300)
      const held = yield* Effect.scoped(Effect.andThen(quota.reserve(key, whole(600)), refusal(200)))
      assert.strictEqual(held.retryAfter, 5)
      assert.match(held.message, /at least 200 tokens, and running requests hold 600 of the 700 that are left/)
      assert.strictEqual(held.headers?.["x-ratelimit-remaining-tokens"], "100")

      const tooMuch = yield* refusal(701)
      assert.strictEqual(tooMuch.retryAfter, 3600)
      assert.match(
        tooMuch.message,
        /at least 701 tokens, and 700 of .* 1000 tokens of this month are left.* 2026-12-01/
      )

      yield* spend(700)
      const empty = yield* refusal(1)
      assert.strictEqual(empty.retryAfter, 3600)
      assert.match(empty.message, /has used its 1000 tokens of this month.*2026-12-01/)
      assert.deepStrictEqual(empty.headers, {
        "x-ratelimit-limit-tokens": "1000",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "1h0m0s"
      })
    }).pipe(Effect.provide(store), startingAt(Date.UTC(2026, 10, 30, 23, 0, 0)))
  )

  it.effect("a refusal is of the limit that takes the longest, and what is no number is not charged", () =>
    Effect.gen(function* () {
      const quota = yield* Quota
      const used = (caller: CallerIdentity, ...tokens: ReadonlyArray<number>) =>
        Effect.scoped(
          Effect.map(quota.reserve(caller, whole(90)), ({ use }) => {
            for (const count of tokens) use(count)
          })
        )
      const key = callerWith({ dailyTokens: 95, monthlyTokens: 200 })
      yield* used(key, 90, Number.NaN, Number.POSITIVE_INFINITY)
      assert.strictEqual(yield* usedBy(key), 90)
      // The month has an end, and no wait helps against the day's.
      const refused = yield* Effect.flip(Effect.scoped(quota.reserve(key, whole(120))))
      assert.deepStrictEqual([refused.reason, refused.retryAfter], ["quota", undefined])
      assert.match(refused.message, /of today\. Shorten it/)
    }).pipe(Effect.provide(store), startingAt(Date.UTC(2026, 10, 30, 12)))
  )

  it.effect("a minute's limit that was overdrawn says when there is room again", () =>
    Effect.gen(function* () {
      const quota = yield* Quota
      const key = callerWith({ tokensPerMinute: 600 })
      yield* Effect.scoped(Effect.map(quota.reserve(key, whole(100)), ({ use }) => use(1200)))
      const refused = yield* Effect.flip(Effect.scoped(quota.reserve(key, whole(100))))
      assert.match(refused.message, /needs at least 100, and 0 are left\. Try again in 70 s\./)
      assert.strictEqual(refused.retryAfter, 70)
      assert.deepStrictEqual(refused.headers, {
        "x-ratelimit-limit-tokens": "600",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "2m0s"
      })
      yield* TestClock.adjust("70 seconds")
      yield* Effect.scoped(quota.reserve(key, whole(100)))
    }).pipe(Effect.provide(store))
  )

  it.effect("of the output what is left is held, where the input and a short answer fit", () =>
    Effect.gen(function* () {
      const quota = yield* Quota
      const key = callerWith({ monthlyTokens: 1000 })
      const reserved = (input: number, output: number) =>
        Effect.scoped(Effect.map(quota.reserve(key, { input, output }), (reservation) => reservation.reserved))
      assert.strictEqual(yield* reserved(100, 500), 600)
      assert.strictEqual(yield* reserved(100, 128_000), 1000)
      assert.strictEqual(yield* reserved(744, 4096), 1000)
      assert.strictEqual((yield* Effect.flip(reserved(745, 4096))).reason, "quota")
      assert.strictEqual(yield* reserved(900, 100), 1000)
      // What is used beyond the reservation is charged in full.
      yield* Effect.scoped(
        Effect.map(quota.reserve(key, { input: 500, output: 500 }), (reservation) => reservation.use(1200))
      )
      assert.strictEqual(yield* usedBy(key), 1200)
      assert.match((yield* Effect.flip(reserved(1, 1))).message, /has used its 1000 tokens/)
    }).pipe(Effect.provide(store))
  )

  it.effect("a new month starts from zero; a request belongs to the month in which it began", () =>
    Effect.gen(function* () {
      const quota = yield* Quota
      const key = callerWith({ monthlyTokens: 1000 })
      yield* Effect.scoped(
        Effect.gen(function* () {
          const reservation = yield* quota.reserve(key, whole(1000))
          yield* TestClock.adjust("1 second")
          reservation.use(900)
          assert.strictEqual(
            (yield* Effect.scoped(quota.reserve(key, whole(1000)))).headers["x-ratelimit-reset-tokens"],
            "744h0m0s"
          )
        })
      )
      assert.strictEqual(yield* usedBy(key), 0)
      yield* TestClock.setTime(Date.UTC(2026, 11, 31))
      assert.strictEqual(yield* usedBy(key), 900)
    }).pipe(Effect.provide(store), startingAt(Date.UTC(2026, 11, 31, 23, 59, 59)))
  )

  it.effect("a reservation says what it holds, and its headers what is left", () =>
    Effect.gen(function* () {
      const reservation = yield* (yield* Quota).reserve(callerWith({ monthlyTokens: 1000 }), whole(300))
      const headers = {
        "x-ratelimit-limit-tokens": "1000",
        "x-ratelimit-remaining-tokens": "700",
        "x-ratelimit-reset-tokens": "1h0m0s"
      }
      assert.deepStrictEqual([reservation.reserved, reservation.headers], [300, headers])
    }).pipe(Effect.provide(store), startingAt(Date.UTC(2026, 10, 30, 23, 0, 0)))
  )

  it.effect("what no limit counts is held once, and settled until it works", () =>
    Effect.gen(function* () {
      const done: Array<string> = []
      const did = (what: string) => Effect.sync(() => void done.push(what))
      const ledger = Ledger.of({
        alarms: new Set(),
        hold: () => Effect.as(did("hold"), { granted: true, shares: [] }),
        settle: (_, charges) =>
          Effect.andThen(
            did(`settle ${charges.map(({ amount }) => amount)}`),
            Effect.suspend(() => (done.length < 4 ? Effect.fail(new LedgerError({ message: "lost" })) : Effect.void))
          ),
        raise: () => Effect.void,
        spent: () => Effect.succeed([]),
        take: () => Effect.succeed({ granted: true, shares: [] })
      })
      yield* Effect.gen(function* () {
        const { note } = yield* Quota
        note(callerWith({}), 1, 5, 0)
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(done, ["hold", "settle 5", "settle 5", "settle 5"])
      }).pipe(Effect.provide(Quota.layer("1 minute").pipe(Layer.provide(Layer.succeed(Ledger, ledger)))))
    })
  )

  it.effect("a settlement that fails is tried until it works", () =>
    Effect.gen(function* () {
      let failures = 3
      const settled: Array<number> = []
      const ledger = Ledger.of({
        alarms: new Set(),
        hold: () => Effect.succeed({ granted: true, shares: [] }),
        settle: (_, charges) =>
          Effect.suspend(() => {
            if (failures-- > 0) return Effect.fail(new LedgerError({ message: "lost" }))
            settled.push(...charges.map(({ amount }) => amount))
            return Effect.void
          }),
        raise: () => Effect.void,
        spent: () => Effect.succeed([]),
        take: () => Effect.succeed({ granted: true, shares: [] })
      })
      yield* Effect.gen(function* () {
        const quota = yield* Quota
        yield* Effect.scoped(
          Effect.map(quota.reserve(callerWith({ monthlyTokens: 10 }), whole(10)), (reservation) => reservation.use(7))
        )
        yield* TestClock.adjust(Duration.minutes(1))
        assert.deepStrictEqual(settled, [7])
      }).pipe(Effect.provide(Quota.layer("1 minute").pipe(Layer.provide(Layer.succeed(Ledger, ledger)))))
    })
  )
})

it.each([
  [0, 0, 0],
  [1, 0, 1],
  [40_000, 0, 10_000],
  [401, 2, 3301]
])("%d bytes of text and %d media are about %d tokens", (bytes, media, tokens) => {
  assert.strictEqual(estimateInput(bytes, media), tokens)
})
