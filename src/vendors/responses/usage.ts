/** What OpenAI's responses API counts. */
import type { Route } from "../../catalog/Route.ts"
import type { Tokens } from "../../catalog/Tokens.ts"
import type { Json } from "../../wire/json.ts"
import { answerTokens, responsesNames } from "../openaiUsage.ts"

/** Undefined where nothing was counted. */
export const readUsage = (usage: Json | undefined, route: Route): Tokens | undefined =>
  answerTokens(usage, route, responsesNames)
