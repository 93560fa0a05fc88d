/** Where a URI or an address ends, and in which ways it may be read. */
import { isIPv6 } from "node:net"
import { breaks, characters, colon, digits, farthest, hexDigits, is, slash, terminators, unitAt } from "./characters.ts"
import { longestHost, schemeStart, type Uri, uriAt, written } from "./uriStart.ts"

/** Punctuation, and what is drawn as nothing: part of a URI, but not its last character. */
const trailing = characters(/[.,;:!?*\xad\u200b\u200c\u200e\u200f\u2060\ufeff]|\u200d/, 0x10000)
const openings = characters(/[([{]/)
const closings = characters(/[)\]}]/)

/** What stands behind the bracket around a URI, where another thing begins: `[https://a](https://b)`, `url(https://a),url(https://b)`. */
const beginnings = characters(/[([{,;]/)

/** What stands between two URIs of a list: `https://a,https://b`, `a:https://a,b:https://b`, `a=https://a;b=https://b`. */
const separator = /[,;](?:[\w.-]{1,64}[:=])?$/
const longestSeparator = 66

/** Where a URI ends: in `https://a,https://b` at the comma, and else at a bracket that it did not open before one of `beginnings`. */
const uriEnd = (text: string, body: number): number => {
  const last = Math.min(text.length, body + farthest)
  let balance = 0
  for (let at = body; ; at++) {
    const character = unitAt(text, at)
    if (at >= last || is(terminators, character)) return at
    if (is(openings, character)) balance++
    else if (is(closings, character) && --balance < 0 && is(beginnings, unitAt(text, at + 1))) return at
    if (character !== colon || !text.startsWith("//", at + 1)) continue
    const next = schemeStart(text, body, at)
    const [between] = separator.exec(text.slice(Math.max(body, next - longestSeparator), next)) ?? []
    if (next < at && between !== undefined) return next - between.length
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
    else if (!is(trailing, character)) break
  }
  return last
}

const longestUser = 256

/** Whether a body names anything: `https://[^\s]+` in a pattern does not. */
const named = /[\w{%]|[^\0-\x7f]|\[::\]/
const hostStart = /^(?:[\w[{%$]|[^\0-\x7f])/
/** Where nothing else tells that a URL is there: labels with dots between, in every way a URL parser takes, or an address as one number. */
const label = String.raw`(?:[\w%"'\x60-]|[^\0-\x7f])+`
const numberedHost = String.raw`localhost|0x[0-9a-f]+|\d{8,10}(?!\d)|\[[0-9a-f:]+\]`
const dottedHost = new RegExp(
  String.raw`^(?!["'\x60])(?:${label}(?:(?:[.\u3002\uff0e\uff61]|%2e)${label})+|${numberedHost})`,
  "i"
)
/** A host with a quote, a line break or a sign of another script inside. */
const splitHost = /^[^\s()<>{}[\]|^\\,;=+&!*]*(?:[^\0-\x7f]|["'`])[\w.%-]*\w\.?(?::\d+)?$|^[\w.%-]*\w\.?(?::\d+)?$/

/** The scheme and its slashes without what is dropped. */
const headOf = (text: string, { start, body }: Uri): string => {
  const [, scheme = "", slashes = ""] = /^([^:]*:)(.*)$/s.exec(text.slice(start, body)) ?? []
  const own = slashes.replace(/[^/\\]+/g, "")
  return scheme.replace(/[^\w+.:-]+/g, "") + (own.length > 8 ? "//" : own)
}

/** Where an authority ends for a parser that takes anything else for a part of it. */
const authorityEnd = (text: string, from: number): number => from + text.slice(from, from + farthest).search(/["/?#]|$/)

/** A URI as it is reported: a long user before its host is left out, so that the host is seen. */
const spelled = (text: string, uri: Uri, end: number): string => {
  const close = uri.authority && end - uri.body > longestUser ? authorityEnd(text, uri.body) : 0
  const host = text.slice(uri.body, Math.min(end, close)).lastIndexOf("@")
  return headOf(text, uri) + (host > longestUser ? `…${text.slice(uri.body + host, end)}` : text.slice(uri.body, end))
}

const afterQuotes = (text: string, from: number, to: number): number =>
  from + text.slice(from, to).search(/[^"'`\x7f\t\n\r\f\b]|$/)

/** Other hosts of one authority, at most, beside the last. */
const mostHosts = 15

/**
 * How else a URL is read whose host seems to end, at `end`, at a quote, a blank or the like: a URL parser takes all before the last
 * `@` for the user, and drops line breaks.
 */
const otherReadings = (text: string, uri: Uri, end: number, close: number, isNamed: boolean): ReadonlyArray<string> => {
  const head = headOf(text, uri)
  const to = text[close] === '"' ? close : uriEnd(text, close)
  const found: Array<string> = []
  const users = Array.from(text.slice(end, close).matchAll(/@/g), ({ index }) => end + index)
  users.splice(mostHosts, users.length - mostHosts - 1)
  for (const at of users) {
    const from = afterQuotes(text, at + 1, close)
    const last = trimmedEnd(text, from, Math.min(uriEnd(text, from), from < close ? to : from))
    if (from >= last || !(isNamed ? hostStart : dottedHost).test(text.slice(from, Math.min(close, from + longestHost))))
      continue
    const user = at - uri.body > longestUser ? "…" : written(text.slice(uri.body, at))
    found.push(`${head}${user}@${text.slice(from, last)}`)
  }
  // A backslash ends an authority, too, but not for all parsers.
  const own = uri.body + text.slice(uri.body, close).search(/[\\\f\b]|$/)
  const from = afterQuotes(text, uri.body + text.slice(uri.body, own).lastIndexOf("@") + 1, own)
  const isWritten = isNamed && (from <= end || users.some((at) => at < from))
  let first = from
  while (first < own && (!is(terminators, unitAt(text, first)) || is(breaks, unitAt(text, first)))) first++
  for (const after of new Set([first, own])) {
    if (after - from > longestHost || (isWritten && uriEnd(text, from) >= after)) continue
    const host = written(text.slice(from, after)).replace(after < close ? /:$/ : /$/, "")
    if (!splitHost.test(host) || !(isNamed || dottedHost.test(host)) || !URL.canParse(`https://${host}`)) continue
    const path = after < close ? "" : text.slice(close, trimmedEnd(text, close, to))
    found.push(`${head}${text.slice(uri.body, from).includes("@") ? "…@" : ""}${host}${path}`)
  }
  return found
}

/** What stands at a mark. */
export interface Place {
  readonly start: number
  readonly end: number
  /** One for each way of reading it. */
  readonly destinations: ReadonlyArray<string>
}

/** Reads the URIs of a text at their colons, in order. Remembers how far it has looked, so that a text is read once. */
export const makeUriReader = (text: string): ((floor: number, at: number) => Place | undefined) => {
  let seen = 0
  return (floor, at) => {
    const uri = uriAt(text, floor, at)
    if (uri === undefined) return undefined
    const end = uriEnd(text, uri.body)
    const last = trimmedEnd(text, uri.body, end)
    const isNamed = named.test(text.slice(uri.body, last))
    const destinations = isNamed ? [spelled(text, uri, last)] : []
    if (uri.authority && uri.body >= seen) {
      const close = authorityEnd(text, uri.body)
      if (end < close) {
        seen = close
        destinations.push(...otherReadings(text, uri, end, close, isNamed))
      }
    }
    return destinations.length > 0 ? { start: uri.start, end, destinations } : undefined
  }
}

// Addresses

/** The end of the run of numbers and single dots that starts at `start`. */
export const numbersEnd = (text: string, start: number): number =>
  start + text.slice(start, start + farthest).search(/(?!\d|\.\d)/)

const longestProduct = 64
/** `Chrome/` before `120.0.0.0`; a network's address after `tcp/`, `/proxy/` or `10.0.0.1/` is none. */
const product = /(?:^|[^\w./@\\-])(?!(?:tcp|udp|ip|ip4|hosts?)\/)[a-z][\w.-]*\/$/i

/** Whether the run of numbers is an IPv4 address in four decimal parts, and not the version of a browser. */
export const isAddress = (text: string, floor: number, start: number, end: number): boolean => {
  const numbers = text.slice(start, end)
  const octets = numbers.split(".")
  if (octets.length !== 4 || octets.some((octet) => octet.length > 3 || Number(octet) > 255)) return false
  if (!/^[1-9]\d*(?:\.0){3}$/.test(numbers) || hasPort(text, end) || unitAt(text, end) === slash) return true
  return !product.test(text.slice(Math.max(floor, start - longestProduct), start))
}

const hasPort = (text: string, end: number): boolean => unitAt(text, end) === colon && is(digits, unitAt(text, end + 1))

/** The end of an address with its port and its path, query or fragment, where it has them. */
export const addressEnd = (text: string, end: number): number => {
  const [port = ""] = /^:\d+/.exec(text.slice(end, end + farthest)) ?? []
  const at = end + port.length
  return "/?#".includes(text.charAt(at) || " ") ? trimmedEnd(text, end, uriEnd(text, at)) : at
}

const longestIpv6 = 90
const ipv6Shape = String.raw`([0-9a-f:.]{2,45})(?:%[\w.~-]{1,32})?`

/** Eight pairs of digits are a hardware address; letters alone are names: `Cafe::Add`. */
export const isRawIpv6 = (address: string): boolean =>
  /\d/.test(address) && !/^(?:[0-9a-f]{2}:){7}[0-9a-f]{2}$/i.test(address) && isIPv6(address)

export const placeOf = (text: string, start: number, end: number): Place => ({
  start,
  end,
  destinations: [text.slice(start, end)]
})

const bracketed = new RegExp(String.raw`^\[${ipv6Shape}\]`, "i")

/** `[address]` with port and path. What stands in brackets after an expression is a slice: `a[::2]`. */
export const bracketedIpv6 = (text: string, floor: number, open: number): Place | undefined => {
  const [whole = "", address = ""] = bracketed.exec(text.slice(open, open + longestIpv6)) ?? []
  if (whole === "" || (open > floor && /[\w)\]]|[^\0-\x7f]/.test(text.charAt(open - 1)))) return undefined
  const end = open + whole.length
  return isRawIpv6(address) || (hasPort(text, end) && isIPv6(address))
    ? placeOf(text, open, addressEnd(text, end))
    : undefined
}

/** What an address outside of brackets begins with: `16:9::4` is something else, though it could be one. */
export const addressStart = /^(?:::|64:ff9b:|[0-9a-f]{3,4}:|(?:[0-9a-f]{1,4}:){7})/i

const wholeValue = new RegExp(String.raw`^${ipv6Shape}(?:\/\d{0,3})?(?= {0,8}(?:["'\`\x7f]|$))`, "i")

/** The IPv6 address that is a whole value, and whose first colon is at `at`. */
export const wholeIpv6 = (text: string, floor: number, at: number): Place | undefined => {
  const next = unitAt(text, at + 1)
  if (next !== colon && !is(hexDigits, next)) return undefined
  let start = at
  while (start > floor && at - start < 5 && is(hexDigits, unitAt(text, start - 1))) start--
  if (!/(?:^|["'`\x7f]) {0,8}$/.test(text.slice(Math.max(0, start - 9), start))) return undefined
  const [whole = "", address = ""] = wholeValue.exec(text.slice(start, start + longestIpv6)) ?? []
  return addressStart.test(address) && isRawIpv6(address) ? placeOf(text, start, start + whole.length) : undefined
}
