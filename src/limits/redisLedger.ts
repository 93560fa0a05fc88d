/**
 * Limits and quotas that replicas share in Redis (docs/decisions.md#limits-and-quotas).
 *
 * All counts belong to an epoch, a random name that is given to a Redis which has none. Where it is another one than before, the
 * counts are gone: Redis came back empty. Then nothing is granted before every process has written back the last counts that it
 * has seen. It says so in the log and in `gateway_access_store_resets_total`; what no process has seen is in the usage records.
 */
import { Array as Arr, Context, Duration, Effect, Metric, Schedule, Semaphore } from "effect"
import * as Redis from "effect/persistence/Redis"
import { steadyMillis } from "../wire/steady.ts"
import { type Account, type Charge, Ledger, LedgerError } from "./Ledger.ts"
import { bounded } from "./redisConnection.ts"
import {
  epochName,
  holdScript,
  processName,
  processSeconds,
  raiseScript,
  refusedName,
  refusedScript,
  settleScript,
  spentScript,
  strange
} from "./redisScripts.ts"
import { RefusedKeys } from "./replicas.ts"

const resets = Metric.counter("gateway_access_store_resets_total", {
  description: "How often Redis was found without the counts of limits and quotas that it had",
  incremental: true
})

const gone =
  "Redis came back without the counts of limits and quotas. Those that this process has seen are written back; rebuild the others from the usage records: npm run gateway -- usage restore FILE…"

/** Accounts in one step. */
const most = 500

/** What the scripts answer, which a server that is no Redis, or another in its place, may not. */
const isAnswer = (answer: unknown): answer is ReadonlyArray<string> =>
  Array.isArray(answer) && answer.every((text) => typeof text === "string")

const unknownAnswer = new LedgerError({ message: "Redis: an answer that no script gives", doubtful: true })
const lostAgain = new LedgerError({ message: "Redis has lost its counts again" })

export interface RedisLedgerOptions {
  /** The epoch that earlier processes here have seen. */
  readonly before?: string | undefined
  /** Called with the epoch that is in force, at the start and when it changes. */
  readonly inForce?: (epoch: string) => Effect.Effect<void>
}

