import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Logger, Metric, Schedule, Scope } from "effect"
import { TestClock } from "effect/testing"
import { createClient } from "redis"
import { Ledger, LedgerError } from "../../src/limits/Ledger.ts"
import { Quota } from "../../src/limits/Quota.ts"
import { RateLimit } from "../../src/limits/RateLimit.ts"
import type { RedisLedgerOptions } from "../../src/limits/redisLedger.ts"
import { layerRedis } from "../../src/limits/redisStore.ts"
import { RefusedKeys } from "../../src/limits/replicas.ts"
import { hasOwnRedis, startRedis } from "./redis.ts"
import { callerWith, usedBy, whole } from "./support.ts"

const collect = (lines: Array<string>) => Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])

const stores = (url: string, lines: Array<string>, options?: RedisLedgerOptions) =>
  Layer.mergeAll(Quota.layer("20 minutes"), RateLimit.layer("15 minutes")).pipe(
    Layer.provideMerge(layerRedis(url, options)),
    Layer.provideMerge(collect(lines))
  )

const redisServer = Effect.acquireRelease(
  Effect.promise(() => startRedis()),
  (redis) => Effect.promise(redis.stop)
)

/** `gateway_access_store_up` of each use. */
const storeUp = Effect.map(Metric.snapshot, (metrics) =>
  Object.fromEntries(
    metrics
      .filter(({ id }) => id === "gateway_access_store_up")
      .map(({ attributes, state }) => [attributes?.use, "value" in state ? Number(state.value) : undefined])
  )
)

const asking = ({ spent }: Ledger["Service"]) =>
  Effect.forever(Effect.andThen(Effect.ignore(spent(["a"])), Effect.sleep("10 millis")))

/** How often a Redis was found empty. */
const resets = Effect.map(Metric.snapshot, (metrics) => {
  const counter = metrics.find(({ id }) => id === "gateway_access_store_resets_total")
  return counter !== undefined && "count" in counter.state ? Number(counter.state.count) : 0
})

