/**
 * Limits and quotas that replicas share in Redis (docs/decisions.md#limits-and-quotas). Each step is one Lua script, so it is
 * atomic there.
 *
 * An account is a hash: `spent`, when it was that much (`at`, where it drains), `held` (the sum of the holds) and a field for
 * each hold. A sorted set has the holds by the end of their lease. Times are the server's.
 */

import * as NodeRedis from "@effect/platform-node/NodeRedis"
import { Clock, Duration, Effect, Layer, References } from "effect"
import * as Redis from "effect/persistence/Redis"
import { type Account, type Charge, type Hold, Ledger, LedgerError } from "./Ledger.ts"
import { boardMemory, StatusBoard } from "./StatusBoard.ts"

const prefix = "gateway:"
const nameOf = (account: string): string => `${prefix}{${account}}`
const keysOf = ({ name }: Account): ReadonlyArray<string> => [nameOf(name), `${nameOf(name)}:leases`]
const millis = (duration: Duration.Duration): number => Math.ceil(Duration.toMillis(duration))

/** Functions that the scripts share. */
const shared = `
local time = redis.call("TIME")
local now = time[1] * 1000 + time[2] / 1000
local function exact(number) return string.format("%.17g", number) end
local function spentOf(account, drain)
  local spent, at = unpack(redis.call("HMGET", account, "spent", "at"))
  spent = tonumber(spent or 0)
  if drain == 0 then return spent end
  -- From the future, by a clock that was set back: full, not frozen until then.
  local elapsed = now - tonumber(at or now)
  return elapsed < 0 and 0 or math.max(0, spent - elapsed * drain)
end
local function charge(account, amount, drain)
  redis.call("HSET", account, "spent", exact(math.max(0, spentOf(account, drain) + amount)))
  if drain > 0 then redis.call("HSET", account, "at", exact(now)) end
end
`

/** Without an ID nothing is held: what is demanded is charged. */
const holdScript = Redis.script(
  ({ demands, id, lease }: Pick<Hold, "demands"> & Partial<Hold>) => [
    ...demands.flatMap(({ account }) => keysOf(account)),
    id ?? "",
    lease === undefined ? 0 : millis(lease),
    ...demands.flatMap(({ account: { drain = 0, keep }, amount, least, limit }) => [
      ...[amount, least, limit, drain, millis(keep)]
    ])
  ],
  {
    numberOfKeys: ({ demands }) => 2 * demands.length,
    lua: `${shared}
local id, lease = ARGV[1], tonumber(ARGV[2])
local granted, answer, amounts = 1, {}, {}
local function of(n, what) return tonumber(ARGV[5 * n - 3 + what]) end
local AMOUNT, LEAST, LIMIT, DRAIN, KEEP = 1, 2, 3, 4, 5
for n = 1, #KEYS / 2 do
  local account, leases = KEYS[2 * n - 1], KEYS[2 * n]
  -- A hold whose lease is over holds nothing, but stays known, so that a late settlement still counts, once.
  for _, over in ipairs(redis.call("ZRANGEBYSCORE", leases, "-inf", now)) do
    if of(n, DRAIN) == 0 then
      redis.call("HINCRBY", account, "held", 0 - tonumber(redis.call("HGET", account, "hold:" .. over) or 0))
      redis.call("HSET", account, "hold:" .. over, 0)
    end
    redis.call("ZREM", leases, over)
  end
  local spent = spentOf(account, of(n, DRAIN))
  local held = tonumber(redis.call("HGET", account, "held") or 0)
  local left = of(n, LIMIT) - spent - held
  if left < of(n, LEAST) then granted = 0 end
  amounts[n] = math.floor(math.min(of(n, AMOUNT), left))
  answer[3 * n - 2], answer[3 * n - 1], answer[3 * n] = exact(spent), exact(held), exact(amounts[n])
end
table.insert(answer, 1, tostring(granted))
if granted == 0 then return answer end
for n, amount in ipairs(amounts) do
  local account, leases = KEYS[2 * n - 1], KEYS[2 * n]
  if id == "" then charge(account, amount, of(n, DRAIN)) else
    if of(n, DRAIN) > 0 then charge(account, amount, of(n, DRAIN)) else redis.call("HINCRBY", account, "held", amount) end
    redis.call("HSET", account, "hold:" .. id, amount)
    redis.call("ZADD", leases, now + lease, id)
    redis.call("PEXPIRE", leases, of(n, KEEP))
  end
  redis.call("PEXPIRE", account, of(n, KEEP))
end
return answer
`
  }
).withReturnType<ReadonlyArray<string>>()

const settleScript = Redis.script(
  (id: string, charges: ReadonlyArray<Charge>) => [
    ...charges.flatMap(({ account }) => keysOf(account)),
    id,
    ...charges.flatMap(({ account: { drain = 0, keep }, amount }) => [amount, drain, millis(keep)])
  ],
  {
    numberOfKeys: (_, charges) => 2 * charges.length,
    lua: `${shared}
for n = 1, #KEYS / 2 do
  local account, leases = KEYS[2 * n - 1], KEYS[2 * n]
  local amount, drain = tonumber(ARGV[3 * n - 1]), tonumber(ARGV[3 * n])
  local held = redis.call("HGET", account, "hold:" .. ARGV[1])
  if held then
    redis.call("HDEL", account, "hold:" .. ARGV[1])
    redis.call("ZREM", leases, ARGV[1])
    -- A subtraction, because the minus sign makes "-0" of 0, which Redis refuses.
    if drain > 0 then amount = amount - held else redis.call("HINCRBY", account, "held", 0 - tonumber(held)) end
    charge(account, amount, drain)
    redis.call("PEXPIRE", account, ARGV[3 * n + 1])
  end
end
return 1
`
  }
).withReturnType<number>()

