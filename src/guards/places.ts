/**
 * The texts of a request or a reply by place, for guards (docs/guards.md#what-is-sent): one walk finds them, and puts others back
 * exactly there. What names, refers or encodes is no text: types, IDs, media, signatures. Tools are not walked.
 */
import { isPurpose, type Purpose, surfaceNames } from "../catalog/names.ts"
import type { Fields, Place } from "../contract/places.ts"
import { isObject, type Json, type JsonObject, objectOf, readObject, textOf } from "../wire/json.ts"
import { readWrittenObject } from "../wire/parse.ts"
import { jsonText } from "../wire/print.ts"

/** The surfaces whose texts are guarded; counting tokens belongs to messages. */
export type GuardedSurface = Exclude<Purpose, "count_tokens">
export const guardedSurfaces = surfaceNames.filter(
  (name): name is GuardedSurface => isPurpose(name) && name !== "count_tokens"
)

export interface PlacedText {
  readonly place: Place
  readonly text: string
  /** What came before it, of a text that comes in pieces. */
  readonly before?: string
}

/** Fields that are no text, wherever they stand but inside of arguments and schemas. */
const structural: ReadonlySet<string> = new Set([
  ...["type", "role", "id", "tool_call_id", "tool_use_id", "call_id", "item_id", "name", "status", "detail", "phase"],
  ...["media_type", "mime_type", "cache_control", "signature", "thought_signature", "encrypted_content", "model"],
  ...["function_call_id", "encrypted_index", "file_id", "finish_reason", "logprobs", "tools"],
  ...["effort", "verbosity"]
])

const roles: Readonly<Record<string, Place>> = {
  system: "system",
  developer: "system",
  user: "user",
  assistant: "assistant",
  tool: "tool",
  function: "tool"
}

/** The place of what an object holds, by its role or type. */
const placeOf = ({ role, type }: JsonObject, outer: Place): Place => {
  const kind = textOf(type) ?? ""
  if (/(?:_result|_output)$/.test(kind) && outer !== "assistant") return "tool"
  if (/^(?:redacted_)?thinking$|^reasoning/.test(kind)) return "thinking"
  return roles[textOf(role) ?? ""] ?? outer
}

/** Fields that hold what a tool is called with, or the schema of an answer. */
const argumentsOf = (kind: string): ReadonlySet<string> => (/_use$|_call$/.test(kind) ? callFields : functionFields)
const functionFields: ReadonlySet<string> = new Set(["arguments", "schema"])
const callFields: ReadonlySet<string> = new Set(["arguments", "schema", "input", "action", "operation"])

/** Media by the fields that hold them: a text that begins in the same way is a text. */
const isMedia = (key: string, value: Json): boolean =>
  (key === "image_url" || key === "file_data") &&
  /^data:[\w.+-]+\/[\w.+-]+[;,]/i.test(textOf(objectOf(value).url) ?? textOf(value) ?? "")

/** Returns the text that goes in the place of another. */
type Visit = (text: string, place: Place) => string

/** A signed block is what was signed, or it is left out. */
const leftOut = Symbol("leftOut")

const walkObject = (object: JsonObject, outer: Place, visit: Visit): JsonObject | typeof leftOut => {
  const kind = textOf(object.type) ?? ""
  const place = placeOf(object, outer)
  const calls = argumentsOf(kind)
  const encoded = kind === "base64" || kind === "redacted_thinking"
  let changed: { [key: string]: Json } | undefined
  for (const [key, value] of Object.entries(object)) {
    if (structural.has(key) || (encoded && key === "data") || isMedia(key, value)) continue
    const walked = walk(value, calls.has(key) ? "arguments" : place, visit)
    if (walked === value) continue
    changed ??= { ...object }
    changed[key] = walked === leftOut ? null : walked
  }
  if (changed === undefined) return object
  // They repeat the text, word by word.
  if (object.logprobs !== undefined) changed.logprobs = Array.isArray(object.logprobs) ? [] : null
  return typeof object.signature === "string" ? leftOut : changed
}

/** Arguments that are no text yet are read as JSON text, because their names and numbers say something, too. */
const walkArguments = (object: JsonObject, visit: Visit): JsonObject => {
  if (Object.keys(object).length === 0) return object
  const text = jsonText(object)
  const other = visit(text, "arguments")
  return other === text ? object : (readWrittenObject(other) ?? object)
}

const walk = (value: Json, place: Place, visit: Visit): Json | typeof leftOut => {
  if (typeof value === "string") return value === "" ? value : visit(value, place)
  if (Array.isArray(value)) {
    const walked = value.map((item) => walk(item, place, visit))
    return walked.some((item, at) => item !== value[at]) ? walked.filter((item) => item !== leftOut) : value
  }
  if (!isObject(value)) return value
  return place === "arguments" ? walkArguments(value, visit) : walkObject(value, place, visit)
}

/** The body with what `visit` returns; the same object where that changes nothing. */
const walkBody = (fields: Fields, body: JsonObject, visit: Visit): JsonObject => {
  let changed: { [key: string]: Json } | undefined
  for (const [key, place] of Object.entries(fields)) {
    const value = body[key]
    if (value === undefined) continue
    const walked = walk(value, place, visit)
    if (walked === value || walked === leftOut) continue
    changed ??= { ...body }
    changed[key] = walked
  }
  return changed ?? body
}

/** Every text, in order; none is empty. */
export const textsOf = (fields: Fields, body: JsonObject): ReadonlyArray<PlacedText> => {
  const texts: Array<PlacedText> = []
  walkBody(fields, body, (text, place) => {
    texts.push({ place, text })
    return text
  })
  return texts
}

/** Whether a text may stand for another: arguments that were JSON stay JSON. */
export const mayStandFor = ({ place, text }: PlacedText, other: string | undefined): boolean =>
  other !== undefined &&
  (text === other || place !== "arguments" || readObject(text) === undefined || readObject(other) !== undefined)

/** The body with these texts in the places of its own, as `textsOf` orders them; undefined where their number is another. */
export const withTexts = (fields: Fields, body: JsonObject, texts: ReadonlyArray<string>): JsonObject | undefined => {
  let at = 0
  const changed = walkBody(fields, body, (text) => texts[at++] ?? text)
  return at === texts.length ? changed : undefined
}
