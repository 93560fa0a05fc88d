/** Lists of text as content in roles that have no parts, joined where the operator allows them (docs/api.md#chat-messages). */
import { arrayOf, isObject, type Json, type JsonObject } from "../wire/json.ts"

const partFields: ReadonlySet<string> = new Set(["type", "text", "cache_control"])

/** A part that is nothing but text. */
const isText = (part: Json): part is { readonly type: "text"; readonly text: string; readonly cache_control?: Json } =>
  isObject(part) &&
  part.type === "text" &&
  typeof part.text === "string" &&
  Object.keys(part).every((name) => partFields.has(name) || part[name] === null)

/** A mark of one of the parts is the message's: it stands at its end. */
const joined = (message: Json): Json => {
  if (!isObject(message) || message.role === "user" || !Array.isArray(message.content)) return message
  const parts = arrayOf(message.content)
  if (!parts.every(isText)) return message
  const mark = message.cache_control ?? parts.findLast((part) => part.cache_control)?.cache_control
  const content = parts.map(({ text }) => text).join("")
  return mark === undefined ? { ...message, content } : { ...message, content, cache_control: mark }
}

/** A chat request with such lists joined. */
export const joinTextArrays = (body: JsonObject): JsonObject =>
  Array.isArray(body.messages) ? { ...body, messages: body.messages.map(joined) } : body
