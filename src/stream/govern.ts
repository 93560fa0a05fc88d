/** The flags of a reply's tool calls go on its last frame, the same for every surface. */
import { Cause, Effect, Pull, Stream } from "effect"
import type { Accumulator } from "../governance/accumulate.ts"
import { type Governance, governanceOf } from "../governance/flags.ts"
import { inSlices } from "../wire/turns.ts"
import type { Frame } from "./Frame.ts"

/** What the calls so far come to; undefined when none is flagged. */
export const governanceSoFar = (calls: Accumulator): Governance | undefined => governanceOf(calls.flags())

/** Scans what is still to be scanned, in slices where it is long. */
export const scanned = (calls: Accumulator): Effect.Effect<void> =>
  Effect.suspend(() => (calls.heavy() ? inSlices(calls.scan()) : Effect.void))

/** A reply that fails is scanned too: its flags go with the surface's in-band error. */
export const govern =
  (calls: Accumulator) =>
  <E>(self: Stream.Stream<Frame, E>): Stream.Stream<Frame, E> =>
    Stream.transformPull(self, (upstream) =>
      Effect.succeed(
        Pull.matchEffect(upstream, {
          onSuccess: (frames) => {
            if (!frames.some(isFlagged)) return Effect.succeed(frames)
            return Effect.map(scanned(calls), () => flagged(frames, governanceSoFar(calls)))
          },
          onFailure: (cause) => Effect.andThen(scanned(calls), Effect.failCause(cause)),
          onDone: () => Cause.done()
        })
      )
    )

type Frames = readonly [Frame, ...Array<Frame>]

const isFlagged = ({ flagged }: Frame): boolean => flagged !== undefined

const flagged = (frames: Frames, governance: Governance | undefined): Frames =>
  governance === undefined
    ? frames
    : (frames.flatMap((frame) => frame.flagged?.(governance) ?? [frame]) as unknown as Frames)