export const makeRedisLedger = Effect.fnUntraced(function* ({
  before,
  inForce = () => Effect.void
}: RedisLedgerOptions = {}) {
  const redis = yield* Redis.Redis
  const send = <A>(...command: readonly [string, ...ReadonlyArray<string>]) => bounded(redis.send<A>(...command))
  const sendHold = redis.eval(holdScript)
  const sendSettle = redis.eval(settleScript)
  const sendRaise = redis.eval(raiseScript)
  const sendSpent = redis.eval(spentScript)
  const sendRefused = redis.eval(refusedScript)
  resets.updateUnsafe(0, Context.empty())

  /** The most that was spent of each account, as far as this process has seen. */
  const seen = new Map<string, Charge & { readonly until: number }>()
  let seenRefused: ReadonlySet<string> = new Set()
  /** Epochs of open holds. */
  const openIn = new Map<string, string>()
  const see = (account: Account, amount: number, now: number): void => {
    if (account.drain !== undefined || amount <= (seen.get(account.name)?.amount ?? 0)) return
    seen.set(account.name, { account, amount, until: now + Duration.toMillis(account.keep) })
  }
  yield* Effect.gen(function* () {
    const now = yield* steadyMillis
    for (const [name, { until }] of seen) if (until < now) seen.delete(name)
  }).pipe(Effect.schedule(Schedule.spaced("1 hour")), Effect.forkScoped)

  /** In its holds: those of a process that is gone are free for others before their leases are over. */
  const ownName = crypto.randomUUID()
  yield* Effect.suspend(() =>
    openIn.size === 0 ? Effect.void : send("SET", processName(ownName), "1", "EX", String(processSeconds))
  ).pipe(Effect.ignore, Effect.delay("5 seconds"), Effect.forever, Effect.forkScoped)

  // A new name each time: a process that gave Redis the last one must know its own Redis that came back empty.
  const find = Effect.andThen(
    Effect.suspend(() => send("SET", epochName, crypto.randomUUID(), "NX")),
    Effect.map(send<string | null>("GET", epochName), String)
  )
  let epoch = before ?? (yield* find)
  const turn = yield* Semaphore.make(1)
  const recover = Effect.gen(function* () {
    const found = yield* find
    if (found === epoch) return
    for (const piece of Arr.chunksOf(seen.values(), most)) yield* bounded(sendRaise(found, piece))
    if (seenRefused.size > 0) yield* send("SADD", refusedName, ...seenRefused)
    epoch = found
    yield* inForce(epoch)
    yield* Metric.update(resets, 1)
    yield* Effect.logError(gone).pipe(Effect.annotateLogs({ counts: seen.size, epoch }))
  }).pipe(turn.withPermits(1))
  if (before === undefined) yield* inForce(epoch)
  else yield* recover

  /** In the epoch that is in force; fails where it is over. */
  const attempt = (run: (epoch: string) => Effect.Effect<ReadonlyArray<string>, Redis.RedisError>) =>
    Effect.suspend(() => bounded(run(epoch))).pipe(
      Effect.filterOrFail(isAnswer, () => unknownAnswer),
      Effect.filterOrFail(
        ([first]) => first !== strange,
        () => lostAgain
      )
    )
  /** In a new epoch once more, after what was seen is written back. */
  const recovering = <A, R>(step: Effect.Effect<A, LedgerError, R>) =>
    Effect.catchIf(
      step,
      (error) => error === lostAgain,
      () => Effect.andThen(recover, step)
    )

  const hold = Effect.fnUntraced(function* (request: Parameters<typeof sendHold>[1]) {
    // The epoch may be another one when the answer comes.
    const askedIn = epoch
    const [granted, ...texts] = yield* attempt((epoch) => sendHold(epoch, request, ownName))
    const numbers = texts.map(Number)
    if (numbers.length !== 3 * request.demands.length || !numbers.every(Number.isFinite)) return yield* unknownAnswer
    const now = yield* steadyMillis
    if (granted === "1" && request.id !== undefined) openIn.set(request.id, askedIn)
    const shares = request.demands.map(({ account }, n) => {
      const [spent = 0, held = 0, amount = 0] = numbers.slice(3 * n, 3 * n + 3)
      see(account, spent, now)
      return { spent, held, amount }
    })
    return { granted: granted === "1", shares }
  })

  const settle = Effect.fnUntraced(function* (id: string, charges: ReadonlyArray<Charge>) {
    const heldIn = openIn.get(id)
    if (heldIn !== undefined && heldIn !== epoch) {
      // The hold is gone with its epoch.
      const demands = charges.map(({ account }) => ({ account, limit: Number.MAX_SAFE_INTEGER, amount: 0, least: 0 }))
      yield* hold({ id, demands, lease: Duration.minutes(1) })
    }
    yield* attempt((epoch) => sendSettle(epoch, id, charges, ownName))
    const now = yield* steadyMillis
    if (!openIn.delete(id)) return
    for (const { account, amount } of charges) see(account, (seen.get(account.name)?.amount ?? 0) + amount, now)
  })

  const ledger = Ledger.of({
    alarms: new Set(),
    hold: (request) => recovering(hold(request)),
    settle: (id, charges) => recovering(settle(id, charges)),
    raise: (spent) =>
      Effect.forEach(Arr.chunksOf(spent, most), (piece) => recovering(attempt((epoch) => sendRaise(epoch, piece))), {
        discard: true
      }),
    spent: (names) =>
      Effect.forEach(Arr.chunksOf(names, most), (piece) =>
        Effect.filterOrFail(bounded(sendSpent(piece)), isAnswer, () => unknownAnswer)
      ).pipe(Effect.map((answers) => answers.flat().map(Number))),
    take: (demands) => recovering(hold({ demands }))
  })

  const refusedKeys = {
    list: Effect.map(recovering(attempt(sendRefused)), ([, ...ids]) => {
      seenRefused = new Set(ids)
      return seenRefused
    }),
    add: (ids: ReadonlyArray<string>) => Effect.asVoid(send("SADD", refusedName, ...ids)),
    remove: (ids: ReadonlyArray<string>) => Effect.asVoid(send("SREM", refusedName, ...ids))
  }
  return Context.make(Ledger, ledger).pipe(Context.add(RefusedKeys, refusedKeys))
})
