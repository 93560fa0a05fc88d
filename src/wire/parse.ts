/**
 * Parses all JSON that comes in. Numbers that JavaScript cannot hold keep their text, because IDs of 64 bits are common in arguments of
 * tools. Small texts are parsed by the engine, large ones in slices, so that other requests are served in between
 * (docs/decisions.md#work-in-slices); the values are the same.
 */
import { Effect, Result } from "effect"
import { hasHardKey, isRaw, type Json, type JsonObject, readObject } from "./json.ts"
import {
  isNumberByte,
  maxDepth,
  maxFields,
  maxNameBytes,
  maxNumber,
  maxTokens,
  type ParseOptions,
  parseInSlices,
  type Refusal
} from "./parseInSlices.ts"
import { inSlices, runNow, type Slices, sliceValues, smallBytes } from "./slices.ts"

// Numbers

/** ECMAScript's JSON.rawJSON, which TypeScript's library does not know yet. */
export const rawJson: (text: string) => unknown = Reflect.get(JSON, "rawJSON")

/** The number that a text is, or the text where JavaScript would print another one. */
const writtenNumberOf = (text: string): unknown => {
  const value = Number(text)
  return String(value) === text ? value : rawJson(text)
}

/** The same, but only integers beyond 2^53 and what is beyond the range stay texts. */
export const exactNumberOf = (text: string): unknown => {
  const value = Number(text)
  const isFraction = Number.isFinite(value) && !Number.isInteger(value)
  return isFraction || Number.isSafeInteger(value) ? value : rawJson(text)
}

/** JavaScript's number for one that is kept as text, where JavaScript can hold it; any other value as it is. */
export const plainNumber = <Value>(value: Value): Value =>
  typeof value === "object" && value !== null && isRaw(value) ? (exactNumberOf(value.rawJSON) as Value) : value

/** The same of every field of an object, but not of fields within those. */
export const plainFields = <Value>(fields: { readonly [name: string]: Value }): { readonly [name: string]: Value } =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, plainNumber(value)]))

// Texts that are parsed in one step

/**
 * Which numbers stay as they were written: `exact`, those that JavaScript cannot hold; `written`, also those that it would print
 * otherwise, for what is printed again. `written` ones are no JavaScript numbers any more; counts, which are plain integers, are.
 */
export type Numbers = "exact" | "written"

