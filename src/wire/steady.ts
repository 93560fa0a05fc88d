/** Monotonic time, for durations and deadlines: the system's clock may be set at any moment. */
import { Clock, Effect } from "effect"

/** Milliseconds since an unspecified time. */
export const steadyMillis: Effect.Effect<number> = Effect.map(Clock.monotonicTimeNanos, (nanos) =>
  Number(nanos / 1_000_000n)
)
