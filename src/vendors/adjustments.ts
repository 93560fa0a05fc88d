/**
 * What a dialect changed of a request, in the caller's words, for `x-gateway-adjusted` (docs/api.md#adjusted-requests): every
 * parameter is honoured, translated or emulated, or it is named here. Every dialect reads the request by the same table, so a field
 * that stands in none of its places is not read, and is named.
 */
import { Array as Arr, Predicate, Record } from "effect"
import type { ChatRequest } from "../contract/Chat.ts"
import { isObject, type Json, type JsonObject, objectOf, textOf } from "../wire/json.ts"
import { meaningsOf } from "../wire/words.ts"

/** Most changes that are named, because naming each takes time. */
const maxReported = 1000
/** Longest name, in characters; callers may send any. */
const maxName = 128

/** What was changed of a request, each change once. */
export class Adjusted extends Set<string> {
  override add(change: string): this {
    return this.size < maxReported ? super.add(change) : this
  }
  /** A parameter that is not sent: `top_p:removed`; a nested one by its path without indexes: `messages.name:removed`. */
  removed(name: string): void {
    this.add(`${name.slice(0, maxName)}:removed`)
  }
  /** A parameter that is sent with another value: `temperature:1.7->1`. What was not given is `unset`. */
  changed(name: string, from: string | number | undefined, to: string | number): void {
    this.add(`${name}:${from ?? "unset"}->${to}`)
  }
}

/** Longest value of `x-gateway-adjusted`, in characters of ASCII. */
export const maxAdjusted = 1024
/** Longest entry of one change, in characters; part of it may be the caller's text. */
const maxEntry = 160

const printable = (change: string): string => change.slice(0, maxEntry).replace(/[^\x21-\x7e]|,/g, "?")

/**
 * The changes (`name:from->to`, `name:removed`), each once and in order, as one value; undefined where there are none. Those
 * that find no room are counted at the end: `more:3`.
 */
export const printAdjusted = (changes: Iterable<string>): string | undefined => {
  const entries = Array.from(new Set(changes), printable)
  const all = entries.join(", ")
  if (all.length <= maxAdjusted) return all === "" ? undefined : all
  const room = maxAdjusted - `, more:${entries.length}`.length
  /** How long the first entries are together, by how many they are. */
  const lengths = Arr.scan(entries, -", ".length, (length, entry) => length + `, ${entry}`.length)
  const kept = lengths.findLastIndex((length) => length <= room)
  return `${entries.slice(0, kept).join(", ")}, more:${entries.length - kept}`
}

/**
 * What the gateway changed of a request, so that nothing is changed in silence (docs/api.md#adjusted-requests); the second for thinking
 * on the messages surface.
 */
export const adjustedHeaders = (
  changes: Iterable<string> = [],
  thinking: Iterable<string> = []
): Readonly<Record<string, string>> =>
  Record.filter(
    { "x-gateway-adjusted": printAdjusted(changes), "x-gateway-thinking-adjusted": printAdjusted(thinking) },
    Predicate.isNotUndefined
  )

/** Values that ask for the default. */
const idle = meaningsOf<ReadonlyArray<Json>>(
  ["presence_penalty frequency_penalty top_logprobs", [0]],
  ["n", [1]],
  ["detail", ["auto"]],
  ["service_tier", ["auto", "default"]]
)

/** Whether a value asks for the default. */
export const isIdle = (name: string, value: unknown): boolean =>
  name === "parallel_tool_calls"
    ? value !== false
    : value === null ||
      value === false ||
      (typeof value === "object" && Object.keys(value).length === 0) ||
      (idle.get(name)?.includes(value as Json) ?? false) ||
      (name === "modalities" && JSON.stringify(value) === '["text"]')

type Parameters = { readonly [name: string]: Json | undefined }

/** Names those of the parameters that are given and ask for something. */
export const reportRemoved = (request: Parameters, names: ReadonlyArray<string>, adjusted: Adjusted): void => {
  for (const name of names) if (!isIdle(name, request[name] ?? null)) adjusted.removed(name)
}

/** The same of all that the dialect does not translate. */
export const reportUnsupported = (request: Parameters, translated: ReadonlySet<string>, adjusted: Adjusted): void =>
  reportRemoved(
    request,
    Object.keys(request).filter((name) => !translated.has(name)),
    adjusted
  )

/** Whether it is a mark of the prompt cache that Claude knows. */
export const isMark = (given: unknown): given is JsonObject => isObject(given) && given.type === "ephemeral"

/** Fields inside of parameters that some vendors support. */
type OptionalField = "cache_control" | "messages.name" | "image_url.detail" | "file.filename"

type Fields = { readonly [key: string]: unknown }

/** A field that every dialect reads, one that some do, a mark of the cache, or what is inside of an object or of each in a list. */
type Place = "read" | Exclude<OptionalField, "cache_control"> | "mark" | Inside
type Inside = Places | ((holder: Fields) => Places)
interface Places {
  readonly [field: string]: Place
}

