/** What every upstream framing answers: events, and how a stream of them can go wrong. */
import { Data } from "effect"
import type { Event } from "./sse.ts"

/**
 * The bytes are not a well-formed stream of events. `truncated`: the stream ended inside an event. The message
 * never quotes the bytes, which are the caller's data.
 */
export class FramingError extends Data.TaggedError("FramingError")<{
  readonly kind: "too-large" | "invalid-utf8" | "bad-frame" | "truncated"
  readonly message: string
}> {}

/**
 * The upstream reported, in a well-formed frame, that it failed. `type` is the vendor's name for the failure
 * (`throttlingException`), `status` the HTTP status of the model behind it where the frame names one.
 */
export class UpstreamException extends Data.TaggedError("UpstreamException")<{
  readonly type: string
  readonly message: string
  readonly status: number | undefined
}> {}

/** Both ways in which reading frames ends early. */
export type FramingFailure = FramingError | UpstreamException

/** What one step of a decoder found: the events, in order, and then the failure that came after them, if any. */
export interface Decoded {
  readonly events: ReadonlyArray<Event>
  readonly failure: FramingFailure | undefined
}

/**
 * Turns the bytes of one stream into events. It has state, is synchronous, and never throws; where the chunks are
 * cut changes nothing. After a failure every further step answers that failure again, without events.
 */
export interface Decoder {
  /** Takes the next network chunk. The chunk is not kept: its memory is used again. */
  readonly feed: (chunk: Uint8Array) => Decoded
  /** The stream has ended: `truncated` when it ended inside an event. */
  readonly end: () => Decoded
}
