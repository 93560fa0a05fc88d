/** Governance of a streamed reply, the same for every surface: the calls in its frames are collected, and its last frame flagged. */
import type { Accumulator } from "../governance/accumulate.ts"
import { type Governance, governanceOf } from "../governance/flags.ts"
import type { Frame } from "./Frame.ts"

/** What the calls so far come to; undefined when none is flagged. */
export const governanceSoFar = (calls: Accumulator): Governance | undefined => governanceOf(calls.flags())

/** Frames without calls pass as they are, in the array that they came in. */
export const governed = (calls: Accumulator, frames: ReadonlyArray<Frame>): ReadonlyArray<Frame> => {
  let flagged: Governance | undefined
  for (const frame of frames) {
    if (frame.calls !== undefined) for (const piece of frame.calls) calls.take(piece)
    if (frame.flagged !== undefined) flagged = governanceSoFar(calls)
  }
  if (flagged === undefined) return frames
  const governance = flagged
  return frames.flatMap((frame) => frame.flagged?.(governance) ?? [frame])
}
