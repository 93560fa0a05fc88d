/** What OpenAI's chat completions count. */
import type { Route } from "../../model/Route.ts"
import type { Tokens } from "../../model/Tokens.ts"
import type { Json } from "../../wire/json.ts"
import { answerTokens, chatNames } from "../openaiUsage.ts"

/** Undefined where nothing was counted. */
export const readUsage = (usage: Json | undefined, route: Route): Tokens | undefined =>
  answerTokens(usage, route, chatNames)
