/** What keys and teams used this month, and against which limits. */
import { Effect, Option } from "effect"
import { Keys } from "../access/Keys.ts"
import { Quota } from "../access/Quota.ts"
import type { Used, Users } from "../access/uses.ts"
import { steadyMillis } from "../wire/steady.ts"

/** Undefined limits are none; use is null while the store cannot be asked. */
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

/** More rows than anyone reads; the store is not asked for more of each kind. */
const maxRows = 200
/** Time between two looks at the store, in milliseconds. */
const every = 10_000

interface Limited {
  readonly monthlyTokens?: number | undefined
  readonly monthlyCost?: number | undefined
}
const isLimited = ({ monthlyTokens, monthlyCost }: Limited) => monthlyTokens !== undefined || monthlyCost !== undefined

/** Those with a limit go before the others. */
const first = <A extends Limited>(users: ReadonlyArray<A>): ReadonlyArray<A> =>
  [...users.filter(isLimited), ...users.filter((user) => !isLimited(user))].slice(0, maxRows)

const rowOf =
  (kind: Use["kind"]) =>
  ({ id, monthlyCost, monthlyTokens, name, use }: Used): Use => ({
    kind,
    id,
    name,
    used: use.monthlyTokens,
    limit: monthlyTokens,
    cost: use.monthlyCost === 0 && monthlyCost === undefined ? undefined : use.monthlyCost / 1_000_000,
    costLimit: monthlyCost
  })

const unknownRows = ({ keys, teams }: Users): ReadonlyArray<Use> => [
  ...teams.map(({ monthlyTokens, name }) => ({
    kind: "team" as const,
    id: name,
    name,
    used: null,
    limit: monthlyTokens
  })),
  ...keys.map(({ id, monthlyTokens, name }) => ({ kind: "key" as const, id, name, used: null, limit: monthlyTokens }))
]

/** How much of the limit that is nearest to its end is used; without one, less than any. */
const share = ({ cost = 0, costLimit, limit, used }: Use): number =>
  Math.max(
    limit === undefined ? -1 : (used ?? 0) / limit,
    costLimit === undefined ? -1 : cost / Math.max(costLimit, 1e-6)
  )

/**
 * Keys and teams that have used something or have a monthly limit: the nearest to its end first, then by use. The store is asked
 * every ten seconds at most.
 */
export const makeUse = Effect.gen(function* () {
  const keys = yield* Keys
  const quota = yield* Quota
  let rows: ReadonlyArray<Use> = []
  let askedAt = Number.NEGATIVE_INFINITY
  return Effect.gen(function* () {
    const now = yield* steadyMillis
    if (now - askedAt < every) return rows
    askedAt = now
    const book = keys.inForce()
    const users = { keys: first(book.keys), teams: first(book.teams) }
    rows = Option.match(yield* Effect.option(quota.uses(users)), {
      onNone: () => unknownRows({ keys: users.keys.filter(isLimited), teams: users.teams.filter(isLimited) }),
      onSome: (uses) =>
        [...uses.teams.map(rowOf("team")), ...uses.keys.map(rowOf("key"))]
          .filter(({ costLimit, limit, used }) => used !== 0 || limit !== undefined || costLimit !== undefined)
          .sort((a, b) => share(b) - share(a) || (b.used ?? 0) - (a.used ?? 0))
    })
    return rows
  })
})
