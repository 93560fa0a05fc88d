/** A reply that has begun cannot fail any more: what goes wrong is said in the surface's own format, and ends it. */
import { Cause, Effect, Option, Stream } from "effect"
import { GatewayError, internal } from "../model/GatewayError.ts"
import type { Frame } from "./Frame.ts"

/** Turns a failure into its last frames. A caller that leaves is no failure: the interruption goes on. */
export const endInBand =
  <A>(lastWords: (error: GatewayError) => ReadonlyArray<Frame>) =>
  (items: Stream.Stream<A, GatewayError>): Stream.Stream<A | Frame> =>
    Stream.catchCause(items, (cause) => {
      if (Cause.hasInterruptsOnly(cause)) return Stream.failCause(cause as Cause.Cause<never>)
      const error = Option.getOrUndefined(Cause.findErrorOption(cause))
      const words = Stream.fromIterable(lastWords(error instanceof GatewayError ? error : internal))
      return error === undefined
        ? Stream.concat(Stream.drain(Stream.fromEffect(Effect.logError("a streamed reply failed", cause))), words)
        : words
    })
