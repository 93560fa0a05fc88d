/**
 * Where a chat request may hold what (docs/api.md#adjusted-requests). Every dialect reads the request by the same table, so a field
 * that stands in none of these places is not read, and is named.
 */
import type { ChatRequest } from "../contract/Chat.ts"
import { isObject, objectOf, textOf } from "../wire/json.ts"
import { type Adjusted, changed, isIdle, removed } from "./adjustments.ts"
import { isMark } from "./claude/cache.ts"

/** What some vendors have a place for, and others do not. */
type Aside = "cache_control" | "messages.name" | "image_url.detail" | "file.filename"

type Fields = { readonly [key: string]: unknown }

/** A field that every dialect reads, one that some do, a mark of the cache, or what is inside of an object or of each in a list. */
type Place = "read" | Exclude<Aside, "cache_control"> | "mark" | Inside
type Inside = Places | ((holder: Fields) => Places)
interface Places {
  readonly [field: string]: Place
}

const read = "read"
const none: Places = {}

/** The places of what says by `field` what it is. */
const by =
  (field: string, kinds: Readonly<Record<string, Places>>) =>
  (holder: Fields): Places => {
    const kind = textOf(holder[field]) ?? ""
    return Object.hasOwn(kinds, kind) ? (kinds[kind] ?? none) : { [field]: read }
  }

/** What vendors get back of their own (docs/decisions.md#tool-loops-that-survive-thinking). */
const replayed: Places = { google: read, anthropic: read }

const part = by("type", {
  text: { type: read, text: read, cache_control: "mark" },
  image_url: { type: read, image_url: { url: read, detail: "image_url.detail" }, cache_control: "mark" },
  file: { type: read, file: { file_data: read, filename: "file.filename" }, cache_control: "mark" }
})
const said: Places = { role: read, content: read, name: "messages.name", cache_control: "mark" }
const message = by("role", {
  system: said,
  developer: said,
  user: { ...said, content: part },
  assistant: {
    ...said,
    refusal: read,
    // What a reply holds comes back with it.
    annotations: read,
    extra_content: replayed,
    tool_calls: {
      id: read,
      type: read,
      index: read,
      function: { name: read, arguments: read },
      extra_content: replayed,
      cache_control: "mark"
    }
  },
  // The name is that of the call's, which is known.
  tool: { ...said, name: read, tool_call_id: read }
})

/** Of the parameters that hold more than a value; the others are named whole, by the dialects. */
const parameters: ReadonlyArray<{ readonly name: string; readonly before: string; readonly place: Inside }> =
  Object.entries({
    messages: message,
    tools: {
      type: read,
      function: { name: read, description: read, parameters: read, strict: read, cache_control: "mark" },
      cache_control: "mark"
    },
    tool_choice: by("type", { function: { type: read, function: { name: read } } }),
    response_format: by("type", {
      json_schema: { type: read, json_schema: { name: read, description: read, schema: read, strict: read } }
    }),
    stream_options: { include_usage: read }
  } satisfies Readonly<Record<string, Inside>>).map(([name, place]) => ({ name, before: `${name}.`, place }))
const mark: Places = { type: read, ttl: read }

interface Shape {
  /** What the vendor has no place for. */
  readonly lost: ReadonlySet<Aside>
  /** Parameters that are sent as they came, with all that is in them. */
  readonly whole?: ReadonlyArray<string>
}

/** Finds what stands inside of a value and is not read. */
const lookInto = (value: unknown, place: Inside, before: string, lost: Shape["lost"], adjusted: Adjusted): void => {
  if (Array.isArray(value)) for (const item of value) lookInto(item, place, before, lost, adjusted)
  else if (isObject(value)) look(value, typeof place === "function" ? place(value) : place, before, lost, adjusted)
}

const look = (holder: Fields, known: Places, before: string, lost: Shape["lost"], adjusted: Adjusted): void => {
  for (const field of Object.keys(holder)) {
    const value = holder[field]
    const place = Object.hasOwn(known, field) ? known[field] : undefined
    if (place === read) continue
    if (typeof place === "function" || typeof place === "object") {
      lookInto(value, place, `${before}${field}.`, lost, adjusted)
    } else if (value === undefined || isIdle(field, value)) continue
    else if (place === undefined) adjusted.add(removed(before + field))
    else if (place !== "mark") {
      if (lost.has(place)) adjusted.add(removed(place))
    } else if (lost.has("cache_control") || !isMark(value)) adjusted.add(removed("cache_control"))
    else lookInto(value, mark, "cache_control.", lost, adjusted)
  }
}

/** A schema of parameters is one of an object: the vendors take no other. */
const lookAtSchemas = ({ tools }: ChatRequest, adjusted: Adjusted): void => {
  for (const { function: called } of tools ?? []) {
    const { properties, type } = objectOf(called.parameters)
    if (type !== undefined && type !== "object") {
      const kinds = [type].flat().map((kind) => textOf(kind) ?? "?")
      adjusted.add(changed("tools.function.parameters.type", kinds.join("|"), "object"))
    }
    if (properties !== undefined && !isObject(properties)) adjusted.add(removed("tools.function.parameters.properties"))
  }
}

/** Names what stands inside of a request and is not said, because no dialect reads it or because this vendor has no place for it. */
export const reportUnread = (chat: ChatRequest, { lost, whole }: Shape, adjusted: Adjusted): void => {
  for (const { before, name, place } of parameters) {
    const value = chat[name]
    if (value !== undefined && whole?.includes(name) !== true) lookInto(value, place, before, lost, adjusted)
  }
  lookAtSchemas(chat, adjusted)
  const { max_completion_tokens: newer, max_tokens: older } = chat
  if (typeof newer === "number" && typeof older === "number" && older !== newer) {
    adjusted.add(changed("max_tokens", older, newer))
  }
}