/** `sign`: what such a number may look like outside of strings. Strings may look so too, which costs time and nothing else. */
const readings = {
  exact: {
    // IDs in hexadecimal, which most replies have, do not. Found by its first digit, because prose has few.
    sign: /\d(?<=(?:^|[[,:\s-])\d)(?:\d{15}|\d*(?:\.\d+)?[eE])/,
    numberOf: exactNumberOf
  },
  written: {
    // `1.0`, `1e3`, `-0`, less than a millionth, or more than 15 digits: strings that hold JSON, but not prose and most code.
    sign: /\d(?<=(?:^|[[,]|"\s*:)\s*-?\d)(?:(?<=-0)(?=[,\s\]}]|$)|\.0{6}|[\d.]{15}|\d*(?:\.\d*0(?!\d)|(?:\.\d+)?[eE]))/,
    numberOf: writtenNumberOf
  }
}

/** The limits of what comes of a cloud, which has its size limited before. */
const onlyDepth = (): Required<ParseLimits> => ({
  budget: { tokens: Number.POSITIVE_INFINITY },
  depth: maxNesting,
  fields: Number.POSITIVE_INFINITY,
  nameBytes: Number.POSITIVE_INFINITY,
  word: Number.POSITIVE_INFINITY,
  repeats: true
})

/** By the engine's parser, for texts without keys that it would put in another order or misread. */
const parseByEngine = (text: string, numbers: Numbers): unknown => {
  const { numberOf, sign } = readings[numbers]
  if (!sign.test(text)) return JSON.parse(text)
  return JSON.parse(text, (_key, value: unknown, context?: { readonly source?: string }) =>
    typeof value === "number" && context?.source !== undefined ? numberOf(context.source) : value
  )
}

const parser =
  (numbers: Numbers) =>
  (text: string): unknown => {
    const { numberOf } = readings[numbers]
    const inOrder = hasHardKey(text)
      ? Result.getOrUndefined(runNow(parseInSlices(Buffer.from(text), { ...onlyDepth(), numberOf })))
      : undefined
    return inOrder ?? parseByEngine(text, numbers)
  }

/** Parse JSON in one step, with the order of keys; they throw where it is none. */
export const parseExact = parser("exact")
export const parseWritten = parser("written")

/**
 * What an operator's file says, or why it is not taken, and where. The engine's words would quote it: it may be the wrong one, and hold a
 * secret. Of a name that stands twice the engine would take the last value, and say nothing.
 */
export function* parseFile(text: string): Slices<Result.Result<unknown, string>> {
  if (text.startsWith("\ufeff")) return Result.fail("not JSON: it begins with a byte order mark")
  const bytes = Buffer.from(text)
  const read = yield* parseInSlices(bytes, { ...onlyDepth(), repeats: false, numberOf: Number })
  return Result.mapError(read, ({ at, kind, message, path }) => {
    const before = bytes.toString("utf8", 0, at).split("\n")
    const where = `line ${before.length}, column ${(before.at(-1) ?? "").length + 1}`
    if (kind !== "syntax") return `${path}: ${message}, at ${where}`
    return at === bytes.length ? `not JSON: it ends too soon, at ${where}` : `not JSON: wrong at ${where}`
  })
}

/** The objects that texts are; undefined where they are none. */
export const readExactObject = (text: string): JsonObject | undefined => readObject(text, parseExact)
export const readWrittenObject = (text: string): JsonObject | undefined => readObject(text, parseWritten)

/** The object that a text of a caller is; undefined, too, where it is nested too deep to be printed. */
export const parseObject = (text: string): JsonObject | undefined => {
  const value = readWrittenObject(text)
  return value !== undefined && isShallow(value) ? value : undefined
}

/** Levels of nesting that are taken in tool arguments and results: printing JSON recurses, and must not run out of stack. */
export const maxNesting = 500

/** Whether a value can be printed safely. Iterative, linear in its size. */
export function* isShallowInSlices(value: Json | undefined): Slices<boolean> {
  let level: Array<unknown> = [value]
  let count = 0
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxNesting) return false
    const next: Array<unknown> = []
    for (const item of level) {
      if (typeof item !== "object" || item === null) continue
      for (const inner of Array.isArray(item) ? item : Object.values(item)) {
        next.push(inner)
        if (++count % sliceValues === 0) yield
      }
    }
    level = next
  }
  return true
}

/** The same in one go. */
export const isShallow = (value: Json | undefined): boolean => runNow(isShallowInSlices(value))

// Bodies

export type Budget = ParseOptions["budget"]
type ParseLimits = Omit<ParseOptions, "numberOf">

export const newBudget = (): Budget => ({ tokens: maxTokens })

/** About how many values have been parsed. */
export const spentOf = ({ tokens }: Budget): number => maxTokens - tokens

/** What a value of JSON takes beside its text, in bytes, about: thirty megabytes of `{},` become eight hundred. */
export const heldPerValue = 48

const quote = 0x22
const backslash = 0x5c

/**
 * How many tokens of the budget a small text takes; undefined where it may be over a limit: too deep, too many fields, a long name or
 * number. It takes a tenth of the time of parsing. A text that may be over is parsed by `parseInSlices`, which says where.
 */
export const measure = (bytes: Buffer, depthLimit: number, fieldLimit: number): number | undefined => {
  const { length } = bytes
  let depth = 0
  let deepest = 0
  let tokens = 0
  let fields = 1
  let inNumber = 0
  let over = false
  /** Whether the last string is longer than a name may be. */
  let long = false
  for (let at = 0; at < length; at++) {
    const byte = bytes[at] ?? 0
    if (isNumberByte(byte)) {
      inNumber++
      continue
    }
    if (inNumber > maxNumber) over = true
    inNumber = 0
    if (byte === quote) {
      // Strings are skipped, so that megabytes of base64 cost next to nothing, but for those that may have escaped quotes.
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

/**
 * By the engine, where the text is small and within its limits by `tokens` (`measure`). The sliced parser says where a text is no JSON,
 * and reads the keys that are hard for the engine's.
 */
const read = (bytes: Buffer, numbers: Numbers, limits: ParseLimits, tokens: number | undefined) => {
  const { budget } = limits
  if (tokens !== undefined && tokens <= budget.tokens) {
    const text = bytes.toString("utf8")
    const parsed = hasHardKey(text) ? Result.fail(undefined) : Result.try(() => parseByEngine(text, numbers))
    if (Result.isSuccess(parsed)) {
      budget.tokens -= tokens
      return Effect.succeed(parsed.success)
    }
  }
  const { numberOf } = readings[numbers]
  return Effect.flatMap(inSlices(parseInSlices(bytes, { ...limits, numberOf })), Effect.fromResult)
}

/** JSON of a caller, within the limits of a request's body unless others are given. */
export const parse = (
  bytes: Buffer,
  { budget, depth = maxDepth, fields = maxFields }: ParseLimits,
  numbers: Numbers = "exact"
): Effect.Effect<unknown, Refusal> =>
  Effect.suspend(() => {
    const tokens = bytes.length > smallBytes ? undefined : measure(bytes, depth, fields)
    return read(bytes, numbers, { budget, depth, fields }, tokens)
  })

/** JSON of a cloud, limited by the size of its reply only. */
export const parseReply = (bytes: Buffer, numbers: Numbers): Effect.Effect<unknown, Refusal> =>
  Effect.suspend(() => read(bytes, numbers, onlyDepth(), bytes.length > smallBytes ? undefined : 0))
