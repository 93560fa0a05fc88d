import { addressEnd, bracketedEnd, isAddress, isNumbering, numbersEnd, wholeIpv6 } from "./address.ts"
import { type Characters, colon, digits, unitAt } from "./characters.ts"
import { bareHosts, hiddenInBase64, undisguise } from "./disguise.ts"
import { type Collector, type Found, makeCollector } from "./found.ts"
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

const cut = (text: string, start: number, end: number): string => {
  if (end - start <= maxDestinationLength) return text.slice(start, end)
  const last = start + maxDestinationLength
  const splitsPair = (unitAt(text, last - 1) & 0xfc00) === 0xd800 && (unitAt(text, last) & 0xfc00) === 0xdc00
  return text.slice(start, splitsPair ? last - 1 : last)
}

interface Sink {
  readonly found: (destination: string) => void
  /** What lies between two destinations. */
  readonly gap?: (from: number, to: number) => void
}

/** One pass, no backtracking: linear in the length. */
const pass = (text: string, sink: Sink): void => {
  // What lies before `floor` belongs to the destination found last.
  let floor = 0
  let at = 0
  const take = (start: number, end: number, destination: string): void => {
    if (start > floor) sink.gap?.(floor, start)
    sink.found(destination)
    floor = at = end
  }
  while (at < text.length) {
    const character = text.charCodeAt(at)
    const mark = character < 128 ? marks[character] : 0
    if (mark === 0) at++
    else if (mark === 1) {
      const uri = uriAt(text, floor, at)
      if (uri !== undefined) {
        const end = uriEnd(text, uri.body)
        const last = trimmedEnd(text, uri.body, end)
        if (last > uri.body && namesSomething(text, uri.body, last)) {
          const body = cut(text, uri.body, last)
          const head = text.slice(uri.start, uri.body)
          take(uri.start, end, uri.broken ? joined(head, body) : cut(text, uri.start, last))
          continue
        }
      }
      const whole = wholeIpv6(text, floor, at)
      if (whole === undefined) at++
      else take(whole[0], whole[1], text.slice(whole[0], whole[1]))
    } else if (mark === 2) {
      const end = numbersEnd(text, at)
      if (isAddress(text, floor, at, end) && !isNumbering(text, floor, at, end)) {
        const last = addressEnd(text, end)
        take(at, last, cut(text, at, last))
      } else at = end
    } else {
      const end = bracketedEnd(text, floor, at)
      if (end < 0) at++
      else take(at, end, cut(text, at, end))
    }
  }
  if (floor < text.length) sink.gap?.(floor, text.length)
}

/** A URL without what its parser drops. */
const joined = (head: string, body: string): string => {
  const whole = `${head.replace(/[\t\n\r\f\b]+/g, "")}${body}`
  return cut(whole, 0, whole.length)
}

/** The scheme and the host: a URL that is found again with its escapes undone is the same one. */
const originOf = (destination: string): string =>
  (/^[^/\\:]*:?[/\\]*[^/\\?#]*/.exec(destination)?.[0] ?? "").toLowerCase()

const passStrict = (text: string, collector: Collector): void => {
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
  const bare = (whole: string, add: (host: string) => void) => (from: number, to: number) => {
    bareHosts(whole, from, to, (start, end) => add(cut(whole, start, end)))
  }
  const addAll = (destination: string): void => {
    known(destination)
    collector.add(destination)
  }
  pass(text, { found: addAll, gap: bare(text, addAll) })
  const plain = undisguise(text)
  if (plain !== text) pass(plain, { found: addNew, gap: bare(plain, addNew) })
  hiddenInBase64(plain, (decoded) => pass(decoded, { found: addNew }))
}

const scanInto = (text: string, mode: ScanMode, collector: Collector): void =>
  mode === "strict" ? passStrict(text, collector) : pass(text, { found: collector.add })

const foundBy = (scan: (collector: Collector) => void): Found => {
  const collector = makeCollector()
  scan(collector)
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

export const collectArguments = (json: string, mode: ScanMode, collector: Collector): void =>
  scanInto(unescapeJson(json, maxEscapeLevels, true), mode, collector)

/**
 * The destinations in tool input that is already parsed: the same as `scanArguments` of its JSON text. Deep values do not
 * overflow the stack.
 */
export const scanValue = (value: unknown, mode: ScanMode = "spec"): Found =>
  foundBy((collector) => collectValue(value, mode, collector))

export const collectValue = (value: unknown, mode: ScanMode, collector: Collector): void =>
  scanInto(unescapeJson(plainText(value), maxEscapeLevels - 1, false), mode, collector)

/** A text that stands for itself, beside the values that are still to be written. */
class Written {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** The JSON text of a value, but for the escapes. */
const plainText = (value: unknown): string => {
  let text = ""
  const pending: Array<unknown> = [value]
  while (pending.length > 0) {
    const next = pending.pop()
    if (next instanceof Written) text += next.text
    else if (typeof next === "string") text += `"${next}"`
    else if (Array.isArray(next)) {
      pending.push(closeList)
      for (let at = next.length - 1; at >= 0; at--) {
        pending.push(next[at])
        if (at > 0) pending.push(comma)
      }
      pending.push(openList)
    } else if (typeof next === "object" && next !== null) {
      pending.push(closeObject)
      const entries = Object.entries(next)
      for (let at = entries.length - 1; at >= 0; at--) {
        const [key, inner] = entries[at] as [string, unknown]
        pending.push(inner, colonMark, key)
        if (at > 0) pending.push(comma)
      }
      pending.push(openObject)
    } else text += String(next ?? null)
  }
  return text
}

const openList = new Written("[")
const closeList = new Written("]")
const openObject = new Written("{")
const closeObject = new Written("}")
const comma = new Written(",")
const colonMark = new Written(":")
