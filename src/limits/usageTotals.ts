/** What every key and team has used (docs/operation.md#keys). */
import { Effect } from "effect"
import type { Ledger, LedgerError } from "./Ledger.ts"
import { accountOf, dayAt, keyUser, monthAt, teamUser } from "./limits.ts"

/** What was charged, running requests excluded. */
export interface Use {
  /** Of this month and of today; today's are counted where they are limited. */
  readonly monthlyTokens: number
  readonly dailyTokens: number
  /** Of this month, in millionths of the catalog's currency. */
  readonly monthlyCost: number
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
  const users = [...keys.map(({ id }) => keyUser(id)), ...teams.map(({ name }) => teamUser(name))]
  const accounts = users.flatMap((user) => [
    accountOf(user, month).name,
    accountOf(user, today).name,
    accountOf(user, month, true).name
  ])
  return Effect.map(spent(accounts), (amounts) => {
    const uses = users.map((_, n): Use => {
      const [monthlyTokens = 0, dailyTokens = 0, monthlyCost = 0] = amounts.slice(3 * n, 3 * n + 3)
      return { monthlyTokens, dailyTokens, monthlyCost }
    })
    return { keys: uses.slice(0, keys.length), teams: uses.slice(keys.length) }
  })
}
