/** Token counts of the OpenAI formats in our terms, and of all in those of the OpenTelemetry GenAI conventions. */
import type { Usage } from "../api/Chat.ts"
import type { Tokens } from "./Observation.ts"

export const chatTokens = (usage: Usage): Tokens => ({
  input: usage.prompt_tokens,
  output: usage.completion_tokens,
  reasoning: usage.completion_tokens_details?.reasoning_tokens,
  cached: usage.prompt_tokens_details?.cached_tokens
})
