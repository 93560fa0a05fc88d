/** Logs once that a store is lost and once that it is back, and counts what failed meanwhile. */
import { Context, Effect, Metric } from "effect"
import type { Ledger } from "./Ledger.ts"

/** Operations on the shared store that failed, by `use`: `rate-limit`, `streams`, `quota`. */
const failures = Metric.counter("gateway_access_store_failures_total", {
  description: "Operations on the store of limits and quotas that failed",
  incremental: true
})
/** 0 from when an operation of that `use` failed until one works, or until what was used is written. */
const up = Metric.gauge("gateway_access_store_up", { description: "Whether the store of limits and quotas works" })

/** The uses for which a store counts as lost, each with what says that it is back. */
const alarms = new WeakMap<Ledger["Service"], Set<Effect.Effect<void>>>()

/** For when something was written that waited for the store: it works for every use again, also where no request of one comes. */
export const storeIsBack = (store: Ledger["Service"]): Effect.Effect<void> =>
  Effect.suspend(() => Effect.forEach([...(alarms.get(store) ?? [])], (end) => end, { discard: true }))

/**
 * A watch over the operations of one use. `consequence` is what the log line says happens while the store is lost. A store that
 * was opened is well until an operation fails, so that an alert can tell a lost store from a gateway that is gone.
 */
export const makeWatch = (store: Ledger["Service"], use: string, consequence: string) => {
  let lost = false
  const lostFor = alarms.get(store) ?? new Set()
  alarms.set(store, lostFor)
  Metric.withAttributes(up, { use }).updateUnsafe(1, Context.empty())
  const turn = (to: boolean): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (lost === to) return Effect.void
      lost = to
      if (to) lostFor.add(back)
      else lostFor.delete(back)
      return Effect.andThen(
        Metric.update(Metric.withAttributes(up, { use }), to ? 0 : 1),
        to
          ? Effect.logError(`The store of limits and quotas is lost. ${consequence}`)
          : Effect.logInfo("The store is back.")
      )
    }).pipe(Effect.annotateLogs({ use }))
  const back = turn(false)
  return <A, E extends { readonly message: string }, R>(operation: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    operation.pipe(
      Effect.tap(() => (lost ? back : Effect.void)),
      Effect.tapError((error) =>
        Effect.andThen(
          Metric.update(Metric.withAttributes(failures, { use }), 1),
          turn(true).pipe(Effect.annotateLogs({ error: error.message }))
        )
      )
    )
}
