/** Governance of a streamed reply, the same for every surface: the calls in its frames are collected, and its last frame flagged. */
import type { Accumulator } from "../governance/accumulate.ts"
import { type Governance, governanceOf } from "../governance/flags.ts"
import type { Frame } from "./Frame.ts"

/** What the calls so far come to; undefined when none is flagged. */
export const governanceSoFar = (calls: Accumulator): Governance | undefined => governanceOf(calls.flags())

/** Tells of the calls in frames; answers how much more is kept of them, in characters. */
export const collect = (calls: Accumulator, frames: ReadonlyArray<Frame>): number => {
  let more = 0
  for (const frame of frames) {
    if (frame.calls === undefined) continue
    const before = calls.kept()
    for (const piece of frame.calls) calls.take(piece, frame.data.length)
    more += calls.kept() - before
  }
  return more
}

export const isFlagged = ({ flagged }: Frame): boolean => flagged !== undefined

/** Frames with the flags of the calls so far; without any, they pass as they are, in the array that they came in. */
export const governed = (calls: Accumulator, frames: ReadonlyArray<Frame>): ReadonlyArray<Frame> => {
  const governance = frames.some(isFlagged) ? governanceSoFar(calls) : undefined
  return governance === undefined ? frames : frames.flatMap((frame) => frame.flagged?.(governance) ?? [frame])
}
