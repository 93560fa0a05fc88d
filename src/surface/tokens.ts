/** Token counts of the formats in our terms, and those in the words of the OpenTelemetry GenAI conventions. */
import type { Usage } from "../api/Chat.ts"
import { type JsonObject, numberOf } from "../dialect/json.ts"
import type { Tokens } from "./Observation.ts"

export const chatTokens = (usage: Usage): Tokens => ({
  input: usage.prompt_tokens,
  output: usage.completion_tokens,
  reasoning: usage.completion_tokens_details?.reasoning_tokens,
  cached: usage.prompt_tokens_details?.cached_tokens
})

/** Usage of the native format in our terms: cached input is input. */
export const messageTokens = (usage: JsonObject): Tokens => {
  const cached = numberOf(usage.cache_read_input_tokens) ?? 0
  const written = numberOf(usage.cache_creation_input_tokens) ?? 0
  return {
    input: (numberOf(usage.input_tokens) ?? 0) + cached + written,
    output: numberOf(usage.output_tokens) ?? 0,
    ...(cached > 0 ? { cached } : {})
  }
}

/** Names of the OpenTelemetry GenAI conventions. */
export const usageAttributes = (tokens: Tokens, finishReason: string | undefined, flags: number) => ({
  "gen_ai.usage.input_tokens": tokens.input,
  "gen_ai.usage.output_tokens": tokens.output,
  "gen_ai.usage.cache_read.input_tokens": tokens.cached,
  "gen_ai.usage.reasoning.output_tokens": tokens.reasoning,
  "gen_ai.response.finish_reasons": finishReason === undefined ? undefined : [finishReason],
  "gateway.governance.flags": flags
})
