/**
 * Limits and quotas that replicas share in Redis (docs/decisions.md#limits-and-quotas). Each step is one Lua script, so it is
 * atomic there.
 *
 * An account is a hash: `spent`, `held` (the sum of the holds) and a field for each hold. A sorted set has the holds by the end
 * of their lease, on the server's clock.
 */

import * as NodeRedis from "@effect/platform-node/NodeRedis"
import { type Cause, Duration, Effect, Layer, References } from "effect"
import * as RateLimiter from "effect/persistence/RateLimiter"
import * as Redis from "effect/persistence/Redis"
import { type Account, type Hold, Ledger, LedgerError } from "./Ledger.ts"
import { storePatience } from "./outage.ts"

const prefix = "gateway:"
// The braces keep the two keys of an account in one slot of a cluster.
const keysOf = (account: Account) => [`${prefix}{${account.name}}`, `${prefix}{${account.name}}:leases`] as const

const holdScript = Redis.script(
  ({ account, amount, id, lease, limit }: Hold) => [
    ...keysOf(account),
    id,
    amount,
    limit,
    Math.ceil(Duration.toMillis(lease)),
    Math.ceil(Duration.toMillis(account.keep))
  ],
  {
    numberOfKeys: 2,
    lua: `
local id, amount, limit, lease, keep = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
-- A hold whose lease is over holds nothing, but stays known, so that a late settlement still counts, once.
for _, over in ipairs(redis.call("ZRANGEBYSCORE", KEYS[2], "-inf", now)) do
  redis.call("HINCRBY", KEYS[1], "held", 0 - tonumber(redis.call("HGET", KEYS[1], "hold:" .. over) or 0))
  redis.call("HSET", KEYS[1], "hold:" .. over, 0)
  redis.call("ZREM", KEYS[2], over)
end
local left = limit - tonumber(redis.call("HGET", KEYS[1], "spent") or 0) - tonumber(redis.call("HGET", KEYS[1], "held") or 0)
if amount > left then return { 0, math.max(0, left) } end
redis.call("HINCRBY", KEYS[1], "held", amount)
redis.call("HSET", KEYS[1], "hold:" .. id, amount)
redis.call("ZADD", KEYS[2], now + lease, id)
redis.call("PEXPIRE", KEYS[1], keep)
redis.call("PEXPIRE", KEYS[2], keep)
return { 1, left - amount }
`
  }
).withReturnType<readonly [granted: number, left: number]>()

const settleScript = Redis.script(
  (account: Account, id: string, spent: number) => [
    ...keysOf(account),
    id,
    spent,
    Math.ceil(Duration.toMillis(account.keep))
  ],
  {
    numberOfKeys: 2,
    lua: `
local held = redis.call("HGET", KEYS[1], "hold:" .. ARGV[1])
if not held then return 0 end
redis.call("HDEL", KEYS[1], "hold:" .. ARGV[1])
redis.call("ZREM", KEYS[2], ARGV[1])
-- A subtraction, because the minus sign makes "-0" of 0, which Redis refuses.
redis.call("HINCRBY", KEYS[1], "held", 0 - tonumber(held))
redis.call("HINCRBY", KEYS[1], "spent", ARGV[2])
redis.call("PEXPIRE", KEYS[1], ARGV[3])
return 1
`
  }
).withReturnType<number>()

const reasonOf = (error: Redis.RedisError | Cause.TimeoutError): string => {
  if (error._tag === "TimeoutError") return "no answer in time"
  return error.cause instanceof Error ? error.cause.message : "no connection"
}

const makeLedger = Effect.map(Redis.Redis, (redis) => {
  const hold = redis.eval(holdScript)
  const settle = redis.eval(settleScript)
  const bounded = <A>(effect: Effect.Effect<A, Redis.RedisError>) =>
    effect.pipe(
      Effect.timeout(storePatience),
      Effect.mapError((error) => new LedgerError({ message: `Redis: ${reasonOf(error)}` }))
    )
  return Ledger.of({
    hold: (request) => Effect.map(bounded(hold(request)), ([granted, left]) => ({ granted: granted === 1, left })),
    settle: (account, id, spent) => Effect.asVoid(bounded(settle(account, id, spent))),
    spent: (account) =>
      Effect.map(bounded(redis.send<string | null>("HGET", keysOf(account)[0], "spent")), (spent) => Number(spent ?? 0))
  })
})

/**
 * A connection that fails a command at once while Redis is away, and reconnects for as long as it takes. The layer fails when
 * Redis cannot be reached at the start.
 */
const layerConnection = (url: string): Layer.Layer<Redis.Redis | NodeRedis.NodeRedis, Redis.RedisError> =>
  Layer.suspend(() => {
    let connected = false
    return NodeRedis.layer({
      url,
      disableOfflineQueue: true,
      pingInterval: 5000,
      socket: {
        connectTimeout: 5000,
        // Notices a peer that vanished without closing; the ping keeps a quiet connection from looking like one.
        socketTimeout: 15_000,
        reconnectStrategy: (retries, cause) => (connected ? Math.min(2000, 50 * 2 ** Math.min(retries, 10)) : cause)
      }
    }).pipe(
      Layer.tap(() =>
        Effect.sync(() => {
          connected = true
        })
      ),
      // The client logs every attempt to reconnect; whoever uses it says once that Redis is lost.
      Layer.provide(Layer.succeed(References.MinimumLogLevel, "Error"))
    )
  })

/** What `doctor` asks of a Redis: how fast it answers (milliseconds), which it is, and whether it runs the scripts. */
export const probeRedis = (url: string) =>
  Effect.gen(function* () {
    const redis = yield* Redis.Redis
    const startedAt = performance.now()
    yield* redis.send("PING")
    const latency = performance.now() - startedAt
    const info = String(yield* redis.send("INFO", "server"))
    const { hold, settle } = yield* makeLedger
    const account: Account = { name: `probe:${crypto.randomUUID()}`, keep: Duration.seconds(1) }
    yield* hold({ account, id: "probe", amount: 1, limit: 1, lease: Duration.seconds(1) })
    yield* settle(account, "probe", 0)
    return { latency, version: /^redis_version:(\S+)/m.exec(info)?.[1] ?? "of a version that it does not tell" }
  }).pipe(
    Effect.provide(layerConnection(url)),
    Effect.mapError((error) =>
      error instanceof LedgerError
        ? error
        : new LedgerError({ message: `cannot use the Redis at GATEWAY_REDIS_URL: ${reasonOf(error)}` })
    )
  )

/** The ledger and the buckets of the rate limiter in the Redis at `url` (`GATEWAY_REDIS_URL`). */
export const layerRedis = (url: string): Layer.Layer<Ledger | RateLimiter.RateLimiterStore, LedgerError> =>
  Layer.mergeAll(Layer.effect(Ledger, makeLedger), RateLimiter.layerStoreRedis({ prefix: `${prefix}rate:` })).pipe(
    Layer.provide(layerConnection(url)),
    Layer.catch((error) =>
      Layer.effectContext(
        Effect.fail(
          new LedgerError({ message: `cannot connect to the Redis at GATEWAY_REDIS_URL: ${reasonOf(error)}` })
        )
      )
    )
  )
