import { isIPv6 } from "node:net"
import {
  alphanumerics,
  at as atSign,
  backslash,
  breaks,
  characters,
  code,
  colon,
  dot,
  farthest,
  is,
  letters,
  openBracket,
  percent,
  quotes,
  slash,
  unitAt
} from "./characters.ts"
import { doubtfulSuffixes, plainSuffixes } from "./suffixes.ts"

const schemeCharacters = characters(/[a-z0-9+.-]/i) // RFC 3986, 3.1
const tokenCharacters = characters(/[\w!#$&^+.-]/) // RFC 6838, 4.2
// What RFC 3986 keeps out of a URI, and the single quote, which in practice closes one. Braces stay: `https://{host}/`.
const terminators = characters(/[\0- \x7f"'<>\\^`|]/)
const trailing = characters(/[.,;:!?*]/)
const openings = characters(/[([{]/)
const closings = characters(/[)\]}]/)
const hostCharacters = characters(/[\w.@%~+-]/)
/** What may follow the host of a URL that has no slashes; `http:axios.get(x)` and `http:a.b=1` are something else. */
const afterHost = characters(/[/?#:,;.!)\]}*]/)
const named = characters(/[\w{%]/)

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

const longestScheme = 256

/** Where the scheme before a colon starts, no earlier than `floor`; the colon itself when there is none. */
const schemeStart = (text: string, floor: number, at: number): number => {
  let start = at
  const least = Math.max(floor, at - longestScheme)
  while (start > least && is(schemeCharacters, unitAt(text, start - 1))) start--
  while (start < at && !is(letters, unitAt(text, start))) start++
  return start
}

/**
 * How the known schemes are read:
 * - `special`: as a WHATWG URL parser does, with one slash, none, or backslashes for two slashes
 * - `plain`: with two slashes; known, so that line breaks inside do not hide it
 */
type Reading = "special" | "plain" | "mailto" | "data"

const known: ReadonlyMap<string, Reading> = new Map([
  ...["http", "https", "ws", "wss", "ftp"].map((word): [string, Reading] => [word, "special"]),
  ...["ftps", "sftp", "s3", "gs", "file"].map((word): [string, Reading] => [word, "plain"]),
  ["mailto", "mailto"],
  ["data", "data"]
])
const longest = 6
const lastOfKnown = characters(/[spoae3]/i)

interface Known {
  readonly start: number
  readonly reading: Reading
}

/** The known scheme before a colon. Line breaks and tabs inside do not count, as URL parsers drop them. */
const knownBefore = (text: string, floor: number, at: number): Known | undefined => {
  let best: Known | undefined
  let word = ""
  const least = Math.max(floor, at - farthest)
  for (let start = at; start > least && word.length < longest; ) {
    const character = unitAt(text, --start)
    if (is(breaks, character)) continue
    if (!is(alphanumerics, character)) break
    word = String.fromCharCode(character).toLowerCase() + word
    const reading = known.get(word)
    if (reading === undefined) continue
    const before = start > floor ? unitAt(text, start - 1) : 0
    if (!is(alphanumerics, before) && before !== 0x2b) best = { start, reading }
  }
  return best
}

const topLevelType = /^(?:application|audio|chemical|font|image|message|model|multipart|text|video|x-[\w-]+)$/i

/** `data:` counts before a media type, a parameter or the comma, so that `data:` in prose, in a list or in code does not. */
const isDataBody = (text: string, start: number, from: number): boolean => {
  let at = from
  while (at - from < farthest && is(tokenCharacters, unitAt(text, at))) at++
  const next = unitAt(text, at)
  const after = unitAt(text, at + 1)
  if (at === from) return (next === code(",") && !ends(after)) || (next === code(";") && is(letters, after))
  if (next !== slash || !is(tokenCharacters, after)) return false
  if (at - from < 20 && topLevelType.test(text.slice(from, at))) return true
  // `{data:x/y,…}` is code
  const before = start > 0 ? unitAt(text, start - 1) : 0
  return before !== 0x7b && before !== 0x2c
}

/** Names that are hosts though nobody can register them, beside those that anyone can. */
const ownNames = new Set(["localhost", "example", "test", "invalid", "local", "internal", "intranet", "home", "corp"])
const isSuffix = (name: string): boolean => plainSuffixes.has(name) || doubtfulSuffixes.has(name) || ownNames.has(name)

const addressLike = /^(?:0x[0-9a-f]+|\d{6,}|(?:0x[0-9a-f]+|\d+)(?:\.(?:0x[0-9a-f]+|\d+)){3})$/i
const nameLike = /^(?:localhost|[^.]+(?:\.[^.]+)*\.(?:[a-z][a-z0-9-]*[a-z0-9]|xn--[a-z0-9-]+))$/i

/** Whether a host stands right after `https:`. Prose, ports and code do not look like one. */
const isHost = (text: string, start: number, from: number): boolean => {
  if (unitAt(text, from) === openBracket) {
    const close = text.slice(from, from + 60).indexOf("]")
    return close > 0 && isIPv6(text.slice(from + 1, from + close))
  }
  let at = from
  let telling = false
  for (const last = Math.min(text.length, from + farthest); at < last; at++) {
    const character = unitAt(text, at)
    if (character >= 128 ? ends(character) : !is(hostCharacters, character)) break
    // A user before the host, an escape or another script: nothing but a URL has these here.
    if (character >= 128 || character === percent || (character === atSign && at > from)) telling = true
  }
  const after = unitAt(text, at)
  if (at === from || !(ends(after) || is(afterHost, after))) return false
  if (telling) return true
  let last = at
  while (last > from && unitAt(text, last - 1) === dot) last--
  if (last - from > 255) return false
  const host = text.slice(from, last)
  if (addressLike.test(host)) return true
  if (nameLike.test(host)) {
    // `http:request.started` is an event; nobody calls one `https:…`.
    const suffix = host.slice(host.lastIndexOf(".") + 1).toLowerCase()
    return (
      /^https/i.test(text.slice(start, start + 5)) ||
      suffix.length <= 3 ||
      isSuffix(suffix) ||
      after === slash ||
      after === colon
    )
  }
  return after === slash && /^[a-z]/i.test(host) && (start === 0 || is(quotes, unitAt(text, start - 1)))
}

export interface Place {
  readonly start: number
  /** Where the part after the scheme and its slashes starts; a destination needs at least one character there. */
  readonly body: number
  /** Characters that a URL parser drops lie within; they are left out of what is reported. */
  readonly broken: boolean
}

/** The URI whose scheme ends at the colon `at`, if any. */
export const uriAt = (text: string, floor: number, at: number): Place | undefined => {
  const next = unitAt(text, at + 1)
  const last = at > floor ? unitAt(text, at - 1) : 0
  let start = at
  if (next === slash && unitAt(text, at + 2) === slash) start = schemeStart(text, floor, at)
  if (at - start > 1) {
    const first = unitAt(text, at + 3)
    const before = start > floor ? unitAt(text, start - 1) : 0
    const isWhole = !is(breaks, first) && first !== slash && first !== backslash && !is(breaks, before)
    if (isWhole) return { start, body: at + 3, broken: false }
  }
  const marked = next === slash || next === backslash || is(breaks, next)
  // Cheap ways out, for most colons are none of this.
  if (start === at && !marked && ends(next)) return undefined
  if (is(lastOfKnown, last) || is(breaks, last)) {
    const scheme = knownBefore(text, floor, at)
    if (scheme !== undefined && scheme.start <= start) {
      let slashes = 0
      let body = at + 1
      for (; body - at < farthest; body++) {
        const character = unitAt(text, body)
        if (character === slash || character === backslash) slashes++
        else if (!is(breaks, character)) break
      }
      const broken = is(breaks, last) || scheme.start + 6 < at || hasBreak(text, scheme.start, body)
      const place = { start: scheme.start, body, broken }
      switch (scheme.reading) {
        case "special":
          return slashes > 0 || isHost(text, scheme.start, body) ? place : undefined
        case "plain":
          if (slashes >= 2) return place
          break
        case "mailto":
          if (slashes > 0) break
          return !broken || looksLikeMailbox(text, body) ? place : undefined
        case "data":
          if (slashes > 0) break
          return isDataBody(text, scheme.start, body) ? place : undefined
      }
    }
  }
  // A single letter is a Windows drive.
  if (at - start < 2) return undefined
  let body = at + 3
  while (body - at < farthest && (unitAt(text, body) === slash || unitAt(text, body) === backslash)) body++
  return { start, body, broken: false }
}

const hasBreak = (text: string, from: number, to: number): boolean => {
  for (let at = from; at < to; at++) if (is(breaks, unitAt(text, at))) return true
  return false
}

const looksLikeMailbox = (text: string, from: number): boolean => {
  let at = from
  const last = Math.min(text.length, from + farthest)
  while (at < last && unitAt(text, at) !== atSign && !ends(unitAt(text, at))) at++
  return at > from && unitAt(text, at) === atSign
}

/** Where a URI ends; in `https://a,https://b` it ends at the comma. */
export const uriEnd = (text: string, body: number): number => {
  const last = Math.min(text.length, body + farthest)
  for (let at = body; ; at++) {
    if (at >= last || ends(unitAt(text, at))) return at
    if (unitAt(text, at) !== colon || !text.startsWith("//", at + 1)) continue
    const next = schemeStart(text, body, at)
    if (next < at && next > body && (text[next - 1] === "," || text[next - 1] === ";")) return next - 1
  }
}

/** The end without the punctuation of the sentence around, and without brackets that were opened before `start`. */
export const trimmedEnd = (text: string, start: number, end: number): number => {
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

/** Whether a body names anything: `https://[^\s]+` in a pattern does not. */
export const namesSomething = (text: string, body: number, last: number): boolean => {
  for (let at = body; at < last; at++) {
    const character = unitAt(text, at)
    if (character >= 128 || is(named, character)) return true
    if (character === colon && unitAt(text, at - 1) === openBracket && text.startsWith(":]", at + 1)) return true
  }
  return false
}
