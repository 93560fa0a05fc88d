/** What every key and team has used (docs/operation.md#keys). */
import { Effect } from "effect"
import type { Ledger, LedgerError } from "./Ledger.ts"
import { accountOf, dayAt, keyUser, lastUseAccount, monthAt, type Period, teamUser, type Unit } from "./limits.ts"

/** What was charged in this month and today (UTC), running requests excluded. Costs are in millionths of the catalog's currency. */
export interface Use {
  readonly monthlyTokens: number
  readonly monthlyCost: number
  /** Today's are counted where they are limited. */
  readonly dailyTokens: number
  readonly dailyCost: number
  /** When a key was used last, in milliseconds since the epoch; 0 where it is not known to have been. */
  readonly lastUse: number
}

export interface Users {
  readonly keys: ReadonlyArray<{ readonly id: string }>
  readonly teams: ReadonlyArray<{ readonly name: string }>
}

/** One for each user, in their order. */
export interface UsageTotals {
  readonly keys: ReadonlyArray<Use>
  readonly teams: ReadonlyArray<Use>
}

/** In one look at the store. `now` is in milliseconds since the epoch. */
export const usageTotalsOf = (
  { spent }: Pick<Ledger["Service"], "spent">,
  { keys, teams }: Users,
  now: number
): Effect.Effect<UsageTotals, LedgerError> => {
  const month = monthAt(now)
  const today = dayAt(now)
  const of: ReadonlyArray<readonly [Period, Unit]> = [
    [month, "tokens"],
    [month, "cost"],
    [today, "tokens"],
    [today, "cost"]
  ]
  const users = [...keys.map(({ id }) => keyUser(id)), ...teams.map(({ name }) => teamUser(name))]
  const accounts = users.flatMap((user) => [
    ...of.map(([period, unit]) => accountOf(user, period, unit).name),
    lastUseAccount(user).name
  ])
  return Effect.map(spent(accounts), (amounts) => {
    const uses = users.map((_, n): Use => {
      const [monthlyTokens = 0, monthlyCost = 0, dailyTokens = 0, dailyCost = 0, lastUse = 0] = amounts.slice(5 * n)
      return { monthlyTokens, monthlyCost, dailyTokens, dailyCost, lastUse }
    })
    return { keys: uses.slice(0, keys.length), teams: uses.slice(keys.length) }
  })
}
