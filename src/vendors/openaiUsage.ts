/** What OpenAI's formats count; chat completions and responses differ in what they call it. */
import type { Route } from "../catalog/Route.ts"
import { countOf, type Tokens } from "../catalog/Tokens.ts"
import { isObject, type Json, objectOf } from "../wire/json.ts"

/** What a format calls its counts: of the input, of the output, and the details of each. */
interface Names {
  readonly input: string
  readonly output: string
  readonly inputDetails: string
  readonly outputDetails: string
}

export const chatNames: Names = {
  input: "prompt_tokens",
  output: "completion_tokens",
  inputDetails: "prompt_tokens_details",
  outputDetails: "completion_tokens_details"
}
export const responsesNames: Names = {
  input: "input_tokens",
  output: "output_tokens",
  inputDetails: "input_tokens_details",
  outputDetails: "output_tokens_details"
}

/** As counted; undefined where nothing was. */
export const countedTokens = (usage: Json | undefined, names: Names): Tokens | undefined =>
  isObject(usage)
    ? {
        input: countOf(usage[names.input]) ?? 0,
        output: countOf(usage[names.output]) ?? 0,
        cached: countOf(objectOf(usage[names.inputDetails]).cached_tokens),
        reasoning: countOf(objectOf(usage[names.outputDetails]).reasoning_tokens)
      }
    : undefined

/** The same for a chat answer, which counts reasoning apart where the model does. */
export const answerTokens = (usage: Json | undefined, { model }: Route, names: Names): Tokens | undefined => {
  const tokens = countedTokens(usage, names)
  return tokens && { ...tokens, reasoning: model.thinking.counted ? (tokens.reasoning ?? 0) : undefined }
}
