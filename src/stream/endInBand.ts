/** After its first frame a reply never fails: it ends with the surface's own error. */
import { Cause, Effect, Option, Pull, Stream } from "effect"
import { type GatewayError, internal } from "../catalog/GatewayError.ts"
import type { Frame, Item } from "./Frame.ts"

type Items = readonly [Item, ...Array<Item>]

const isFilled = (frames: ReadonlyArray<Frame>): frames is readonly [Frame, ...Array<Frame>] => frames.length > 0

export const endInBand =
  (lastFrames: (error: GatewayError) => ReadonlyArray<Frame>) =>
  (self: Stream.Stream<Item, GatewayError>): Stream.Stream<Item, GatewayError> =>
    Stream.transformPull(self, (upstream) =>
      Effect.map(Effect.context(), (context) => {
        let begun = false
        let over = false
        const fail = (cause: Cause.Cause<GatewayError>): Pull.Pull<Items, GatewayError> => {
          if (!begun || Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause)
          over = true
          const error = Option.getOrUndefined(Cause.findErrorOption(cause))
          const frames = lastFrames(error ?? internal)
          const last = isFilled(frames) ? Effect.succeed(frames) : Cause.done()
          if (error !== undefined) return last
          return Effect.andThen(Effect.provideContext(Effect.logError("a streamed reply failed", cause), context), last)
        }
        const next = Pull.matchEffect(upstream, {
          onSuccess: (items) => {
            begun = true
            return Effect.succeed<Items>(items)
          },
          onFailure: fail,
          onDone: () => Cause.done()
        })
        return Effect.suspend(() => (over ? Cause.done() : next))
      })
    )
