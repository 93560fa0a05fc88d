/** What OpenAI's responses API counts. */
import type { Route } from "../../model/Route.ts"
import type { Tokens } from "../../model/Tokens.ts"
import { isObject, type Json, numberOf, objectOf } from "../../wire/json.ts"

/** Undefined where nothing was counted. */
export const readUsage = (usage: Json | undefined, { model }: Route): Tokens | undefined => {
  if (!isObject(usage)) return undefined
  return {
    input: numberOf(usage.input_tokens) ?? 0,
    output: numberOf(usage.output_tokens) ?? 0,
    cached: numberOf(objectOf(usage.input_tokens_details).cached_tokens),
    reasoning: model.thinking.counted
      ? (numberOf(objectOf(usage.output_tokens_details).reasoning_tokens) ?? 0)
      : undefined
  }
}
