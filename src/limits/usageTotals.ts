/**
 * What every key and team has used (docs/operation.md#keys): read, and added up where no limit holds it, with when each key was
 * used last. That is added up in memory and written every second, beside the requests. A process that is killed loses the last
 * second of it; what counts towards a limit is settled by each request (Quota).
 */
import { Array as Arr, Duration, Effect } from "effect"
import type { CallerIdentity } from "../contract/Security.ts"
import { getOrInsert } from "../wire/getOrInsert.ts"
import { type Account, type Charge, type Ledger, type makeWatch, storeIsBack } from "./Ledger.ts"
import { accountOf, budgetsOf, lastUseAccount, periodAt, teamUser } from "./limits.ts"

/**
 * What was charged in this month and today (UTC), running requests excluded; today's is counted where it is limited. Costs are in
 * millionths of the catalog's currency. `lastUse` is in milliseconds since the epoch; 0 where a key is not known to have been used.
 */
export type Use = Effect.Success<ReturnType<typeof usageTotalsOf>>["keys"][number]

export interface Users {
  readonly keys: ReadonlyArray<{ readonly id: string }>
  readonly teams: ReadonlyArray<{ readonly name: string }>
}

/** What each user has used, in their order, in one look at the store. `now` is in milliseconds since the epoch. */
export const usageTotalsOf = ({ spent }: Pick<Ledger["Service"], "spent">, { keys, teams }: Users, now: number) => {
  const periods = [periodAt("month", now), periodAt("day", now)]
  const users = [...keys.map(({ id }) => id), ...teams.map(({ name }) => teamUser(name))]
  const accounts = users.flatMap((user) => [
    ...periods.flatMap((period) => [accountOf(user, period, "tokens").name, accountOf(user, period, "cost").name]),
    lastUseAccount(user).name
  ])
  return Effect.map(spent(accounts), (amounts) => {
    const uses = Arr.chunksOf(amounts, 5).map((own) => {
      const [monthlyTokens, monthlyCost = 0, dailyTokens = 0, dailyCost = 0, lastUse = 0] = own
      return { monthlyTokens, monthlyCost, dailyTokens, dailyCost, lastUse }
    })
    return { keys: uses.slice(0, keys.length), teams: uses.slice(keys.length) }
  })
}

/** Of a hold that holds nothing; its settlement counts after it, too. */
const lease = Duration.minutes(1)

/** What is left at the end of the scope is written then. */
export const makeUsageAccumulator = Effect.fnUntraced(function* (
  ledger: Ledger["Service"],
  watch: ReturnType<typeof makeWatch>
) {
  const sums = new Map<string, { readonly account: Account; amount: number }>()
  const used = new Map<string, number>()
  /** What was used since the last one. `held`: whether the store has its hold, which the settlement ends, so that it counts once. */
  const nextBatch = () => {
    const last = [...used].map(([user, amount]): Charge => ({ account: lastUseAccount(user), amount }))
    const next = { id: crypto.randomUUID(), charges: [...sums.values()], used: last, held: false }
    sums.clear()
    used.clear()
    return next
  }
  /** Sent again until the store has it. */
  let batch: ReturnType<typeof nextBatch> | undefined

  const write = Effect.gen(function* () {
    if (used.size > 0) batch ??= nextBatch()
    if (batch === undefined) return
    const { charges, held, id } = batch
    yield* watch(ledger.raise(batch.used))
    if (charges.length > 0) {
      const demands = charges.map(({ account }) => ({ account, limit: Number.MAX_SAFE_INTEGER, amount: 0, least: 0 }))
      if (!held) yield* watch(ledger.hold({ id, demands, lease }))
      batch.held = true
      yield* watch(ledger.settle(id, charges))
    }
    batch = undefined
    yield* storeIsBack(ledger)
  }).pipe(Effect.ignore, Effect.uninterruptible)
  // At the end a batch that waits, and what came after it.
  yield* Effect.addFinalizer(() => Effect.andThen(write, write))
  yield* write.pipe(Effect.delay("1 second"), Effect.forever, Effect.forkScoped)

  /** Adds a request of this caller, and what it used. `startedAt` is in milliseconds since the epoch, `cost` in millionths. */
  return (caller: CallerIdentity, startedAt: number, tokens: number, cost: number): void => {
    const { id, team } = caller
    const month = periodAt("month", startedAt)
    const settled = new Set(budgetsOf(caller, startedAt).map(({ account }) => account.name))
    const addUnsettled = (account: Account, amount: number): void => {
      if (amount <= 0 || settled.has(account.name)) return
      getOrInsert(sums, account.name, () => ({ account, amount: 0 })).amount += amount
    }
    for (const user of [id, ...(team === undefined ? [] : [teamUser(team.name)])]) {
      addUnsettled(accountOf(user, month, "tokens"), tokens)
      addUnsettled(accountOf(user, month, "cost"), cost)
    }
    used.set(id, Math.max(startedAt, used.get(id) ?? 0))
  }
})
