import { unescapeJson } from "./unescape.ts"

/** UTF-16 code units of one destination, at most; a longer one is cut between characters. */
export const maxDestinationLength = 2048
/** Destinations reported for one tool call, at most. The first ones are kept. */
export const maxDestinations = 100
/** How many times escapes are undone: JSON inside a JSON string inside a JSON string, and so on. */
const maxEscapeLevels = 8

const code = (character: string): number => character.charCodeAt(0)
const [colon, dot, slash, backslash] = [code(":"), code("."), code("/"), code("\\")]

const table = (pattern: RegExp): Uint8Array =>
  Uint8Array.from({ length: 128 }, (_, at) => (pattern.test(String.fromCharCode(at)) ? 1 : 0))
const letters = table(/[a-z]/i)
const alphanumerics = table(/[a-z0-9]/i)
const digits = table(/[0-9]/)
const schemeCharacters = table(/[a-z0-9+.-]/i) // RFC 3986, 3.1
const tokenCharacters = table(/[\w!#$&^+.-]/) // RFC 6838, 4.2
// What RFC 3986 keeps out of a URI, and the single quote, which in practice closes one. Braces stay: `https://{host}/`.
const terminators = table(/[\0- \x7f"'<>\\^`|]/)
const trailing = table(/[.,;:!?*]/)
const openings = table(/[([{]/)
const closings = table(/[)\]}]/)

const is = (set: Uint8Array, character: number): boolean => character < 128 && set[character] === 1

/** The code unit at a place, and NUL, which belongs to nothing, past the end; always an integer keeps the loops fast. */
const unitAt = (text: string, at: number): number => (at < text.length ? text.charCodeAt(at) : 0)

/** Drawn as nothing, and dropped from a host name by a URL parser: part of a URI, but not its last character. */
const isInvisible = (character: number): boolean =>
  character === 0xad || (character >= 0x200b && character <= 0x200f) || character === 0x2060 || character === 0xfeff

/** Beyond ASCII, spaces, controls, quotes and CJK punctuation end a URI; letters and digits of any script do not. */
const ends = (character: number): boolean => {
  if (character < 128) return is(terminators, character)
  return (
    character <= 0xa0 ||
    character === 0x1680 ||
    (character >= 0x2000 && character <= 0x200a) ||
    (character >= 0x2018 && character <= 0x202f) ||
    character === 0x205f ||
    (character >= 0x3000 && character <= 0x3020) ||
    (character >= 0xff01 && character <= 0xff0f) ||
    (character >= 0xff1a && character <= 0xff20)
  )
}

/** Where the scheme before a colon starts, no earlier than `floor`; the colon itself when there is none. */
const schemeStart = (text: string, floor: number, at: number): number => {
  let start = at
  while (start > floor && is(schemeCharacters, unitAt(text, start - 1))) start--
  while (start < at && !is(letters, unitAt(text, start))) start++
  return start
}

const wordStart = (text: string, floor: number, at: number, word: string): number => {
  const start = at - word.length
  if (start < floor || text.slice(start, at).toLowerCase() !== word) return -1
  return start > floor && is(alphanumerics, unitAt(text, start - 1)) ? -1 : start
}

/** `data:` counts before a media type, a parameter or the comma, so that `data:` in prose or in a list does not. */
const isDataBody = (text: string, from: number): boolean => {
  let at = from
  while (is(tokenCharacters, unitAt(text, at))) at++
  const next = unitAt(text, at)
  const after = unitAt(text, at + 1)
  if (at === from) return (next === code(",") && !ends(after)) || (next === code(";") && is(letters, after))
  return next === slash && is(tokenCharacters, after)
}

interface Place {
  readonly start: number
  /** Where the part after the scheme and its slashes starts; a destination needs at least one character there. */
  readonly body: number
}

/** The URI whose scheme ends at the colon `at`, if any. */
const uriAt = (text: string, floor: number, at: number): Place | undefined => {
  let body = at + 1
  while (unitAt(text, body) === slash || unitAt(text, body) === backslash) body++
  if (body > at + 1) {
    const start = schemeStart(text, floor, at)
    if (start === at) return undefined
    // For these schemes, URL parsers take one slash, or backslashes, for two slashes (WHATWG URL: special schemes).
    const lenient = at - start <= 5 && /^(?:https?|wss?|ftp)$/i.test(text.slice(start, at))
    if (lenient || text.startsWith("//", at + 1)) return { start, body }
  }
  const mailto = wordStart(text, floor, at, "mailto")
  if (mailto >= 0) return { start: mailto, body: at + 1 }
  const data = wordStart(text, floor, at, "data")
  return data >= 0 && isDataBody(text, at + 1) ? { start: data, body: at + 1 } : undefined
}

/** Where a URI ends; in `https://a,https://b` it ends at the comma. */
const uriEnd = (text: string, body: number): number => {
  for (let at = body; ; at++) {
    if (at >= text.length || ends(unitAt(text, at))) return at
    if (unitAt(text, at) !== colon || !text.startsWith("//", at + 1)) continue
    const next = schemeStart(text, body, at)
    if (next < at && next > body && (text[next - 1] === "," || text[next - 1] === ";")) return next - 1
  }
}

/** The end without the punctuation of the sentence around, and without brackets that were opened before `start`. */
const trimmedEnd = (text: string, start: number, end: number): number => {
  let balance = 0
  for (let at = start; at < end; at++) {
    if (is(openings, unitAt(text, at))) balance++
    else if (is(closings, unitAt(text, at))) balance--
  }
  let last = end
  for (; last > start; last--) {
    const character = unitAt(text, last - 1)
    if (is(closings, character) && balance < 0) balance++
    else if (!is(trailing, character) && !isInvisible(character)) break
  }
  return last
}

/** The end of the run of numbers and single dots that starts at `start`. */
const numbersEnd = (text: string, start: number): number => {
  let at = start
  while (is(digits, unitAt(text, at)) || (unitAt(text, at) === dot && is(digits, unitAt(text, at + 1)))) at++
  return at
}

const isAddress = (text: string, floor: number, start: number, end: number): boolean => {
  if (end - start < 7 || end - start > 15) return false
  const octets = text.slice(start, end).split(".")
  if (octets.length !== 4 || octets.some((octet) => octet.length > 3 || Number(octet) > 255)) return false
  // Part of a longer name or number: `v1.2.3.4`, `a.1.2.3.4`, `1.2.3.4.example`, `1.2.3.4th`.
  const before = start - (start > floor && unitAt(text, start - 1) === dot ? 2 : 1)
  const after = end + (unitAt(text, end) === dot ? 1 : 0)
  return !(before >= floor && is(alphanumerics, unitAt(text, before))) && !is(letters, unitAt(text, after))
}

/** The end of an address with its port and its path, query or fragment, where it has them. */
const addressEnd = (text: string, end: number): number => {
  let at = end
  if (unitAt(text, at) === colon && is(digits, unitAt(text, at + 1))) {
    at++
    while (is(digits, unitAt(text, at))) at++
  }
  return "/?#".includes(text.charAt(at) || " ") ? trimmedEnd(text, end, uriEnd(text, at)) : at
}

const cut = (text: string, start: number, end: number): string => {
  if (end - start <= maxDestinationLength) return text.slice(start, end)
  const last = start + maxDestinationLength
  const splitsPair = (unitAt(text, last - 1) & 0xfc00) === 0xd800 && (unitAt(text, last) & 0xfc00) === 0xdc00
  return text.slice(start, splitsPair ? last - 1 : last)
}

/**
 * The outbound destinations in a text as it stands, unique, in order of appearance: any `scheme://…`, `data:…`, `mailto:…`
 * in any case, and IPv4 addresses with their port and path (spec: Governance scan). An address inside a URL is not listed
 * again. At most `maxDestinations` of at most `maxDestinationLength`. One pass, no backtracking: linear in the length.
 */
export const scanText = (text: string): ReadonlyArray<string> => {
  const found = new Set<string>()
  // What lies before `floor` belongs to the destination found last.
  let floor = 0
  let at = 0
  while (at < text.length && found.size < maxDestinations) {
    const character = unitAt(text, at)
    if (character === colon) {
      const uri = uriAt(text, floor, at)
      const end = uri === undefined ? 0 : uriEnd(text, uri.body)
      const last = uri === undefined ? 0 : trimmedEnd(text, uri.body, end)
      if (uri !== undefined && last > uri.body) {
        found.add(cut(text, uri.start, last))
        floor = at = end
      } else at++
    } else if (is(digits, character)) {
      const end = numbersEnd(text, at)
      if (isAddress(text, floor, at, end)) {
        const last = addressEnd(text, end)
        found.add(cut(text, at, last))
        floor = at = last
      } else at = end
    } else at++
  }
  return [...found]
}

/**
 * The destinations in a tool call's `arguments`, as `scanText`. Escapes are undone at every level, so that neither they
 * nor JSON inside a JSON string hide anything. The text is not parsed: quotes end a destination as well as a string, and so
 * truncated or invalid JSON, object keys and repeated keys (of which a parser keeps one) are read alike.
 */
export const scanArguments = (json: string): ReadonlyArray<string> => scanText(unescapeJson(json, maxEscapeLevels))

/**
 * The destinations in tool input that is already parsed: the same as `scanArguments` of its JSON text. Deep values do not
 * overflow the stack.
 */
export const scanValue = (value: unknown): ReadonlyArray<string> => {
  const strings: Array<string> = []
  const pending: Array<unknown> = [value]
  while (pending.length > 0) {
    const next = pending.pop()
    if (typeof next === "string") strings.push(next)
    else if (Array.isArray(next)) {
      for (let at = next.length - 1; at >= 0; at--) pending.push(next[at])
    } else if (typeof next === "object" && next !== null) {
      for (const [key, inner] of Object.entries(next).reverse()) pending.push(inner, key)
    }
  }
  return scanText(unescapeJson(strings.join('"'), maxEscapeLevels - 1))
}
