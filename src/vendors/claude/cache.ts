/**
 * Marks of the prompt cache (docs/decisions.md#prompt-caching). A chat request has the vendor's own `cache_control`, where other
 * gateways take it: on a part, on a message as a whole, on a tool or its function, on a call.
 */
import type { ChatRequest } from "../../contract/Chat.ts"
import { arrayOf, compact, isObject, type Json, type JsonObject, objectOf, textOf } from "../../wire/json.ts"
import { isBlank } from "../schema.ts"

type Fields = { readonly [key: string]: unknown }

/** Whether it is a mark that the vendor knows. */
export const isMark = (given: unknown): given is JsonObject => isObject(given) && given.type === "ephemeral"

/** The mark in the vendor's words; undefined where there is none. What else a caller puts into it is not sent. */
const markOf = (given: Json | undefined): JsonObject | undefined =>
  isMark(given) ? compact({ type: "ephemeral", ttl: given.ttl ?? undefined }) : undefined

/** The block with the mark, where there is one. */
export const marked = (block: JsonObject, given: Json | undefined): JsonObject => {
  const mark = markOf(given)
  return mark === undefined ? block : { ...block, cache_control: mark }
}

/** The blocks, with the mark of their message on the last: it says that everything up to there is to be kept. */
export const markedLast = (blocks: ReadonlyArray<JsonObject>, given: Json | undefined): ReadonlyArray<JsonObject> => {
  const last = blocks.at(-1)
  return last === undefined || markOf(given) === undefined ? blocks : [...blocks.slice(0, -1), marked(last, given)]
}

const isEmpty = ({ content, refusal, tool_calls }: Fields): boolean => {
  if (refusal || arrayOf(tool_calls).length > 0) return false
  return typeof content === "string" ? isBlank(content) : arrayOf(content).every(isBlankPart)
}
const isBlankPart = (part: Json): boolean => isBlank(textOf(objectOf(part).text) ?? "x")

/**
 * Whether a mark stands on an empty text, which is not sent, with nothing before it in its message that could carry it
 * (docs/upstreams.md#anthropic-messages).
 */
export const losesMark = ({ messages }: ChatRequest): boolean =>
  messages.some((message: Fields) => {
    if (message.role !== "tool" && isMark(message.cache_control) && isEmpty(message)) return true
    const parts = arrayOf(message.content)
    const first = parts.findIndex((part) => !isBlankPart(part))
    return parts.slice(0, first < 0 ? undefined : first).some((part) => isMark(objectOf(part).cache_control))
  })
