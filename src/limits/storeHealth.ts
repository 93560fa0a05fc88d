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

/** For when something was written that waited for the store: it works for every use again, also where no request of one comes. */
export const storeIsBack = ({ alarms }: Ledger["Service"]): Effect.Effect<void> =>
  Effect.suspend(() => Effect.all([...alarms], { discard: true }))

/**
 * A watch over the operations of one use. `consequence` is what the log line says happens while the store is lost. A store that
 * was opened is well until an operation fails, so that an alert can tell a lost store from a gateway that is gone.
 */
export const makeWatch = ({ alarms }: Ledger["Service"], use: string, consequence: string) => {
  const show = (value: number) => Metric.withAttributes(up, { use }).updateUnsafe(value, Context.empty())
  show(1)
  const back: Effect.Effect<void> = Effect.suspend(() => {
    if (!alarms.delete(back)) return Effect.void
    show(1)
    return Effect.logInfo("The store is back.").pipe(Effect.annotateLogs({ use }))
  })
  const lost = (error: string) =>
    Effect.suspend(() => {
      Metric.withAttributes(failures, { use }).updateUnsafe(1, Context.empty())
      if (alarms.has(back)) return Effect.void
      alarms.add(back)
      show(0)
      return Effect.logError(`The store of limits and quotas is lost. ${consequence}`).pipe(
        Effect.annotateLogs({ use, error })
      )
    })
  return <A, E extends { readonly message: string }, R>(operation: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    operation.pipe(
      Effect.tap(back),
      Effect.tapError(({ message }) => lost(message))
    )
}
