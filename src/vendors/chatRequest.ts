/** Reads a chat request for all dialects: tools, stop sequences, the format of the answer, texts, images and PDFs. */
import { hash } from "node:crypto"
import { Result } from "effect"
import type { Effort, Model } from "../catalog/Catalog.ts"
import { type GatewayError, invalid } from "../catalog/GatewayError.ts"
import type { ChatRequest } from "../contract/Chat.ts"
import type { ContentPart, MessageOf, Tool } from "../contract/ChatMessage.ts"
import { isObject, type Json, type JsonObject, objectOf, textOf, without } from "../wire/json.ts"
import { jsonText } from "../wire/print.ts"
import type { Adjusted } from "./adjustments.ts"
import { digestId } from "./answer.ts"
import { withCurrentDraft, withItems } from "./arrays.ts"
import { combining, flatParameters } from "./flatParameters.ts"

/** Parameters that the gateway handles itself, or that every dialect translates but the one of chat completions, which sends them as they came. */
export const commonFields: ReadonlyArray<string> = [
  ...["model", "messages", "stream", "stream_options", "n", "max_tokens", "max_completion_tokens", "reasoning_effort"],
  ...["temperature", "top_p", "stop", "tools", "tool_choice", "parallel_tool_calls", "response_format"]
]

/** A tool's parameters as a schema of type object, also where the caller gave none (docs/decisions.md#small-inputs). */
export const parametersOf = (tool: Tool): JsonObject => {
  const given = tool.function.parameters ?? {}
  return { ...given, type: "object", properties: objectOf(given.properties) }
}

/** The same for Anthropic: no combined schema at the root, and keywords of the current draft. What changes is named. */
export const flatParametersOf = (tool: Tool, adjusted: Adjusted): JsonObject => {
  const change = (from: string, to: string) => adjusted.changed("tools.function.parameters", from, to)
  const given = withCurrentDraft(parametersOf(tool), change)
  const combined = combining.filter((keyword) => keyword in given)
  for (const keyword of combined) change(keyword, "properties")
  return combined.length > 0 ? flatParameters(given) : given
}

