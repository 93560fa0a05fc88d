import { isObject, type Json, type JsonObject, listOf, objectOf, objectsOf, stringOf } from "../json.ts"
import type { GptModel } from "../models.ts"
import { imageOf, insist, OpenAiRefusal, onlyParameters } from "./shared.ts"

const partsOf = (content: Json | undefined): ReadonlyArray<JsonObject> =>
  typeof content === "string" ? [{ type: "text", text: content }] : listOf(content).filter(isObject)

/** The text of a message. */
export const textIn = (message: JsonObject | undefined): string =>
  partsOf(message?.content)
    .map((part) => stringOf(part.text))
    .join("\n")

/** The tool calls of a message. */
export const callsIn = (message: JsonObject | undefined): ReadonlyArray<JsonObject> => objectsOf(message?.tool_calls)

const checkContent = (message: JsonObject, path: string, model: GptModel): void => {
  const content = message.content
  const role = stringOf(message.role)
  const optional = role === "assistant" && (callsIn(message).length > 0 || typeof message.refusal === "string")
  if (content === undefined || content === null) {
    insist(optional, `Invalid value for 'content': expected a string, got null.`, `${path}.content`)
    return
  }
  insist(
    typeof content === "string" || (Array.isArray(content) && content.length > 0),
    `Invalid type for '${path}.content': expected a string or an array of objects.`,
    `${path}.content`,
    "invalid_type"
  )
  if (typeof content === "string") return
  for (const [index, part] of partsOf(content).entries()) {
    const at = `${path}.content[${index}]`
    const type = stringOf(part.type)
    if (type === "image_url" && role === "user") imageOf(stringOf(objectOf(part.image_url).url), at, model)
    else if (type === "file")
      throw new OpenAiRefusal(
        "Invalid value: 'file'. This model does not support file content types.",
        at,
        "invalid_value"
      )
    else
      insist(
        type === "text" || type === "refusal",
        `Invalid value: '${type}'. Supported values are: 'text' and 'image_url'.`,
        `${at}.type`,
        "invalid_value"
      )
  }
}

/** Checks the messages as the cloud does: roles, parts, tool calls with their results. */
export const checkMessages = (messages: ReadonlyArray<JsonObject>, model: GptModel): void => {
  insist(
    messages.length > 0,
    "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
    "messages",
    "empty_array"
  )
  const roles = new Set(messages.map((message) => message.role))
  insist(
    !(roles.has("system") && roles.has("developer")),
    "Messages with role 'system' and 'developer' cannot be mixed.",
    "messages",
    "invalid_value"
  )
  let open: ReadonlyArray<string> = []
  for (const [index, message] of messages.entries()) {
    const path = `messages[${index}]`
    const role = stringOf(message.role)
    insist(
      ["system", "developer", "user", "assistant", "tool"].includes(role),
      `Invalid value: '${role}'. Supported values are: 'system', 'assistant', 'user', 'developer' and 'tool'.`,
      `${path}.role`,
      "invalid_value"
    )
    onlyParameters(
      message,
      [
        "role",
        "content",
        "name",
        ...(role === "assistant" ? ["tool_calls", "refusal", "annotations", "audio"] : []),
        ...(role === "tool" ? ["tool_call_id"] : [])
      ],
      path
    )
    checkContent(message, path, model)
    const answered = stringOf(message.tool_call_id)
    if (role === "tool") {
      insist(
        open.includes(answered),
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        `${path}.role`
      )
      open = open.filter((id) => id !== answered)
    } else {
      insist(
        open.length === 0,
        `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${open.join(", ")}`,
        `${path}.role`
      )
    }
    for (const [at, call] of callsIn(message).entries()) {
      onlyParameters(call, ["id", "type", "function"], `${path}.tool_calls[${at}]`)
      onlyParameters(objectOf(call.function), ["name", "arguments"], `${path}.tool_calls[${at}].function`)
      insist(
        typeof objectOf(call.function).arguments === "string",
        `Invalid type for '${path}.tool_calls[${at}].function.arguments': expected a string.`,
        `${path}.tool_calls`,
        "invalid_type"
      )
    }
    if (role === "assistant") open = callsIn(message).map((call) => stringOf(call.id))
  }
  insist(
    open.length === 0,
    `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${open.join(", ")}`,
    "messages"
  )
}

/** The images of a message. */
export const mediaIn = (
  message: JsonObject | undefined,
  model: GptModel
): ReadonlyArray<{ readonly type: string; readonly bytes: number }> =>
  partsOf(message?.content)
    .filter((part) => part.type === "image_url")
    .map((part) => imageOf(stringOf(objectOf(part.image_url).url), "messages", model))
