/** The characters of a text as the scan sees them: sets of them as tables, since it looks at every one, and JSON's escapes undone. */
import { type Slices, sliceCharacters } from "../wire/slices.ts"

export type Characters = Uint8Array

export const characters = (pattern: RegExp, size = 128): Characters =>
  Uint8Array.from({ length: size }, (_, at) => (pattern.test(String.fromCharCode(at)) ? 1 : 0))

export const is = (set: Characters, character: number): boolean => character < set.length && set[character] === 1

/**
 * How far is looked for the end or the beginning of anything, in characters: what is longer is taken as if it ended there, so that
 * no text, whatever is in it, makes a long step of the scan.
 */
export const farthest = 64 * 1024

/** The code unit at a place, and NUL, which belongs to nothing, past the end; always an integer keeps the loops fast. */
export const unitAt = (text: string, at: number): number => (at < text.length ? text.charCodeAt(at) : 0)

export const digits = characters(/[0-9]/)
export const alphanumerics = characters(/[a-z0-9]/i)
export const hexDigits = characters(/[0-9a-f]/i)
/**
 * Stands for a double quote inside a string. A double quote itself is where a string begins or ends, and no parser that is given
 * the string reads beyond it.
 */
const innerQuote = 0x7f
export const quotes = characters(/["'`\x7f]/)
/** What a URL parser drops wherever it stands; backspace and form feed, because a backslash may have become one. */
export const breaks = characters(/[\t\n\r\f\b]/)
/** Spaces, controls, quotes and CJK punctuation beyond ASCII; letters and digits of any script end no URI. */
export const wideEnds = String.raw`\x80-\xa0\u1680\u2000-\u200a\u2018-\u202f\u205f\u3000-\u3020\uff01-\uff0f\uff1a-\uff20`
/** What RFC 3986 keeps out of a URI, and the single quote, which in practice closes one. Braces stay: `https://{host}/`. */
export const terminators = characters(new RegExp(String.raw`[\0- \x7f"'<>\\^\`|${wideEnds}]`), 0x10000)
/** What ends a host, or stands before one. */
const hostEnds = characters(new RegExp(String.raw`[\0-,/:-@[-\`{-\x7f${wideEnds}]`), 0x10000)

const code = (character: string): number => character.charCodeAt(0)
export const slash = code("/")
export const colon = code(":")
export const backslash = code("\\")

// Escapes of JSON

const [quote, letterU] = [code('"'), code("u")]

/** What a letter or sign after a backslash stands for; 0 where it is no escape. */
const plain = new Uint16Array(128)
for (const [sign = "", value = ""] of ["b\b", "f\f", "n\n", "r\r", "t\t", "//", "\\\\"]) plain[code(sign)] = code(value)
plain[innerQuote] = innerQuote

const codePoint = (units: Uint16Array, from: number): number => {
  const hex = String.fromCharCode(...units.subarray(from, from + 4))
  return /^[0-9a-f]{4}$/i.test(hex) ? Number.parseInt(hex, 16) : -1
}

const isSlash = (unit: number): boolean => unit === slash || unit === backslash

const lastOfScheme = characters(/[sp]/i)

/**
 * How much of `https:` or the like has been read: 1 its last letter, 2 its colon with any slashes. A URL parser drops breaks wherever they
 * stand.
 */
const afterUnit = (read: 0 | 1 | 2, unit: number): 0 | 1 | 2 => {
  if (is(breaks, unit)) return read
  if (is(lastOfScheme, unit)) return 1
  return (unit === colon && read === 1) || (isSlash(unit) && read === 2) ? 2 : 0
}

/** Whether an escape may be undone after a scheme: what else it stands for would end the URL before its host. */
const mayFollowScheme = (unit: number): boolean => isSlash(unit) || is(breaks, unit) || !is(hostEnds, unit)

/**
 * Undoes one level of escapes in place and returns the new length. What is not an escape of JSON stays as it is. Unless
 * the text is JSON for `certain`, a backslash after a scheme stands for a slash: `https:\\new.example` is a URL.
 */
function* unescapeLevel(units: Uint16Array, length: number, certain: boolean): Slices<number> {
  let to = 0
  let from = 0
  let read: 0 | 1 | 2 = 0
  while (from < length) {
    if (from > 0) yield
    for (const end = Math.min(from + sliceCharacters, length); from < end; from++) {
      let unit = units[from] ?? 0
      if (unit === backslash && from + 1 < length) {
        const next = units[from + 1] ?? 0
        const single = next === quote && certain ? innerQuote : next < 128 ? (plain[next] ?? 0) : 0
        const point = next === letterU && from + 5 < length ? codePoint(units, from + 2) : -1
        const isFree = certain || read < 2
        if (single !== 0 && (isFree || isSlash(next))) {
          unit = single
          from += 1
        } else if (point >= 0 && (isFree || mayFollowScheme(point))) {
          unit = point === quote ? innerQuote : point
          from += 5
        }
      }
      units[to++] = unit
      read = afterUnit(read, unit)
    }
  }
  return to
}

/**
 * A text with its JSON escapes undone, again and again until none is left, `levels` times at most. An escaped quote becomes
 * `innerQuote`. The text need not be JSON; with `isJson` its outermost escapes are taken for what JSON says they are. Linear in its length for a given number of levels.
 */
export function* unescapeJson(text: string, levels: number, isJson: boolean): Slices<string> {
  if (!text.includes("\\")) return text
  const bytes = Buffer.from(text, "utf16le")
  const units = new Uint16Array(bytes.buffer, bytes.byteOffset, text.length)
  let length = text.length
  for (let level = 0; level < levels; level++) {
    const shorter = yield* unescapeLevel(units, length, isJson && level === 0)
    if (shorter === length) break
    length = shorter
  }
  return bytes.toString("utf16le", 0, 2 * length)
}
