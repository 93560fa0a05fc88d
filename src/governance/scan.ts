/** The outbound destinations that a tool call names (docs/api.md#governance-flag). */
import { printText } from "../wire/print.ts"
import { type Slices, sliceCharacters } from "../wire/slices.ts"
import { unescapeJson } from "./characters.ts"
import { hiddenInBase64, undisguise } from "./disguise.ts"
import { bareHosts, shares } from "./hosts.ts"
import {
  addressEnd,
  bracketedIpv6,
  isAddress,
  makeUriReader,
  numbersEnd,
  type Place,
  placeOf,
  wholeIpv6
} from "./uri.ts"

/** Destinations reported for one tool call, at most. The first ones are kept. */
export const maxDestinations = 100
/** Destinations beyond those that are distinguished in the count; of still more, each occurrence counts. */
const maxCounted = 10_000
/** UTF-16 code units of one destination, at most; a longer one is cut between characters. */
export const maxDestinationLength = 2048

export interface Found {
  /** Unique, in order of appearance. */
  readonly destinations: ReadonlyArray<string>
  /** How many more there were than are reported. */
  readonly omitted: number
}

const cut = (destination: string): string =>
  destination.length <= maxDestinationLength
    ? destination
    : destination.slice(0, maxDestinationLength).replace(/[\ud800-\udbff]$/, "")

/** Takes destinations in order of appearance, repeated or not, in bounded memory. Mutable, for one call. */
export const makeCollector = () => {
  const kept = new Set<string>()
  const beyond = new Set<string>()
  let uncounted = 0
  return {
    add: (whole: string): void => {
      const destination = cut(whole)
      if (kept.has(destination) || beyond.has(destination)) return
      if (kept.size < maxDestinations) kept.add(destination)
      else if (beyond.size < maxCounted) beyond.add(destination)
      else uncounted++
    },
    found: (): Found => ({ destinations: [...kept], omitted: beyond.size + uncounted })
  }
}
export type Collector = ReturnType<typeof makeCollector>

/** How many times escapes are undone: JSON inside a JSON string inside a JSON string, and so on. */
const maxEscapeLevels = 8

/**
 * `spec` finds URLs with a scheme and addresses. `strict` also finds them behind encodings and other forms, and hosts without a
 * scheme.
 */
export type ScanMode = "spec" | "strict"

/** What may begin or mark a destination. Nothing else is looked at. */
const marks = /[:\d[]/

interface Sink {
  readonly found: (destination: string) => void
  /** What lies between two destinations. */
  readonly gap?: (from: number, to: number) => Slices<void>
}

/** One pass, no backtracking: linear in the length. */
function* pass(text: string, sink: Sink): Slices<void> {
  const readUri = makeUriReader(text)
  // What lies before `floor` belongs to the destination found last.
  let floor = 0
  let at = 0
  let until = sliceCharacters
  while (at < text.length) {
    const ahead = text.slice(at, until).search(marks)
    if (ahead < 0) {
      at = Math.max(at, until)
      until = at + sliceCharacters
      if (at < text.length) yield
      continue
    }
    at += ahead
    const mark = text[at]
    let place: Place | undefined
    let next = at + 1
    if (mark === ":") place = readUri(floor, at) ?? wholeIpv6(text, floor, at)
    else if (mark === "[") place = bracketedIpv6(text, floor, at)
    else {
      next = numbersEnd(text, at)
      if (isAddress(text, floor, at, next)) place = placeOf(text, at, addressEnd(text, next))
    }
    if (place === undefined) at = next
    else {
      if (sink.gap !== undefined && place.start > floor) yield* sink.gap(floor, place.start)
      place.destinations.forEach(sink.found)
      floor = at = place.end
    }
  }
  if (sink.gap !== undefined && floor < text.length) yield* sink.gap(floor, text.length)
}

/** The scheme and the host: a URL that is found again with its escapes undone is the same one. */
const originOf = (destination: string): string => {
  const [, scheme = "", host = ""] = /^([^/\\:]*:?)[/\\]*([^/\\?#]*)/.exec(destination) ?? []
  return (scheme + host).toLowerCase()
}

/** Collects destinations; `again`: only those of other origins than before. */
const makeFound = (collector: Collector) => {
  const origins = new Set<string>()
  return (again: boolean) =>
    (destination: string): void => {
      const origin = originOf(destination)
      if (!again || !origins.has(origin)) collector.add(destination)
      if (origins.size < 10_000) origins.add(origin)
    }
}
type Add = ReturnType<typeof makeFound>

/** `raw` is the text with one level of escapes undone. */
function* passStrict(text: string, raw: string, add: Add): Slices<void> {
  const read = (whole: string, again: boolean): Slices<void> => {
    const found = add(again)
    return pass(whole, { found, gap: (from, to) => bareHosts(whole, from, to, found) })
  }
  yield* read(text, false)
  const plain = yield* undisguise(text)
  if (plain !== text) yield* read(plain, true)
  yield* hiddenInBase64(plain, (decoded) => read(decoded, true))
  yield* shares(raw, add(false))
}

const codePoints = /\\u[\da-f]{4}/i

/** Also where it is cut. What begins otherwise, such as a command, has no escapes of JSON's: `https:\t.co` is a URL. */
const isJson = (text: string): boolean => /^\s*["[{]/.test(text)

/**
 * The destinations in a tool call's `arguments`, unique, in order of appearance: any `scheme://…`, `data:…`, `mailto:…` in any
 * case, read as a WHATWG URL parser reads them, IPv4 addresses with their port and path, and IPv6 addresses in brackets or as a
 * whole value (docs/api.md#tool-call-scan). An address inside a URL is not listed again. At most `maxDestinations` of at most
 * `maxDestinationLength`; the rest is counted.
 *
 * Escapes are undone at every level, so that neither they nor JSON inside a JSON string hide anything. The text is not parsed:
 * quotes end a destination as well as a string, and so truncated or invalid JSON, object keys and repeated keys (of which a
 * parser keeps one) are read alike.
 */
export function* collectArguments(json: string, mode: ScanMode, collector: Collector): Slices<void> {
  const certain = isJson(json)
  const once = certain ? yield* unescapeJson(json, 1, true) : json
  const text = yield* unescapeJson(once, certain ? maxEscapeLevels - 1 : maxEscapeLevels, false)
  const add = makeFound(collector)
  if (mode === "spec") yield* pass(text, { found: add(false) })
  else yield* passStrict(text, once, add)
  // A tool that reads no JSON in the value takes these as they are: a host ends at the backslash.
  if (codePoints.test(once)) yield* pass(once, { found: add(true) })
}

/** The destinations in tool input that is already parsed: those of its JSON text. */
export function* collectValue(value: unknown, mode: ScanMode, collector: Collector): Slices<void> {
  yield* collectArguments(yield* printText(value), mode, collector)
}
