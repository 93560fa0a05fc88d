/** The dialect of each API, with what all dialects have in common, and the names on chat of what they send. */
import { Result } from "effect"
import type { Model } from "../catalog/Catalog.ts"
import type { Api } from "../catalog/names.ts"
import type { Route } from "../catalog/Route.ts"
import type { ChatRequest } from "../contract/Chat.ts"
import type { Json } from "../wire/json.ts"
import { meaningsOf } from "../wire/words.ts"
import { type Adjusted, isIdle } from "./adjustments.ts"
import { stopsOf } from "./chatRequest.ts"
import { reader as claudeReader } from "./claude/reply.ts"
import { request as claudeRequest, unsupportedStops as claudeStops, singleCallField } from "./claude/request.ts"
import type { Dialect } from "./Dialect.ts"
import { type Unsupported, withEmulation } from "./emulation.ts"
import { reader as geminiReader } from "./gemini/reply.ts"
import { request as geminiRequest, unsupportedStops as geminiStops } from "./gemini/request.ts"
import { reader as gptReader } from "./gpt/reply.ts"
import { request as gptRequest, unsupportedStops as gptStops } from "./gpt/request.ts"
import { checkMedia } from "./media.ts"
import { reader as responsesReader } from "./responses/reply.ts"
import { request as responsesRequest } from "./responses/request.ts"
import { chatMaxTokens, limitName } from "./thinking.ts"
import { pairCalls } from "./toolCalls.ts"

/** The request with its token limit at most the model's largest output (docs/api.md#adjusted-requests). */
const clampMaxTokens = (chat: ChatRequest, { maxOutputTokens: most }: Model, adjusted: Adjusted): ChatRequest => {
  const asked = chatMaxTokens(chat) ?? 0
  if (asked <= most) return chat
  const name = limitName(chat)
  adjusted.changed(name, asked, most)
  return { ...chat, [name]: most }
}

/** The dialect with the rules of all vendors: media is inline and small, tool calls are paired with their results. */
const withCommonRules = (own: Dialect, unsupported: Unsupported): Dialect => {
  const dialect = withEmulation(own, unsupported)
  return {
    ...dialect,
    request: (chat, route, adjusted) =>
      checkMedia(chat, route.model).pipe(
        Result.flatMap(() => pairCalls(chat, adjusted)),
        Result.flatMap((paired) => dialect.request(clampMaxTokens(paired, route.model, adjusted), route, adjusted))
      )
  }
}

const openaiFields = { stopField: "stop", singleCallField: "parallel_tool_calls" }

const dialects: Readonly<Partial<Record<Api, Dialect>>> = {
  messages: withCommonRules(
    { request: claudeRequest, reader: claudeReader },
    { stopField: "stop_sequences", unsupportedStops: claudeStops, singleCallField }
  ),
  content: withCommonRules(
    { request: geminiRequest, reader: geminiReader },
    { stopField: "generationConfig.stopSequences", unsupportedStops: geminiStops }
  ),
  chat: withCommonRules(
    { request: gptRequest, reader: gptReader },
    { ...openaiFields, unsupportedStops: gptStops, formatField: "response_format" }
  ),
  responses: withCommonRules(
    { request: responsesRequest, reader: responsesReader },
    // Its API has no stop sequences.
    { ...openaiFields, unsupportedStops: stopsOf, formatField: "text.format" }
  )
}

/** The dialect of the API that serves the route; undefined for embeddings, which have none. */
export const dialectOf = ({ deployment }: Route): Dialect | undefined => dialects[deployment.api]

/** What the bodies of other APIs call parameters of chat, by paths without brackets. */
const chatNames = meaningsOf(
  ["generationConfig.temperature", "temperature"],
  ["generationConfig.topP", "top_p"],
  ["generationConfig.seed", "seed"],
  ["generationConfig.presencePenalty", "presence_penalty"],
  ["generationConfig.frequencyPenalty", "frequency_penalty"],
  ["generationConfig.stopSequences stop_sequences", "stop"],
  ["generationConfig.responseLogprobs include", "logprobs"],
  ["generationConfig.logprobs", "top_logprobs"],
  ["generationConfig.responseMimeType", "response_format"],
  ["generationConfig.thinkingConfig generationConfig.thinkingConfig.thinkingLevel", "reasoning_effort"],
  ["thinking output_config output_config.effort reasoning reasoning.effort", "reasoning_effort"],
  ["toolConfig toolConfig.functionCallingConfig toolConfig.functionCallingConfig.mode", "tool_choice"],
  ["tools.strict", "tools.function.strict"],
  ["tools.cache_control system.cache_control messages.content.cache_control", "cache_control"],
  ["metadata.user_id", "user"],
  ["text.verbosity", "verbosity"]
)

/**
 * Names a field of an API's body that is left out by its name on chat, with what the gateway does instead. `refused`: also where it
 * asked for nothing.
 */
export const reportLeftOut = (api: Api, path: string, value: Json, refused: boolean, adjusted: Adjusted): void => {
  const name = (api === "chat" ? undefined : chatNames.get(path)) ?? path
  if (!refused && isIdle(name, value)) return
  if (name === "stop") adjusted.changed(name, "sent", "watched")
  // One call at a time is named where the gateway does it (`withEmulation`).
  else if (name !== "parallel_tool_calls" || value === true) adjusted.removed(name)
}
