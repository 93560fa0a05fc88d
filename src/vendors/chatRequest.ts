/**
 * What a chat request says, as every dialect reads it: tools, stop sequences, the format of the answer, texts; and images and PDFs.
 */
import { Result } from "effect"
import type { Model } from "../catalog/Catalog.ts"
import { type GatewayError, invalid } from "../catalog/GatewayError.ts"
import type { ChatRequest } from "../contract/Chat.ts"
import type { ContentPart, MessageOf, Tool } from "../contract/ChatMessage.ts"
import { isObject, type Json, type JsonObject, objectOf, textOf } from "../wire/json.ts"
import { jsonText } from "../wire/print.ts"
import type { Adjusted } from "./adjustments.ts"

/** A tool's parameters as a schema of type object, also where the caller gave none (docs/decisions.md#small-inputs). */
export const parametersOf = (tool: Tool): JsonObject => {
  const given = tool.function.parameters ?? {}
  return { ...given, type: "object", properties: objectOf(given.properties) }
}

/** The tools of a request; an empty list is none. */
export const toolsOf = (chat: ChatRequest): ReadonlyArray<Tool> => chat.tools ?? []

/** In a history there may be names that a model made up; OpenAI's APIs take those that a tool may have. */
export const historyName = (name: string): string => name.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64) || "unnamed"

/** What a format says of its schema is said in the schema, which is all that other vendors take. */
const described = (schema: JsonObject, description: Json | undefined): JsonObject => {
  const texts = [textOf(description), textOf(schema.description)].filter((text) => text !== undefined && text !== "")
  return texts.length === 0 ? schema : { ...schema, description: [...new Set(texts)].join("\n") }
}

/** `response_format`: any JSON object, or JSON of a schema; undefined for text. */
export const jsonFormat = (chat: ChatRequest): { readonly schema: JsonObject | undefined } | undefined => {
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
export const assistantTexts = ({ content, refusal }: MessageOf<"assistant">): ReadonlyArray<string> => {
  const texts = typeof content !== "string" || isBlank(content) ? [] : [content]
  if (typeof refusal === "string" && !isBlank(refusal)) texts.push(refusal)
  return texts
}

/** Whether a text is nothing but whitespace. */
export const isBlank = (text: string): boolean => !/\S/.test(text)

/** Said by the user where a message of his has no words: without it both vendors would have the assistant's turn go on. */
export const silence = "(The user says nothing.)"

interface SystemAndTurns<Turn> {
  readonly system: ReadonlyArray<JsonObject>
  readonly turns: ReadonlyArray<Turn>
}

/**
 * The conversation as Claude and Gemini want it: the user begins, and instructions alone are the user's, because there must be a turn.
 * `userSays` makes a turn of blocks, and `block` a block of a text. Fails with `invalid` (400) where nothing is said.
 */
export const begunByUser = <Turn extends { readonly role: string }>(
  { system, turns }: SystemAndTurns<Turn>,
  userSays: (blocks: ReadonlyArray<JsonObject>) => Turn,
  block: (text: string) => JsonObject,
  adjusted: Adjusted
): Result.Result<SystemAndTurns<Turn>, GatewayError> => {
  const [first] = turns
  if (first === undefined) {
    return system.length === 0
      ? Result.fail(invalid("messages: at least one message must have content"))
      : Result.succeed({ system: [], turns: [userSays(system)] })
  }
  if (first.role === "user") return Result.succeed({ system, turns })
  // As where a caller's history begins with a greeting.
  adjusted.add("messages:assistant-first")
  return Result.succeed({ system, turns: [userSays([block("(The assistant speaks first.)")]), ...turns] })
}

/** The instruction that stands for a format; `schema` is undefined for any object. */
export const jsonInstruction = (schema: JsonObject | undefined): string => {
  const only = "and nothing else: no Markdown fences, no text before or after it."
  return schema === undefined
    ? `Answer with one JSON object ${only}`
    : `Answer with one JSON value that conforms to this JSON Schema, ${only}\n${jsonText(schema)}`
}

// Images and PDFs: inline data URIs only, checked before anything is translated (docs/api.md#images-and-pdfs, docs/api.md#limits). Bytes are
// never decoded: sizes follow from the base64's length, and the vendor judges whether they are of their type.

/** Per message; sizes in bytes decoded, and in base64 characters of images and files together (docs/decisions.md#sizes). */
export const mediaLimits = { images: 20, files: 5, bytes: 3_500_000, base64: 4_718_592 } as const

type Kind = Model["inputs"][number]

/** A user's part, ready for a vendor's words: text, or base64 data of a known type. */
export type UserPart = (
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly mime: string; readonly data: string }
  | { readonly type: "pdf"; readonly mime: string; readonly data: string; readonly filename: string }
) & {
  /** The part's own `cache_control`, as it came. */
  readonly cache?: Json | undefined
}

