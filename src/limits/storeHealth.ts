/** Logs once that a store is lost and once that it is back, and counts what failed meanwhile. */
import { Context, Effect, Metric } from "effect"

/** Operations on the shared store that failed, by `use`: `rate-limit`, `streams`, `quota`. */
const failures = Metric.counter("gateway_access_store_failures_total", {
  description: "Operations on the store of limits and quotas that failed",
  incremental: true
})
/** 1 while the last operation of that `use` worked, 0 while it did not. */
const up = Metric.gauge("gateway_access_store_up", { description: "Whether the store of limits and quotas works" })

/**
 * A watch over the operations of one use. `consequence` is what the log line says happens while the store is lost. A store that
 * was opened is well until an operation fails, so that an alert can tell a lost store from a gateway that is gone.
 */
export const makeWatch = (use: string, consequence: string) => {
  let lost = false
  Metric.withAttributes(up, { use }).updateUnsafe(1, Context.empty())
  const turn = (to: boolean) =>
    Effect.suspend(() => {
      if (lost === to) return Effect.void
      lost = to
      return Effect.andThen(
        Metric.update(Metric.withAttributes(up, { use }), to ? 0 : 1),
        to
          ? Effect.logError(`The store of limits and quotas is lost. ${consequence}`)
          : Effect.logInfo("The store is back.")
      )
    }).pipe(Effect.annotateLogs({ use }))
  return <A, E extends { readonly message: string }, R>(operation: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    operation.pipe(
      Effect.tap(() => (lost ? turn(false) : Effect.void)),
      Effect.tapError((error) =>
        Effect.andThen(
          Metric.update(Metric.withAttributes(failures, { use }), 1),
          turn(true).pipe(Effect.annotateLogs({ error: error.message }))
        )
      )
    )
}
