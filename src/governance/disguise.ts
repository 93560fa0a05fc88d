/** What hides a destination without hiding it from its reader, for the strict scan. */
import { type Slices, sliceCharacters } from "../wire/slices.ts"
import {
  alphanumerics,
  at as atSign,
  characters,
  colon,
  digits,
  dot,
  farthest,
  is,
  quotes,
  slash,
  unitAt
} from "./characters.ts"
import { doubtfulSuffixes, plainSuffixes, reversedStarts } from "./suffixes.ts"

/** How many times disguises are undone: percent-encoding of percent-encoding. */
const maxLayers = 3

const entities: ReadonlyMap<string, string> = new Map([
  ["colon", ":"],
  ["sol", "/"],
  ["bsol", "\\"],
  ["period", "."],
  ["commat", "@"],
  ["amp", "&"],
  ["num", "#"],
  ["quest", "?"],
  ["percnt", "%"],
  ["equals", "="],
  ["lbrack", "["],
  ["rbrack", "]"],
  ["tab", "\t"],
  ["newline", "\n"]
])

const entity = (
  whole: string,
  decimal: string | undefined,
  hex: string | undefined,
  name: string | undefined
): string => {
  if (name !== undefined) return entities.get(name.toLowerCase()) ?? whole
  const point = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal)
  return point > 0 && point <= 0x10ffff ? String.fromCodePoint(point) : whole
}

