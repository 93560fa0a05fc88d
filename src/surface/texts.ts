/** JSON texts inside a request are held to the request's own budget before anything parses them. */
import { Effect } from "effect"
import { fitsText } from "../api/fields.ts"
import { type JsonText, keepRead } from "../dialect/jsonTexts.ts"
import { type GatewayError, invalid } from "../model/GatewayError.ts"
import { type Budget, maxNameBytes, newBudget } from "../wire/budget.ts"
import { isObject, maxNesting } from "../wire/json.ts"
import { measure } from "../wire/measure.ts"
import { Parse, type Refusal } from "../wire/parse.ts"
import { inTurns } from "../wire/turns.ts"

const options = (budget: Budget) => ({ budget, depth: maxNesting, fields: Number.POSITIVE_INFINITY })

/** What holds too much is refused here; what is no JSON, or nested too deep, is the dialect's to judge. */
const refusalOf = (text: JsonText, refusal: Refusal | undefined): GatewayError | undefined => {
  if (refusal?.kind !== "budget" || text.optional) return undefined
  const inside = refusal.path === "" || refusal.path.startsWith("[") ? refusal.path : `.${refusal.path}`
  return invalid(`${text.path}${inside}: ${refusal.message}`)
}

/** For a small request, whose size bounds what it can hold: only names can be too long. */
export const refuseTexts = (texts: ReadonlyArray<JsonText>): GatewayError | undefined => {
  for (const text of texts) {
    if (text.optional || text.text.length <= maxNameBytes) continue
    const bytes = Buffer.from(text.text)
    if (!measure(bytes, maxNesting, Number.POSITIVE_INFINITY).over) continue
    const parse = new Parse(bytes, options(newBudget()))
    while (!parse.step());
    const refused = refusalOf(text, parse.refusal)
    if (refused !== undefined) return refused
  }
  return undefined
}

/** For a large request: read ahead, in slices, within what the body has left of its budget. */
export const readTexts = Effect.fnUntraced(function* (texts: ReadonlyArray<JsonText>, budget: Budget) {
  for (const text of texts) {
    if (!text.optional && !fitsText(text.text)) return yield* invalid(`${text.path}: at most 2 MiB of UTF-8 text`)
    const own = { tokens: budget.tokens }
    const parse = new Parse(Buffer.from(text.text), options(own))
    yield* inTurns(parse.step)
    const refused = refusalOf(text, parse.refusal)
    if (refused !== undefined) return yield* refused
    // What stays a text has cost no more than its reading.
    if (parse.refusal === undefined) budget.tokens = own.tokens
    if (text.holder !== undefined)
      keepRead(text.holder, parse.refusal === undefined && isObject(parse.value) ? parse.value : undefined)
  }
})