const types: Readonly<Record<string, Kind>> = {
  "image/jpeg": "image",
  "image/png": "image",
  "image/gif": "image",
  "image/webp": "image",
  "application/pdf": "pdf"
}
/** The types that are taken. */
export const mimes = (kind: Kind): ReadonlyArray<string> => Object.keys(types).filter((mime) => types[mime] === kind)
const names: Readonly<Record<Kind, string>> = { image: "an image", pdf: "a PDF" }

/** Longest head of a URI that is looked at for its type. */
const maxHead = 64

const shape = (kind: Kind): string => `data:<mime>;base64,<bytes>, with mime ${mimes(kind).join(", ")}`

/**
 * The data of a URI, or what is wrong with it. External URLs are refused, so that nothing is fetched
 * (docs/api.md#inline-data-only).
 */
const readUri = (uri: string, kind: Kind): Result.Result<{ readonly mime: string; readonly data: string }, string> => {
  if (!uri.startsWith("data:")) {
    return Result.fail(`external URLs are not accepted: ${names[kind]} must be inline, as ${shape(kind)}`)
  }
  const comma = uri.slice(0, maxHead).indexOf(",")
  const mime = comma < 0 ? "" : uri.slice("data:".length, comma - ";base64".length)
  if (!mimes(kind).includes(mime) || uri.slice(0, comma) !== `data:${mime};base64`) {
    return Result.fail(`${names[kind]} must have the form ${shape(kind)}, without parameters`)
  }
  const data = uri.slice(comma + 1)
  const padding = data.endsWith("==") ? 2 : data.endsWith("=") ? 1 : 0
  const bytes = (data.length / 4) * 3 - padding
  if (bytes > mediaLimits.bytes) {
    return Result.fail(`${names[kind]} is at most ${mediaLimits.bytes} bytes, this one has ${Math.floor(bytes)}`)
  }
  if (data === "" || data.length % 4 !== 0 || /[^A-Za-z0-9+/]/.test(padding === 0 ? data : data.slice(0, -padding))) {
    return Result.fail("the bytes must be standard base64 with padding and no whitespace, and at least one")
  }
  return Result.succeed({ mime, data })
}

const uriOf = (part: Exclude<ContentPart, { readonly type: "text" }>) =>
  part.type === "image_url"
    ? { kind: "image" as const, uri: part.image_url.url, field: "image_url.url" }
    : { kind: "pdf" as const, uri: part.file.file_data, field: "file.file_data" }

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
    const read = readUri(uri, kind)
    if (Result.isFailure(read)) return `${at}[${index}].${field}: ${read.failure}`
    seen.base64 += read.success.data.length
    if (seen.base64 > mediaLimits.base64) {
      return `${at}: at most ${mediaLimits.base64} base64 characters of images and files a message`
    }
  }
  return undefined
}

/** Checks every part of every message; fails with `invalid` (400), naming the message and the part. */
export const checkMedia = (chat: ChatRequest, model: Model): Result.Result<void, GatewayError> => {
  for (let index = 0; index < chat.messages.length; index++) {
    const message = chat.messages[index]
    if (message?.role !== "user" || typeof message.content === "string") continue
    const problem = checkParts(message.content, `messages[${index}].content`, model)
    if (problem !== undefined) return Result.fail(invalid(problem))
  }
  return Result.void
}

/** The parts of a message that `checkMedia` has passed. */
export const userParts = (content: string | ReadonlyArray<ContentPart>): ReadonlyArray<UserPart> =>
  typeof content === "string"
    ? [{ type: "text", text: content }]
    : content.map((part): UserPart => {
        const cache = part.cache_control
        if (part.type === "text") return { type: "text", text: part.text, cache }
        const { uri } = uriOf(part)
        const comma = uri.indexOf(",")
        const mime = uri.slice("data:".length, uri.indexOf(";"))
        const data = uri.slice(comma + 1)
        return part.type === "file"
          ? { type: "pdf", mime, data, cache, filename: sanitizeFilename(part.file.filename) }
          : { type: "image", mime, data, cache }
      })

/** How much of a given name, from its end, is looked at, in UTF-16 units. */
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
