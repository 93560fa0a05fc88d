/** Which dialect says a chat completion, and what no dialect says. */
import { Result } from "effect"
import type { Model } from "../catalog/Catalog.ts"
import type { Api } from "../catalog/names.ts"
import type { Route } from "../catalog/Route.ts"
import type { ChatRequest } from "../contract/Chat.ts"
import { drops } from "../wire/strip.ts"
import type { Adjusted } from "./adjustments.ts"
import { checkMedia, stopsOf } from "./chatRequest.ts"
import { reader as claudeReader } from "./claude/reply.ts"
import { request as claudeRequest, watchedStops as claudeStops, refusesOne } from "./claude/request.ts"
import type { Dialect } from "./Dialect.ts"
import { emulating, type Gaps } from "./emulation.ts"
import { reader as geminiReader } from "./gemini/reply.ts"
import { request as geminiRequest, watchedStops as geminiStops } from "./gemini/request.ts"
import { reader as gptReader } from "./gpt/reply.ts"
import { request as gptRequest, watchedStops as gptStops } from "./gpt/request.ts"
import { reader as responsesReader } from "./responses/reply.ts"
import { request as responsesRequest } from "./responses/request.ts"
import { chatMaxTokens } from "./thinking.ts"
import { pairCalls } from "./toolCalls.ts"

/** No model takes a limit beyond its largest output (docs/api.md#adjusted-requests). */
const limited = (chat: ChatRequest, { maxOutputTokens: most }: Model, adjusted: Adjusted): ChatRequest => {
  const asked = chatMaxTokens(chat) ?? 0
  if (asked <= most) return chat
  const name = chat.max_completion_tokens == null ? "max_tokens" : "max_completion_tokens"
  adjusted.changed(name, asked, most)
  return { ...chat, [name]: most }
}

/**
 * What holds for every vendor: nothing is translated before its media is known to be inline and small, and before its tool calls are
 * paired with their results.
 */
const checked = (own: Dialect, gaps: Gaps): Dialect => {
  const dialect = emulating(own, gaps)
  return {
    ...dialect,
    request: (chat, route, adjusted) =>
      checkMedia(chat, route.model).pipe(
        Result.flatMap(() => pairCalls(chat, adjusted)),
        Result.flatMap((paired) => dialect.request(limited(paired, route.model, adjusted), route, adjusted))
      )
  }
}

/** Whether the deployment has refused to be asked for one call at a time. */
const dropsParallel = (route: Route): boolean => drops(route.strip, "parallel_tool_calls")

const dialects: Readonly<Partial<Record<Api, Dialect>>> = {
  messages: checked(
    { request: claudeRequest, reader: claudeReader },
    { stopField: "stop_sequences", unsaidStops: claudeStops, refusesOne }
  ),
  content: checked(
    { request: geminiRequest, reader: geminiReader },
    // It has no word for one call at a time.
    { stopField: "generationConfig.stopSequences", unsaidStops: geminiStops, refusesOne: () => true }
  ),
  chat: checked(
    { request: gptRequest, reader: gptReader },
    { stopField: "stop", unsaidStops: gptStops, refusesOne: dropsParallel, formatField: "response_format" }
  ),
  responses: checked(
    { request: responsesRequest, reader: responsesReader },
    // Its API has no stop sequences.
    { stopField: "stop", unsaidStops: stopsOf, refusesOne: dropsParallel, formatField: "text.format" }
  )
}

/** The dialect of the API that serves the route; undefined for embeddings, which have none. */
export const dialectOf = ({ deployment }: Route): Dialect | undefined => dialects[deployment.api]
