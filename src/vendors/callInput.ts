/** The arguments of calls in a history, for vendors that want an object (docs/api.md#tool-use). */
import type { ToolCall } from "../contract/ChatMessage.ts"
import { type JsonObject, parseObject } from "../wire/json.ts"
import { changed } from "./adjustments.ts"
import { readAhead } from "./jsonTexts.ts"
import { isBlank } from "./schema.ts"

/** How arguments that are no JSON object are named. */
const notAnObject = changed("messages.tool_calls.function.arguments", "text", "object")

/**
 * A call's arguments as an object, which Claude and Gemini want; without any where the text is empty. A model may have written something
 * else, or its token limit may have cut them: a text that is no JSON object, or one nested too deep, stands as it is under one key.
 */
export const callInput = (call: ToolCall, adjusted: Array<string>): JsonObject => {
  const { arguments: text } = call.function
  if (isBlank(text)) return {}
  const read = readAhead(call)
  const input = read === undefined ? parseObject(text) : read.value
  if (input !== undefined) return input
  if (!adjusted.includes(notAnObject)) adjusted.push(notAnObject)
  return { arguments: text }
}
