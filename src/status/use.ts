/** What keys and teams used this month, against their limits. */
import { Clock, Effect, Option } from "effect"
import { Keys } from "../access/Keys.ts"
import { Quota } from "../access/Quota.ts"
import type { Used } from "../access/uses.ts"
import type { Limits } from "../api/Security.ts"

export interface Use {
  readonly kind: "key" | "team"
  readonly id: string
  readonly name: string
  /** Tokens; null while the store cannot be asked. */
  readonly used: number | null
  readonly limit: number
}

/** More rows than anyone reads; the store is not asked for more. */
const maxRows = 200
/** Time between two looks at the store, in milliseconds. */
const every = 10_000

/** Keys and teams that have a monthly limit, the nearest to its end first. The store is asked every ten seconds at most. */
export const makeUse = Effect.gen(function* () {
  const keys = yield* Keys
  const quota = yield* Quota
  let rows: ReadonlyArray<Use> = []
  let askedAt = 0
  return Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    if (now - askedAt < every) return rows
    askedAt = now
    const book = keys.inForce()
    const isLimited = ({ monthlyTokens }: Limits) => monthlyTokens !== undefined
    const limited = {
      keys: book.keys.filter(isLimited).slice(0, maxRows),
      teams: book.teams.filter(isLimited).slice(0, maxRows)
    }
    const uses = yield* Effect.option(quota.uses(limited))
    const rowOf =
      (kind: Use["kind"], used: ReadonlyArray<Used> | undefined) =>
      ({ id, name, monthlyTokens = 0 }: Limits & { readonly id?: string; readonly name: string }, n: number): Use => ({
        kind,
        id: id ?? name,
        name,
        used: used?.[n]?.use.monthlyTokens ?? null,
        limit: monthlyTokens
      })
    const known = Option.getOrUndefined(uses)
    rows = [...limited.teams.map(rowOf("team", known?.teams)), ...limited.keys.map(rowOf("key", known?.keys))].sort(
      (a, b) => (b.used ?? 0) / b.limit - (a.used ?? 0) / a.limit
    )
    return rows
  })
})
