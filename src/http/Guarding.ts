/** What the guards of a request do with its reply. */
import type { Effect } from "effect"
import type { GatewayError } from "../catalog/GatewayError.ts"
import type { ReplyOptions } from "../stream/reply.ts"
import type { AnswerBody } from "../surfaces/Surface.ts"
import type { JsonObject } from "../wire/json.ts"

/** The guards of one request. */
export interface Guarding {
  /** What they leave of a whole reply. `read`: the object that its bytes are. */
  readonly reply: (body: AnswerBody, read: JsonObject) => Effect.Effect<AnswerBody, GatewayError>
  /** A body with what they did for the request and the reply. */
  readonly reported: (body: AnswerBody, read: JsonObject) => AnswerBody
  /** The operator of a streamed reply; undefined where there is nothing for them to do or to say. */
  readonly stream: (hold: ReplyOptions["hold"], onWithheld: (finishReason: string) => void) => ReplyOptions["guard"]
}
