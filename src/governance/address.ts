import { isIPv6 } from "node:net"
import {
  alphanumerics,
  characters,
  colon,
  comma,
  digits,
  dot,
  farthest,
  hexDigits,
  is,
  letters,
  quotes,
  slash,
  space,
  unitAt
} from "./characters.ts"
import { trimmedEnd, uriEnd } from "./uri.ts"

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

/** Whether the run of numbers is an IPv4 address in four decimal parts. */
export const isAddress = (text: string, floor: number, start: number, end: number): boolean => {
  if (end - start < 7 || end - start > 15) return false
  const octets = text.slice(start, end).split(".")
  if (octets.length !== 4 || octets.some((octet) => octet.length > 3 || Number(octet) > 255)) return false
  // Part of a longer name or number: `v1.2.3.4`, `a.1.2.3.4`, `1.2.3.4.example`, `1.2.3.4th`.
  const before = start - (start > floor && unitAt(text, start - 1) === dot ? 2 : 1)
  const after = end + (unitAt(text, end) === dot ? 1 : 0)
  return !(before >= floor && is(alphanumerics, unitAt(text, before))) && !is(letters, unitAt(text, after))
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

const joints = characters(/[_-]/)
const nameCharacters = characters(/[\w.+-]/)
const listCharacters = characters(/[\d.,"'\s[]/)
const aroundValues = characters(/["'\s(]/)
const betweenPairs = characters(/["'\s,]/)
const separators = characters(/["'\s:=>]/)
/** How far back a field's name is looked for. */
const reach = 256
const longestName = 64

/** Names before a slash after which an address stands: `/dev/tcp/10.0.0.1/80`, `/ip4/10.0.0.1`. */
const addressPaths = /(?:^|[^a-z])(?:tcp|udp|ip|ip4|ipv4|hosts?)$/i
const versionWord = /^(?:v|ver|vers|version|versions|semver|firmware|revision|release|oids?)$/
const glued = /(?<!con|in|per|di|sub|^a|re)versions?$/
const addressWord =
  /^(?:host|hostname|ip|ipv4|addr|src|dst|source|client|remote|address|server|url|uri|endpoint|node|peer|gateway|target)s?$/
/** Before a number in prose, apart from a space. */
const numberedWord =
  /^(?:v|ver|version|versions|revision|firmware|kernel|chrome|chromium|firefox|safari|electron|webview|section|sections|sec|chapter|clause|paragraph|figure|fig|table|article|appendix|oid)$/

const valueWord = /^(?:value|val)$/i

/** A part of every word of these lists, so that most names need not be taken apart. */
const telling =
  /ver|ker|chr|fire|saf|ele|web|firm|rev|rel|oid|sec|cha|cla|par|fig|tab|art|app|(?:^|[^a-z])v(?:[^a-z]|$)/i

const words = (name: string): ReadonlyArray<string> =>
  name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter((word) => word !== "")

const saysVersion = (name: string): boolean => {
  const all = words(name)
  return all.some((word) => versionWord.test(word) || glued.test(word)) && !addressWord.test(all[all.length - 1] ?? "")
}

const runBefore = (text: string, least: number, end: number): string => {
  let start = end
  const floor = Math.max(least, end - longestName)
  while (start > floor && is(nameCharacters, unitAt(text, start - 1))) start--
  return text.slice(start, end)
}

const [lessThan, equals, moreThan, tilde, caret, listStart] = [0x3c, 0x3d, 0x3e, 0x7e, 0x5e, 0x5b]

/** Whether the field that a value stands in, alone or in a list of numbers, says version or OID; or the word before it. */
const afterVersion = (text: string, floor: number, start: number): boolean => {
  const least = Math.max(floor, start - reach)
  const before = (at: number) => (at > least ? unitAt(text, at - 1) : 0)
  let at = start
  while (is(aroundValues, before(at))) at--
  const sign = before(at)
  if (sign === comma || sign === listStart) {
    let opened = false
    for (; is(listCharacters, before(at)); at--) if (before(at) === listStart) opened = true
    if (!opened) return false
  }
  // `~1.2.3.4`, `^1.2.3.4`, `>=1.2.3.4`
  if (at === start && (sign === tilde || sign === caret)) return true
  const prior = before(at - 1)
  if (at === start && sign === equals && (prior === moreThan || prior === lessThan || prior === tilde)) return true
  let separated = false
  let end = at
  for (; is(separators, before(end)); end--) {
    if (!is(aroundValues, before(end))) separated = true
  }
  let name = runBefore(text, least, end)
  if (name === "") return false
  // `"name":"version","value":"1.2.3.4"`
  if (separated && valueWord.test(name)) {
    let before = end - name.length
    while (before > least && is(betweenPairs, unitAt(text, before - 1))) before--
    name = runBefore(text, least, before)
  }
  const pinned = at === start && sign === equals && prior === equals && end === at - 2
  if (!pinned && !telling.test(name)) return false
  const last = words(name).at(-1) ?? ""
  // `package==1.2.3.4`, but `ip.addr==1.2.3.4`
  if (pinned) return !addressWord.test(last)
  return separated ? saysVersion(name) : numberedWord.test(last)
}

/** `name_1.2.3.4_amd64.deb`, `name-1.2.3.4-r0` */
const inFileName = (text: string, floor: number, start: number, end: number): boolean =>
  is(joints, unitAt(text, end)) &&
  is(alphanumerics, unitAt(text, end + 1)) &&
  start - 1 > floor &&
  is(joints, unitAt(text, start - 1)) &&
  is(letters, unitAt(text, start - 2))

/** `Chrome/120.0.0.0`: the number belongs to the name before the slash. */
const afterNameAndSlash = (text: string, floor: number, start: number): boolean => {
  if (start <= floor || unitAt(text, start - 1) !== slash) return false
  const name = runBefore(text, floor, start - 1)
  return /[a-z]/i.test(name) && !addressPaths.test(name)
}

/** Four numbers that are not an address but a version or an object identifier. With a port they are one. */
export const isNumbering = (text: string, floor: number, start: number, end: number): boolean =>
  !hasPort(text, end) &&
  (text.slice(start, end) === "1.3.6.1" ||
    afterNameAndSlash(text, floor, start) ||
    inFileName(text, floor, start, end) ||
    afterVersion(text, floor, start))

const longestIpv6 = 45
const longestZone = 32
const addressCharacters = characters(/[0-9a-f:.]/i)
const zoneCharacters = characters(/[\w.~-]/)

/** The end of what may be an IPv6 address with its zone. */
const ipv6End = (text: string, start: number): number => {
  let at = start
  while (at - start <= longestIpv6 && is(addressCharacters, unitAt(text, at))) at++
  if (unitAt(text, at) !== 0x25) return at
  const zone = at + 1
  at = zone
  while (at - zone <= longestZone && is(zoneCharacters, unitAt(text, at))) at++
  return at
}

/** Eight pairs of digits are a hardware address; letters alone are names: `Cafe::Add`. */
const isRawIpv6 = (address: string): boolean =>
  /\d/.test(address) && !/^(?:[0-9a-f]{2}:){7}[0-9a-f]{2}$/i.test(address) && isIPv6(address)

/** The end of `[address]` with port and path, or -1. What stands in brackets after an expression is a slice: `a[::2]`. */
export const bracketedEnd = (text: string, floor: number, open: number): number => {
  const end = ipv6End(text, open + 1)
  if (end - open < 3 || unitAt(text, end) !== 0x5d) return -1
  const before = open > floor ? unitAt(text, open - 1) : 0
  if (before >= 128 || is(alphanumerics, before) || before === 0x5f || before === 0x29 || before === 0x5d) return -1
  const address = text.slice(open + 1, end)
  if (!isRawIpv6(address) && !(hasPort(text, end + 1) && isIPv6(address))) return -1
  return addressEnd(text, end + 1)
}

/** What an address outside of brackets begins with: `16:9::4` is something else, though it could be one. */
const addressStart = /^(?:::|64:ff9b:|[0-9a-f]{3,4}:|(?:[0-9a-f]{1,4}:){7})/i

/** Spaces around a whole value, at most. */
const margin = 8
const isEdge = (text: string, at: number): boolean => at < 0 || at >= text.length || is(quotes, unitAt(text, at))

/** Where the IPv6 address that is a whole value, and whose first colon is at `at`, starts and ends. */
export const wholeIpv6 = (
  text: string,
  floor: number,
  at: number
): readonly [start: number, end: number] | undefined => {
  const next = unitAt(text, at + 1)
  if (next !== colon && !is(hexDigits, next)) return undefined
  let start = at
  while (start > floor && at - start < 5 && is(hexDigits, unitAt(text, start - 1))) start--
  if (at - start > 4 || (start === at && next !== colon)) return undefined
  let before = start - 1
  while (before >= 0 && start - before <= margin && unitAt(text, before) === space) before--
  if (!isEdge(text, before)) return undefined
  const end = ipv6End(text, start)
  let last = end
  if (unitAt(text, last) === slash) {
    last++
    while (last - end < 4 && is(digits, unitAt(text, last))) last++
  }
  let after = last
  while (after < text.length && after - last < margin && unitAt(text, after) === space) after++
  if (!isEdge(text, after)) return undefined
  const address = text.slice(start, end)
  return addressStart.test(address) && isRawIpv6(address) ? [start, last] : undefined
}
