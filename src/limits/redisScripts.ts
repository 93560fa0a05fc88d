/** The scripts that Redis runs, each of them one atomic step, and the names of its keys (docs/operation.md#redis). */
import { Duration } from "effect"
import * as Redis from "effect/persistence/Redis"
import type { Account, Charge, Hold } from "./Ledger.ts"

const prefix = "gateway:"
/** A hash for each account. */
export const nameOf = (account: string): string => `${prefix}{${account}}`
/** With a sorted set of its holds, by the end of their lease. */
const keysOf = ({ name }: Account): ReadonlyArray<string> => [nameOf(name), `${nameOf(name)}:leases`]
/** What all counts belong to. */
export const epochName = `${prefix}epoch`
/** IDs of keys and callers that are revoked or disabled, and digests of secrets that rotation has ended; a set. */
export const refusedName = `${prefix}refused`
/** States of processes, for status pages. */
export const boardName = `${prefix}status`

/** There while the process of this name runs, which holds something. */
export const processName = (name: string): string => `${prefix}process:${name}`
/** How long a process that says nothing counts as running, in seconds. */
export const processSeconds = 30
/** Holds begin with the name of their process. */
const holdId = (process: string, id: string): string => `${process}/${id}`

const millis = (duration: Duration.Duration): number => Math.ceil(Duration.toMillis(duration))

/** What a script returns where the epoch is another one: nothing was done. */
export const strange = "strange epoch"

/** How the scripts begin. The last key is the epoch's, and the last argument the one that is expected. */
const shared = `
if redis.call("GET", KEYS[#KEYS]) ~= ARGV[#ARGV] then return { "${strange}" } end
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
export const holdScript = Redis.script(
  (epoch: string, { demands, id, lease }: Pick<Hold, "demands"> & Partial<Hold>, process: string) => [
    ...demands.flatMap(({ account }) => keysOf(account)),
    epochName,
    id === undefined ? "" : holdId(process, id),
    lease === undefined ? 0 : millis(lease),
    ...demands.flatMap(({ account: { drain = 0, keep }, amount, least, limit }) => [
      ...[amount, least, limit, drain, millis(keep)]
    ]),
    epoch
  ],
  {
    numberOfKeys: (_, { demands }) => 2 * demands.length + 1,
    lua: `${shared}
local id, lease = ARGV[1], tonumber(ARGV[2])
local granted, answer, amounts = 1, {}, {}
local function of(n, what) return tonumber(ARGV[5 * n - 3 + what]) end
local AMOUNT, LEAST, LIMIT, DRAIN, KEEP = 1, 2, 3, 4, 5
-- Holds of earlier versions name no process.
local function processOf(id) return "${processName("")}" .. (string.match(id, "^([^/]+)/") or "") end
local gone = { ["${processName("")}"] = false }
local function isGone(id)
  local process = processOf(id)
  if gone[process] == nil then gone[process] = redis.call("EXISTS", process) == 0 end
  return gone[process]
end
-- The hold then holds nothing, but stays known, so that a late settlement still counts, once.
local function free(n, id)
  local account, leases = KEYS[2 * n - 1], KEYS[2 * n]
  if of(n, DRAIN) == 0 then
    redis.call("HINCRBY", account, "held", 0 - tonumber(redis.call("HGET", account, "hold:" .. id) or 0))
    redis.call("HSET", account, "hold:" .. id, 0)
  end
  redis.call("ZREM", leases, id)
end
for n = 1, (#KEYS - 1) / 2 do
  local account, leases = KEYS[2 * n - 1], KEYS[2 * n]
  for _, over in ipairs(redis.call("ZRANGEBYSCORE", leases, "-inf", now)) do free(n, over) end
  local spent = spentOf(account, of(n, DRAIN))
  local function heldNow() return tonumber(redis.call("HGET", account, "held") or 0) end
  local held = heldNow()
  if held > 0 and of(n, LIMIT) - spent - held < of(n, LEAST) then
    for _, id in ipairs(redis.call("ZRANGE", leases, 0, -1)) do if isGone(id) then free(n, id) end end
    held = heldNow()
  end
  local left = of(n, LIMIT) - spent - held
  if left < of(n, LEAST) then granted = 0 end
  amounts[n] = math.floor(math.min(of(n, AMOUNT), left))
  answer[3 * n - 2], answer[3 * n - 1], answer[3 * n] = exact(spent), exact(held), exact(amounts[n])
end
table.insert(answer, 1, tostring(granted))
if granted == 0 then return answer end
if id ~= "" then redis.call("SET", processOf(id), 1, "EX", ${processSeconds}) end
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

export const settleScript = Redis.script(
  (epoch: string, id: string, charges: ReadonlyArray<Charge>, process: string) => [
    ...charges.flatMap(({ account }) => keysOf(account)),
    epochName,
    holdId(process, id),
    ...charges.flatMap(({ account: { drain = 0, keep }, amount }) => [amount, drain, millis(keep)]),
    epoch
  ],
  {
    numberOfKeys: (_, _id, charges) => 2 * charges.length + 1,
    lua: `${shared}
for n = 1, (#KEYS - 1) / 2 do
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
return { "1" }
`
  }
).withReturnType<ReadonlyArray<string>>()

export const raiseScript = Redis.script(
  (epoch: string, spent: ReadonlyArray<Charge>) => [
    ...spent.map(({ account }) => nameOf(account.name)),
    epochName,
    ...spent.flatMap(({ account, amount }) => [amount, millis(account.keep)]),
    epoch
  ],
  {
    numberOfKeys: (_, spent) => spent.length + 1,
    lua: `${shared}
for n = 1, #KEYS - 1 do
  if spentOf(KEYS[n], 0) < tonumber(ARGV[2 * n - 1]) then redis.call("HSET", KEYS[n], "spent", ARGV[2 * n - 1]) end
  redis.call("PEXPIRE", KEYS[n], ARGV[2 * n])
end
return { "1" }
`
  }
).withReturnType<ReadonlyArray<string>>()

/** What was spent of each account, in one answer. */
export const spentScript = Redis.script((names: ReadonlyArray<string>) => names.map(nameOf), {
  numberOfKeys: (names) => names.length,
  lua: `
local spent = {}
for n, account in ipairs(KEYS) do spent[n] = redis.call("HGET", account, "spent") or "0" end
return spent
`
}).withReturnType<ReadonlyArray<string>>()

export const refusedScript = Redis.script((epoch: string) => [refusedName, epochName, epoch], {
  numberOfKeys: 2,
  lua: `${shared}
local ids = redis.call("SMEMBERS", KEYS[1])
table.insert(ids, 1, "1")
return ids
`
}).withReturnType<ReadonlyArray<string>>()
