import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Metric } from "effect"
import { HttpClientRequest, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { GatewayError } from "../../src/catalog/GatewayError.ts"
import { makeBreaker } from "../../src/cloud/breaker.ts"

const down = new GatewayError({ reason: "upstream", message: "down" })
const refused = new GatewayError({ reason: "invalid", message: "refused" })
const answered = HttpClientResponse.fromWeb(HttpClientRequest.get("http://x"), new Response())

const breaker = Effect.map(makeBreaker, (guarded) => {
  let asked = 0
  const call = (outcome: Effect.Effect<typeof answered, GatewayError>) =>
    Effect.exit(
      Effect.suspend(() =>
        guarded(
          "vertex/x",
          Effect.suspend(() => {
            asked++
            return outcome
          })
        )
      )
    )
  const fail = (times: number) => Effect.repeat(call(Effect.fail(down)), { times: times - 1 })
  const succeed = call(Effect.succeed(answered))
  /** A call is not let through. */
  const isOpen = (why?: string) => {
    const before = asked
    return Effect.map(succeed, (exit) => {
      assert.isTrue(Exit.isFailure(exit), why)
      assert.strictEqual(asked, before, why)
    })
  }
  return { call, fail, succeed, isOpen }
})

describe("a circuit", () => {
  it.effect("opens after ten failures in a row, and not before", () =>
    Effect.gen(function* () {
      const { fail, isOpen, succeed } = yield* breaker
      for (let time = 0; time < 3; time++) {
        yield* fail(9)
        assert.isTrue(Exit.isSuccess(yield* succeed))
      }
      yield* fail(10)
      yield* isOpen("an open circuit lets nothing through")
    })
  )

  it.effect("is tried with one call after five seconds, and closes if that goes well", () =>
    Effect.gen(function* () {
      const { fail, isOpen, succeed } = yield* breaker
      yield* fail(10)
      yield* TestClock.adjust("5 seconds")
      assert.isTrue(Exit.isSuccess(yield* succeed))
      yield* fail(9)
      assert.isTrue(Exit.isSuccess(yield* succeed), "what was counted before it opened is forgotten")
      yield* fail(10)
      yield* TestClock.adjust("5 seconds")
      yield* fail(1)
      yield* isOpen("a trial that fails opens it again")
    })
  )

  it.effect("counts neither refusals nor calls that were given up", () =>
    Effect.gen(function* () {
      const { call, fail, succeed } = yield* breaker
      yield* fail(9)
      yield* call(Effect.fail(refused))
      yield* call(Effect.interrupt)
      yield* call(Effect.succeed({ ...answered, status: 504 }))
      assert.isTrue(Exit.isSuccess(yield* succeed))
      for (const status of [400, 429, 504]) {
        yield* Effect.repeat(call(Effect.succeed({ ...answered, status })), { times: 20 })
      }
      assert.isTrue(Exit.isSuccess(yield* succeed))
    })
  )

  it.effect("is tried by the next caller when the one that tried it has left, or was refused", () =>
    Effect.gen(function* () {
      for (const outcome of [Effect.interrupt, Effect.fail(refused), Effect.succeed({ ...answered, status: 504 })]) {
        const { call, fail, succeed } = yield* breaker
        yield* fail(10)
        yield* TestClock.adjust("5 seconds")
        yield* call(outcome)
        assert.isTrue(Exit.isSuccess(yield* succeed))
        assert.isTrue(Exit.isSuccess(yield* succeed))
      }
    })
  )

  it.effect("is tried by another call every five seconds while the one that tried it has no answer", () =>
    Effect.gen(function* () {
      const { call, fail, isOpen, succeed } = yield* breaker
      yield* fail(10)
      yield* TestClock.adjust("5 seconds")
      const slow = yield* Effect.forkChild(call(Effect.never), { startImmediately: true })
      yield* TestClock.adjust("4 seconds")
      yield* isOpen("one call tries it")
      yield* TestClock.adjust("1 second")
      assert.isTrue(Exit.isSuccess(yield* succeed))
      yield* Fiber.interrupt(slow)
      assert.isTrue(Exit.isSuccess(yield* succeed))
    })
  )

  it.effect("counts calls that were under way when the first one failed", () =>
    Effect.gen(function* () {
      const { call, isOpen } = yield* breaker
      const gate = yield* Deferred.make<typeof answered, GatewayError>()
      const waiting = yield* Effect.forEach(Array.from({ length: 10 }), () =>
        Effect.forkChild(call(Deferred.await(gate)), { startImmediately: true })
      )
      yield* Deferred.fail(gate, down)
      yield* Fiber.awaitAll(waiting)
      yield* isOpen("ten at once open it as well")
    })
  )

  it.effect("is not closed by what began before it opened", () =>
    Effect.gen(function* () {
      const { call, fail, isOpen } = yield* breaker
      const gate = yield* Deferred.make<typeof answered>()
      const late = yield* Effect.forkChild(call(Deferred.await(gate)), { startImmediately: true })
      yield* fail(10)
      yield* Deferred.succeed(gate, answered)
      assert.isTrue(Exit.isSuccess(yield* Fiber.join(late)))
      yield* isOpen()
    })
  )

  it.effect("is told by time, also when nothing more is asked", () =>
    Effect.gen(function* () {
      const told = () =>
        Metric.snapshotUnsafe(Context.empty()).flatMap(({ attributes, id, state }) =>
          id === "gateway_breaker_open" && attributes?.circuit === "vertex/x" && "value" in state ? [state.value] : []
        )
      const { call, fail, succeed } = yield* breaker
      yield* succeed
      assert.deepStrictEqual(told(), [0])
      yield* fail(10)
      assert.deepStrictEqual(told(), [1])
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(told(), [0])
      const gate = yield* Deferred.make<typeof answered>()
      const trial = yield* Effect.forkChild(call(Deferred.await(gate)), { startImmediately: true })
      assert.deepStrictEqual(told(), [1])
      yield* Deferred.succeed(gate, answered)
      yield* Fiber.join(trial)
      assert.deepStrictEqual(told(), [0])
    })
  )
})
