/** What a process has held that is gone, in a Redis that others share. */
import { assert, it } from "@effect/vitest"
import { Context, Duration, Effect, Layer } from "effect"
import * as Redis from "effect/persistence/Redis"
import { TestClock } from "effect/testing"
import { createClient } from "redis"
import { Ledger } from "../../src/limits/Ledger.ts"
import { makeRedisLedger } from "../../src/limits/redisLedger.ts"
import { layerRedis } from "../../src/limits/redisStore.ts"
import { hasOwnRedis, startRedis } from "./redis.ts"

const account = { name: "a", keep: Duration.days(1) }
const holdOf = (id: string, amount: number) => ({
  id,
  demands: [{ account, limit: 10, amount, least: amount }],
  lease: Duration.minutes(16)
})

it.live.skipIf(!hasOwnRedis)("is free for others once it is silent; a late settlement still counts, once", () =>
  Effect.gen(function* () {
    const { url } = yield* Effect.acquireRelease(
      Effect.promise(() => startRedis()),
      ({ stop }) => Effect.promise(stop)
    )
    const ledger = Effect.map(Layer.build(Layer.fresh(layerRedis(url))), (built) => Context.get(built, Ledger))
    const [one, other] = yield* Effect.all([ledger, ledger])
    assert.isTrue((yield* one.hold(holdOf("one", 10))).granted)
    assert.isFalse((yield* other.hold(holdOf("other", 10))).granted)
    yield* Effect.promise(async () => {
      const client = await createClient({ url }).connect()
      const processes = await client.keys("gateway:process:*")
      assert.lengthOf(processes, 1)
      for (const name of processes) {
        assert.closeTo(await client.ttl(name), 25, 5)
        await client.del(name)
      }
      client.destroy()
    })
    assert.isTrue((yield* other.hold(holdOf("other", 10))).granted)
    const late = one.settle("one", [{ account, amount: 4 }])
    yield* Effect.andThen(late, late)
    assert.deepStrictEqual(yield* one.spent([account.name]), [4])
    assert.isFalse((yield* one.hold(holdOf("more", 1))).granted)
  })
)

it.effect("a process says that it runs while it holds something", () =>
  Effect.gen(function* () {
    const sent: Array<string> = []
    const redis = {
      send: (command: string, name: string) =>
        Effect.sync(() => {
          if (command === "SET" && name.startsWith("gateway:process:")) sent.push(name)
          return "epoch"
        }),
      eval: () => () => Effect.succeed(["1", "0", "0", "1"])
    }
    const context = yield* Effect.provideService(makeRedisLedger(), Redis.Redis, redis as never)
    const { hold, settle } = Context.get(context, Ledger)
    yield* TestClock.adjust("20 seconds")
    assert.lengthOf(sent, 0)
    yield* hold(holdOf("one", 1))
    yield* TestClock.adjust("20 seconds")
    assert.lengthOf(sent, 4)
    yield* settle("one", [{ account, amount: 1 }])
    yield* TestClock.adjust("20 seconds")
    assert.deepStrictEqual([sent.length, new Set(sent).size], [4, 1])
  })
)
