/** A dialect translates a chat request into a vendor's format, and the vendor's reply into pieces of an answer. It is pure. */
import type { Result } from "effect"
import type { GatewayError } from "../catalog/GatewayError.ts"
import type { Route } from "../catalog/Route.ts"
import type { Tokens } from "../catalog/Tokens.ts"
import type { UpstreamFault } from "../catalog/UpstreamFault.ts"
import type { ChatRequest } from "../contract/Chat.ts"
import type { FinishReason } from "../contract/ChatReply.ts"
import type { Json, JsonObject } from "../wire/json.ts"
import type { Slices } from "../wire/slices.ts"
import type { Event } from "../wire/sse.ts"
import type { Adjusted } from "./adjustments.ts"

/** OpenAI's own: how the request was served, in fields of the completion itself. */
export type Served = Readonly<Partial<Record<"service_tier" | "system_fingerprint", string>>>

/** A piece of a streamed answer. `index` counts tool calls only, from 0. */
export type Piece =
  | { readonly type: "text"; readonly text: string; readonly logprobs?: JsonObject }
  /** OpenAI's own: what a model says instead of an answer that a schema asked for. */
  | { readonly type: "refusal"; readonly text: string; readonly logprobs?: JsonObject }
  /** OpenAI's own: sources of parts of the text, as they came. */
  | { readonly type: "annotations"; readonly annotations: ReadonlyArray<Json> }
  | {
      readonly type: "call"
      readonly index: number
      readonly id: string
      readonly name: string
      /** `tool_calls[].extra_content` of this call. */
      readonly extra?: JsonObject | undefined
    }
  | { readonly type: "arguments"; readonly index: number; readonly text: string }
  /** The call's arguments are complete. */
  | { readonly type: "call-end"; readonly index: number }
  /**
   * `extra_content` of the message: whole, once, and last, because clients differ in how they join the pieces of what they do not know.
   * OpenAI's for JavaScript keeps the last one, and its for Python fails at a second list.
   */
  | { readonly type: "extra"; readonly extra: JsonObject }

/** Takes pieces as they are read, as an array does. */
export interface Pieces {
  push(piece: Piece): unknown
}

/** How a reply ended and what it used; known after the cloud's terminal event. */
export interface Ending {
  readonly finishReason: FinishReason
  readonly usage: Tokens | undefined
  readonly served?: Served | undefined
  /** How likely the tokens of a whole reply were (`choices[].logprobs`); those of a stream come with its pieces. */
  readonly logprobs?: JsonObject | undefined
}

/** Reads one reply, whole or streamed. It has state, made anew for each reply; it is synchronous and never throws. */
export interface ReplyReader {
  /** Adds the pieces of a whole reply, which is parsed exactly, to `out`; returns the cloud's failure, if there is one. */
  whole(body: JsonObject, out: Pieces): Slices<UpstreamFault | undefined>
  /** Adds the pieces of one event to `out`; returns the cloud's failure, if there is one. */
  step(event: Event, out: Pieces): UpstreamFault | undefined
  /** Called once, after the terminal event or at the end of the stream; adds the last pieces. Without a terminal event it fails with `cut`. */
  end(out: Pieces): Result.Result<Ending, UpstreamFault>
  /** Whether the cloud's terminal event has come. */
  ended(): boolean
  /** Whether the answer is complete although the cloud goes on: its call is then ended. */
  stopped?(): boolean
  /** Bytes of output, about, that came and were not emitted as pieces: kept for later, or cut off. */
  unsent?(): number
  /** Memory that it holds, in bytes, about. */
  held?(): number
  /** Tokens known so far, for the usage record of a stream that is cut. */
  usage(): Tokens | undefined
}

export interface Dialect {
  /** The vendor's body. `adjusted` gets what was changed of the request. Refusals name the message, part, tool or parameter. */
  readonly request: (chat: ChatRequest, route: Route, adjusted: Adjusted) => Result.Result<JsonObject, GatewayError>
  /** A reader of one reply to `chat`, which says whether a Markdown fence is removed from its JSON. */
  readonly reader: (route: Route, chat: ChatRequest) => ReplyReader
}
