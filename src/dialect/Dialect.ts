/**
 * A dialect says a chat completion in a vendor's words and reads the answer back. It is pure: what is said, never how it
 * gets there.
 */
import type { Result, Schema } from "effect"
import type { ChatRequest, FinishReason, Usage } from "../api/Chat.ts"
import type { ToolCall } from "../api/ChatMessage.ts"
import type { GatewayError } from "../model/GatewayError.ts"
import type { Route } from "../model/Route.ts"

/** One upstream event as the framing yields it; `data` is JSON text. */
export interface UpstreamEvent {
  readonly event?: string | undefined
  readonly data: string
}

/** A whole answer, in no one's format. */
export interface Answer {
  readonly id: string | undefined
  readonly content: string | null
  /** OpenAI's own field: what a model says instead of an answer that a schema asked for. */
  readonly refusal?: string | undefined
  readonly toolCalls: ReadonlyArray<ToolCall>
  readonly finishReason: FinishReason
  readonly usage: Usage
  /** What the vendor needs back with the message (`message.extra_content`). */
  readonly extra: Schema.JsonObject | undefined
}

/** A piece of a streamed answer. `index` counts tool calls only, from 0. */
export type Piece =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "refusal"; readonly text: string }
  | {
      readonly type: "call"
      readonly index: number
      readonly id: string
      readonly name: string
      /** `tool_calls[].extra_content` of this call. */
      readonly extra?: Schema.JsonObject | undefined
      /** `extra_content` of the message, on the first call. */
      readonly messageExtra?: Schema.JsonObject | undefined
    }
  | { readonly type: "arguments"; readonly index: number; readonly text: string }
  /** The call's arguments are complete. */
  | { readonly type: "call-end"; readonly index: number }

/** What a stream comes to: known when the upstream's own terminal event has been seen. */
export interface Ending {
  readonly finishReason: FinishReason
  readonly usage: Usage | undefined
}

/** Reads one stream. Mutable, made anew for each. */
export interface StreamReader {
  /** The pieces of one event; an in-band upstream error is a failure. */
  readonly step: (event: UpstreamEvent) => Result.Result<ReadonlyArray<Piece>, GatewayError>
  /** Called at the upstream's end: a stream without its terminal event is a failure (`code: "cut"`). */
  readonly end: () => Result.Result<{ readonly pieces: ReadonlyArray<Piece>; readonly ending: Ending }, GatewayError>
  /** Whether the upstream's own terminal event has been seen, so that nothing more need be awaited. */
  readonly ended: () => boolean
  /** Tokens known so far, for the usage record of a stream that is cut. */
  readonly usage: () => Usage | undefined
}

export interface Dialect {
  /** The upstream's body. Refusals name the message, part, tool or parameter. */
  readonly request: (chat: ChatRequest, route: Route) => Result.Result<Schema.JsonObject, GatewayError>
  /** `chat` is what was asked: an answer in JSON is then freed of the Markdown around it. */
  readonly reply: (body: Schema.Json, route: Route, chat?: ChatRequest) => Result.Result<Answer, GatewayError>
  readonly stream: (route: Route, chat?: ChatRequest) => StreamReader
}
