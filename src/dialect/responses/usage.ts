/** What OpenAI's responses API counts. */
import type { Usage } from "../../api/Chat.ts"
import type { Route } from "../../model/Route.ts"
import { isObject, type Json, numberOf, objectOf } from "../../wire/json.ts"
import { makeUsage } from "../answer.ts"

/** Undefined where nothing was counted. */
export const readUsage = (usage: Json | undefined, { model }: Route): Usage | undefined => {
  if (!isObject(usage)) return undefined
  return makeUsage({
    input: numberOf(usage.input_tokens) ?? 0,
    output: numberOf(usage.output_tokens) ?? 0,
    cached: numberOf(objectOf(usage.input_tokens_details).cached_tokens),
    reasoning: model.thinking.counted
      ? (numberOf(objectOf(usage.output_tokens_details).reasoning_tokens) ?? 0)
      : undefined
  })
}
