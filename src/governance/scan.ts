import { atOnce, type Slices, sliceCharacters } from "../wire/slices.ts"
import { addressEnd, bracketedEnd, isAddress, isNumbering, numbersEnd, wholeIpv6 } from "./address.ts"
import { type Characters, colon, digits, unitAt } from "./characters.ts"
import { bareHosts, hiddenInBase64, undisguise } from "./disguise.ts"
import { type Collector, type Found, makeCollector } from "./found.ts"
import { plainText } from "./plainText.ts"
import { unescapeJson } from "./unescape.ts"
import { namesSomething, trimmedEnd, uriAt, uriEnd } from "./uri.ts"

/** UTF-16 code units of one destination, at most; a longer one is cut between characters. */
export const maxDestinationLength = 2048
/** How many times escapes are undone: JSON inside a JSON string inside a JSON string, and so on. */
const maxEscapeLevels = 8

/**
 * `spec` finds URLs with a scheme and addresses. `strict` also finds them behind percent-encoding, full-width forms, HTML
 * entities and base64, and host names with a public suffix.
 */
export type ScanMode = "spec" | "strict"

const openBracket = 0x5b
/** What may begin or mark a destination: 1 a colon, 2 a digit, 3 an opening bracket. Nothing else is looked at. */
const marks: Characters = Uint8Array.from({ length: 128 }, (_, at) =>
  at === colon ? 1 : digits[at] === 1 ? 2 : at === openBracket ? 3 : 0
)

const nextMark = (text: string, from: number, to: number): number => {
  let at = from
  for (; at < to; at++) {
    const character = text.charCodeAt(at)
    if (character < 128 && marks[character] !== 0) break
  }
  return at
}

const cut = (text: string, start: number, end: number): string => {
  if (end - start <= maxDestinationLength) return text.slice(start, end)
  const last = start + maxDestinationLength
  const splitsPair = (unitAt(text, last - 1) & 0xfc00) === 0xd800 && (unitAt(text, last) & 0xfc00) === 0xdc00
  return text.slice(start, splitsPair ? last - 1 : last)
}

interface Sink {
  readonly found: (destination: string) => void
  /** What lies between two destinations. */
  readonly gap?: (from: number, to: number) => Slices<void>
}

/** What stands at a mark, between `floor` and the end of the text. */
interface Place {
  readonly start: number
  readonly end: number
  readonly destination: string
}

const atColon = (text: string, floor: number, at: number): Place | undefined => {
  const uri = uriAt(text, floor, at)
  if (uri !== undefined) {
    const end = uriEnd(text, uri.body)
    const last = trimmedEnd(text, uri.body, end)
    if (last > uri.body && namesSomething(text, uri.body, last)) {
      const { body, broken, start } = uri
      const destination = broken ? joined(text.slice(start, body), cut(text, body, last)) : cut(text, start, last)
      return { start, end, destination }
    }
  }
  const whole = wholeIpv6(text, floor, at)
  if (whole === undefined) return undefined
  const [start, end] = whole
  return { start, end, destination: text.slice(start, end) }
}

/** One pass, no backtracking: linear in the length. */
function* pass(text: string, sink: Sink): Slices<void> {
  // What lies before `floor` belongs to the destination found last.
  let floor = 0
  let at = 0
  let until = sliceCharacters
  for (;;) {
    at = nextMark(text, at, Math.min(text.length, until))
    if (at >= text.length) break
    if (at >= until) {
      yield
      until = at + sliceCharacters
      continue
    }
    const mark = marks[text.charCodeAt(at)]
    let place: Place | undefined
    let next = at + 1
    if (mark === 1) place = atColon(text, floor, at)
    else if (mark === 2) {
      next = numbersEnd(text, at)
      if (isAddress(text, floor, at, next) && !isNumbering(text, floor, at, next)) {
        const end = addressEnd(text, next)
        place = { start: at, end, destination: cut(text, at, end) }
      }
    } else {
      const end = bracketedEnd(text, floor, at)
      if (end >= 0) place = { start: at, end, destination: cut(text, at, end) }
    }
    if (place === undefined) at = next
    else {
      if (sink.gap !== undefined && place.start > floor) yield* sink.gap(floor, place.start)
      sink.found(place.destination)
      floor = at = place.end
    }
  }
  if (sink.gap !== undefined && floor < text.length) yield* sink.gap(floor, text.length)
}

