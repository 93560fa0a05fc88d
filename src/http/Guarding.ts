/** Shows requests and replies to guards (docs/guards.md). There only where the operator has some: without them nothing is loaded. */
import { Context, type Effect } from "effect"
import type { GatewayError } from "../catalog/GatewayError.ts"
import type { ApiError } from "../contract/Errors.ts"
import type { GuardStreamOptions } from "../guards/heldReply.ts"
import type { Frames } from "../stream/Frame.ts"
import type { ReplyOptions } from "../stream/reply.ts"
import type { AnswerBody, NamesModel, Prepared, Surface } from "../surfaces/Surface.ts"
import type { JsonObject } from "../wire/json.ts"
import type { RequestRecord } from "./RequestRecord.ts"

/** What guards need to know of a surface. */
export type GuardedEndpoint = Pick<Surface<never, Prepared, ApiError>, "guarded" | "purpose">

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
  /** Whether one of them may block or redact: then flags in an error would quote calls that it has not seen. */
  readonly hold: boolean
  /** The frames of an error that ends a stream, with the actions of guards. */
  readonly failed: (frames: Frames) => Frames
}

export interface GuardedRequest<R> {
  readonly request: R
  readonly replyGuards?: ReplyGuards | undefined
  /** The error where a guard left nothing of a text, and what remains cannot be sent. */
  readonly emptied?: GatewayError | undefined
}

export class Guarding extends Context.Service<
  Guarding,
  {
    /** Asks about the texts of a request. Returns it as it may go on, and the guards of its reply, where there are some. */
    readonly request: <R extends NamesModel>(
      surface: GuardedEndpoint,
      request: R,
      record: RequestRecord
    ) => Effect.Effect<GuardedRequest<R>, GatewayError>
  }
>()("gateway/http/Guarding") {}
