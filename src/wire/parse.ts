/**
 * The one door by which JSON comes in. Small texts are parsed by the engine, large ones in slices, so that other requests are served
 * in between (docs/decisions.md#work-in-slices); the values are the same.
 */
import { Effect, Result } from "effect"
import { type Budget, maxDepth, maxFields, measure, newBudget } from "./budget.ts"
import { exactNumberOf, writtenNumberOf } from "./exactNumber.ts"
import { maxNesting, parseExact, parseWritten } from "./json.ts"
import { type ParseOptions, parseInSlices, type Refusal } from "./parseInSlices.ts"
import { smallBytes } from "./slices.ts"
import { inSlices } from "./turns.ts"

export type { Refusal } from "./parseInSlices.ts"

const sliced = (bytes: Buffer, options: ParseOptions): Effect.Effect<unknown, Refusal> =>
  Effect.flatMap(inSlices(parseInSlices(bytes, options)), Effect.fromResult)

/** The sliced parser says where a text is no JSON. */
const whole = (parseText: (text: string) => unknown, bytes: Buffer, options: ParseOptions) => {
  const parsed = Result.try(() => parseText(bytes.toString("utf8")))
  return Result.isSuccess(parsed) ? Effect.succeed(parsed.success) : sliced(bytes, options)
}

/**
 * Which numbers stay as they were written: `exact`, those that JavaScript cannot hold; `written`, also those that it would print
 * otherwise, for what is printed again.
 */
export type Numbers = "exact" | "written"

const readers = {
  exact: { parseText: parseExact, numberOf: exactNumberOf },
  written: { parseText: parseWritten, numberOf: writtenNumberOf }
}

/** JSON of a caller, within what one request may hold. */
export const parse = (
  bytes: Buffer,
  budget: Budget = newBudget(),
  depth = maxDepth,
  fields = maxFields,
  numbers: Numbers = "exact"
): Effect.Effect<unknown, Refusal> =>
  Effect.suspend(() => {
    const { parseText, numberOf } = readers[numbers]
    const options = { budget, depth, fields, numberOf }
    const tokens = bytes.length > smallBytes ? undefined : measure(bytes, depth, fields)
    if (tokens === undefined || tokens > budget.tokens) return sliced(bytes, options)
    budget.tokens -= tokens
    return whole(parseText, bytes, options)
  })

/** JSON of a cloud, which may be as large as its reply. */
export const parseReply = (bytes: Buffer, numbers: Numbers): Effect.Effect<unknown, Refusal> =>
  Effect.suspend(() => {
    const { parseText, numberOf } = readers[numbers]
    const budget = { tokens: Number.POSITIVE_INFINITY }
    const options = { budget, depth: maxNesting, fields: Number.POSITIVE_INFINITY, numberOf }
    return bytes.length > smallBytes ? sliced(bytes, options) : whole(parseText, bytes, options)
  })
