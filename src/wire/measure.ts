/**
 * Measures JSON text before it is parsed: how deep, how many values, and whether its numbers are ordinary. Parsing and
 * walking stay cheap that way.
 */

/** Deepest nesting of arrays and objects. */
export const maxDepth = 256
/** Most commas and colons outside strings: twice the values of objects, once those of arrays. */
export const maxTokens = 150_000
/** Bytes measured at a time; other requests can be served in between. */
const stepBytes = 1024 * 1024

interface Shape {
  at: number
  depth: number
  tokens: number
  /** Whether `at` is inside a string. */
  quoted: boolean
  /** Digits in a row before `at`. */
  digits: number
  /** Whether a number is written in a way that JavaScript may not hold: 16 digits or more, or an exponent. */
  unusual: boolean
  problem: string | undefined
}

const quote = 0x22
const backslash = 0x5c
/** Integers of as many digits may be beyond 2^53. */
const unsafeDigits = 16

const step = (bytes: Buffer, shape: Shape): void => {
  const stop = Math.min(bytes.length, shape.at + stepBytes)
  let { at, depth, tokens, quoted, digits, unusual } = shape
  while (at < stop) {
    const byte = bytes[at] ?? 0
    if (quoted) {
      if (byte === backslash) at++
      else if (byte === quote) quoted = false
    } else if (byte >= 0x30 && byte <= 0x39) {
      if (++digits === unsafeDigits) unusual = true
    } else {
      if (digits > 0 && (byte === 0x65 || byte === 0x45)) unusual = true
      digits = 0
      if (byte === quote) {
        // Strings are leapt over, so that megabytes of base64 cost next to nothing; not those that may have escaped quotes.
        const end = bytes.indexOf(quote, at + 1)
        if (end === -1)
          at = bytes.length // the parser will say that the string does not end
        else if (bytes[end - 1] === backslash) quoted = true
        else at = end
      } else if (byte === 0x2c || byte === 0x3a) tokens++
      else if (byte === 0x7b || byte === 0x5b) {
        if (++depth > maxDepth) break
      } else if (byte === 0x7d || byte === 0x5d) depth--
    }
    at++
  }
  shape.at = at
  shape.depth = depth
  shape.tokens = tokens
  shape.quoted = quoted
  shape.digits = digits
  shape.unusual = unusual
  if (depth > maxDepth) shape.problem = `the request body is nested deeper than ${maxDepth} levels`
  else if (tokens > maxTokens) shape.problem = `the request body has too many values (more than about ${maxTokens / 2})`
}

/** A text that is being measured: `step` after `step`, each of at most 1 MiB. */
export interface Measure {
  /** Measures on; true when all is measured, or enough to know that it is refused. */
  readonly step: () => boolean
  /** What is wrong with the shape of the text, if anything. */
  readonly problem: () => string | undefined
  /** Whether its numbers need care. */
  readonly unusual: () => boolean
}

export const makeMeasure = (bytes: Buffer): Measure => {
  const shape: Shape = { at: 0, depth: 0, tokens: 0, quoted: false, digits: 0, unusual: false, problem: undefined }
  return {
    step: () => {
      step(bytes, shape)
      return shape.problem !== undefined || shape.at >= bytes.length
    },
    problem: () => shape.problem,
    unusual: () => shape.unusual
  }
}
