import { isIPv6 } from "node:net"
import { colon, digits, dot, farthest, hexDigits, is, slash, unitAt } from "./characters.ts"
import { type Place, trimmedEnd, uriEnd } from "./uri.ts"

/** The end of the run of numbers and single dots that starts at `start`. */
export const numbersEnd = (text: string, start: number): number => {
  let at = start
  const last = start + farthest
  while (
    at < last &&
    (is(digits, unitAt(text, at)) || (unitAt(text, at) === dot && is(digits, unitAt(text, at + 1))))
  ) {
    at++
  }
  return at
}

const longestProduct = 64
/** `Chrome/` before `120.0.0.0`; a network's address after `tcp/`, `/proxy/` or `10.0.0.1/` is none. */
const product = /(?:^|[^\w./@\\-])(?!(?:tcp|udp|ip|ip4|hosts?)\/)[a-z][\w.-]*\/$/i

/** Whether the run of numbers is an IPv4 address in four decimal parts, and not the version of a browser. */
export const isAddress = (text: string, floor: number, start: number, end: number): boolean => {
  if (end - start < 7 || end - start > 15) return false
  const numbers = text.slice(start, end)
  const octets = numbers.split(".")
  if (octets.length !== 4 || octets.some((octet) => octet.length > 3 || Number(octet) > 255)) return false
  if (!/^[1-9]\d*(?:\.0){3}$/.test(numbers) || hasPort(text, end) || unitAt(text, end) === slash) return true
  return !product.test(text.slice(Math.max(floor, start - longestProduct), start))
}

const hasPort = (text: string, end: number): boolean => unitAt(text, end) === colon && is(digits, unitAt(text, end + 1))

/** The end of an address with its port and its path, query or fragment, where it has them. */
export const addressEnd = (text: string, end: number): number => {
  let at = end
  if (hasPort(text, end)) {
    at++
    while (at - end < farthest && is(digits, unitAt(text, at))) at++
  }
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
