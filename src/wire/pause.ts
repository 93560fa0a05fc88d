/** Where long synchronous work stops for others, without knowing who counts its time (`turns.ts`). It stands alone, for the client. */
import type { Effect } from "effect"

/** What to wait for where the time of a slice is over. */
export type Pause = () => Effect.Effect<void> | undefined

let counted: Pause | undefined

/** A place where the work of a slice may stop. Outside of slices there is nothing to wait for. */
export const pause: Pause = () => counted?.()

/** Runs a slice whose pauses these are. */
export const pausing = <A>(by: Pause, slice: () => A): A => {
  const outer = counted
  counted = by
  try {
    return slice()
  } finally {
    counted = outer
  }
}
