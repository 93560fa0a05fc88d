/** What the three dialects' answers have in common (docs/api.md#chat-answers). */
import { createHash, randomBytes } from "node:crypto"
import type { Tokens } from "../catalog/Tokens.ts"
import type { ToolCall } from "../contract/ChatMessage.ts"
import type { FinishReason, Usage } from "../contract/ChatReply.ts"
import { type JsonObject, textOf } from "../wire/json.ts"
import type { Answer, Pieces, Served } from "./Dialect.ts"

/** Unique across turns, so that a history of several turns is unambiguous (docs/decisions.md#tool-calls-of-gemini). */
export const newCallId = (): string => `call_${randomBytes(12).toString("hex")}`

/** Longest ID of a call, in characters (docs/api.md#limits). */
const maxCallId = 256

/** An ID as callers may give it back: one that is longer becomes a digest of itself, the same each time. */
export const callId = (id: string): string =>
  id.length <= maxCallId ? id : `call_${createHash("sha256").update(id).digest("hex").slice(0, 48)}`

/** Token counts as the chat format says them. */
export const makeUsage = ({ input, output, cached, reasoning }: Tokens): Usage => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  ...(cached === undefined ? {} : { prompt_tokens_details: { cached_tokens: cached } }),
  ...(reasoning === undefined ? {} : { completion_tokens_details: { reasoning_tokens: reasoning } })
})

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
