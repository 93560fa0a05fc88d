/**
 * What a dialect changed of a request, in the caller's words, for `x-gateway-adjusted` (docs/api.md#adjusted-requests): every
 * parameter is honoured, translated or emulated, or it is named here. Every dialect reads the request by the same table, so a field
 * that stands in none of its places is not read, and is named.
 */
import type { Effort } from "../catalog/Catalog.ts"
import type { ChatRequest } from "../contract/Chat.ts"
import { isObject, type Json, type JsonObject, objectOf, textOf } from "../wire/json.ts"
import { chosen } from "./schema.ts"

/** How many changes are named: no request of use has so many, and to name each takes time. */
const maxReported = 1000
/** Longest name that is said whole; callers make up their own. */
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

/** Fields of the vendors' bodies that chat calls by another name; by their paths without brackets. */
const chatNames: ReadonlyMap<string, string> = new Map([
  ["generationConfig.temperature", "temperature"],
  ["generationConfig.topP", "top_p"],
  ["generationConfig.seed", "seed"],
  ["generationConfig.presencePenalty", "presence_penalty"],
  ["generationConfig.frequencyPenalty", "frequency_penalty"],
  ["generationConfig.stopSequences", "stop"],
  ["generationConfig.responseLogprobs", "logprobs"],
  ["generationConfig.logprobs", "top_logprobs"],
  ["generationConfig.responseMimeType", "response_format"],
  ["generationConfig.responseJsonSchema", "response_format"],
  ["generationConfig.thinkingConfig", "reasoning_effort"],
  ["generationConfig.thinkingConfig.thinkingLevel", "reasoning_effort"],
  ["toolConfig", "tool_choice"],
  ["toolConfig.functionCallingConfig", "tool_choice"],
  ["toolConfig.functionCallingConfig.mode", "tool_choice"],
  ["stop_sequences", "stop"],
  ["metadata.user_id", "user"],
  ["thinking", "reasoning_effort"],
  ["output_config", "reasoning_effort"],
  ["output_config.effort", "reasoning_effort"],
  ["output_config.format", "response_format"],
  ["tool_choice.disable_parallel_tool_use", "parallel_tool_calls"],
  ["tools.strict", "tools.function.strict"],
  ["tools.cache_control", "cache_control"],
  ["system.cache_control", "cache_control"],
  ["messages.content.cache_control", "cache_control"],
  ["reasoning", "reasoning_effort"],
  ["reasoning.effort", "reasoning_effort"],
  ["text.format", "response_format"],
  ["text.verbosity", "verbosity"],
  ["include", "logprobs"]
])

/**
 * Names a field of the vendor's body that is left out by its name on chat, with what the gateway does instead. `refused`: also where it
 * asked for nothing.
 */
export const reportLeftOut = (path: string, value: Json, refused: boolean, adjusted: Adjusted): void => {
  const name = chatNames.get(path) ?? path
  if (!refused && isIdle(name, value)) return
  if (name === "stop") adjusted.changed(name, "sent", "watched")
  else if (name === "parallel_tool_calls" && value !== true) adjusted.add(firstCall)
  else adjusted.removed(name)
}

/** How one call at a time is named where the gateway sees to it, because calls of the model's may be left out. */
export const firstCall = "parallel_tool_calls:false->first-call"

/** Values that ask for what happens anyway. */
const idle: ReadonlyMap<string, ReadonlyArray<Json>> = new Map([
  ["presence_penalty", [0]],
  ["frequency_penalty", [0]],
  ["top_logprobs", [0]],
  ["n", [1]],
  ["detail", ["auto"]],
  ["service_tier", ["auto", "default"]]
])

const asksNothing = (name: string, value: Json): boolean =>
  name === "parallel_tool_calls" ? value !== false : isIdle(name, value)

const isIdle = (name: string, value: unknown): boolean =>
  value === null ||
  value === false ||
  (typeof value === "object" && Object.keys(value).length === 0) ||
  (idle.get(name)?.includes(value as Json) ?? false) ||
  (name === "modalities" && JSON.stringify(value) === '["text"]')

/** Parameters that the dialects translate that build their body anew, or that are the gateway's own business. */
export const translated: ReadonlyArray<string> = [
  ...["model", "messages", "stream", "stream_options", "n", "max_tokens", "max_completion_tokens", "reasoning_effort"],
  ...["temperature", "top_p", "stop", "tools", "tool_choice", "parallel_tool_calls", "response_format"]
]

/** Names every parameter that is given, asks for something, and is not among those that the dialect translates. */
export const reportUnsupported = (
  request: { readonly [name: string]: Json | undefined },
  translated: ReadonlySet<string>,
  adjusted: Adjusted
): void => {
  for (const name of Object.keys(request)) {
    if (!translated.has(name) && !asksNothing(name, request[name] ?? null)) adjusted.removed(name)
  }
}

/** Names those of the parameters that are given and ask for something. */
export const reportRemoved = (chat: ChatRequest, names: ReadonlyArray<string>, adjusted: Adjusted): void => {
  for (const name of names) {
    const value = chat[name]
    if (value !== undefined && !asksNothing(name, value)) adjusted.removed(name)
  }
}

/** An effort that was asked for and is not the one that is sent. */
export const reportEffort = (chat: ChatRequest, effort: Effort, adjusted: Adjusted): void => {
  const asked = chat.reasoning_effort
  if (typeof asked === "string" && asked !== effort) adjusted.changed("reasoning_effort", asked, effort)
}

/** A forced choice of a tool that becomes `auto`. */
export const reportForced = (chat: ChatRequest, adjusted: Adjusted): void => {
  const choice = chosen(chat)
  if (choice === "required") adjusted.changed("tool_choice", choice, "auto")
  else if (typeof choice === "object") adjusted.changed("tool_choice", choice.name, "auto")
}

/** Whether it is a mark of the prompt cache that Claude knows. */
export const isMark = (given: unknown): given is JsonObject => isObject(given) && given.type === "ephemeral"

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
const common: Places = { role: read, content: read, name: "messages.name", cache_control: "mark" }
const message = by("role", {
  system: common,
  developer: common,
  user: { ...common, content: part },
  assistant: {
    ...common,
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
  tool: { ...common, name: read, tool_call_id: read }
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
    else if (place === undefined) adjusted.removed(before + field)
    else if (place !== "mark") {
      if (lost.has(place)) adjusted.removed(place)
    } else if (lost.has("cache_control") || !isMark(value)) adjusted.removed("cache_control")
    else lookInto(value, mark, "cache_control.", lost, adjusted)
  }
}

/** A schema of parameters is one of an object: the vendors take no other. */
const lookAtSchemas = ({ tools }: ChatRequest, adjusted: Adjusted): void => {
  for (const { function: called } of tools ?? []) {
    const { properties, type } = objectOf(called.parameters)
    if (type !== undefined && type !== "object") {
      const kinds = [type].flat().map((kind) => textOf(kind) ?? "?")
      adjusted.changed("tools.function.parameters.type", kinds.join("|"), "object")
    }
    if (properties !== undefined && !isObject(properties)) adjusted.removed("tools.function.parameters.properties")
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
    adjusted.changed("max_tokens", older, newer)
  }
}
