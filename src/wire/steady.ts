/** Monotonic time, for durations and deadlines: the system's clock may be set at any moment. */
import { Clock, Effect } from "effect"

/** Milliseconds since an unspecified time. */
export const steadyMillisOf = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
export const steadyMillis: Effect.Effect<number> = Effect.map(Clock.Clock, steadyMillisOf)
