/**
 * Why an answer ended: one table for the words of every vendor, which are all different (docs/decisions.md#finish-reasons,
 * docs/upstreams.md#finish-reasons). A word that is not here does not say that the answer is whole, so it is never `stop`.
 */
import { Result } from "effect"
import { type Broken, unfinished } from "../catalog/UpstreamFault.ts"
import type { FinishReason } from "../contract/ChatReply.ts"
import type { JsonObject } from "../wire/json.ts"

/** `failed`: there is no usable answer. */
type Meaning = FinishReason | "failed"

const words = (meaning: Meaning, names: string) => names.split(" ").map((name) => [name, meaning] as const)

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
