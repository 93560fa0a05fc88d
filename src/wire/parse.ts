/**
 * The one door by which JSON comes in. Small texts are parsed by the engine, large ones in slices, so that other requests are served
 * in between (docs/decisions.md#work-in-slices); the values are the same.
 */
import { Effect, Result } from "effect"
import { engineExact, engineWritten, exactNumberOf, maxNesting, writtenNumberOf } from "./json.ts"
import { hasNumberedKey } from "./keyOrder.ts"
import {
  maxDepth,
  maxFields,
  maxNameBytes,
  maxNumber,
  maxTokens,
  type ParseOptions,
  parseInSlices,
  type Refusal
} from "./parseInSlices.ts"
import { smallBytes } from "./slices.ts"
import { inSlices } from "./turns.ts"

/** Counts down while texts are read. */
export interface Budget {
  tokens: number
}

export const newBudget = (): Budget => ({ tokens: maxTokens })

const quote = 0x22
const backslash = 0x5c

/**
 * Looks through small JSON text before it is parsed and answers how many tokens of the budget it takes; undefined where it may hold
 * more than it may: too deep, too many values, a long name or number. It takes a tenth of the time of parsing. What seems to be over
 * is read by `parseInSlices`, which says where.
 */
export const measure = (bytes: Buffer, depthLimit: number, fieldLimit: number): number | undefined => {
  const { length } = bytes
  let depth = 0
  let deepest = 0
  let tokens = 0
  let fields = 1
  let digits = 0
  let over = false
  /** Whether the last string is longer than a name may be. */
  let long = false
  for (let at = 0; at < length; at++) {
    const byte = bytes[at] ?? 0
    if (byte >= 0x30 && byte <= 0x39) {
      digits++
      continue
    }
    if (digits > maxNumber) over = true
    digits = 0
    if (byte === quote) {
      // Strings are leapt over, so that megabytes of base64 cost next to nothing; not those that may have escaped quotes.
      const from = at + 1
      at = bytes.indexOf(quote, from)
      if (at === -1) break // the parser will say that the string does not end
      if (bytes[at - 1] === backslash) {
        for (at = from; at < length && bytes[at] !== quote; at++) if (bytes[at] === backslash) at++
      }
      long = at - from > maxNameBytes
    } else if (byte === 0x2c) {
      tokens++
      if (depth === 1) fields++
    } else if (byte === 0x3a) {
      tokens++
      if (long) over = true
    } else if (byte === 0x7b || byte === 0x5b) {
      if (++depth > deepest) deepest = depth
    } else if (byte === 0x7d || byte === 0x5d) depth--
  }
  return over || deepest > depthLimit || fields > fieldLimit ? undefined : tokens
}

const sliced = (bytes: Buffer, options: ParseOptions): Effect.Effect<unknown, Refusal> =>
  Effect.flatMap(inSlices(parseInSlices(bytes, options)), Effect.fromResult)

/** The sliced parser says where a text is no JSON, and keeps the order of keys that the engine's would change. */
const whole = (parseText: (text: string) => unknown, bytes: Buffer, options: ParseOptions, tokens = 0) => {
  const text = bytes.toString("utf8")
  const parsed = hasNumberedKey(text)
    ? undefined
    : Result.getOrUndefined(Result.try(() => ({ value: parseText(text) })))
  if (parsed === undefined) return sliced(bytes, options)
  options.budget.tokens -= tokens
  return Effect.succeed(parsed.value)
}

/**
 * Which numbers stay as they were written: `exact`, those that JavaScript cannot hold; `written`, also those that it would print
 * otherwise, for what is printed again.
 */
export type Numbers = "exact" | "written"

const readers = {
  exact: { parseText: engineExact, numberOf: exactNumberOf },
  written: { parseText: engineWritten, numberOf: writtenNumberOf }
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
    return whole(parseText, bytes, options, tokens)
  })

/** JSON of a cloud, which may be as large as its reply. */
export const parseReply = (bytes: Buffer, numbers: Numbers): Effect.Effect<unknown, Refusal> =>
  Effect.suspend(() => {
    const { parseText, numberOf } = readers[numbers]
    const budget = { tokens: Number.POSITIVE_INFINITY }
    const options = { budget, depth: maxNesting, fields: Number.POSITIVE_INFINITY, numberOf }
    return bytes.length > smallBytes ? sliced(bytes, options) : whole(parseText, bytes, options)
  })