/** A way to a server, whose connections break when a test says so. */
const breakable = async (to: number) => {
  let atReply = false
  const open = new Set<Socket>()
  const callers = new Set<Socket>()
  const breakNow = () => {
    for (const socket of open) socket.destroy()
  }
  const server = createServer((caller) => {
    const redis = connect(to, "127.0.0.1")
    callers.add(caller.on("close", () => callers.delete(caller)))
    for (const [one, other] of [
      [caller, redis],
      [redis, caller]
    ] as const) {
      open.add(one)
      one
        .on("error", () => {})
        .on("close", () => {
          open.delete(one)
          other.destroy()
        })
    }
    caller.on("data", (bytes) => redis.write(bytes))
    redis.on("data", (bytes) => {
      if (!atReply) return caller.write(bytes)
      atReply = false
      return breakNow()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    port: (server.address() as AddressInfo).port,
    breakNow,
    /** Says what the server does not. */
    say: (bytes: string) => {
      for (const caller of callers) caller.write(bytes)
    },
    /** At the next thing that the server says, which is lost. */
    breakAtReply: () => {
      atReply = true
    },
    /** Whether that was said. */
    broke: () => !atReply,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        breakNow()
      })
  }
}

const soon = Effect.retry(Schedule.spaced("50 millis").pipe(Schedule.upTo({ times: 200 })))

it.effect("what a store may hold of a stream is given back for as long as it is held, and no longer", () => {
  let tries = 0
  const lost = Effect.suspend(() => {
    tries++
    return new LedgerError({ message: "lost", doubtful: true })
  })
  const none = Effect.succeed([])
  const ledger = { hold: () => lost, settle: () => lost, raise: () => lost, spent: () => none, take: () => lost }
  return Effect.gen(function* () {
    const limit = yield* RateLimit
    yield* Effect.scoped(limit.stream(callerWith({ streams: 1 })))
    yield* TestClock.adjust("1 minute")
    assert.isAbove(tries, 10)
    yield* TestClock.adjust("15 minutes")
    const before = tries
    yield* TestClock.adjust("15 minutes")
    assert.strictEqual(tries, before)
  }).pipe(
    Effect.provide(RateLimit.layer("15 minutes")),
    Effect.provideService(Ledger, { ...ledger, alarms: new Set<Effect.Effect<void>>() }),
    Effect.provide(collect([]))
  )
})

/** A connection to a Redis that the test breaks, until the scope closes. */
const breakableTo = (url: string) =>
  Effect.acquireRelease(
    Effect.promise(() => breakable(Number(new URL(url).port))),
    ({ stop }) => Effect.promise(stop)
  )

describe.skipIf(!hasOwnRedis)("Redis lost", () => {
  it.live("quota fails closed, limits count locally, running requests end", () =>
    Effect.gen(function* () {
      const redis = yield* redisServer
      const port = Number(new URL(redis.url).port)
      const lines: Array<string> = []
      yield* Effect.gen(function* () {
        const quota = yield* Quota
        const limit = yield* RateLimit
        assert.deepStrictEqual(yield* storeUp, { quota: 1, "rate-limit": 1, streams: 1, use: 1 })
        const key = callerWith({ monthlyTokens: 1000, requestsPerMinute: 2, streams: 1, use: 1 })
        const running = yield* quota.reserve(key, whole(100))
        yield* limit.take(key)
        redis.process?.kill("SIGKILL")
        yield* Effect.promise(redis.stop)

        const error = yield* Effect.flip(Effect.scoped(quota.reserve(key, whole(100))))
        assert.deepStrictEqual([error.reason, error.retryAfter], ["overloaded", 5])
        assert.strictEqual(error.code, "quota-store")
        yield* limit.take(key)
        yield* limit.take(key)
        assert.strictEqual((yield* Effect.flip(limit.take(key))).reason, "rate-limit")
        yield* Effect.scoped(Effect.andThen(limit.stream(key), Effect.flip(Effect.scoped(limit.stream(key)))))
        running.use(40)
        yield* running.settle
        assert.strictEqual(lines.filter((line) => line.includes("is lost")).length, 3)
        assert.deepStrictEqual(yield* storeUp, { quota: 0, "rate-limit": 0, streams: 0, use: 1 })
        const shown = JSON.stringify(yield* Metric.snapshot)
        assert.include(shown, "gateway_access_store_failures_total")

        yield* Effect.acquireRelease(
          Effect.promise(() => startRedis(port)),
          (again) => Effect.promise(again.stop)
        )
        yield* soon(Effect.scoped(quota.reserve(key, whole(100))))
        yield* limit.take(key)
        yield* limit.take(callerWith({ requestsPerMinute: 2 }))
        const back = lines.filter((line) => line.includes("is back")).length
        assert.isTrue(back > 0 && back <= 3, `${back}: once for each use that was lost`)
      }).pipe(Effect.provide(stores(redis.url, lines)))
    })
  )

  it.live("a Redis that is back is known for every use without a request", () =>
    Effect.gen(function* () {
      const redis = yield* redisServer
      const port = Number(new URL(redis.url).port)
      yield* Effect.gen(function* () {
        const { note, reserve } = yield* Quota
        const { take } = yield* RateLimit
        const key = callerWith({ monthlyTokens: 1000, requestsPerMinute: 2 })
        yield* Effect.promise(redis.stop)
        yield* Effect.flip(Effect.scoped(reserve(key, whole(100))))
        yield* take(key)
        note(key, Date.now(), 0, 0)
        yield* soon(Effect.filterOrFail(storeUp, ({ quota, use }) => quota === 0 && use === 0))
        yield* Effect.acquireRelease(
          Effect.promise(() => startRedis(port)),
          (again) => Effect.promise(again.stop)
        )
        yield* soon(Effect.filterOrFail(storeUp, (up) => Object.values(up).every((value) => value === 1)))
      }).pipe(Effect.provide(stores(redis.url, [])))
    })
  )

  it.live(
    "a Redis that hangs counts as lost within two seconds, and what was used is charged when it answers again",
    () =>
      Effect.gen(function* () {
        const redis = yield* redisServer
        yield* Effect.gen(function* () {
          const quota = yield* Quota
          const key = callerWith({ monthlyTokens: 1000 })
          const running = yield* quota.reserve(key, whole(100))
          redis.process?.kill("SIGSTOP")
          const start = performance.now()
          const error = yield* Effect.flip(Effect.scoped(quota.reserve(key, whole(100))))
          assert.strictEqual(error.reason, "overloaded")
          running.use(40)
          yield* running.settle
          assert.isBelow(performance.now() - start, 8000)
          // Whether the slot was taken before the silence nobody knows: it comes back.
          const streaming = callerWith({ streams: 1 })
          const limit = yield* RateLimit
          yield* Effect.scoped(limit.stream(streaming))
          redis.process?.kill("SIGCONT")
          yield* soon(Effect.filterOrFail(usedBy(key), (used) => used === 40))
          yield* soon(Effect.scoped(limit.stream(streaming)))
          // The retries may have reached the server more than once.
          yield* Effect.sleep("300 millis")
          assert.strictEqual(yield* usedBy(key), 40)
        }).pipe(Effect.provide(stores(redis.url, [])))
      })
  )

  it.live("a Redis that hangs keeps no process from its end, while it serves or connects", () =>
    Effect.gen(function* () {
      const redis = yield* redisServer
      const silent = yield* Effect.acquireRelease(
        Effect.callback<Server>((resume) => {
          const server = createServer().listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
        }),
        (server) => Effect.sync(() => server.close())
      )
      for (const url of [redis.url, `redis://127.0.0.1:${Object(silent.address()).port}`]) {
        const serving = yield* Effect.forkChild(Effect.provide(Effect.flatMap(Ledger, asking), layerRedis(url)))
        yield* Effect.sleep("300 millis")
        redis.process?.kill("SIGSTOP")
        yield* Effect.sleep("300 millis")
        const start = performance.now()
        yield* Fiber.interrupt(serving)
        assert.isBelow(performance.now() - start, 3000)
      }
    })
  )

  it.live("what a broken connection leaves unknown holds nothing, and what it could not give back comes back", () =>
    Effect.gen(function* () {
      const redis = yield* redisServer
      const wire = yield* breakableTo(redis.url)
      const direct = yield* Effect.acquireRelease(
        Effect.promise(() => createClient({ url: redis.url }).connect()),
        (client) => Effect.promise(() => client.close())
      )
      /** What requests of the key hold. */
      const held = (name: string) => Effect.promise(async () => Number(await direct.hGet(`gateway:{${name}}`, "held")))
      const becomes = (name: string, amount: number) =>
        soon(Effect.filterOrFail(held(name), (found) => found === amount))
      yield* Effect.gen(function* () {
        const quota = yield* Quota
        const limit = yield* RateLimit
        const { spent } = yield* Ledger
        const month = new Date().toISOString().slice(0, 7)
        const key = callerWith({ monthlyTokens: 1000, streams: 1 })
        const streams = `${key.id}:streams`
        const tokens = `${key.id}:${month}`

        // The first one loads the scripts.
        yield* Effect.scoped(limit.stream(key))
        // Redis has done it, and its answer is lost.
        for (const lost of [limit.stream(key), Effect.ignore(quota.reserve(key, whole(100)))]) {
          yield* Effect.scoped(Effect.andThen(Effect.sync(wire.breakAtReply), lost))
          assert.isTrue(wire.broke())
          yield* becomes(streams, 0)
          yield* becomes(tokens, 0)
          yield* soon(spent(["x"]))
        }

        // What gives it back does not reach Redis.
        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* limit.stream(key)
            yield* quota.reserve(key, whole(100))
            assert.deepStrictEqual([yield* held(streams), yield* held(tokens)], [1, 100])
            wire.breakNow()
          })
        )
        yield* becomes(streams, 0)
        yield* becomes(tokens, 0)
      }).pipe(Effect.provide(stores(`redis://127.0.0.1:${wire.port}`, [])))
    })
  )

  it.live("answers that cannot be read any more begin a new connection", () =>
    Effect.gen(function* () {
      const redis = yield* redisServer
      const wire = yield* breakableTo(redis.url)
      yield* Effect.gen(function* () {
        const { reserve } = yield* Quota
        const use = Effect.scoped(reserve(callerWith({ monthlyTokens: 1000 }), whole(100)))
        yield* use
        // A text that takes in all that comes after it.
        wire.say("$99999999999\r\n")
        assert.strictEqual((yield* Effect.flip(use)).code, "quota-store")
        yield* soon(use)
      }).pipe(Effect.provide(stores(`redis://127.0.0.1:${wire.port}`, [])))
    })
  )

  it.live("a Redis that comes back empty grants no budget again: what was seen is written back, and it is said", () =>
    Effect.gen(function* () {
      const redis = yield* redisServer
      const lines: Array<string> = []
      const others: Array<string> = []
      const flush = Effect.acquireUseRelease(
        Effect.promise(() => createClient({ url: redis.url }).connect()),
        (client) => Effect.promise(() => client.flushAll()),
        (client) => Effect.sync(() => client.destroy())
      )
      const key = callerWith({ monthlyTokens: 1000, dailyTokens: 900 })
      const use = (tokens: number, caller = key) =>
        Effect.flatMap(Quota, ({ reserve }) =>
          Effect.scoped(Effect.map(reserve(caller, whole(tokens)), (reservation) => reservation.use(tokens)))
        )
      const marks: Array<string> = []
      const inForce = (epoch: string) => Effect.sync(() => void marks.push(epoch))
      const refused = Effect.flatMap(RefusedKeys, ({ list }) => list)
      const gateway = (lines: Array<string>, before?: string) =>
        Effect.map(Layer.build(Layer.fresh(stores(redis.url, lines, { before, inForce }))), (context) =>
          Effect.provide(context)
        )
      const first = yield* gateway(lines)
      const second = yield* gateway(others)
      yield* first(use(500))
      yield* second(use(200))
      yield* second(Effect.flatMap(RefusedKeys, ({ add }) => add(["key_1"])))
      yield* first(refused)
      const resetsBefore = yield* resets
      const scope = yield* Scope.make()
      const { reserve } = yield* first(Quota)
      const running = yield* Scope.provide(reserve(key, whole(100)), scope)
      running.use(50)

      yield* flush
      // The second has seen 700; the first 700 and the request that runs.
      const full = yield* Effect.flip(second(use(300)))
      assert.strictEqual(full.reason, "quota")
      yield* first(Scope.close(scope, Exit.void))
      assert.strictEqual(yield* second(usedBy(key)), 750)
      assert.strictEqual(yield* first(usedBy(key)), 750)
      assert.deepStrictEqual([...(yield* second(refused))], ["key_1"])
      for (const said of [lines, others]) {
        assert.lengthOf(
          said.filter((line) => line.includes("came back without the counts")),
          1
        )
      }
      assert.strictEqual((yield* resets) - resetsBefore, 2)
      assert.strictEqual(new Set(marks).size, 2)

      // Nobody was there when it was emptied: the mark tells.
      const later: Array<string> = []
      yield* gateway(later, marks.at(-1))
      assert.lengthOf(later, 0)
      yield* flush
      yield* gateway(later, marks.at(-1))
      assert.include(later.join("\n"), "usage restore")
    }).pipe(Effect.scoped)
  )

  it.live("a gateway that is alone notices each time that its Redis comes back empty", () =>
    Effect.gen(function* () {
      const redis = yield* redisServer
      const lines: Array<string> = []
      const key = callerWith({ monthlyTokens: 1000 })
      const resetsBefore = yield* resets
      yield* Effect.gen(function* () {
        const { reserve } = yield* Quota
        const client = yield* Effect.acquireRelease(
          Effect.promise(() => createClient({ url: redis.url }).connect()),
          (client) => Effect.sync(() => client.destroy())
        )
        yield* Effect.scoped(Effect.map(reserve(key, whole(600)), (reservation) => reservation.use(600)))
        for (const times of [1, 2]) {
          yield* Effect.promise(() => client.flushAll())
          const { reason } = yield* Effect.flip(Effect.scoped(reserve(key, whole(600))))
          assert.strictEqual(reason, "quota")
          assert.strictEqual((yield* resets) - resetsBefore, times)
        }
      }).pipe(Effect.scoped, Effect.provide(Layer.fresh(stores(redis.url, lines))))
    })
  )

  it.live("says at the start that Redis cannot be reached, without its password", () =>
    Effect.gen(function* () {
      const redis = yield* redisServer
      yield* Effect.promise(redis.stop)
      const url = redis.url.replace("redis://", "redis://user:hunter2@")
      const error = yield* Effect.flip(Effect.provide(Ledger, layerRedis(url)))
      assert.include(error.message, "GATEWAY_REDIS_URL")
      assert.notInclude(error.message, "hunter2")
    })
  )
})