/** What is undone of a text, in this order; `sign` is what every match begins with and has nowhere else. */
const disguises: ReadonlyArray<{ readonly sign?: string; readonly undo: (text: string) => string }> = [
  { sign: "&", undo: (text) => text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{3,7}));?/gi, entity) },
  {
    sign: "%",
    undo: (text) =>
      text.replace(/%([0-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  },
  {
    undo: (text) =>
      text
        .replace(/[\uff01-\uff5e]/g, (character) => String.fromCharCode(character.charCodeAt(0) - 0xfee0))
        .replace(/[\u3002\uff61]/g, ".")
  }
]
/** Of any match. */
const longestMatch = 16

function* undone(text: string, { sign, undo }: (typeof disguises)[number]): Slices<string> {
  if (sign !== undefined && !text.includes(sign)) return text
  if (text.length <= sliceCharacters) return undo(text)
  const pieces: Array<string> = []
  for (let from = 0; from < text.length; ) {
    if (from > 0) yield
    let to = from + sliceCharacters
    // No match is cut in two.
    const last = sign === undefined ? -1 : text.slice(to - longestMatch, to).lastIndexOf(sign)
    if (last >= 0) to += last - longestMatch
    pieces.push(undo(text.slice(from, to)))
    from = to
  }
  return pieces.join("")
}

/** A text with percent-encoding, HTML entities and full-width forms undone. Linear. */
export function* undisguise(text: string): Slices<string> {
  let plain = text
  for (let count = 0; count < maxLayers; count++) {
    let next = plain
    for (const disguise of disguises) next = yield* undone(next, disguise)
    if (next === plain) break
    plain = next
  }
  return plain
}

const base64Characters = characters(/[a-z0-9+/_-]/i)
const shortestBase64 = 14

/** Tells the text of everything that is base64 of a text with a scheme in it. Linear. */
export function* hiddenInBase64(text: string, tell: (decoded: string) => Slices<void>): Slices<void> {
  let start = 0
  let until = sliceCharacters
  for (let at = 0; at <= text.length; at++) {
    if (at === until) {
      yield
      until = at + sliceCharacters
    }
    if (is(base64Characters, unitAt(text, at))) continue
    if (at - start >= shortestBase64) {
      const decoded = Buffer.from(text.slice(start, at), "base64").toString("latin1")
      if (yield* isText(decoded)) yield* tell(decoded)
    }
    start = at + 1
  }
}

const longestScheme = 16

function* isText(decoded: string): Slices<boolean> {
  if (/[^\t\n\r -\x7e]/.test(decoded.slice(0, 4096))) return false
  for (let from = 0; from < decoded.length; from += sliceCharacters) {
    if (from > 0) yield
    const part = decoded.slice(from, from + sliceCharacters + longestScheme + 2)
    if (/[a-z][a-z0-9+.-]{0,15}:[/\\]/i.test(part)) return true
  }
  return false
}

const hostCharacters = characters(/[a-z0-9.-]/i)
const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i
const notBefore = characters(/[\w@$\\#%&~+]/)
const notAfter = characters(/[\w@([=\\$]/)
const labelStarts = characters(/[\w/~]/)

const isHostName = (text: string, from: number, start: number, end: number): boolean => {
  if (end - start > 253 || end - start < 4) return false
  const before = start > from ? unitAt(text, start - 1) : 0
  const after = unitAt(text, end)
  const isPort = after === colon && is(digits, unitAt(text, end + 1))
  if (is(notAfter, after)) return false
  if (before === atSign) {
    // An email address is none; `git@host:path` is.
    if (after !== colon || !is(labelStarts, unitAt(text, end + 1))) return false
  } else if (is(notBefore, before)) return false
  // A part of a path, unless it stands for a scheme: `//host`
  if (before === slash && unitAt(text, start - 2) !== slash) return false
  const host = text.slice(start, end)
  const labels = host.split(".")
  if (labels.length < 2 || labels.some((part) => !label.test(part))) return false
  const last = labels[labels.length - 1] ?? ""
  // `done.It`: a new sentence
  if (/^[A-Z]/.test(last) && host !== host.toUpperCase()) return false
  const lower = labels.map((part) => part.toLowerCase())
  const first = lower[0] ?? ""
  const pointed = isPort || after === slash
  if (lower.length > 2 && reversedStarts.has(first) && !pointed) return false
  const two = lower.slice(-2).join(".")
  if (lower.length > 2 && plainSuffixes.has(two)) return true
  if (plainSuffixes.has(lower[lower.length - 1] ?? "")) return first !== "this" && first !== "self"
  if (!doubtfulSuffixes.has(lower[lower.length - 1] ?? "")) return false
  const isWhole = (start === 0 || is(quotes, before)) && (end >= text.length || is(quotes, after))
  return pointed || isWhole || lower.length > 2 || before === slash
}

const pathEnds = characters(/[\s"'<>\\^`|)\]},;]/)

const hostEnd = (text: string, to: number, end: number): number => {
  let last = end
  const most = Math.min(to, end + farthest)
  if (unitAt(text, last) === colon && is(digits, unitAt(text, last + 1))) {
    last++
    while (last < most && is(digits, unitAt(text, last))) last++
  }
  if (unitAt(text, last) !== slash) return last
  while (last < most && unitAt(text, last) < 128 && !is(pathEnds, unitAt(text, last))) last++
  while (last > end && !is(alphanumerics, unitAt(text, last - 1)) && unitAt(text, last - 1) !== slash) last--
  return last
}

/** Tells where host names with a public suffix stand between two places, with port and path. Linear. */
export function* bareHosts(
  text: string,
  from: number,
  to: number,
  tell: (start: number, end: number) => void
): Slices<void> {
  let floor = from
  let until = from + sliceCharacters
  for (let at = from; at < to; at++) {
    if (at >= until) {
      yield
      until = at + sliceCharacters
    }
    if (unitAt(text, at) !== dot) continue
    let start = at
    const least = Math.max(floor, at - farthest)
    while (start > least && is(hostCharacters, unitAt(text, start - 1))) start--
    let end = at
    const most = Math.min(to, at + farthest)
    while (end < most && is(hostCharacters, unitAt(text, end))) end++
    floor = end
    while (end > start && !is(alphanumerics, unitAt(text, end - 1))) end--
    while (start < end && !is(alphanumerics, unitAt(text, start))) start++
    if (isHostName(text, from, start, end)) {
      const last = hostEnd(text, to, end)
      floor = Math.max(floor, last)
      tell(start, last)
    }
    at = floor - 1
  }
}
