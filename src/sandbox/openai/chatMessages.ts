/** The messages of a chat completion request. */
import { isObject, type Json, type JsonObject, listOf, objectOf, objectsOf, stringOf } from "../json.ts"
import type { GptModel } from "../models.ts"
import { anything, closed, free, list, type Shape, text, textOr, variant } from "./shape.ts"
import { imageOf, insist, OpenAiRefusal } from "./shared.ts"

const partsOf = (content: Json | undefined): ReadonlyArray<JsonObject> =>
  typeof content === "string" ? [{ type: "text", text: content }] : listOf(content).filter(isObject)

/** The text of a message. */
export const textIn = (message: JsonObject | undefined): string =>
  partsOf(message?.content)
    .map((part) => stringOf(part.text))
    .join("\n")

/** The tool calls of a message. */
export const callsIn = (message: JsonObject | undefined): ReadonlyArray<JsonObject> => objectsOf(message?.tool_calls)

const noFiles: Shape = (_, path) => {
  throw new OpenAiRefusal(
    "Invalid value: 'file'. This model does not support file content types.",
    path,
    "invalid_value"
  )
}

const call = closed({ "id!": text, type: anything, "function!": closed({ "name!": text, "arguments!": text }) })

const messagesOf = (model: GptModel): Shape => {
  const image: Shape = (part, path) => imageOf(stringOf(objectOf(objectOf(part).image_url).url), path, model)
  const plain = { text: anything, file: noFiles }
  const message = (parts: Readonly<Record<string, Shape>>, more: Readonly<Record<string, Shape>> = {}) =>
    closed({ ...free("role", "name"), content: textOr(variant("type", parts)), ...more })
  return list(
    variant("role", {
      system: message(plain),
      developer: message(plain),
      user: message({ ...plain, image_url: image }),
      assistant: message(
        { ...plain, refusal: anything },
        { ...free("refusal", "annotations", "audio"), tool_calls: list(call) }
      ),
      tool: message(plain, { tool_call_id: text })
    }),
    { filled: true }
  )
}

/** Checks the messages as the cloud does: roles, parts, tool calls with their results. */
export const checkMessages = (given: Json | undefined, model: GptModel): void => {
  messagesOf(model)(given ?? [], "messages")
  const messages = objectsOf(given)
  const roles = new Set(messages.map((message) => message.role))
  insist(
    !(roles.has("system") && roles.has("developer")),
    "Messages with role 'system' and 'developer' cannot be mixed.",
    "messages",
    "invalid_value"
  )
  let open: ReadonlyArray<string> = []
  const closeAll = (path: string) =>
    insist(
      open.length === 0,
      `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${open.join(", ")}`,
      path
    )
  for (const [index, message] of messages.entries()) {
    const path = `messages[${index}]`
    const { role, content, refusal } = message
    const silent = content === undefined || content === null
    const optional = role === "assistant" && (callsIn(message).length > 0 || typeof refusal === "string")
    insist(!silent || optional, "Invalid value for 'content': expected a string, got null.", `${path}.content`)
    if (role === "tool") {
      const answered = stringOf(message.tool_call_id)
      insist(
        open.includes(answered),
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        `${path}.role`
      )
      open = open.filter((id) => id !== answered)
    } else closeAll(`${path}.role`)
    if (role === "assistant") open = callsIn(message).map((call) => stringOf(call.id))
  }
  closeAll("messages")
}

/** The images of a message. */
export const mediaIn = (
  message: JsonObject | undefined,
  model: GptModel
): ReadonlyArray<{ readonly type: string; readonly bytes: number }> =>
  partsOf(message?.content)
    .filter((part) => part.type === "image_url")
    .map((part) => imageOf(stringOf(objectOf(part.image_url).url), "messages", model))
