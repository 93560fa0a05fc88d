/** What keys used this month, against their limits. */
import { Clock, Effect } from "effect"
import { Keys } from "../access/Keys.ts"
import { Quota } from "../access/Quota.ts"

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

/** The keys that have a monthly limit, those nearest to its end first. The store is asked every ten seconds at most. */
export const makeUse = Effect.gen(function* () {
  const keys = yield* Keys
  const quota = yield* Quota
  let rows: ReadonlyArray<Use> = []
  let askedAt = 0
  return Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    if (now - askedAt < every) return rows
    askedAt = now
    const limited = keys
      .inForce()
      .keys.flatMap(({ id, monthlyTokens, name }) => (monthlyTokens === undefined ? [] : [{ id, name, monthlyTokens }]))
      .slice(0, maxRows)
    const asked = yield* Effect.forEach(
      limited,
      ({ id, monthlyTokens, name }): Effect.Effect<Use> =>
        quota.used(id).pipe(
          Effect.orElseSucceed(() => null),
          Effect.map((used) => ({ kind: "key", id, name, used, limit: monthlyTokens }))
        ),
      { concurrency: 8 }
    )
    rows = asked.sort((a, b) => (b.used ?? 0) / b.limit - (a.used ?? 0) / a.limit)
    return rows
  })
})
