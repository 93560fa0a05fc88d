import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Exit, Fiber, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { bearer, CredentialError, makeTokenCache } from "../../../src/cloud/credentials.ts"
import { together } from "./tokenServer.ts"

/** A token service whose tokens live for `life` milliseconds; it answers after a second, and can be broken. */
const service = (life = 3_600_000) => {
  const state = { calls: 0, broken: false }
  const acquire = Effect.gen(function* () {
    state.calls++
    yield* Effect.sleep("1 second")
    if (state.broken) return yield* new CredentialError({ message: "broken" })
    const now = yield* Clock.currentTimeMillis
    return { token: Redacted.make(`t${state.calls}`), expiresAt: now + life }
  })
  return { state, acquire }
}

describe("makeTokenCache", () => {
  it.effect("asks once for 1,000 callers, and again for 1,000 after the expiry", () =>
    Effect.gen(function* () {
      const { state, acquire } = service()
      const cache = yield* makeTokenCache(acquire)
      const all = together(cache.get, 1000)
      const first = yield* Effect.forkChild(all, { startImmediately: true })
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(new Set((yield* Fiber.join(first)).map(Redacted.value)), new Set(["t1"]))
      assert.strictEqual(state.calls, 1)

      yield* TestClock.adjust("2 hours")
      const second = yield* Effect.forkChild(all, { startImmediately: true })
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(new Set((yield* Fiber.join(second)).map(Redacted.value)), new Set(["t2"]))
      assert.strictEqual(state.calls, 2)
    })
  )

  it.effect("goes on when the only caller that waits leaves", () =>
    Effect.gen(function* () {
      const { state, acquire } = service()
      const cache = yield* makeTokenCache(acquire)
      const left = yield* Effect.forkChild(cache.get, { startImmediately: true })
      yield* TestClock.adjust("500 millis")
      yield* Fiber.interrupt(left)
      yield* TestClock.adjust("500 millis")
      assert.strictEqual(Redacted.value(yield* cache.get), "t1")
      assert.strictEqual(state.calls, 1)
    })
  )

  it.effect("replaces a token in the background five minutes early, without a wait", () =>
    Effect.gen(function* () {
      const { state, acquire } = service()
      const cache = yield* makeTokenCache(acquire)
      const get = Effect.map(cache.get, Redacted.value)
      yield* Effect.forkChild(get, { startImmediately: true })
      yield* TestClock.adjust("1 second")
      yield* TestClock.adjust("54 minutes")
      assert.strictEqual(yield* get, "t1")
      assert.strictEqual(state.calls, 1)
      yield* TestClock.adjust("61 seconds")
      assert.deepStrictEqual(yield* together(get, 100), Array(100).fill("t1"))
      yield* TestClock.adjust("1 second")
      assert.strictEqual(state.calls, 2)
      assert.strictEqual(yield* get, "t2")
    })
  )

  it.effect("serves the old token while replacing it fails, trying every ten seconds, and fails once it expires", () =>
    Effect.gen(function* () {
      const { state, acquire } = service()
      const cache = yield* makeTokenCache(acquire)
      yield* Effect.forkChild(cache.get, { startImmediately: true })
      yield* TestClock.adjust("1 second")
      state.broken = true
      yield* TestClock.adjust("56 minutes")
      for (let second = 0; second < 60; second++) {
        assert.strictEqual(Redacted.value(yield* cache.get), "t1")
        yield* TestClock.adjust("1 second")
      }
      assert.strictEqual(state.calls, 7)
      yield* TestClock.adjust("3 minutes")
      const calls = yield* Effect.forkChild(together(Effect.exit(cache.get), 1000), { startImmediately: true })
      yield* TestClock.adjust("1 second")
      assert.isTrue((yield* Fiber.join(calls)).every(Exit.isFailure))
      assert.strictEqual(state.calls, 8)

      state.broken = false
      const healed = yield* Effect.forkChild(cache.get, { startImmediately: true })
      yield* TestClock.adjust("1 second")
      assert.strictEqual(Redacted.value(yield* Fiber.join(healed)), "t9")
    })
  )

  it.effect("goes on for the others when the caller who began it leaves", () =>
    Effect.gen(function* () {
      const { state, acquire } = service()
      const cache = yield* makeTokenCache(acquire)
      const first = yield* Effect.forkChild(cache.get, { startImmediately: true })
      const second = yield* Effect.forkChild(cache.get, { startImmediately: true })
      yield* Fiber.interrupt(first)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(Redacted.value(yield* Fiber.join(second)), "t1")
      assert.strictEqual(state.calls, 1)
    })
  )

  it.effect("replaces a refused token once for all who were refused, and never a newer one", () =>
    Effect.gen(function* () {
      const { state, acquire } = service()
      const cache = yield* makeTokenCache(acquire)
      yield* Effect.forkChild(cache.get, { startImmediately: true })
      yield* TestClock.adjust("1 second")
      const refused = bearer(yield* cache.get)
      const refreshes = yield* Effect.forkChild(together(cache.refresh(refused), 1000), { startImmediately: true })
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(refreshes)
      yield* cache.refresh(refused)
      assert.strictEqual(state.calls, 2)
      assert.strictEqual(Redacted.value(yield* cache.get), "t2")
    })
  )

  it.effect("asks once in ten seconds, however often a cloud refuses what one caller asks", () =>
    Effect.gen(function* () {
      const { state, acquire } = service()
      const cache = yield* makeTokenCache(acquire)
      yield* Effect.forkChild(cache.get, { startImmediately: true })
      yield* TestClock.adjust("1 second")
      // Every token is refused, and for half a minute the service has none.
      const refusing = Effect.flatMap(cache.get, (token) => Effect.ignore(cache.refresh(bearer(token))))
      for (let second = 0; second < 60; second++) {
        state.broken = second < 30
        const all = yield* Effect.forkChild(together(refusing, 20), { startImmediately: true })
        yield* TestClock.adjust("1 second")
        yield* Fiber.join(all)
        assert.isDefined(yield* cache.get, "others have a token all the time")
      }
      assert.isAtMost(state.calls, 8)
    })
  )

  it.effect("keeps a short-lived token for half its life before replacing it", () =>
    Effect.gen(function* () {
      const { state, acquire } = service(60_000)
      const cache = yield* makeTokenCache(acquire)
      yield* Effect.forkChild(cache.get, { startImmediately: true })
      yield* TestClock.adjust("29 seconds")
      yield* cache.get
      assert.strictEqual(state.calls, 1)
      yield* TestClock.adjust("3 seconds")
      yield* cache.get
      yield* TestClock.adjust("1 second")
      assert.strictEqual(state.calls, 2)
    })
  )

  it.effect("gives up on a token service that does not answer", () =>
    Effect.gen(function* () {
      const never = yield* Deferred.make<never>()
      const cache = yield* makeTokenCache(Deferred.await(never))
      const call = yield* Effect.forkChild(Effect.flip(cache.get), { startImmediately: true })
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual((yield* Fiber.join(call))._tag, "CredentialError")
    })
  )
})
