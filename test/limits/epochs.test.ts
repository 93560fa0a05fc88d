/** Answers of a Redis that comes late, beside what real ones show (outage.test.ts). */
import { assert, it } from "@effect/vitest"
import { Context, Deferred, Duration, Effect, Fiber } from "effect"
import * as Redis from "effect/persistence/Redis"
import { Ledger } from "../../src/limits/Ledger.ts"
import { makeRedisLedger } from "../../src/limits/redisLedger.ts"
import { holdScript, settleScript, strange } from "../../src/limits/redisScripts.ts"

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
