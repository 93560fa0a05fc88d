/** What the guards of a request do with its reply. */
import type { Effect } from "effect"
import type { GatewayError } from "../catalog/GatewayError.ts"
import type { GuardStreamOptions } from "../guards/heldReply.ts"
import type { Frame } from "../stream/Frame.ts"
import type { ReplyOptions } from "../stream/reply.ts"
import type { AnswerBody } from "../surfaces/Surface.ts"
import type { JsonObject } from "../wire/json.ts"

/** What they need of a stream. */
interface StreamGuarding extends Pick<ReplyOptions, "hold">, Pick<GuardStreamOptions, "usage"> {
  readonly onWithheld: (finishReason: string) => void
}

/** The guards of one request. */
export interface Guarding {
  /** What they leave of a whole reply. `read`: the object that its bytes are. */
  readonly reply: (body: AnswerBody, read: JsonObject) => Effect.Effect<AnswerBody, GatewayError>
  /** A body with what they did for the request and the reply. */
  readonly reported: (body: AnswerBody, read: JsonObject) => AnswerBody
  /** The operator of a streamed reply; undefined where there is nothing for them to do or to say. */
  readonly stream: (options: StreamGuarding) => ReplyOptions["guard"]
  /** The frames of an error that ends a stream, with what they did. */
  readonly failed: (frames: ReadonlyArray<Frame>) => ReadonlyArray<Frame>
}
