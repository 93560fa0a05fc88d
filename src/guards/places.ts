/**
 * The texts of a request or a reply by place, for guards (docs/guards.md#what-is-sent): one walk finds them, and puts others back
 * exactly there. What names, refers or encodes is no text: types, IDs, media, signatures. Tools are not walked.
 */
import { isPurpose, surfaceNames, surfaceOf } from "../catalog/names.ts"
import type { Fields, GuardedFields, Place } from "../contract/places.ts"
import { isObject, type Json, type JsonObject, objectOf, readObject, textOf, without } from "../wire/json.ts"
import { readWrittenObject } from "../wire/parse.ts"
import { jsonText } from "../wire/print.ts"

/** The surfaces whose texts are guarded; counting tokens belongs to messages. */
export type GuardedSurface = ReturnType<typeof surfaceOf>
export const guardedSurfaces = [...new Set(surfaceNames.filter(isPurpose).map(surfaceOf))]

export interface PlacedText {
  readonly place: Place
  readonly text: string
  /** Of a piece of a text that comes in several frames. */
  readonly key?: string | undefined
  /** What came before it of such a text. */
  readonly before?: string
}

/** Fields that are no text, wherever they stand but inside of arguments and schemas. */
const structural: ReadonlySet<string> = new Set([
  ...["type", "role", "id", "tool_call_id", "tool_use_id", "call_id", "item_id", "name", "status", "detail", "phase"],
  ...["media_type", "mime_type", "cache_control", "signature", "thought_signature", "encrypted_content", "model"],
  ...["function_call_id", "encrypted_index", "file_id", "finish_reason", "logprobs", "tools"],
  ...["effort", "verbosity"]
])

/** Fields of a request that hold words of a list, or name a tool. */
const choices = [
  ...["tool_choice", "reasoning", "reasoning_effort", "thinking", "include", "truncation", "modalities"],
  ...["service_tier", "speed", "stream_options", "prompt_cache_retention"],
  ...["anthropic_beta", "anthropic_version", "vendor_version"]
]

/** Every field of a body that may hold a text, also one that is new. `place`: of those that are not known. */
export const allFields = (body: JsonObject, known: Fields, place: Place): Fields => {
  const others = Object.keys(body).filter((key) => !structural.has(key) && !Object.hasOwn(known, key))
  return { ...known, ...Object.fromEntries(others.map((key) => [key, place])) }
}

/** Where the texts of a request are. */
export const requestFields = (body: JsonObject, { others, request }: GuardedFields): Fields =>
  others === undefined ? request : allFields(without(body, choices), request, others)

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

/** Returns the text that goes in the place of another. `holder`: the object that has it. */
type Visit = (text: string, place: Place, holder: JsonObject) => string

/** The object with what `visit` returns for the texts in these fields; the same object where that changes nothing. */
const walkFields = (object: JsonObject, fields: Fields, visit: Visit): JsonObject => {
  let changed: { [key: string]: Json } | undefined
  for (const [key, place] of Object.entries(fields)) {
    const value = object[key]
    const walked = value === undefined ? value : walk(value, place, visit, object)
    if (walked === undefined || walked === value) continue
    changed ??= { ...object }
    changed[key] = walked
  }
  if (changed === undefined) return object
  // They repeat the text, word by word. In a request it is a switch.
  if (Array.isArray(object.logprobs)) changed.logprobs = []
  else if (isObject(object.logprobs)) changed.logprobs = null
  if (typeof object.signature === "string") changed.signature = ""
  return changed
}

const walkObject = (object: JsonObject, outer: Place, visit: Visit): JsonObject => {
  const kind = textOf(object.type) ?? ""
  const place = placeOf(object, outer)
  const calls = argumentsOf(kind)
  const encoded = kind === "base64" || kind === "redacted_thinking"
  const texts = Object.entries(object).filter(
    ([key, value]) => !structural.has(key) && !(encoded && key === "data") && !isMedia(key, value)
  )
  const fields = texts.map(([key]) => [key, calls.has(key) ? "arguments" : place] as const)
  return walkFields(object, Object.fromEntries(fields), visit)
}

/** Arguments that are no text yet are read as JSON text, because their names and numbers say something, too. */
const walkArguments = (object: JsonObject, visit: Visit): JsonObject => {
  if (Object.keys(object).length === 0) return object
  const text = jsonText(object)
  const other = visit(text, "arguments", object)
  return other === text ? object : (readWrittenObject(other) ?? object)
}

const walk = (value: Json, place: Place, visit: Visit, holder: JsonObject): Json => {
  if (typeof value === "string") return value === "" ? value : visit(value, place, holder)
  if (Array.isArray(value)) {
    const walked = value.map((item) => walk(item, place, visit, holder))
    return walked.every((item, at) => item === value[at]) ? value : walked
  }
  if (!isObject(value)) return value
  return place === "arguments" ? walkArguments(value, visit) : walkObject(value, place, visit)
}

/** The key of a text that an object holds, where it is a piece. */
type KeyOf = (holder: JsonObject, text: string) => string | undefined

/** Every text, in order; none is empty. */
export const textsOf = (fields: Fields, body: JsonObject, keyOf?: KeyOf): ReadonlyArray<PlacedText> => {
  const texts: Array<PlacedText> = []
  walkFields(body, fields, (text, place, holder) => {
    const key = keyOf?.(holder, text)
    texts.push(key === undefined ? { place, text } : { key, place, text })
    return text
  })
  return texts
}

/** Whether a text may stand for another: arguments that were JSON stay JSON. */
export const mayStandFor = ({ place, text }: PlacedText, other: string | undefined): boolean =>
  other !== undefined &&
  (text === other || place !== "arguments" || readObject(text) === undefined || readObject(other) !== undefined)

/** The body with these texts in the places of its own, as `textsOf` orders them; as it is where their number is another. */
export const withTexts = (fields: Fields, body: JsonObject, texts: ReadonlyArray<string>): JsonObject => {
  let at = 0
  const changed = walkFields(body, fields, (text) => texts[at++] ?? text)
  return at === texts.length ? changed : body
}
