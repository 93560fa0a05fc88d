/** What OpenAI's formats count; chat completions and responses differ in what they call it. */
import type { Route } from "../catalog/Route.ts"
import { countOf, type Tokens } from "../catalog/Tokens.ts"
import { isObject, type Json, objectOf } from "../wire/json.ts"

/** What the formats call their counts of input and output. */
const names = {
  chat: ["prompt_tokens", "completion_tokens"],
  responses: ["input_tokens", "output_tokens"]
} as const
type Format = keyof typeof names

/** As counted; undefined where nothing was. */
export const countedTokens = (usage: Json | undefined, format: Format): Tokens | undefined => {
  if (!isObject(usage)) return undefined
  const [input, output] = names[format]
  const { cached_tokens, cache_write_tokens } = objectOf(usage[`${input}_details`])
  return {
    input: countOf(usage[input]) ?? 0,
    output: countOf(usage[output]) ?? 0,
    cached: countOf(cached_tokens),
    cacheWrites: countOf(cache_write_tokens) || undefined,
    reasoning: countOf(objectOf(usage[`${output}_details`]).reasoning_tokens)
  }
}

/** The same for a chat answer, which counts reasoning apart where the model does. */
export const answerTokens = (usage: Json | undefined, { model }: Route, format: Format): Tokens | undefined => {
  const tokens = countedTokens(usage, format)
  return tokens && { ...tokens, reasoning: model.thinking.counted ? (tokens.reasoning ?? 0) : undefined }
}
