/**
 * Why Gemini ended (docs/upstreams.md#finish-reasons-of-gemini, which gives the sources). `failed`: there is no usable answer. A
 * reason that is not here says that the answer is not whole, so it is never `stop`.
 */
import type { FinishReason } from "../../contract/ChatReply.ts"

const reasons: ReadonlyMap<string, FinishReason | "failed"> = new Map([
  ["STOP", "stop"],
  ["MAX_TOKENS", "length"],
  ["CONTINUATION", "length"],
  ["SAFETY", "content_filter"],
  ["RECITATION", "content_filter"],
  ["LANGUAGE", "content_filter"],
  ["BLOCKLIST", "content_filter"],
  ["PROHIBITED_CONTENT", "content_filter"],
  ["SPII", "content_filter"],
  ["IMAGE_SAFETY", "content_filter"],
  ["IMAGE_PROHIBITED_CONTENT", "content_filter"],
  ["IMAGE_RECITATION", "content_filter"],
  ["OTHER", "content_filter"],
  ["FINISH_REASON_UNSPECIFIED", "failed"],
  ["MALFORMED_FUNCTION_CALL", "failed"],
  ["MALFORMED_RESPONSE", "failed"],
  ["MISSING_THOUGHT_SIGNATURE", "failed"],
  ["UNEXPECTED_TOOL_CALL", "failed"],
  ["TOO_MANY_TOOL_CALLS", "failed"],
  ["NO_IMAGE", "failed"],
  ["IMAGE_OTHER", "failed"]
])

export const finishOfReason = (reason: string): FinishReason | "failed" => reasons.get(reason) ?? "content_filter"