const read = "read"
const reads = (names: string): Places => Object.fromEntries(names.split(" ").map((name) => [name, read]))

/** The places of an object whose kind is in `field`. */
const by =
  (field: string, kinds: Readonly<Record<string, Places>>) =>
  (holder: Fields): Places => {
    const kind = textOf(holder[field]) ?? ""
    return (Object.hasOwn(kinds, kind) ? kinds[kind] : undefined) ?? { [field]: read }
  }

/** What vendors get back of what they sent (docs/decisions.md#tool-loops-that-survive-thinking). */
const replayed = reads("google anthropic")

const part = by("type", {
  text: { ...reads("type text"), cache_control: "mark" },
  image_url: { type: read, image_url: { url: read, detail: "image_url.detail" }, cache_control: "mark" },
  file: { type: read, file: { file_data: read, filename: "file.filename" }, cache_control: "mark" }
})
const called = { ...reads("id type index"), function: reads("name arguments"), extra_content: replayed }
const common: Places = { ...reads("role content"), name: "messages.name", cache_control: "mark" }
const message = by("role", {
  system: common,
  developer: common,
  user: { ...common, content: part },
  assistant: {
    ...common,
    // `annotations` is a reply's field, which callers send back with the message.
    ...reads("refusal annotations"),
    extra_content: replayed,
    tool_calls: { ...called, cache_control: "mark" }
  },
  // The call has the name, too.
  tool: { ...common, ...reads("name tool_call_id") }
})

/** Of the parameters that hold more than a value; the others are named whole, by the dialects. */
const parameters: Readonly<Record<string, Inside>> = {
  messages: message,
  tools: {
    type: read,
    function: { ...reads("name description parameters strict"), cache_control: "mark" },
    cache_control: "mark"
  },
  tool_choice: by("type", { function: { type: read, function: reads("name") } }),
  response_format: by("type", {
    json_schema: { type: read, json_schema: reads("name description schema strict") }
  }),
  stream_options: reads("include_usage")
}
const mark = reads("type ttl")

interface Shape {
  /** Parameters that the dialect translates; absent where it sends all others as they came. */
  readonly translated?: ReadonlySet<string>
  /** Fields that the vendor does not support. */
  readonly unsupported: ReadonlySet<OptionalField>
  /** Parameters that are sent as they came, with all that is in them. */
  readonly whole?: ReadonlyArray<string>
}

/** Makes a function that names the fields inside of a value that are not sent. */
const insideReporter = (unsupported: Shape["unsupported"], adjusted: Adjusted) => {
  const reportInside = (value: unknown, place: Inside, before: string): void => {
    if (Array.isArray(value)) for (const item of value) reportInside(item, place, before)
    else if (isObject(value)) reportFields(value, typeof place === "function" ? place(value) : place, before)
  }

  const reportFields = (holder: Fields, known: Places, before: string): void => {
    for (const field of Object.keys(holder)) {
      const value = holder[field]
      const place = Object.hasOwn(known, field) ? known[field] : undefined
      if (place === read) continue
      if (typeof place === "function" || typeof place === "object") reportInside(value, place, `${before}${field}.`)
      else if (value === undefined || isIdle(field, value)) continue
      else if (place === undefined) adjusted.removed(before + field)
      else if (place !== "mark") {
        if (unsupported.has(place)) adjusted.removed(before + field)
      } else if (unsupported.has("cache_control") || !isMark(value)) adjusted.removed("cache_control")
      else reportInside(value, mark, "cache_control.")
    }
  }

  return reportInside
}

/** A schema of parameters is one of an object: the vendors take no other. */
const reportSchemas = ({ tools }: ChatRequest, adjusted: Adjusted): void => {
  for (const { function: called } of tools ?? []) {
    const { properties, type } = objectOf(called.parameters)
    if (type !== undefined && type !== "object") {
      const kinds = [type].flat().map((kind) => textOf(kind) ?? "?")
      adjusted.changed("tools.function.parameters.type", kinds.join("|"), "object")
    }
    if (properties !== undefined && !isObject(properties)) adjusted.removed("tools.function.parameters.properties")
  }
}

/** Names the fields of a request that are not sent, because no dialect reads them or this vendor does not support them. */
export const reportUnread = (
  chat: ChatRequest,
  { translated, unsupported, whole }: Shape,
  adjusted: Adjusted
): void => {
  if (translated !== undefined) reportUnsupported(chat, translated, adjusted)
  const reportInside = insideReporter(unsupported, adjusted)
  for (const [name, place] of Object.entries(parameters)) {
    if (whole?.includes(name) !== true) reportInside(chat[name], place, `${name}.`)
  }
  reportSchemas(chat, adjusted)
  const { max_completion_tokens: newer, max_tokens: older } = chat
  if (typeof newer === "number" && typeof older === "number" && older !== newer) {
    adjusted.changed("max_tokens", older, newer)
  }
}
