/** What keys and teams used this month, and of which limits. */
import { Effect, Option } from "effect"
import { Keys } from "../../limits/Keys.ts"
import { Quota } from "../../limits/Quota.ts"
import type { Use as Totals } from "../../limits/usageTotals.ts"
import { steadyMillis } from "../../wire/steady.ts"

/** Undefined limits are none; use is null while the store cannot be read. */
export interface Use {
  readonly kind: "key" | "team"
  readonly id: string
  readonly name: string
  readonly used: number | null
  readonly limit?: number | undefined
  /** In whole units of the catalog's currency; absent where nothing was charged and nothing is limited. */
  readonly cost?: number | undefined
  readonly costLimit?: number | undefined
}

/** Of each kind: more than a person reads. */
const maxRows = 200
/** Milliseconds between two reads of the store. */
const every = 10_000

interface Limited {
  readonly monthlyTokens?: number | undefined
  readonly monthlyCost?: number | undefined
}
const isLimited = ({ monthlyTokens, monthlyCost }: Limited) => monthlyTokens !== undefined || monthlyCost !== undefined

/** Those with a limit go before the others. */
const first = <A extends Limited>(users: ReadonlyArray<A>): ReadonlyArray<A> =>
  [...users.filter(isLimited), ...users.filter((user) => !isLimited(user))].slice(0, maxRows)

const rowOf = (
  kind: Use["kind"],
  id: string,
  { monthlyCost, monthlyTokens, name }: Limited & { readonly name: string },
  use: Totals | undefined
): Use => ({
  ...{ kind, id, name, used: use?.monthlyTokens ?? null, limit: monthlyTokens },
  cost:
    use === undefined || (use.monthlyCost === 0 && monthlyCost === undefined) ? undefined : use.monthlyCost / 1_000_000,
  costLimit: monthlyCost
})

/** The part of the limit that is nearest to its end; without a limit, less than any. */
const share = ({ cost = 0, costLimit, limit, used }: Use): number =>
  Math.max(
    limit === undefined ? -1 : (used ?? 0) / limit,
    costLimit === undefined ? -1 : cost / Math.max(costLimit, 1e-6)
  )

/**
 * Keys and teams that have used something or have a monthly limit: the nearest to its end first, then by use. The store is read
 * every ten seconds at most.
 */
export const makeUse = Effect.gen(function* () {
  const keys = yield* Keys
  const quota = yield* Quota
  let rows: ReadonlyArray<Use> = []
  let readAt = Number.NEGATIVE_INFINITY
  return Effect.gen(function* () {
    const now = yield* steadyMillis
    if (now - readAt < every) return rows
    readAt = now
    const book = keys.inForce()
    const users = { keys: first(book.keys), teams: first(book.teams) }
    const totals = yield* Effect.option(quota.usageTotals(users))
    const useOf = (kind: "keys" | "teams", n: number) => Option.getOrUndefined(totals)?.[kind][n]
    rows = [
      ...users.teams.map((team, n) => rowOf("team", team.name, team, useOf("teams", n))),
      ...users.keys.map((key, n) => rowOf("key", key.id, key, useOf("keys", n)))
    ]
      .filter(({ costLimit, limit, used }) => (used ?? 0) > 0 || limit !== undefined || costLimit !== undefined)
      .sort((a, b) => share(b) - share(a) || (b.used ?? 0) - (a.used ?? 0))
    return rows
  })
})
