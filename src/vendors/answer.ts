/** What the dialects' answers have in common (docs/api.md#chat-answers). */
import { createHash, randomBytes } from "node:crypto"
import { Result } from "effect"
import type { Tokens } from "../catalog/Tokens.ts"
import { type Broken, unfinished } from "../catalog/UpstreamFault.ts"
import type { ToolCall } from "../contract/ChatMessage.ts"
import type { FinishReason } from "../contract/ChatReply.ts"
import { type JsonObject, textOf } from "../wire/json.ts"
import type { Answer, Pieces, Served } from "./Dialect.ts"

/** Unique across turns, so that a history of several turns is unambiguous (docs/decisions.md#tool-calls-of-gemini). */
export const newCallId = (): string => `call_${randomBytes(12).toString("hex")}`

/** An ID that is the same each time for the same text: `call_` and so many hexadecimal digits. */
export const digestId = (text: string, digits: number): string =>
  `call_${createHash("sha256").update(text).digest("hex").slice(0, digits)}`

/** Longest ID of a call, in characters (docs/api.md#limits). */
const maxCallId = 256

/** An ID as callers may give it back: one that is longer becomes a digest of itself, the same each time. */
export const callId = (id: string): string => (id.length <= maxCallId ? id : digestId(id, 48))

/** Of an answer whose vendor counted nothing. */
export const noUsage: Tokens = { input: 0, output: 0 }

/** A model that calls tools has not stopped, whatever its vendor says (docs/decisions.md#tool-calls-of-gemini). */
export const finishOf = (reason: FinishReason, calls: number): FinishReason =>
  reason === "stop" && calls > 0 ? "tool_calls" : reason

export const makeCall = (id: string, name: string, args: string, extra?: JsonObject): ToolCall => ({
  id,
  type: "function",
  function: { name, arguments: args },
  ...(extra === undefined ? {} : { extra_content: extra })
})

/** The piece of a text; an empty one is none. */
export const addText = (text: string, out: Pieces, logprobs?: JsonObject): void => {
  if (text !== "") out.push(logprobs === undefined ? { type: "text", text } : { type: "text", text, logprobs })
}

/** Of a completion, a chunk or a response; undefined where it says nothing. */
export const servedOf = ({ service_tier, system_fingerprint }: JsonObject): Served | undefined => {
  const tier = textOf(service_tier)
  const fingerprint = textOf(system_fingerprint)
  if (tier === undefined && fingerprint === undefined) return undefined
  return {
    ...(tier === undefined ? {} : { service_tier: tier }),
    ...(fingerprint === undefined ? {} : { system_fingerprint: fingerprint })
  }
}

/** `content` is null where there is none beside tool calls or a filter; an answer of no words is an empty string. */
export const makeAnswer = (
  answer: Omit<Answer, "content" | "extra"> & { text: string; extra?: JsonObject | undefined }
): Answer => {
  const finishReason = finishOf(answer.finishReason, answer.toolCalls.length)
  const silent = answer.toolCalls.length > 0 || finishReason === "content_filter" || answer.refusal !== undefined
  const { text, extra, ...said } = answer
  return { ...said, content: text === "" && silent ? null : text, finishReason, extra }
}

/** `failed`: there is no usable answer. */
type Meaning = FinishReason | "failed"

const words = (meaning: Meaning, names: string) => names.split(" ").map((name) => [name, meaning] as const)

/**
 * Why an answer ended: one table for the words of every vendor, which are all different (docs/decisions.md#finish-reasons,
 * docs/upstreams.md#finish-reasons). A word that is not here does not say that the answer is whole, so it is never `stop`.
 */
const meanings: ReadonlyMap<string, Meaning> = new Map([
  // OpenAI's formats; `completed` is the status of a response, and `max_output_tokens` why one is incomplete.
  ...words("stop", "stop completed"),
  ...words("length", "length max_output_tokens"),
  ...words("tool_calls", "tool_calls function_call"),
  ...words("content_filter", "content_filter"),
  // Claude, and Bedrock.
  ...words("stop", "end_turn stop_sequence"),
  ...words("length", "max_tokens model_context_window_exceeded"),
  ...words("tool_calls", "tool_use"),
  ...words("content_filter", "refusal guardrail_intervened content_filtered"),
  // Only the vendor's own server tools pause a turn, and those are refused; chat could not send what was said back as it was.
  ...words("failed", "pause_turn"),
  // Gemini.
  ...words("stop", "STOP"),
  ...words("length", "MAX_TOKENS CONTINUATION"),
  ...words("content_filter", "SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII OTHER"),
  ...words("content_filter", "IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION"),
  ...words("failed", "FINISH_REASON_UNSPECIFIED MISSING_THOUGHT_SIGNATURE UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS"),
  ...words("failed", "NO_IMAGE IMAGE_OTHER")
])

/** Kinds of failure, of any vendor: `error`, `server_error`, `malformed_tool_use`, `MALFORMED_FUNCTION_CALL`. */
const failure = /^malformed|(?:^|_)error$/i

/** Fails where a word is one of a failure; an unknown word, or none at all, is `content_filter`. */
export const finishOfWord = (word: string | undefined): Result.Result<FinishReason, Broken> => {
  const meaning = meanings.get(word ?? "") ?? (failure.test(word ?? "") ? "failed" : "content_filter")
  return meaning === "failed" ? Result.fail(unfinished(word ?? "")) : Result.succeed(meaning)
}

/** Whether a guardrail of Bedrock's replaced the answer: the body says so beside a word that may be that of a natural end. */
export const isGuarded = (body: JsonObject): boolean => (body["amazon-bedrock-guardrailAction"] ?? "NONE") !== "NONE"

/** Of a body that has the word and may be guarded. */
export const finishOfBody = (word: string | undefined, body: JsonObject): Result.Result<FinishReason, Broken> =>
  isGuarded(body) ? Result.succeed("content_filter") : finishOfWord(word)