const reasonOf = ({ cause }: Redis.RedisError): string => (cause instanceof Error ? cause.message : "no connection")

/** A Redis that is silent for as many steps counts as lost. */
const steps = 10
const step = Duration.millis(100)

/**
 * The wait for an answer goes in steps, and what has come is read between them: a process that is busy for a second is not taken
 * for a Redis that is silent.
 */
const patience = Effect.andThen(
  Effect.repeat(Effect.sleep(step), { times: steps - 1 }),
  Effect.fail(new LedgerError({ message: "Redis: no answer in time", doubtful: true }))
)

const bounded = <A>(effect: Effect.Effect<A, Redis.RedisError>): Effect.Effect<A, LedgerError> =>
  Effect.raceFirst(
    Effect.mapError(effect, (error) => new LedgerError({ message: `Redis: ${reasonOf(error)}` })),
    patience
  )

const makeLedger = Effect.map(Redis.Redis, (redis) => {
  const send = redis.eval(holdScript)
  const settle = redis.eval(settleScript)
  const hold = (request: Parameters<typeof send>[0]) =>
    Effect.map(bounded(send(request)), ([granted, ...numbers]) => ({
      granted: granted === "1",
      shares: request.demands.map((_, n) => {
        const [spent = 0, held = 0, amount = 0] = numbers.slice(3 * n).map(Number)
        return { spent, held, amount }
      })
    }))
  return Ledger.of({
    hold,
    settle: (id, charges) => Effect.asVoid(bounded(settle(id, charges))),
    spent: (names) =>
      Effect.forEach(
        names,
        (name) =>
          Effect.map(bounded(redis.send<string | null>("HGET", nameOf(name), "spent")), (spent) => Number(spent ?? 0)),
        { concurrency: 1000 }
      ),
    take: (demands) => hold({ demands })
  })
})

const boardName = `${prefix}status`
/** Each process has a key of its own, which expires; a sorted set has their names by the time they were written. */
const makeStatusBoard = Effect.map(Redis.Redis, (redis) => {
  const send = <A>(command: string, ...args: ReadonlyArray<string>) => bounded(redis.send<A>(command, ...args))
  const oldest = Effect.map(Clock.currentTimeMillis, (now) => String(now - boardMemory))
  return StatusBoard.of({
    post: Effect.fnUntraced(function* (id: string, text: () => string) {
      if ((yield* send<number>("EXISTS", `${boardName}:watched`)) === 0) return false
      yield* send("SET", `${boardName}:of:${id}`, text(), "PX", String(boardMemory))
      yield* send("ZADD", boardName, String(yield* Clock.currentTimeMillis), id)
      yield* send("ZREMRANGEBYSCORE", boardName, "-inf", yield* oldest)
      yield* send("PEXPIRE", boardName, String(boardMemory))
      return true
    }),
    read: Effect.gen(function* () {
      yield* send("SET", `${boardName}:watched`, "1", "PX", String(boardMemory))
      const ids = yield* send<ReadonlyArray<string>>("ZRANGEBYSCORE", boardName, yield* oldest, "+inf")
      const texts = yield* Effect.forEach(ids, (id) => send<string | null>("GET", `${boardName}:of:${id}`), {
        concurrency: 16
      })
      return texts.filter((text) => text !== null)
    })
  })
})

/**
 * A connection that fails a command immediately while Redis is away, and reconnects for as long as it takes. The layer fails when
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
      // The client logs every attempt to reconnect; its users log once that Redis is lost.
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
    yield* hold({
      id: "probe",
      demands: [{ account, limit: 1, amount: 1, least: 1 }],
      lease: Duration.seconds(1)
    })
    yield* settle("probe", [{ account, amount: 0 }])
    return { latency, version: /^redis_version:(\S+)/m.exec(info)?.[1] ?? "of a version that it does not tell" }
  }).pipe(
    Effect.provide(layerConnection(url)),
    Effect.mapError((error) =>
      error instanceof LedgerError
        ? error
        : new LedgerError({ message: `cannot use the Redis at GATEWAY_REDIS_URL: ${reasonOf(error)}` })
    )
  )

/** The ledger in the Redis at `url` (`GATEWAY_REDIS_URL`). */
export const layerRedis = (url: string): Layer.Layer<Ledger | StatusBoard, LedgerError> =>
  Layer.merge(Layer.effect(Ledger, makeLedger), Layer.effect(StatusBoard, makeStatusBoard)).pipe(
    Layer.provide(layerConnection(url)),
    Layer.catch((error) =>
      Layer.effectContext(
        Effect.fail(
          new LedgerError({ message: `cannot connect to the Redis at GATEWAY_REDIS_URL: ${reasonOf(error)}` })
        )
      )
    )
  )
