/** What OpenAI's two formats take of a chat request in the same way. */
import type { Effort } from "../catalog/Catalog.ts"
import type { ChatRequest } from "../contract/Chat.ts"
import type { Tool } from "../contract/ChatMessage.ts"
import { type Json, type JsonObject, textOf, without } from "../wire/json.ts"
import type { Adjusted } from "./adjustments.ts"
import { digestId } from "./answer.ts"
import { digested, flatParametersOf, historyName } from "./chatRequest.ts"
import { withItems } from "./schemaKeywords.ts"

/** A tool's parameters as for Anthropic; two more keywords are taken as little at the root, and no array without items. */
export const openaiParametersOf = (tool: Tool, adjusted: Adjusted): JsonObject => {
  const schema = flatParametersOf(tool, adjusted)
  const left = ["enum", "not"].filter((keyword) => keyword in schema)
  for (const keyword of left) adjusted.removed(`tools.function.parameters.${keyword}`)
  return withItems(without(schema, left))
}

/** `parallel_tool_calls`, which is not available with the least effort (docs/upstreams.md#reasoning-models). */
export const parallelFor = (chat: ChatRequest, effort: Effort, adjusted: Adjusted): boolean | undefined => {
  if (effort !== "minimal") return chat.parallel_tool_calls ?? undefined
  if (chat.parallel_tool_calls === true) adjusted.changed("parallel_tool_calls", "true", "false")
  return false
}

/** The name of a format's schema, in these letters, too. Other vendors have no such name, so any is given. */
export const schemaName = (given: Json | undefined, adjusted: Adjusted): string => {
  const name = textOf(given)
  const sent = historyName(name ?? "")
  if (sent !== name) adjusted.changed("response_format.json_schema.name", name, sent)
  return sent
}

/** The ID of a call in a history, which other vendors make longer: too long a one is shortened the same way in a call and in its result. */
export const historyId = (id: string, longest: number): string => (id.length <= longest ? id : digestId(id, 32))

/** Longest of these, in characters. */
const maxIdentifier = 64

/** Identifiers that are not taken as they are (docs/decisions.md#users). */
export const shortIdentifiers = (chat: ChatRequest, adjusted: Adjusted): JsonObject =>
  Object.fromEntries(
    ["user", "safety_identifier", "prompt_cache_key"].flatMap((name) => {
      const id = textOf(chat[name]) ?? ""
      return id.length > maxIdentifier ? [[name, digested(id, name, adjusted)]] : []
    })
  )
