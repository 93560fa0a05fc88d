/**
 * What one request may hold, over its body and every JSON text inside it, so that reading it stays cheap
 * (docs/api.md#limits).
 */

/** Deepest nesting of arrays and objects in a body. */
export const maxDepth = 256
/**
 * Most commas and colons outside strings: twice the values of objects, once those of arrays. 2,048 messages with 20 images, 5 files
 * and a text each have 292,864 (docs/decisions.md#sizes).
 */
export const maxTokens = 300_000
/** Longest name of a property, in bytes of UTF-8. */
export const maxNameBytes = 1024
/** Most fields of a request itself. */
export const maxFields = 1024
/** Longest number, in characters. */
export const maxNumber = 1024

/** Counts down while texts are read. */
export interface Budget {
  tokens: number
}

export const newBudget = (): Budget => ({ tokens: maxTokens })

const count = (limit: number): string => limit.toLocaleString("en-US")

/** What is wrong, to be said after the place. */
export const problems = {
  depth: (limit: number) => `nested deeper than ${limit} levels`,
  tokens: `too many values: a request may hold about ${count(maxTokens / 2)}; send fewer, or send them as text`,
  name: `the name of a property is longer than ${count(maxNameBytes)} bytes; shorten it, or move the text into the value`,
  fields: `more than ${count(maxFields)} fields; send what belongs together as one object`,
  number: `a number of more than ${count(maxNumber)} characters; send it as a string`
} as const

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
