/** What long work in slices is, without who gives it turns (`turns.ts`): the published client has this part, and no Node. */
import type { Effect } from "effect"

/**
 * Work that is done in one go or in slices, as a generator that stops between two slices. A slice takes about a millisecond at most
 * (`inSlices` gives each a turn).
 */
export type Slices<A> = Generator<undefined, A, undefined>

/** Does all slices now. */
export const runNow = <A>(slices: Slices<A>): A => {
  for (;;) {
    const { done, value } = slices.next()
    if (done === true) return value
  }
}

/** Bytes of text that the engine parses or prints in about a millisecond. */
export const smallBytes = 256 * 1024

/** Characters, and values of a tree, of one slice. */
export const sliceCharacters = 16 * 1024
export const sliceValues = 4_000

/** What to wait for where the time of a slice is over. */
export type Pause = () => Effect.Effect<void> | undefined

let counted: Pause | undefined

/**
 * A place where long synchronous work may stop for others, without knowing who counts its time. Outside of slices there is
 * nothing to wait for.
 */
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
