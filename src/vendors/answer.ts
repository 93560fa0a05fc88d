/** What replies to chat requests have in common in the formats of all vendors (docs/api.md#chat-answers). */
import { hash, randomBytes } from "node:crypto"
import { Predicate, Record, Result } from "effect"
import { type Broken, unfinished } from "../catalog/UpstreamFault.ts"
import { chatLimits } from "../contract/ChatMessage.ts"
import type { FinishReason } from "../contract/ChatReply.ts"
import { arrayOf, isObject, type Json, type JsonObject, objectOf, textOf } from "../wire/json.ts"
import { isEventName } from "../wire/sse.ts"
import { meaningsOf } from "../wire/words.ts"
import type { Pieces, Served } from "./Dialect.ts"

/** An ID that is the same each time for the same text: `call_` and so many hexadecimal digits. */
export const digestId = (text: string, digits: number): string => `call_${hash("sha256", text).slice(0, digits)}`

/**
 * The ID of a call, as callers may give it back: one that is longer becomes a digest of itself, the same each time. Without one it is
 * unique across turns, so that a history of several turns is unambiguous (docs/decisions.md#tool-calls-of-gemini).
 */
export const callId = (given: Json | undefined): string => {
  const id = textOf(given) || `call_${randomBytes(12).toString("hex")}`
  return id.length <= chatLimits.toolCallId ? id : digestId(id, 48)
}

/** A model that calls tools has not stopped, whatever its vendor says (docs/decisions.md#tool-calls-of-gemini). */
export const finishOf = (reason: FinishReason, calls: number): FinishReason =>
  reason === "stop" && calls > 0 ? "tool_calls" : reason

/** The piece of a text; an empty one is none. */
export const addText = (text: string, out: Pieces, logprobs?: JsonObject, type: "text" | "refusal" = "text"): void => {
  if (text !== "") out.push(logprobs === undefined ? { type, text } : { type, text, logprobs })
}

/** How a completion, a chunk or a response was served; undefined where it does not say. */
export const servedOf = ({ service_tier, system_fingerprint }: JsonObject): Served | undefined => {
  const served = Record.filter({ service_tier, system_fingerprint }, Predicate.isString)
  return Record.isEmptyRecord(served) ? undefined : served
}

/** The lists of a reply's blocks, parts, calls or items, in the formats of all vendors. */
export const listsOf = ({ candidates, choices, content, output }: JsonObject): ReadonlyArray<ReadonlyArray<Json>> =>
  [
    content,
    objectOf(objectOf(arrayOf(candidates)[0]).content).parts,
    objectOf(objectOf(arrayOf(choices)[0]).message).tool_calls,
    output
  ].map(arrayOf)

/** `failed`: there is no usable answer. */
type Meaning = FinishReason | "failed"

/**
 * Why an answer ended: one table for the finish reasons of all vendors (docs/decisions.md#finish-reasons,
 * docs/upstreams.md#finish-reasons). An unknown one is never `stop`, because the answer may not be whole.
 */
const meanings = meaningsOf<Meaning>(
  // OpenAI's formats; `completed` is the status of a response, and `max_output_tokens` why one is incomplete.
  ["stop completed", "stop"],
  ["length max_output_tokens", "length"],
  ["tool_calls function_call", "tool_calls"],
  ["content_filter", "content_filter"],
  // Claude, and Bedrock.
  ["end_turn stop_sequence", "stop"],
  ["max_tokens model_context_window_exceeded", "length"],
  ["tool_use", "tool_calls"],
  ["refusal guardrail_intervened content_filtered", "content_filter"],
  // Only the vendor's server tools pause a turn, and those are refused.
  ["pause_turn", "failed"],
  // Gemini.
  ["STOP", "stop"],
  ["MAX_TOKENS CONTINUATION", "length"],
  ["SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII MODEL_ARMOR OTHER", "content_filter"],
  ["IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION", "content_filter"],
  ["FINISH_REASON_UNSPECIFIED MISSING_THOUGHT_SIGNATURE UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS", "failed"],
  ["NO_IMAGE IMAGE_OTHER", "failed"]
)

/** Kinds of failure, of any vendor: `error`, `server_error`, `malformed_tool_use`, `MALFORMED_FUNCTION_CALL`. */
const failure = /^malformed|(?:^|_)error$/i

/**
 * The finish reason that a vendor's word means. Fails for one of a failure; an unknown one, or none, is `content_filter`. So is any of a
 * guarded answer (`isGuarded`).
 */
export const finishOfWord = (word: string | undefined, guarded = false): Result.Result<FinishReason, Broken> => {
  if (guarded) return Result.succeed("content_filter")
  const meaning = meanings.get(word ?? "") ?? (failure.test(word ?? "") ? "failed" : "content_filter")
  return meaning === "failed" ? Result.fail(unfinished(word ?? "")) : Result.succeed(meaning)
}

/** Whether a vendor's finish reason is that of a filter; an unknown one is not, on surfaces that pass it on. */
export const isFilter = (word: Json | undefined): boolean => meanings.get(textOf(word) ?? "") === "content_filter"

/** The type of an event. An error without one is that of the cloud in front of the API. */
export const eventTypeOf = ({ type, error }: JsonObject): string | undefined =>
  textOf(type) ?? (isObject(error) ? "error" : undefined)

/** Whether clients that read an event's name and those that read the type in its data see the same event, and no further ones. */
export const isOneEvent = (name: string | undefined, type: string | undefined): boolean =>
  (name === undefined || type === undefined || name === type) && isEventName(name ?? type ?? "")

/** Whether a guardrail of Bedrock replaced the answer; its finish reason may be that of a normal end. */
export const isGuarded = (body: JsonObject): boolean => (body["amazon-bedrock-guardrailAction"] ?? "NONE") !== "NONE"
