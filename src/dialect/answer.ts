/** What the three dialects' answers have in common (spec: Chat completion object). */
import { randomBytes } from "node:crypto"
import type { FinishReason, Usage } from "../api/Chat.ts"
import type { ToolCall } from "../api/ChatMessage.ts"
import type { Answer } from "./Dialect.ts"
import type { JsonObject } from "./json.ts"

/** Unique across turns, so that a history of several turns is unambiguous (pitfalls: 9). */
export const newCallId = (): string => `call_${randomBytes(12).toString("hex")}`

/** Token counts; `prompt` includes `cached`, `completion` includes `reasoning`. */
export interface Tokens {
  readonly prompt: number
  readonly completion: number
  readonly cached?: number | undefined
  readonly reasoning?: number | undefined
}

export const makeUsage = ({ prompt, completion, cached, reasoning }: Tokens): Usage => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
  ...(cached === undefined ? {} : { prompt_tokens_details: { cached_tokens: cached } }),
  ...(reasoning === undefined ? {} : { completion_tokens_details: { reasoning_tokens: reasoning } })
})

/** A model that calls tools has not stopped, whatever its vendor says (pitfalls: 8). */
export const finishOf = (reason: FinishReason, calls: number): FinishReason =>
  reason === "stop" && calls > 0 ? "tool_calls" : reason

export const makeCall = (id: string, name: string, args: string, extra?: JsonObject): ToolCall => ({
  id,
  type: "function",
  function: { name, arguments: args },
  ...(extra === undefined ? {} : { extra_content: extra })
})

/** `content` is null where there is none beside tool calls or a filter; an answer of no words is an empty string. */
export const makeAnswer = (
  answer: Omit<Answer, "content" | "extra"> & { text: string; extra?: JsonObject | undefined }
): Answer => {
  const finishReason = finishOf(answer.finishReason, answer.toolCalls.length)
  const silent = answer.toolCalls.length > 0 || finishReason === "content_filter" || answer.refusal !== undefined
  return {
    id: answer.id,
    content: answer.text === "" && silent ? null : answer.text,
    refusal: answer.refusal,
    toolCalls: answer.toolCalls,
    finishReason,
    usage: answer.usage,
    extra: answer.extra
  }
}
