/** Reads a chat request for all dialects: tools, stop sequences, the format of the answer, texts. */
import { hash } from "node:crypto"
import { Result } from "effect"
import { type GatewayError, invalid } from "../catalog/GatewayError.ts"
import type { ChatRequest } from "../contract/Chat.ts"
import type { MessageOf, Tool } from "../contract/ChatMessage.ts"
import { isObject, type Json, type JsonObject, objectOf, textOf } from "../wire/json.ts"
import { jsonText } from "../wire/print.ts"
import type { Adjusted } from "./adjustments.ts"
import { combining, flatParameters } from "./flatParameters.ts"
import { withCurrentDraft } from "./schemaKeywords.ts"

/** Parameters that the gateway handles itself, or that every dialect translates but the one of chat completions, which sends them as they came. */
export const commonFields: ReadonlyArray<string> = [
  ...["model", "messages", "stream", "stream_options", "n", "max_tokens", "max_completion_tokens", "reasoning_effort"],
  ...["temperature", "top_p", "stop", "tools", "tool_choice", "parallel_tool_calls", "response_format"]
]

/** A tool's parameters as a schema of type object, also where the caller gave none (docs/decisions.md#small-inputs); shared where they are one. */
export const parametersOf = (tool: Tool): JsonObject => {
  const given = tool.function.parameters ?? {}
  const properties = objectOf(given.properties)
  return given.type === "object" && given.properties === properties ? given : { ...given, type: "object", properties }
}

/** The same for Anthropic: no combined schema at the root, and keywords of the current draft. What changes is named. */
export const flatParametersOf = (tool: Tool, adjusted: Adjusted): JsonObject => {
  const change = (from: string, to: string) => adjusted.changed("tools.function.parameters", from, to)
  const given = withCurrentDraft(parametersOf(tool), change)
  const combined = combining.filter((keyword) => keyword in given)
  for (const keyword of combined) change(keyword, "properties")
  return combined.length > 0 ? flatParameters(given) : given
}

/** The tools of a request; an empty list is none. */
export const toolsOf = (chat: ChatRequest): ReadonlyArray<Tool> => chat.tools ?? []

/** A mode, or the name of the one tool; undefined where there is none. */
type ToolChoice = "auto" | "none" | "required" | { readonly name: string } | undefined

export const choiceOf = ({ tool_choice }: ChatRequest): ToolChoice => {
  const asked = tool_choice ?? undefined
  if (typeof asked !== "object") return asked
  return asked.type === "function" ? { name: asked.function.name } : asked.type
}

/** The one that is sent: a forced one becomes `auto`, and is named, where it is not `forcible`. */
export const choiceFor = (chat: ChatRequest, forcible: boolean, adjusted: Adjusted): ToolChoice => {
  const choice = choiceOf(chat)
  if (forcible || (choice !== "required" && typeof choice !== "object")) return choice
  adjusted.changed("tool_choice", choice === "required" ? choice : choice.name, "auto")
  return "auto"
}

export const wantsSingleCall = ({ parallel_tool_calls }: ChatRequest): boolean => parallel_tool_calls === false

/** In a history there may be names that a model made up; OpenAI's APIs take those that a tool may have. */
export const historyName = (name: string): string => name.slice(0, 64).replace(/[^a-zA-Z0-9_-]/g, "_") || "unnamed"

/** What is sent in place of a text: its digest, the same in every request. The text is never named, because it may name a person. */
export const digested = (text: string, field: string, adjusted: Adjusted): string => {
  adjusted.changed(field, "plain", "sha256")
  return hash("sha256", text)
}

/** The schema with the description of its format, because other vendors take the schema only. */
const withDescription = (schema: JsonObject, description: Json | undefined): JsonObject => {
  const texts = [textOf(description), textOf(schema.description)].filter((text) => text !== undefined && text !== "")
  return texts.length === 0 ? schema : { ...schema, description: [...new Set(texts)].join("\n") }
}

