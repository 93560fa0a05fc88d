/** Hosts without a scheme, for the strict scan: names, mailboxes, and addresses in other forms. */
import { type Slices, sliceCharacters } from "../wire/slices.ts"
import { reversedStarts, suffixOf, variables } from "./suffixes.ts"
import { addressStart, isRawIpv6 } from "./uri.ts"

const labelShape = String.raw`[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}_-]{0,61}[\p{L}\p{M}\p{N}])?`
/** A host with what may stand around it: a user, a port, a path. */
const shape = new RegExp(
  String.raw`^(\/\/)?([^\s@:/?#]{1,64}(?::[^\s@/?#]{0,64})?@)?(${labelShape}(?:\.${labelShape}){0,30})\.?(:\d{1,5}(?![\w.]))?`,
  "u"
)
const words = /[^\s"'`\x7f<>()[\]{}|,;=&*\\]+/g
/** A word is read no further than this, and the text before it no further back. */
const longestWord = 1024
const reach = 160

const commands =
  "curl|wget|ping6?|traceroute6?|tracert|nslookup|dig|whois|ssh|scp|sftp|rsync|mosh|sshfs|ssh-copy-id|nc|ncat|netcat|telnet|ftp|tftp|" +
  "iwr|irm|Invoke-WebRequest|Invoke-RestMethod|Test-NetConnection|tnc|Resolve-DnsName|Enter-PSSession|aria2c|nmap|xh|lynx|" +
  "axel|socat|s_client|psql|mysql|redis-cli|mongosh|kcat|bitsadmin|certutil"
const afterCommand = new RegExp(
  String.raw`(?:^|[^\w.-])(?:${commands})(?:\.exe)?\s(?:[^;|&\n]*\s)?[^\s;|&]{0,64}$`,
  "i"
)
const afterLogin = /(?:^|[^\w.-])(?:ssh|scp|sftp|rsync|mosh|sshfs|ssh-copy-id|git)\s[^;|&\n]*$/i
const afterNetcat = /(?:^|[^\w.-])(?:nc|ncat|netcat|telnet)(?:\.exe)?\s+(?:-\S+\s+(?:\/\S+\s+)?)*$/i
const afterField =
  /(?:host(?:_?names?)?|domain|server|servername|url|uri|site|addr(?:ess)?|endpoint|ip|target|dest|destination|peer|proxy|webhook|origin|remote|dns|fqdn|link|href|upstream|gateway|broker|relay)s?["'\x7f]?\s*[:=]\s*\[?\s*["'\x7f]?$/i
const afterPreposition =
  /(?:^|[\s"'`\x7f])(?:to|at|from|via|on|visit|see|host|domain|site|server|with|contact|reach|resolve|lookup) $/i
const fileName =
  /^(?:[jt]sx?|map|py|json|txt|md|html?|css|sh|ya?ml|xml|csv|log|conf|cfg|zip|gz|png|jpe?g|gif|pdf|exe|dll|so|toml|ini|lock|sql|go|rs|java|rb|php|cc?|cpp|h)$/

interface Word {
  readonly text: string
  /** Where the word's host stands, and where what was read of it ends. */
  readonly start: number
  readonly end: number
  readonly user: string
  readonly port: string
  /** Follows `//`. */
  readonly slashed: boolean
}

const before = ({ start, text, user }: Word): string =>
  text.slice(Math.max(0, start - user.length - reach), start - user.length)
/** Whether a command or a field expects a host here; code (`host = self.host`) has no quote before the host. */
const isExpected = (word: Word, quoted: boolean): boolean => {
  const text = before(word)
  return afterCommand.test(text) || (afterField.test(text) && !(quoted && !/["'\x7f]$/.test(text)))
}

const numberParts = /^(?:0x[0-9a-f]+|\d+)(?:\.(?:0x[0-9a-f]+|\d+)){0,3}$/i

/** `0x7f.1`, `0177.0.0.1` wherever they stand; `2130706433` and `127.1` where a host is expected. */
const isNumberHost = (host: string, word: Word): boolean => {
  const parts = host.split(".")
  if (parts.length === 1 && !/^0x[0-9a-f]{7,8}$|^0\d{9,11}$|^\d{8,10}$/i.test(host)) return false
  if (!URL.canParse(`http://${host}`)) return false
  if (parts.length > 1 && /0x/i.test(host)) return true
  if (parts.length === 4) return parts.some((part) => /^0\d{2,}$/.test(part))
  if (parts.length === 1 && Number(host.replace(/^0(?=\d)/, "0o")) < 2 ** 24) return false
  return isExpected(word, false) && (parts.length === 1 || parts[0] === "127")
}

/** `app.kubernetes.io/name`, `networking.k8s.io/v1`: names of labels and of interfaces. */
const labelName =
  /^\/(?:v\d+(?:(?:alpha|beta)\d+)?(?![\w./-])|[\w.-]{1,63}["'\x7f]?\s?(?:[=!]=?|:(?=[\s"'\x7f]|$)| in ))/

const isName = (host: string, word: Word): boolean => {
  const { end, port, slashed, text, user } = word
  const labels = host.toLowerCase().split(".")
  const [first = ""] = labels
  const last = labels.at(-1) ?? ""
  const after = text.slice(end, end + 80)
  if (/^[([=$\w]/.test(after)) return false
  if (labels.length === 1) {
    if (first === "localhost") return port !== "" || user !== "" || /^\/[\w-]/.test(after)
    if (/^\d/.test(first)) return false
    // `image@sha256:…` is none.
    if (user !== "") return afterLogin.test(before(word)) && !/^:[0-9a-f]{12}/.test(after)
    return /^\s+\d{1,5}\b/.test(after) && afterNetcat.test(before(word))
  }
  const suffix = suffixOf(labels)
  if (suffix === undefined) {
    const isFile = fileName.test(last) || variables.has(first) || !/^[a-z]{2,24}$/.test(last)
    return !isFile && isExpected(word, true) && (labels.length > 2 || port !== "")
  }
  if (user !== "" || slashed || first === "www") return true
  if (labelName.test(after) || /(?:^|\.)(?:k8s|kubernetes)\.io$/.test(host)) return false
  // `done.It`: a new sentence; `server.onLine`: code
  if (/\.(?:[A-Z]|[a-z]+[A-Z])[^.]*$/.test(host) && host !== host.toUpperCase()) return false
  const hasPath = after[0] === "/" && !after.startsWith("/Contents/")
  if (reversedStarts.has(first) && labels.length > 2 && port === "" && !hasPath) return false
  const isVariable =
    variables.has(first) && (suffix !== "plain" || labels.slice(0, -1).every((part) => variables.has(part)))
  const isCode = isVariable || suffix === "field" || (suffix !== "plain" && /_|[a-z][A-Z]/.test(host))
  if (port !== "" || isExpected(word, isCode)) return true
  if (isCode) return false
  if (suffix === "plain" || (hasPath && suffix === "doubtful")) return true
  if (labels.length > 2 || /[^\0-\x7f]/.test(host)) return true
  if (suffix === "wordy" || first.length === 1) return false
  const isWhole = /(?:^|["'`\x7f])$/.test(before(word)) && /^(?:$|["'`\x7f])/.test(after)
  return isWhole || afterPreposition.test(before(word))
}

const pathEnds = /[\s"'`\x7f<>\\^|)\]},;]/
const endOfPath = (text: string, end: number): number => {
  if (text[end] !== "/") return end
  const path = text.slice(end, end + longestWord)
  const last = path.search(pathEnds)
  return end + (last < 0 ? path : path.slice(0, last)).replace(/[^\w/]+$/, "").length
}

const ipv6Like = /^(?:[\w.-]{1,64}@)?[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?:%\w{1,32})?(?=\/\d|[.,:;!?]*$)/i
/** Before a host that is a part of a path: `/dev/tcp/host/80`, `/dns4/host`. */
const hostPath = /^\/?(?:[\w.-]{0,64}\/){0,4}?(?:tcp|udp|dns[46]?)\/(?=[\w-]+\.)/i

/** Looks for a host at the start of a word, and after each of its first colons: `Host:name`, `TCP:name:80`. */
const readWord = (text: string, from: number, whole: string, report: (destination: string) => void): void => {
  const lead = /^(?:\$\w+\.|[^\p{L}\p{N}/:@]+)*/u.exec(whole)?.[0].length ?? 0
  let at = hostPath.exec(whole)?.[0].length ?? lead
  if (at === 0 && whole.startsWith("/") && !whole.startsWith("//")) return
  for (let tries = 0; tries < 4; tries++) {
    const rest = whole.slice(at, at + longestWord)
    const ipv6 = ipv6Like.exec(rest)?.[0].replace(/^.*@/, "")
    if (ipv6 !== undefined) {
      // `a[::2]` is a slice, and an address in brackets is found without this.
      if (text[from - 1] !== "[" && addressStart.test(ipv6) && isRawIpv6(ipv6)) report(ipv6)
      return
    }
    const [found, slashes = "", user = "", host = "", port = ""] = shape.exec(rest) ?? []
    if (found !== undefined) {
      const start = from + at + slashes.length + user.length
      const end = start + host.length + port.length
      const word: Word = { text, start, end, user, port, slashed: slashes !== "" }
      if (numberParts.test(host) ? isNumberHost(host, word) : isName(host, word)) {
        report(text.slice(start - user.length, endOfPath(text, end)))
        return
      }
    }
    const colon = rest.indexOf(":")
    if (colon < 0) return
    at += colon + 1
  }
}

/** Tells of the hosts between two places, with user, port and path. Linear. */
export function* bareHosts(
  text: string,
  from: number,
  to: number,
  report: (destination: string) => void
): Slices<void> {
  for (let at = from; at < to; ) {
    if (at > from) yield
    let end = Math.min(to, at + sliceCharacters)
    if (end < to) {
      // No word is cut in two, unless it is very long.
      const tail = text.slice(end - longestWord, end).search(/[\s"'\x7f][^\s"'\x7f]*$/)
      if (tail >= 0) end -= longestWord - tail - 1
    }
    for (const { 0: word, index } of text.slice(at, end).matchAll(words)) {
      const start = at + index
      // A name alone is a host before a port only: `nc name 80`.
      if (!/[.:@\d]|[^\0-\x7f]/.test(word) && !/^ +\d/.test(text.slice(start + word.length, start + word.length + 8)))
        continue
      readWord(text, start, word, report)
      // Where a script without blanks surrounds it.
      if (/[^\0-\x7f]/.test(word))
        for (const part of word.matchAll(/[\x21-\x7e]+/g)) readWord(text, start + part.index, part[0], report)
    }
    at = end
  }
}

const unc = /(?<![\w:\\./)%}])(\\{2,16})(?:\?\\+UNC\\+|)([\w.-]{2,253}(?:@(?:SSL|\d+))*)(\\{1,8})([\w$.-]{2,})/gi

/** Names of shares, `\\server\share`, with at least twice as many backslashes before the server as after it. */
export function* shares(text: string, report: (destination: string) => void): Slices<void> {
  if (!text.includes("\\\\")) return
  for (let at = 0; at < text.length; at += sliceCharacters) {
    if (at > 0) yield
    for (const [, lead = "", host = "", joint = "", share = ""] of text
      .slice(at, at + sliceCharacters + 300)
      .matchAll(unc))
      if (lead.length === 2 * joint.length && /[a-z0-9]/i.test(host)) report(`\\\\${host}\\${share}`)
  }
}