/** A URL without what its parser drops. */
const joined = (head: string, body: string): string => {
  const whole = `${head.replace(/[\t\n\r\f\b]+/g, "")}${body}`
  return cut(whole, 0, whole.length)
}

/** The scheme and the host: a URL that is found again with its escapes undone is the same one. */
const originOf = (destination: string): string =>
  (/^[^/\\:]*:?[/\\]*[^/\\?#]*/.exec(destination)?.[0] ?? "").toLowerCase()

function* passStrict(text: string, collector: Collector): Slices<void> {
  const origins = new Set<string>()
  const known = (destination: string): boolean => {
    const origin = originOf(destination)
    if (origins.has(origin)) return true
    if (origins.size < 10_000) origins.add(origin)
    return false
  }
  const addNew = (destination: string): void => {
    if (!known(destination)) collector.add(destination)
  }
  const bare = (whole: string, add: (host: string) => void) => (from: number, to: number) =>
    bareHosts(whole, from, to, (start, end) => add(cut(whole, start, end)))
  const addAll = (destination: string): void => {
    known(destination)
    collector.add(destination)
  }
  yield* pass(text, { found: addAll, gap: bare(text, addAll) })
  const plain = yield* undisguise(text)
  if (plain !== text) yield* pass(plain, { found: addNew, gap: bare(plain, addNew) })
  yield* hiddenInBase64(plain, (decoded) => pass(decoded, { found: addNew }))
}

const scanInto = (text: string, mode: ScanMode, collector: Collector): Slices<void> =>
  mode === "strict" ? passStrict(text, collector) : pass(text, { found: collector.add })

const foundBy = (scan: (collector: Collector) => Slices<void>): Found => {
  const collector = makeCollector()
  atOnce(scan(collector))
  return collector.found()
}

/**
 * The outbound destinations in a text as it stands, unique, in order of appearance: any `scheme://…`, `data:…`, `mailto:…`
 * in any case, read as a WHATWG URL parser reads them, IPv4 addresses with their port and path, and IPv6 addresses in
 * brackets or as a whole value (docs/api.md#tool-call-scan). An address inside a URL is not listed again; version numbers and
 * object identifiers are not addresses. At most `maxDestinations` of at most `maxDestinationLength`; the rest is counted.
 */
export const scanText = (text: string, mode: ScanMode = "spec"): Found =>
  foundBy((collector) => scanInto(text, mode, collector))

/**
 * The destinations in a tool call's `arguments`, as `scanText`. Escapes are undone at every level, so that neither they
 * nor JSON inside a JSON string hide anything. The text is not parsed: quotes end a destination as well as a string, and so
 * truncated or invalid JSON, object keys and repeated keys (of which a parser keeps one) are read alike.
 */
export const scanArguments = (json: string, mode: ScanMode = "spec"): Found =>
  foundBy((collector) => collectArguments(json, mode, collector))

export function* collectArguments(json: string, mode: ScanMode, collector: Collector): Slices<void> {
  yield* scanInto(yield* unescapeJson(json, maxEscapeLevels, true), mode, collector)
}

/**
 * The destinations in tool input that is already parsed: the same as `scanArguments` of its JSON text. Deep values do not
 * overflow the stack.
 */
export const scanValue = (value: unknown, mode: ScanMode = "spec"): Found =>
  foundBy((collector) => collectValue(value, mode, collector))

export function* collectValue(value: unknown, mode: ScanMode, collector: Collector): Slices<void> {
  const text = yield* plainText(value)
  yield* scanInto(yield* unescapeJson(text, maxEscapeLevels - 1, false), mode, collector)
}