/** `response_format`: any JSON object, or JSON of a schema; undefined for text. */
export const jsonFormat = (chat: ChatRequest): { readonly schema: JsonObject | undefined } | undefined => {
  const format = objectOf(chat.response_format)
  if (format.type === "json_object") return { schema: undefined }
  if (format.type !== "json_schema") return undefined
  const { description, schema } = objectOf(format.json_schema)
  return { schema: isObject(schema) ? withDescription(schema, description) : undefined }
}

/** Stop sequences: a string or a list, without empty ones. */
export const stopsOf = ({ stop }: ChatRequest): ReadonlyArray<string> =>
  [stop ?? []].flat().filter((sequence) => sequence !== "")

/** The texts of an assistant's message: its content, and a refusal, which other vendors have no field for. */
export const assistantTexts = ({ content, refusal }: MessageOf<"assistant">): ReadonlyArray<string> =>
  [content ?? "", textOf(refusal) ?? ""].filter((text) => !isBlank(text))

export const isBlank = (text: string): boolean => !/\S/.test(text)

/** In place of a user's message without text: without it Claude and Gemini would continue the assistant's turn. */
export const emptyUserText = "(The user says nothing.)"

/**
 * For Claude and Gemini, which get system texts in front: system messages that come last, behind the assistant's, become the user's. The
 * assistant's message would else be the last, and be continued or refused (docs/decisions.md#system-messages-within-a-conversation).
 */
export const endWithUser = ({ messages }: ChatRequest, adjusted: Adjusted): ChatRequest["messages"] => {
  const last = messages.findLastIndex(({ role }) => role !== "system" && role !== "developer")
  if (messages[last]?.role !== "assistant") return messages
  const instructions = messages
    .slice(last + 1)
    .flatMap((message) =>
      (message.role === "system" || message.role === "developer") && !isBlank(message.content)
        ? [{ ...message, role: "user" as const }]
        : []
    )
  if (instructions.length === 0) return messages
  adjusted.changed("messages.role", "system", "user")
  return [...messages.slice(0, last + 1), ...instructions]
}

interface SystemAndTurns<Turn> {
  readonly system: ReadonlyArray<JsonObject>
  readonly turns: ReadonlyArray<Turn>
}

/**
 * The conversation as Claude and Gemini take it: the user begins, and instructions without turns become the user's turn. `userTurn` makes
 * a turn of blocks, and `block` a block of a text. Fails with `invalid` (400) where there is no text at all.
 */
export const startWithUser = <Turn extends { readonly role: string }>(
  { system, turns }: SystemAndTurns<Turn>,
  userTurn: (blocks: ReadonlyArray<JsonObject>) => Turn,
  block: (text: string) => JsonObject,
  adjusted: Adjusted
): Result.Result<SystemAndTurns<Turn>, GatewayError> => {
  const [first] = turns
  if (first === undefined) {
    if (system.length === 0) return Result.fail(invalid("messages: at least one message must have content"))
    adjusted.changed("messages.role", "system", "user")
    return Result.succeed({ system: [], turns: [userTurn(system)] })
  }
  if (first.role === "user") return Result.succeed({ system, turns })
  // A caller's history may begin with a greeting.
  adjusted.add("messages:assistant-first")
  return Result.succeed({ system, turns: [userTurn([block("(The assistant speaks first.)")]), ...turns] })
}

/** The instruction that is sent in place of a format; `schema` is undefined for any object. */
export const jsonInstruction = (schema: JsonObject | undefined): string => {
  const only = "and nothing else: no Markdown fences, no text before or after it."
  return schema === undefined
    ? `Answer with one JSON object ${only}`
    : `Answer with one JSON value that conforms to this JSON Schema, ${only}\n${jsonText(schema)}`
}

/** The instruction in place of `response_format`, with the report that it is replaced. */
export const formatInstruction = (schema: JsonObject | undefined, adjusted: Adjusted): string => {
  adjusted.changed("response_format", schema === undefined ? "json_object" : "json_schema", "instruction")
  return jsonInstruction(schema)
}
