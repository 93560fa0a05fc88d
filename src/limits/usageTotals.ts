/** What every key and team has used of its limits (docs/operation.md#keys). */
import { Effect } from "effect"
import type { Limits, TeamIdentity } from "../contract/Security.ts"
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

/** A key or a team with its limits and its use. */
export interface Used extends Limits {
  /** A key's ID, or a team's name. */
  readonly id: string
  readonly name: string
  /** In whole units of the catalog's currency. */
  readonly monthlyCost?: number | undefined
  readonly use: Use
}

export interface UsageTotals {
  readonly keys: ReadonlyArray<Used>
  readonly teams: ReadonlyArray<Used>
}

/** Keys and teams, as the key file has them. */
export interface Users {
  readonly keys: ReadonlyArray<Limits & { readonly id: string; readonly name: string }>
  readonly teams: ReadonlyArray<TeamIdentity>
}

const limitsIn = ({ requestsPerMinute, streams, monthlyTokens, dailyTokens }: Limits): Limits => ({
  requestsPerMinute,
  streams,
  monthlyTokens,
  dailyTokens
})

/** In one look at the store. `now` is in milliseconds since the epoch. */
export const usageTotalsOf = (
  { spent }: Pick<Ledger["Service"], "spent">,
  { keys, teams }: Users,
  now: number
): Effect.Effect<UsageTotals, LedgerError> => {
  const month = monthAt(now)
  const today = dayAt(now)
  const accounts = (user: string) => [
    accountOf(user, month).name,
    accountOf(user, today).name,
    accountOf(user, month, true).name
  ]
  const users = [...keys.map(({ id }) => keyUser(id)), ...teams.map(({ name }) => teamUser(name))]
  return Effect.map(spent(users.flatMap(accounts)), (amounts) => {
    const useAt = (n: number): Use => {
      const [monthlyTokens = 0, dailyTokens = 0, monthlyCost = 0] = amounts.slice(3 * n)
      return { monthlyTokens, dailyTokens, monthlyCost }
    }
    return {
      keys: keys.map((key, n) => ({ ...limitsIn(key), id: key.id, name: key.name, use: useAt(n) })),
      teams: teams.map((team, n) => ({
        ...limitsIn(team),
        id: team.name,
        name: team.name,
        monthlyCost: team.monthlyCost,
        use: useAt(keys.length + n)
      }))
    }
  })
}
