/** Answers of a Redis that come late or that are none, beside what real ones show (outage.test.ts). */
import { assert, it } from "@effect/vitest"
import { Context, Deferred, Duration, Effect, Fiber, Layer, Logger } from "effect"
import * as Redis from "effect/persistence/Redis"
import { Ledger } from "../../src/limits/Ledger.ts"
import { Quota } from "../../src/limits/Quota.ts"
import { RateLimit } from "../../src/limits/RateLimit.ts"
import { makeRedisLedger } from "../../src/limits/redisLedger.ts"
import { holdScript, settleScript, strange } from "../../src/limits/redisScripts.ts"
import { callerWith, whole } from "./support.ts"

it.effect("what was held before the counts were lost is held again, also where its answer comes after that", () =>
  Effect.gen(function* () {
    const late = yield* Deferred.make<ReadonlyArray<string>>()
    const done: Array<string> = []
    let epoch = "first"
    const answer = (what: string, at: string) => {
      if (at !== epoch) return [strange]
      done.push(`${what} in the ${at}`)
      return ["1", "0", "0", "1"]
    }
    const run = (script: unknown, at: string, first: unknown) => {
      if (script === settleScript) return Effect.sync(() => answer(`settle ${first}`, at))
      if (script !== holdScript) return Effect.succeed(["1"])
      const { id } = Object(first)
      const isLate = id === "slow" && epoch === "first"
      const answered = Effect.sync(() => answer(`hold ${id}`, at))
      return isLate ? Effect.andThen(answered, Deferred.await(late)) : answered
    }
    const redis = {
      send: (command: string) => Effect.sync(() => (command === "GET" ? epoch : "OK")),
      eval:
        (script: unknown) =>
        (...[at, first]: ReadonlyArray<string>) =>
          run(script, at ?? "", first)
    }
    const context = yield* Effect.provideService(makeRedisLedger(), Redis.Redis, redis as never)
    const { hold, settle } = Context.get(context, Ledger)
    const account = { name: "a", keep: Duration.days(1) }
    const one = (id: string) => ({
      ...{ id, lease: Duration.minutes(1) },
      demands: [{ account, limit: 9, amount: 1, least: 1 }]
    })
    const slow = yield* Effect.forkChild(hold(one("slow")), { startImmediately: true })
    epoch = "second"
    yield* hold(one("quick"))
    yield* Deferred.succeed(late, ["1", "0", "0", "1"])
    yield* Fiber.join(slow)
    yield* settle("slow", [{ account, amount: 5 }])
    assert.deepStrictEqual(done, [
      "hold slow in the first",
      "hold quick in the second",
      "hold slow in the second",
      "settle slow in the second"
    ])
  })
)

it.live.each([[null], [1], ["1"], [[]], [["1", ["0"], "0", "1"]], [["1", "0", "x", "1"]], [["1", "0", "0", "1", "0"]]])(
  "what no script answers is a store that is lost: %j",
  (answer) =>
    Effect.gen(function* () {
      const redis = { send: () => Effect.succeed("epoch"), eval: () => () => Effect.succeed(answer) }
      const context = yield* Effect.provideService(makeRedisLedger(), Redis.Redis, redis as never)
      const ledger = Context.get(context, Ledger)
      const demands = [{ account: { name: "a", keep: Duration.days(1) }, limit: 9, amount: 1, least: 1 }]
      assert.isTrue((yield* Effect.flip(ledger.take(demands))).doubtful)
      const given = Layer.mergeAll(RateLimit.layer("1 minute"), Quota.layer("1 minute")).pipe(
        Layer.provide(Layer.succeed(Ledger, ledger)),
        Layer.provide(Logger.layer([]))
      )
      yield* Effect.gen(function* () {
        const key = callerWith({ monthlyTokens: 10, requestsPerMinute: 1 })
        const { take } = yield* RateLimit
        yield* take(key)
        assert.strictEqual((yield* Effect.flip(take(key))).reason, "rate-limit")
        const { reserve } = yield* Quota
        assert.strictEqual((yield* Effect.flip(Effect.scoped(reserve(key, whole(1))))).code, "quota-store")
      }).pipe(Effect.provide(given))
    })
)
