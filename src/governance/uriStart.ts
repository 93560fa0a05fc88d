/** Where a URI begins: at a scheme's colon, however the scheme and its slashes are written. */
import { isIPv6 } from "node:net"
import { meaningsOf } from "../wire/words.ts"
import {
  alphanumerics,
  backslash,
  breaks,
  type Characters,
  characters,
  colon,
  farthest,
  is,
  quotes,
  slash,
  terminators,
  unitAt,
  wideEnds
} from "./characters.ts"
import { isSuffix } from "./suffixes.ts"

const schemeCharacters = characters(/[a-z0-9+.-]/i) // RFC 3986, 3.1
const letters = characters(/[a-z]/i)

const longestScheme = 256
/** The longest host that is looked for, in characters. */
export const longestHost = 300

/** A text as a parser reads it, without what it drops. */
export const written = (text: string): string => text.replace(/[\t\n\r\f\b]+/g, "").replaceAll("\x7f", '"')

/** Where the scheme before a colon starts, no earlier than `floor`; the colon itself when there is none. */
export const schemeStart = (text: string, floor: number, at: number): number => {
  let start = at
  const least = Math.max(floor, at - longestScheme)
  while (start > least && is(schemeCharacters, unitAt(text, start - 1))) start--
  while (start < at && !is(letters, unitAt(text, start))) start++
  return start
}

/**
 * How the known schemes are read:
 * - `special`: as a WHATWG URL parser does, with one slash, none, or backslashes for two slashes
 * - `plain`: with two slashes; known, so that line breaks and quotes inside do not hide it
 * - `file`: so too, or with a backslash, which may have been two: `file:\\\\host\\share`
 */
type Reading = "special" | "plain" | "file" | "mailto" | "data"

