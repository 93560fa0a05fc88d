/**
 * What a dialect changed of a request, in the caller's words, for `x-gateway-adjusted` (docs/api.md#adjusted-requests): every
 * parameter is honoured, translated or emulated, or it is named here.
 */
import type { ChatRequest } from "../api/Chat.ts"
import type { Effort } from "../model/Catalog.ts"
import { isObject, type Json } from "../wire/json.ts"
import { chosen } from "./schema.ts"

/** Of a request that is said as it came. */
export const unadjusted: ReadonlyArray<string> = Object.freeze([])

/** A parameter that is not sent: `top_p:removed`; a nested one by its path without indexes: `messages.name:removed`. */
export const removed = (name: string): string => `${name}:removed`

/** A parameter that is sent with another value: `temperature:1.7->1`. What was not given is `unset`. */
export const changed = (name: string, from: string | number | undefined, to: string | number): string =>
  `${name}:${from ?? "unset"}->${to}`

/** Values that ask for what happens anyway. */
const idle: ReadonlyMap<string, ReadonlyArray<Json>> = new Map([
  ["presence_penalty", [0]],
  ["frequency_penalty", [0]],
  ["top_logprobs", [0]],
  ["n", [1]],
  ["service_tier", ["auto", "default"]]
])

const asksNothing = (name: string, value: Json): boolean =>
  name === "parallel_tool_calls" ? value !== false : isIdle(name, value)

const isIdle = (name: string, value: Json): boolean =>
  value === null ||
  value === false ||
  (typeof value === "object" && Object.keys(value).length === 0) ||
  (idle.get(name)?.includes(value) ?? false) ||
  (name === "modalities" && JSON.stringify(value) === '["text"]')

/** Names every parameter that is given, asks for something, and is not among those that the dialect says. */
export const nameUnsaid = (chat: ChatRequest, said: ReadonlySet<string>, adjusted: Array<string>): void => {
  for (const name of Object.keys(chat)) {
    if (!said.has(name) && !asksNothing(name, chat[name] ?? null)) adjusted.push(removed(name))
  }
}

/** Names those of the parameters that are given and ask for something. */
export const nameRemoved = (chat: ChatRequest, names: ReadonlyArray<string>, adjusted: Array<string>): void => {
  for (const name of names) {
    const value = chat[name]
    if (value !== undefined && !asksNothing(name, value)) adjusted.push(removed(name))
  }
}

/** An effort that was asked for and is not the one that is sent. */
export const nameEffort = (chat: ChatRequest, effort: Effort, adjusted: Array<string>): void => {
  const asked = chat.reasoning_effort
  if (typeof asked === "string" && asked !== effort) adjusted.push(changed("reasoning_effort", asked, effort))
}

/** A forced choice of a tool that becomes `auto`. */
export const nameForced = (chat: ChatRequest, adjusted: Array<string>): void => {
  const choice = chosen(chat)
  if (choice === "required") adjusted.push(changed("tool_choice", choice, "auto"))
  else if (typeof choice === "object") adjusted.push(changed("tool_choice", choice.name, "auto"))
}

/** What messages and tools may hold beside their content. */
const asides = ["cache_control", "messages.name", "image_url.detail", "file.filename"] as const
type Aside = (typeof asides)[number]

type Fields = { readonly [key: string]: unknown }

/** What the parts of a request are read for; and what replies hold, because callers send them back. */
const knownFields = {
  messages: new Set([
    ...["role", "content", "name", "tool_calls", "tool_call_id", "refusal", "cache_control"],
    ...["annotations", "extra_content", "reasoning", "reasoning_content", "reasoning_details", "x_gateway_governance"]
  ]),
  "messages.content": new Set([...["type", "text", "image_url", "file", "refusal", "cache_control", "annotations"]]),
  tools: new Set(["type", "function", "cache_control"]),
  "tools.function": new Set(["name", "description", "parameters", "strict", "cache_control"])
} as const

const isMarked = (holder: Fields): boolean => isObject(holder.cache_control)

/** Adds the fields of one part of a request that nothing reads, and whether it is marked for the cache. */
const look = (place: keyof typeof knownFields, holder: Fields, found: Set<string>): void => {
  if (isMarked(holder)) found.add("cache_control")
  const known: ReadonlySet<string> = knownFields[place]
  for (const key of Object.keys(holder)) {
    const value = holder[key]
    if (!known.has(key) && value !== undefined && !isIdle(key, value as Json)) found.add(`${place}.${key}`)
  }
}

/** What some dialect says; the rest no dialect does. */
const maySay: ReadonlySet<string> = new Set(asides)

/** Names what stands in the messages and tools and has no place in the vendor's words. */
export const nameAsides = (chat: ChatRequest, lost: ReadonlySet<Aside>, adjusted: Array<string>): void => {
  const found = new Set<string>()
  for (const message of chat.messages) {
    look("messages", message, found)
    if (typeof message.name === "string" && message.role !== "tool") found.add("messages.name")
    if (!Array.isArray(message.content)) continue
    for (const part of message.content) {
      look("messages.content", part, found)
      if (part.type === "file" && typeof part.file.filename === "string") found.add("file.filename")
      const detail = part.type === "image_url" ? part.image_url.detail : undefined
      if (typeof detail === "string" && detail !== "auto") found.add("image_url.detail")
    }
  }
  for (const tool of chat.tools ?? []) {
    look("tools", tool, found)
    look("tools.function", tool.function, found)
  }
  for (const name of found) if (!maySay.has(name) || lost.has(name as Aside)) adjusted.push(removed(name))
}
