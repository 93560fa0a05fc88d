/** JSON texts inside a request are held to the request's own budget before anything else parses them. */
import { Effect, Result } from "effect"
import { type GatewayError, invalid } from "../catalog/GatewayError.ts"
import { fitsText } from "../contract/fields.ts"
import { type JsonText, keepRead } from "../vendors/callTexts.ts"
import type { Budget } from "../wire/budget.ts"
import { isObject, maxNesting } from "../wire/json.ts"
import { parse, type Refusal } from "../wire/parse.ts"

/** What holds too much is refused here; what is no JSON, or nested too deep, is the dialect's to judge. */
const refusalOf = (text: JsonText, refusal: Refusal): GatewayError | undefined => {
  if (refusal.kind !== "budget" || text.optional) return undefined
  const inside = refusal.path === "" || refusal.path.startsWith("[") ? refusal.path : `.${refusal.path}`
  return invalid(`${text.path}${inside}: ${refusal.message}`)
}

/** Reads the texts ahead, within what the body has left of its budget. */
export const readTexts = Effect.fnUntraced(function* (texts: ReadonlyArray<JsonText>, budget: Budget) {
  for (const text of texts) {
    if (!text.optional && !fitsText(text.text)) return yield* invalid(`${text.path}: at most 2 MiB of UTF-8 text`)
    const own = { tokens: budget.tokens }
    const read = yield* Effect.result(parse(Buffer.from(text.text), own, maxNesting, Number.POSITIVE_INFINITY))
    const refused = Result.isFailure(read) ? refusalOf(text, read.failure) : undefined
    if (refused !== undefined) return yield* refused
    // What stays a text has cost no more than its reading.
    if (Result.isSuccess(read)) budget.tokens = own.tokens
    const value = Result.isSuccess(read) && isObject(read.success) ? read.success : undefined
    if (text.holder !== undefined) keepRead(text.holder, value)
  }
})