const known = meaningsOf<Reading>(
  ["http https ws wss ftp", "special"],
  ["ftps sftp tftp scp s3 gs ssh git ldap ldaps telnet gopher smb nfs rsync svn imap imaps smtp smtps", "plain"],
  ["redis rediss amqp amqps mqtt mqtts mysql postgres postgresql mongodb rtsp abfs abfss wasbs hdfs", "plain"],
  ["grpc grpcs tcp udp", "plain"],
  ["file", "file"],
  ["mailto", "mailto"],
  ["data", "data"]
)
const longestKnown = Math.max(...Array.from(known.keys(), (word) => word.length))
/** What a shell drops between a scheme and its colon. */
const breaksAndQuotes = characters(/[\t\n\r\f\b"'`\x7f\\]/)

/** The known scheme before a colon, without what is dropped, and where it starts. */
const knownBefore = (
  text: string,
  floor: number,
  at: number,
  dropped: Characters
): readonly [start: number, reading: Reading] | undefined => {
  let best: readonly [number, Reading] | undefined
  let word = ""
  const least = Math.max(floor, at - farthest)
  for (let start = at; start > least && word.length < longestKnown; ) {
    const character = unitAt(text, --start)
    if (is(dropped, character)) continue
    if (!is(alphanumerics, character)) break
    word = String.fromCharCode(character).toLowerCase() + word
    const reading = known.get(word)
    const before = start > floor ? unitAt(text, start - 1) : 0
    if (reading !== undefined && !is(alphanumerics, before)) best = [start, reading]
  }
  return best
}

const mediaTypes = String.raw`(?:application|audio|chemical|font|image|message|model|multipart|text|video|x-[\w-]{1,20})\/[\w!#$&^+.-]`
/** `data:` counts before a media type, a parameter or the comma, so that `data:` in prose, in a list or in code does not. */
const dataBody = new RegExp(
  String.raw`^(?:${mediaTypes}|,[^\s"'<>\\^\`|\x7f]|;[a-z]| {1,8}${mediaTypes}+(?:;[^,\s]*)?,\S)`,
  "i"
)
/** After a brace or a comma, `{data:x/y,…}`, it is code. */
const anyType = /^[\w!#$&^+.-]+\/[\w!#$&^+.-]/

const mailbox = /^[^\s"'<>\\^`|\x7f@]+@/
const maxMailbox = 320

/** Ends of host names, beside those that can be registered. */
const ownNames = new Set(["localhost", "test", "invalid", "home"])
const authorityLike = new RegExp(String.raw`^(?:[\w.@%~+\t\n\r\f\b-]|[^\0-\x7f${wideEnds}]|[。．｡])+`)
/** What may follow the host of a URL that has no slashes; `http:axios.get(x)` and `http:a.b=1` are something else. */
const afterHost = characters(/[/?#:,;.!)\]}*]/)
const numberLike = /^(?:0x[0-9a-f]*|\d+)(?:\.(?:0x[0-9a-f]*|\d+)){0,3}$/i
const nameLike = /^(?:localhost|[^.]+(?:\.[^.]+)*\.(?:[a-z][a-z0-9-]*[a-z0-9]|xn--[a-z0-9-]+))$/i
/** A user that nothing but a URL has: with a password, or before a host with dots. */
const userBefore = /^(?:[\w.~%+-]*:[^\s"'`\x7f/?#\\]*@[\w[]|[^\s"'`\x7f@/?#][^\s"/?#]*@(?:[\w-]+\.)+[\w-]*[a-z0-9])/i

const valueBefore = /((?:^|")(?=[\0- ]{0,8}$)|['`\x7f]$)/
/**
 * The quote before a value that begins at `start`; empty at the beginning of the text, and undefined where none begins. A URL parser
 * drops blanks before a URL; a quote inside of a string may be another one's end.
 */
const quoteBefore = (text: string, start: number): string | undefined =>
  valueBefore.exec(text.slice(Math.max(0, start - 9), start))?.[1]

/** Whether a value is a URL with a user, whatever is in it: `https: @a.example`. */
const hasUser = (text: string, start: number, from: number): boolean => {
  const quote = quoteBefore(text, start)
  if (quote === undefined) return false
  const close = quote === "" ? -1 : text.indexOf(quote, from)
  const value = text.slice(from, Math.min(from + farthest, close < 0 ? text.length : close))
  const authority = value.slice(0, value.search(/["/?#\\]|$/))
  return authority.includes("@") && URL.canParse(`http:${authority}`)
}

/** Whether a host stands right after `https:`. Prose, ports and code do not look like one. */
const isHost = (text: string, start: number, from: number): boolean => {
  if (hasUser(text, start, from)) return true
  const body = text.slice(from, from + longestHost)
  if (isIPv6(/^\[([^\]]+)\]/.exec(body)?.[1] ?? "") || userBefore.test(body)) return true
  const run = authorityLike.exec(body)?.[0] ?? ""
  const after = unitAt(text, from + run.length)
  if (run === "" || !(is(terminators, after) || is(afterHost, after))) return false
  // A user before the host, an escape or another script: nothing but a URL has these here.
  if (/[^\0-\x7f]|%|.@/s.test(run)) return true
  const host = written(run).replace(/\.+$/, "")
  const isSecure = /^https/i.test(text.slice(start, start + 5))
  const isPointed = after === slash || after === colon
  if (numberLike.test(host)) {
    if (!URL.canParse(`http:${host}`)) return false
    // `https:8080` is a port and `http:1.1` a version.
    return host.includes(".") ? isSecure || isPointed || !/^[0-3]\.\d$/.test(host) : /^0x|^\d{6}/i.test(host)
  }
  if (nameLike.test(host)) {
    // `http:request.started` is an event; no event is called `https:…`.
    const suffix = host.slice(host.lastIndexOf(".") + 1).toLowerCase()
    if (isSecure || isPointed || suffix.length <= 3 || ownNames.has(suffix) || isSuffix(suffix)) return true
  }
  // Any other name: at the start of a value, with more of a URL behind it, or as the whole value.
  if (!/^[a-z]/i.test(host) || quoteBefore(text, start) === undefined) return false
  const isWhole = /^ {0,8}(?:["'`\x7f]|$)/.test(text.slice(from + run.length, from + run.length + 9))
  return /^(?:[/?#]|:\d)/.test(text.slice(from + run.length, from + run.length + 2)) || (isSecure && isWhole)
}

export interface Uri {
  readonly start: number
  /** Where the part after the scheme and its slashes starts; a destination needs at least one character there. */
  readonly body: number
  /** Whether a host is in it. */
  readonly authority: boolean
}

/** After quotes that a shell drops: what nothing but a host begins with. */
const quotedHost = /^(?:[\w-]+[.@:][\w$]|localhost|[[{$]|\d)/

/** What no pattern has. */
const userAndHost = /^[^\s"'`\x7f/\\?#]*@(?:\w|\[[\da-f]*:)/i

/** `/^https:\/\//i.test(x)`, `https:\/\/\w+`: the end or a part of a regular expression. */
const isPattern = (text: string, start: number, body: number): boolean => {
  const rest = text.slice(body, body + longestHost)
  if (userAndHost.test(rest) || hasUser(text, start, body)) return false
  if (unitAt(text, body - 1) === backslash) return /^[bdsw](?:[+*?{\\\]]|\.(?![\w-]|[^\0-\x7f]))/i.test(rest)
  // What ends here has begun before the scheme.
  const hasBegun = !/^[\s"'`\x7f]?$/.test(text.charAt(start - 1))
  return hasBegun && /^[dgimsuvy]{1,4}(?:[\s"'`\x7f),;\]}]|$)|^[dgimsuvy]{0,4}\.(?:test|exec)\(/.test(rest)
}

const brokenSlashes = /^[\t\n\r\f\b]*\/[\t\n\r\f\b]*\/[\t\n\r\f\b]*/
const wholeHost =
  /^(?:[^\s"'`\x7f/?#@]*@)?(?:localhost|\[[\da-f:.]+\]|[\w-]+(?:\.[\w-]+)+)(?::\d+)?(?:[/?#][^\s"'`\x7f]*)? {0,8}(?:["'`\x7f]|$)/i

/** A whole value with any scheme and with breaks around its colon or slashes; elsewhere `default:\n//x.y()` is code. */
const brokenUri = (text: string, floor: number, at: number): Uri | undefined => {
  const slashes = brokenSlashes.exec(text.slice(at + 1, at + farthest))?.[0]
  if (slashes === undefined) return undefined
  const body = at + 1 + slashes.length
  let start = at
  const least = Math.max(floor, at - longestScheme)
  while (start > least && (is(schemeCharacters, unitAt(text, start - 1)) || is(breaks, unitAt(text, start - 1))))
    start--
  return quoteBefore(text, start) !== undefined &&
    /^[a-z].+$/i.test(written(text.slice(start, at))) &&
    wholeHost.test(text.slice(body, body + farthest))
    ? { start, body, authority: true }
    : undefined
}

/** The URI whose scheme ends at the colon `at`, if any. */
export const uriAt = (text: string, floor: number, at: number): Uri | undefined =>
  knownUri(text, floor, at) ?? brokenUri(text, floor, at)

const knownUri = (text: string, floor: number, at: number): Uri | undefined => {
  const hasSlashes = unitAt(text, at + 1) === slash && unitAt(text, at + 2) === slash
  const start = hasSlashes ? schemeStart(text, floor, at) : at
  // A single letter is a Windows drive.
  const hasScheme = at - start > 1
  let slashes = 0
  let quote = 0
  let body = at + 1
  for (; body - at < farthest; body++) {
    const character = unitAt(text, body)
    if (character === slash || character === backslash) slashes++
    else if (is(quotes, character)) quote ||= body
    // A line that begins after `'https://'` is another one.
    else if (!is(breaks, character) || (quote > 0 && slashes > 1)) break
  }
  // Else the quotes are a part of the user, or of nothing.
  if (quote > 0 && !(slashes > 0 && quotedHost.test(text.slice(body, body + longestHost)))) {
    body = quote
    slashes = text.slice(at, quote).replace(/[^/\\]/g, "").length
  }
  const [first = start, reading] =
    knownBefore(text, floor, at, breaks) ??
    (hasSlashes && !hasScheme ? knownBefore(text, floor, at, breaksAndQuotes) : undefined) ??
    []
  if (slashes % 2 === 1 && isPattern(text, first, body)) return undefined
  if (first <= start) {
    if (reading === "special")
      return slashes > 0 || isHost(text, first, body) ? { start: first, body, authority: true } : undefined
    const isEnough = slashes > 1 || (reading === "file" && unitAt(text, body - 1) === backslash)
    if ((reading === "plain" || reading === "file") && isEnough) return { start: first, body, authority: true }
    if ((reading === "mailto" || reading === "data") && slashes === 0) {
      const from = text.slice(body, body + maxMailbox).search(/[^ "'`\x7f]|$/) + body
      const isWhole = reading === "mailto" && from === body && !/[\t\n\r\f\b]/.test(text.slice(first, body))
      const isBody =
        isWhole ||
        (reading === "mailto" ? mailbox.test(text.slice(from, from + maxMailbox)) : isData(text, first, body))
      return isBody ? { start: first, body: from, authority: false } : undefined
    }
  }
  return hasScheme ? { start, body, authority: true } : undefined
}

const isData = (text: string, start: number, body: number): boolean => {
  const rest = text.slice(body, body + longestHost)
  return dataBody.test(rest) || (anyType.test(rest) && !"{,".includes(text.charAt(start - 1) || " "))
}
