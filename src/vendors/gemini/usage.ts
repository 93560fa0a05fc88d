/** What Gemini counts. */
import type { Route } from "../../catalog/Route.ts"
import type { Tokens } from "../../catalog/Tokens.ts"
import { type JsonObject, numberOf } from "../../wire/json.ts"

/** Thoughts are counted beside the candidates; cached tokens inside the prompt. Undefined where nothing was counted. */
export const readUsage = (usage: JsonObject, { model }: Route): Tokens | undefined => {
  const prompt = numberOf(usage.promptTokenCount)
  const answer = numberOf(usage.candidatesTokenCount)
  const thoughts = numberOf(usage.thoughtsTokenCount)
  if (prompt === undefined && answer === undefined && thoughts === undefined) return undefined
  return {
    input: (prompt ?? 0) + (numberOf(usage.toolUsePromptTokenCount) ?? 0),
    output: (answer ?? 0) + (thoughts ?? 0),
    cached: numberOf(usage.cachedContentTokenCount),
    reasoning: model.thinking.counted ? (thoughts ?? 0) : undefined
  }
}
