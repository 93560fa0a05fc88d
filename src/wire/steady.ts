/**
 * Time for durations and deadlines: the system's clock may be set back or forward at any moment, this one may not. Its zero means
 * nothing.
 */
import { Clock, Effect } from "effect"

const millisOf = (nanos: bigint): number => Number(nanos / 1_000_000n)

/** Milliseconds so far. */
export const steadyMillis: Effect.Effect<number> = Effect.map(Clock.monotonicTimeNanos, millisOf)

/** A clock for what measures by the time of day, as libraries do. */
export const steadyClock: Effect.Effect<Clock.Clock> = Effect.map(Clock.Clock, (clock) => ({
  currentTimeMillisUnsafe: () => millisOf(clock.monotonicTimeNanosUnsafe()),
  currentTimeMillis: Effect.map(clock.monotonicTimeNanos, millisOf),
  currentTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
  currentTimeNanos: clock.monotonicTimeNanos,
  monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
  monotonicTimeNanos: clock.monotonicTimeNanos,
  sleep: (duration) => clock.sleep(duration)
}))
