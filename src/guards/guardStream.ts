/**
 * Guards of a streamed reply (docs/guards.md#streams). Where they may block or redact, its words are held back until they have been
 * seen; where they only flag, it passes as it comes.
 */
import { Cause, Effect, Option, Pull, Scope, Stream } from "effect"
import type { GatewayError } from "../catalog/GatewayError.ts"
import { Enough, type Frame } from "../stream/Frame.ts"
import { heldReply } from "./heldReply.ts"
import { passedReply } from "./passedReply.ts"
import type { GuardStreamOptions } from "./streamedTexts.ts"

type Failure = GatewayError | Enough
type Frames = readonly [Frame, ...Array<Frame>]

const isFilled = (frames: ReadonlyArray<Frame>): frames is Frames => frames.length > 0

/** After what it ends with where guards block, the cloud is not waited for. */
export const guardStream =
  (options: GuardStreamOptions) =>
  (self: Stream.Stream<Frame, Failure>): Stream.Stream<Frame, Failure> =>
    Stream.transformPull(self, (upstream, scope) =>
      Effect.sync(() => {
        const holders = options.guards.filter(({ action }) => action !== "flag")
        const step =
          holders.length === 0
            ? passedReply(options)
            : heldReply(
                options,
                holders.some(({ hold }) => hold === "whole")
              )
        const run = (frames: ReadonlyArray<Frame>, isEnd = false) =>
          Effect.provideService(step(frames, isEnd), Scope.Scope, scope)
        let end: Pull.Pull<never, Failure> | undefined
        /** What is left when the stream before has ended, then its end. */
        const finish = (after: Pull.Pull<never, Failure>) =>
          Effect.flatMap(run([], true), ({ frames, over }) => {
            end = over ? Effect.fail(new Enough()) : after
            return isFilled(frames) ? Effect.succeed(frames) : end
          })
        const next: Pull.Pull<Frames, Failure> = Pull.matchEffect(upstream, {
          onSuccess: (frames) =>
            Effect.flatMap(run(frames), ({ frames: out, over }) => {
              if (over) end = Effect.fail(new Enough())
              return isFilled(out) ? Effect.succeed(out) : (end ?? next)
            }),
          onFailure: (cause) => {
            const failed = Effect.failCause(cause)
            return Option.isNone(Cause.findErrorOption(cause)) ? failed : finish(failed)
          },
          onDone: () => finish(Cause.done())
        })
        return Effect.suspend(() => end ?? next)
      })
    )
