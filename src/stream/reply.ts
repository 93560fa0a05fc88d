/** A streamed reply on its way from the cloud to the caller. */
import { identity, type Stream } from "effect"
import type { GatewayError } from "../catalog/GatewayError.ts"
import type { Event } from "../wire/Event.ts"
import { type DeadlineOptions, withDeadlines } from "./deadlines.ts"
import { encode } from "./encode.ts"
import { endInBand } from "./endInBand.ts"
import type { Frame, Progress } from "./Frame.ts"
import { govern } from "./govern.ts"
import { type Enough, type TranslateOptions, translate } from "./translate.ts"

export interface ReplyOptions<S extends Progress> extends TranslateOptions<S>, DeadlineOptions {
  /** The surface's own in-band error. */
  readonly lastFrames: (error: GatewayError) => ReadonlyArray<Frame>
  /** What guards of the operator's leave of it; they see flags too, which quote calls. */
  readonly guard?:
    | ((frames: Stream.Stream<Frame, GatewayError | Enough>) => Stream.Stream<Frame, GatewayError | Enough>)
    | undefined
  /** How many more bytes wait for the caller, or fewer. */
  readonly onWaiting: (bytes: number) => void
}

/** Fails only before its first array; what a failure was then is the status of the reply. */
export const reply = <S extends Progress>(
  events: Stream.Stream<Event, GatewayError>,
  options: ReplyOptions<S>
): Stream.Stream<Uint8Array, GatewayError> =>
  events.pipe(
    translate(options),
    govern(options.calls),
    options.guard ?? identity,
    withDeadlines(options),
    endInBand(options.lastFrames),
    encode(options.onWaiting)
  )
