/** What a caller asks for as JSON, and what its tools take. */
import type { ChatRequest } from "../contract/Chat.ts"
import type { ChatMessage, Tool } from "../contract/ChatMessage.ts"
import { isObject, type Json, type JsonObject, objectOf, textOf } from "../wire/json.ts"
import { jsonText } from "../wire/print.ts"

/** A tool's parameters as a schema of type object, also where the caller gave none (docs/decisions.md#small-inputs). */
export const parametersOf = (tool: Tool): JsonObject => {
  const given = tool.function.parameters ?? {}
  return { ...given, type: "object", properties: objectOf(given.properties) }
}

/** The tools of a request; an empty list is none. */
export const toolsOf = (chat: ChatRequest): ReadonlyArray<Tool> => chat.tools ?? []

/** What a choice of tools comes to: a word, or the name of the one tool; undefined where nothing was said. */
export const chosen = ({
  tool_choice: choice
}: ChatRequest): "auto" | "none" | "required" | { readonly name: string } | undefined => {
  if (choice === undefined || choice === null || typeof choice === "string") return choice ?? undefined
  return choice.type === "function" ? { name: choice.function.name } : choice.type
}

/** In a history there may be names that a model made up; OpenAI's APIs take those that a tool may have. */
export const historyName = (name: string): string => name.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64) || "unnamed"

/** `response_format`: any JSON object, or JSON of a schema; undefined for text. */
interface JsonFormat {
  readonly schema: JsonObject | undefined
}

/** What a format says of its schema is said in the schema, which is all that other vendors take. */
const described = (schema: JsonObject, description: Json | undefined): JsonObject => {
  const texts = [textOf(description), textOf(schema.description)].filter((text) => text !== undefined && text !== "")
  return texts.length === 0 ? schema : { ...schema, description: [...new Set(texts)].join("\n") }
}

export const jsonFormat = (chat: ChatRequest): JsonFormat | undefined => {
  const format = objectOf(chat.response_format)
  if (format.type === "json_object") return { schema: undefined }
  if (format.type !== "json_schema") return undefined
  const { description, schema } = objectOf(format.json_schema)
  return { schema: isObject(schema) ? described(schema, description) : undefined }
}

/** Stop sequences: a string or a list, without empty ones. */
export const stopsOf = ({ stop }: ChatRequest): ReadonlyArray<string> =>
  [stop ?? []].flat().filter((sequence) => sequence !== "")

/** What an assistant's message says in words: its content, and a refusal, which other vendors have no field for. */
export const assistantTexts = ({
  content,
  refusal
}: Extract<ChatMessage, { readonly role: "assistant" }>): ReadonlyArray<string> => {
  const texts = typeof content !== "string" || isBlank(content) ? [] : [content]
  if (typeof refusal === "string" && !isBlank(refusal)) texts.push(refusal)
  return texts
}

/** Whether a text is nothing but whitespace. */
export const isBlank = (text: string): boolean => !/\S/.test(text)

/** Said by the user where a caller's history begins with the assistant, as a greeting does: both vendors want the user first. */
export const opening = "(The assistant speaks first.)"

/** Said by the user where a message of his has no words: without it both vendors would have the assistant's turn go on. */
export const silence = "(The user says nothing.)"

/** The instruction that stands for a format; `schema` is undefined for any object. */
export const jsonInstruction = (schema: JsonObject | undefined): string => {
  const only = "and nothing else: no Markdown fences, no text before or after it."
  return schema === undefined
    ? `Answer with one JSON object ${only}`
    : `Answer with one JSON value that conforms to this JSON Schema, ${only}\n${jsonText(schema)}`
}
