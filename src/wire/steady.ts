/**
 * Time for durations and deadlines: the system's clock may be set back or forward at any moment, this one may not. Its zero means
 * nothing.
 */
import { Clock, Effect } from "effect"

/** Milliseconds so far. */
export const steadyMillisOf = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
export const steadyMillis: Effect.Effect<number> = Effect.map(Clock.Clock, steadyMillisOf)
