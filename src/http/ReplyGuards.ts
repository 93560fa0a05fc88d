/** The guards of a request's reply. */
import type { Effect } from "effect"
import type { GatewayError } from "../catalog/GatewayError.ts"
import type { GuardStreamOptions } from "../guards/heldReply.ts"
import type { Frames } from "../stream/Frame.ts"
import type { ReplyOptions } from "../stream/reply.ts"
import type { AnswerBody } from "../surfaces/Surface.ts"
import type { JsonObject } from "../wire/json.ts"

/** What guards need of a stream. */
interface GuardedStream extends Pick<ReplyOptions, "hold">, Pick<GuardStreamOptions, "usage"> {
  readonly onWithheld: (finishReason: string) => void
}

/** The guards of one reply. */
export interface ReplyGuards {
  /** The body of a whole reply after the guards. `read`: the parsed body. */
  readonly reply: (body: AnswerBody, read: JsonObject) => Effect.Effect<AnswerBody, GatewayError>
  /** The body with the actions of guards on the request and the reply. */
  readonly reported: (body: AnswerBody, read: JsonObject) => AnswerBody
  /** The stage of a streamed reply; undefined where there is nothing to do or to report. */
  readonly stream: (options: GuardedStream) => ReplyOptions["guard"]
  /** The frames of an error that ends a stream, with the actions of guards. */
  readonly failed: (frames: Frames) => Frames
}
