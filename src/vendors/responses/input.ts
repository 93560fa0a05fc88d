/** A chat's messages as input items of OpenAI's responses API (docs/upstreams.md#responses-api). */
import type { ChatMessage, ContentPart, ToolCall } from "../../contract/ChatMessage.ts"
import { type JsonObject, textOf } from "../../wire/json.ts"
import { digestId } from "../answer.ts"
import { historyName } from "../schema.ts"

/** Longest `call_id` that the API takes, in characters; chat takes longer ones, which other vendors' IDs are. */
const maxCallId = 64

/** An ID that is too long is shortened the same way in a call and in its result. */
export const callId = (id: string): string => (id.length <= maxCallId ? id : digestId(id, 32))

export const inputOf = (messages: ReadonlyArray<ChatMessage>): ReadonlyArray<JsonObject> => messages.flatMap(items)

const items = (message: ChatMessage): ReadonlyArray<JsonObject> => {
  switch (message.role) {
    case "system":
    case "developer":
      return [{ type: "message", role: "developer", content: message.content }]
    case "user":
      return [
        {
          type: "message",
          role: "user",
          content: typeof message.content === "string" ? message.content : message.content.map(part)
        }
      ]
    case "assistant":
      // A refusal is what the assistant said, too.
      return [
        ...[message.content, textOf(message.refusal)].flatMap((content) =>
          content ? [{ type: "message", role: "assistant", content }] : []
        ),
        ...(message.tool_calls ?? []).map(call)
      ]
    case "tool":
      return [{ type: "function_call_output", call_id: callId(message.tool_call_id), output: message.content }]
  }
}

const part = (part: ContentPart): JsonObject => {
  if (part.type === "text") return { type: "input_text", text: part.text }
  if (part.type === "file") return { type: "input_file", ...part.file } // no model of this dialect takes one
  const { url, detail } = part.image_url
  return { type: "input_image", image_url: url, detail: detail ?? "auto" }
}

const call = ({ id, function: { name, arguments: args } }: ToolCall): JsonObject => ({
  type: "function_call",
  call_id: callId(id),
  name: historyName(name),
  arguments: args
})
