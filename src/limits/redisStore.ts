/** What replicas share in Redis (`GATEWAY_REDIS_URL`): the ledger, keys that are refused, and the board of their states. */
import { Context, Duration, Effect, Layer } from "effect"
import * as Redis from "effect/persistence/Redis"
import { type Account, Ledger, LedgerError } from "./Ledger.ts"
import { bounded, layerConnection, reasonOf } from "./redisConnection.ts"
import { makeRedisLedger, type RedisLedgerOptions } from "./redisLedger.ts"
import { boardName } from "./redisScripts.ts"
import { boardMemory, StatusBoard } from "./replicas.ts"

/** Each process has a key of its own, which expires, and its name in a set. No time of a process's own counts: clocks differ. */
const makeStatusBoard = Effect.map(Redis.Redis, (redis) => {
  const send = <A>(command: string, ...args: ReadonlyArray<string>) => bounded(redis.send<A>(command, ...args))
  return StatusBoard.of({
    post: Effect.fnUntraced(function* (id: string, text: () => string) {
      if ((yield* send<number>("EXISTS", `${boardName}:watched`)) === 0) return false
      yield* send("SET", `${boardName}:of:${id}`, text(), "PX", String(boardMemory))
      yield* send("ZADD", boardName, "0", id)
      yield* send("PEXPIRE", boardName, String(boardMemory))
      return true
    }),
    read: Effect.gen(function* () {
      yield* send("SET", `${boardName}:watched`, "1", "PX", String(boardMemory))
      const ids = yield* send<ReadonlyArray<string>>("ZRANGE", boardName, "0", "-1")
      const texts = yield* Effect.forEach(ids, (id) => send<string | null>("GET", `${boardName}:of:${id}`), {
        concurrency: 16
      })
      const gone = ids.filter((_, at) => texts[at] === null)
      if (gone.length > 0) yield* send("ZREM", boardName, ...gone)
      return texts.filter((text) => text !== null)
    })
  })
})

const unusable = (what: string) => (error: LedgerError | Redis.RedisError) =>
  error instanceof LedgerError
    ? error
    : new LedgerError({ message: `cannot ${what} the Redis at GATEWAY_REDIS_URL: ${reasonOf(error)}` })

/** What `doctor` asks of a Redis: how fast it answers (milliseconds), which it is, how it evicts, and whether it runs the scripts. */
export const probeRedis = (url: string) =>
  Effect.gen(function* () {
    const redis = yield* Redis.Redis
    const startedAt = performance.now()
    yield* redis.send("PING")
    const latency = performance.now() - startedAt
    // Not among the commands that the gateway's user needs.
    const info = String(yield* Effect.orElseSucceed(redis.send("INFO"), () => ""))
    const field = (name: string) => new RegExp(`^${name}:(\\S+)`, "m").exec(info)?.[1]
    const account: Account = { name: `probe:${crypto.randomUUID()}`, keep: Duration.seconds(1) }
    const { hold, settle } = Context.get(yield* makeRedisLedger(), Ledger)
    const demands = [{ account, limit: 1, amount: 1, least: 1 }]
    yield* hold({ id: "probe", demands, lease: Duration.seconds(1) })
    yield* settle("probe", [{ account, amount: 0 }])
    return {
      latency,
      version: field("redis_version") ?? "of a version that it does not tell",
      evicts: field("maxmemory_policy") ?? "noeviction"
    }
  }).pipe(Effect.scoped, Effect.provide(layerConnection(url)), Effect.mapError(unusable("use")))

/** The stores in the Redis at `url`. */
export const layerRedis = (url: string, options?: RedisLedgerOptions): Layer.Layer<Ledger | StatusBoard, LedgerError> =>
  Layer.merge(Layer.effectContext(makeRedisLedger(options)), Layer.effect(StatusBoard, makeStatusBoard)).pipe(
    Layer.provide(layerConnection(url)),
    Layer.catch((error) => Layer.effectContext(Effect.fail(unusable("connect to")(error))))
  )