/** The same for OpenAI, which takes two more keywords as little at the root, and no array without items. */
export const openaiParametersOf = (tool: Tool, adjusted: Adjusted): JsonObject => {
  const schema = flatParametersOf(tool, adjusted)
  const left = ["enum", "not"].filter((keyword) => keyword in schema)
  for (const keyword of left) adjusted.removed(`tools.function.parameters.${keyword}`)
  return withItems(without(schema, left))
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

/** `parallel_tool_calls` for OpenAI's APIs: not available with the least effort (docs/upstreams.md#reasoning-models). */
export const parallelFor = (chat: ChatRequest, effort: Effort, adjusted: Adjusted): boolean | undefined => {
  if (effort !== "minimal") return chat.parallel_tool_calls ?? undefined
  if (chat.parallel_tool_calls === true) adjusted.changed("parallel_tool_calls", "true", "false")
  return false
}

/** In a history there may be names that a model made up; OpenAI's APIs take those that a tool may have. */
export const historyName = (name: string): string => name.slice(0, 64).replace(/[^a-zA-Z0-9_-]/g, "_") || "unnamed"

/** The name of a format's schema, in these letters, too. Other vendors have no such name, so any is given. */
export const schemaName = (given: Json | undefined, adjusted: Adjusted): string => {
  const name = textOf(given)
  const sent = historyName(name ?? "")
  if (sent !== name) adjusted.changed("response_format.json_schema.name", name, sent)
  return sent
}

/** The ID of a call in a history, which other vendors make longer: too long a one is shortened the same way in a call and in its result. */
export const historyId = (id: string, longest: number): string => (id.length <= longest ? id : digestId(id, 32))

/** What is sent in place of a text: its digest, the same in every request. The text is never named, because it may name a person. */
export const digested = (text: string, field: string, adjusted: Adjusted): string => {
  adjusted.changed(field, "plain", "sha256")
  return hash("sha256", text)
}

/** Longest of these that OpenAI's APIs take, in characters. */
const maxIdentifier = 64

/** Those that OpenAI's APIs do not take as they are (docs/decisions.md#users). */
export const shortIdentifiers = (chat: ChatRequest, adjusted: Adjusted): JsonObject =>
  Object.fromEntries(
    ["user", "safety_identifier", "prompt_cache_key"].flatMap((name) => {
      const id = textOf(chat[name]) ?? ""
      return id.length > maxIdentifier ? [[name, digested(id, name, adjusted)]] : []
    })
  )

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
    return system.length === 0
      ? Result.fail(invalid("messages: at least one message must have content"))
      : Result.succeed({ system: [], turns: [userTurn(system)] })
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

// Images and PDFs: inline data URIs only, checked before anything is translated (docs/api.md#images-and-pdfs, docs/api.md#limits). Bytes are
// never decoded: sizes follow from the base64's length, and the vendor judges whether they are of their type.

/** Per message; sizes in bytes decoded, and in base64 characters of images and files together (docs/decisions.md#sizes). */
export const mediaLimits = { images: 20, files: 5, bytes: 3_500_000, base64: 4_718_592 } as const

type Kind = Model["inputs"][number]

export const mimes: Readonly<Record<Kind, ReadonlyArray<string>>> = {
  image: ["image/jpeg", "image/png", "image/gif", "image/webp"],
  pdf: ["application/pdf"]
}
const names: Readonly<Record<Kind, string>> = { image: "an image", pdf: "a PDF" }

/** Longest head of a data URI, in characters. */
const maxHead = 64

/** The type of a data URI and its base64; of one with parameters, and of any other URI, the type is empty. */
export const readDataUri = (uri: string): { readonly mime: string; readonly data: string } => {
  const comma = uri.slice(0, maxHead).indexOf(",")
  const [, mime = ""] = /^data:([^;]*);base64$/.exec(uri.slice(0, Math.max(0, comma))) ?? []
  return { mime, data: uri.slice(comma + 1) }
}

/** What is wrong with a URI. External URLs are refused, so that nothing is fetched (docs/api.md#inline-data-only). */
const refuseUri = (uri: string, kind: Kind): string | undefined => {
  const shape = `data:<mime>;base64,<bytes>, with mime ${mimes[kind].join(", ")}`
  if (!uri.startsWith("data:")) return `external URLs are not accepted: ${names[kind]} must be inline, as ${shape}`
  const { data, mime } = readDataUri(uri)
  if (!mimes[kind].includes(mime)) return `${names[kind]} must have the form ${shape}, without parameters`
  const padding = data.endsWith("==") ? 2 : data.endsWith("=") ? 1 : 0
  const bytes = (data.length / 4) * 3 - padding
  if (bytes > mediaLimits.bytes) {
    return `${names[kind]} is at most ${mediaLimits.bytes} bytes, this one has ${Math.floor(bytes)}`
  }
  return data === "" || data.length % 4 !== 0 || /[^A-Za-z0-9+/]/.test(data.slice(0, data.length - padding))
    ? "the bytes must be standard base64 with padding and no whitespace, and at least one"
    : undefined
}

type MediaPart = Exclude<ContentPart, { readonly type: "text" }>

const uriOf = (part: MediaPart) =>
  part.type === "image_url"
    ? { kind: "image" as const, uri: part.image_url.url, field: "image_url.url" }
    : { kind: "pdf" as const, uri: part.file.file_data, field: "file.file_data" }

/** The type and the base64 of a part that `checkMedia` has passed. */
export const inlineData = (part: MediaPart) => readDataUri(uriOf(part).uri)

const accepted = (model: Model): string =>
  model.inputs.length === 0
    ? "text only"
    : `text, ${model.inputs.map((input) => (input === "image" ? "images" : "PDFs")).join(" and ")}`

const checkParts = (content: ReadonlyArray<ContentPart>, at: string, model: Model): string | undefined => {
  const seen = { image: 0, pdf: 0, base64: 0 }
  for (const [index, part] of content.entries()) {
    if (part.type === "text") continue
    const { kind, uri, field } = uriOf(part)
    if (!model.inputs.includes(kind))
      return `${at}[${index}]: ${model.id} does not take ${names[kind]}, it takes ${accepted(model)}`
    seen[kind]++
    if (seen.image > mediaLimits.images) return `${at}: at most ${mediaLimits.images} images a message`
    if (seen.pdf > mediaLimits.files) return `${at}: at most ${mediaLimits.files} files a message`
    const refusal = refuseUri(uri, kind)
    if (refusal !== undefined) return `${at}[${index}].${field}: ${refusal}`
    seen.base64 += inlineData(part).data.length
    if (seen.base64 > mediaLimits.base64) {
      return `${at}: at most ${mediaLimits.base64} base64 characters of images and files a message`
    }
  }
  return undefined
}

/** Checks every part of every message; fails with `invalid` (400), naming the message and the part. */
export const checkMedia = (chat: ChatRequest, model: Model): Result.Result<void, GatewayError> => {
  for (const [index, message] of chat.messages.entries()) {
    if (message.role !== "user" || typeof message.content === "string") continue
    const problem = checkParts(message.content, `messages[${index}].content`, model)
    if (problem !== undefined) return Result.fail(invalid(problem))
  }
  return Result.void
}

/** How much of a given name is read, from its end, in UTF-16 units. */
const maxLookedAt = 4096
/** Longest name sent, in UTF-16 units. */
const maxFilename = 120
const unnamed = "document.pdf"

/**
 * A plain title for the vendor, never a path or an instruction in disguise (docs/api.md#images-and-pdfs): the last part of a path, without control, format (also bidirectional) and surrogate characters, in at most 120
 * UTF-16 units with a `.pdf` kept; `document.pdf` when nothing is left.
 */
export const sanitizeFilename = (filename: string | null | undefined): string => {
  const plain = (filename ?? "").slice(-maxLookedAt).replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, "")
  const parts = plain.split(/[/\\]/).map((part) => part.trim())
  const name = parts.findLast((part) => !/^\.*$/.test(part)) ?? ""
  if (name === "") return unnamed
  if (name.length <= maxFilename) return name
  const extension = /\.pdf$/i.exec(name)?.[0] ?? ""
  return name.slice(0, maxFilename - extension.length).replace(/[\uD800-\uDBFF]$/, "") + extension
}
