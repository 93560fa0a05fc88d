/** What hides a destination without hiding it from its reader: escapes of JSON, and for the strict scan encodings and other forms. */
import { type Slices, sliceCharacters } from "../wire/slices.ts"
import { backslash, characters, code, colon, innerQuote, is, slash, unitAt } from "./characters.ts"

const [quote, letterS, letterP, letterU] = [code('"'), code("s"), code("p"), code("u")]

/** What a letter or sign after a backslash stands for; 0 where it is no escape. */
const plain = new Uint16Array(128)
for (const [sign = "", value = ""] of ["b\b", "f\f", "n\n", "r\r", "t\t", "//", "\\\\"]) plain[code(sign)] = code(value)
plain[innerQuote] = innerQuote

const codePoint = (units: Uint16Array, from: number): number => {
  const hex = String.fromCharCode(...units.subarray(from, from + 4))
  return /^[0-9a-f]{4}$/i.test(hex) ? Number.parseInt(hex, 16) : -1
}

const isSlash = (unit: number): boolean => unit === slash || unit === backslash

/** Whether `https:` or the like and any slashes end at `to`; a backslash that follows stands for a slash in a URL. */
const followsScheme = (units: Uint16Array, to: number): boolean => {
  let at = to - 1
  // URL parsers take any number; more than a few are no disguise.
  for (let most = 8; at >= 0 && most > 0 && isSlash(units[at] ?? 0); most--) at--
  if (at < 1 || units[at] !== colon) return false
  const last = (units[at - 1] ?? 0) | 0x20
  return last === letterS || last === letterP
}

/**
 * Undoes one level of escapes in place and answers the new length. What is not an escape of JSON stays as it is. Unless
 * the text is JSON for `certain`, neither does `\\n` after a scheme become a line break: `https:\\new.example` is a URL.
 */
function* unescapeLevel(units: Uint16Array, length: number, certain: boolean): Slices<number> {
  let to = 0
  let from = 0
  while (from < length) {
    if (from > 0) yield
    for (const end = Math.min(from + sliceCharacters, length); from < end; from++) {
      let unit = units[from] ?? 0
      if (unit === backslash && from + 1 < length) {
        const next = units[from + 1] ?? 0
        const single = next === quote && certain ? innerQuote : next < 128 ? (plain[next] ?? 0) : 0
        const point = next === letterU && from + 5 < length ? codePoint(units, from + 2) : -1
        if (single !== 0 && (certain || isSlash(next) || !followsScheme(units, to))) {
          unit = single
          from += 1
        } else if (point >= 0) {
          unit = point === quote ? innerQuote : point
          from += 5
        }
      }
      units[to++] = unit
    }
  }
  return to
}

/**
 * A text with its JSON escapes undone, again and again until none is left, `levels` times at most. An escaped quote becomes
 * `innerQuote`. The text need not be JSON; with `isJson` its outermost escapes are taken for what JSON says they are. Linear in its length for a given number of levels.
 */
export function* unescapeJson(text: string, levels: number, isJson: boolean): Slices<string> {
  if (!text.includes("\\")) return text
  const bytes = Buffer.from(text, "utf16le")
  const units = new Uint16Array(bytes.buffer, bytes.byteOffset, text.length)
  let length = text.length
  for (let level = 0; level < levels; level++) {
    const shorter = yield* unescapeLevel(units, length, isJson && level === 0)
    if (shorter === length) break
    length = shorter
  }
  return bytes.toString("utf16le", 0, 2 * length)
}

/** How many times disguises are undone: percent-encoding of percent-encoding. */
const maxLayers = 3

const entities: Readonly<Record<string, string>> = Object.assign(Object.create(null), {
  ...{ colon: ":", sol: "/", bsol: "\\", period: ".", commat: "@", amp: "&", num: "#", quest: "?", percnt: "%" },
  ...{ equals: "=", lbrack: "[", rbrack: "]", tab: "\t", newline: "\n" }
})

const character = (whole: string, digits: string, radix: number): string => {
  const point = Number.parseInt(digits, radix)
  return point > 0 && point <= 0x10ffff ? String.fromCodePoint(point) : whole
}

const isDigit = (point: number): boolean => /^\p{Nd}$/u.test(String.fromCodePoint(point))
/** A digit of any script as an ASCII one: digits lie in rows of ten. */
const digitOf = (digit: string): string => {
  const point = digit.codePointAt(0) ?? 0
  let value = 0
  while (value < 9 && isDigit(point - value - 1)) value++
  return String(value)
}

interface Disguise {
  /** Before a match of this a text may be cut in two, and without one nothing is to be done. */
  readonly sign: RegExp
  readonly undo: (text: string) => string
}

/** What is undone of a text, in this order. */
const disguises: ReadonlyArray<Disguise> = [
  {
    sign: /&/g,
    undo: (text) =>
      text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{3,7}));?/gi, (whole, decimal, hex, name) =>
        name === undefined
          ? character(whole, decimal ?? hex, decimal ? 10 : 16)
          : (entities[name.toLowerCase()] ?? whole)
      )
  },
  {
    sign: /%/g,
    undo: (text) =>
      text.replace(/%([0-7][0-9a-f]|u[0-9a-f]{4})/gi, (whole, hex) => character(whole, hex.replace(/u/i, ""), 16))
  },
  {
    sign: /\\/g,
    undo: (text) =>
      text
        .replace(/\\(?:x([0-9a-f]{2})|u\{([0-9a-f]{1,6})\}|U([0-9a-f]{8}))/g, (whole, a, b, c) =>
          character(whole, a ?? b ?? c, 16)
        )
        .replace(/\\([01][0-7]{2})/g, (whole, octal) => character(whole, octal, 8))
  },
  {
    sign: /[^\0-\x7f\udc00-\udfff]/g,
    undo: (text) =>
      text
        .replace(/\p{Default_Ignorable_Code_Point}+/gu, "")
        .replace(
          /[\u2070-\u209f\u2100-\u214f\u2460-\u24ff\uff01-\uff5e\u{1d400}-\u{1d7ff}\u{1f100}-\u{1f169}]/gu,
          (sign) => sign.normalize("NFKC")
        )
        .replace(/[\u3002\uff61\u2024]/g, ".")
        .replace(/(?![0-9])\p{Nd}/gu, digitOf)
  },
  // `hxxps://evil[.]com`
  {
    sign: /[[({]/g,
    undo: (text) =>
      text
        .replace(/ ?[[({] ?(?:\.|dot) ?[\])}] ?/gi, ".")
        .replace(/ ?[[({] ?(?:@|at) ?[\])}] ?/gi, "@")
        .replace(/[[({](:\/{0,2}|\/{1,2})[\])}]/g, "$1")
  },
  { sign: /h/gi, undo: (text) => text.replace(/(?<![a-z0-9])h(?:xx|\*\*|__)p(?=s?:)/gi, "http") },
  // `"htt" + "ps:"`, `ev''il.com`, `ht^tp:`, `evil dot com`
  {
    sign: /(?<=\w)\w/g,
    undo: (text) =>
      text
        .replace(/["'\x7f] {0,4}(?:\+|&|\.{1,2}) {0,4}["'\x7f]/g, "")
        .replace(/(?<=[\w:/.])(?:''|""|\x7f\x7f|[\^`])(?=[\w:/.])/g, "")
        .replace(/\$(?:IFS\b|\{IFS\})/g, " ")
        .replace(/(?<=\w) dot (?=(?:com|org|net|gov|edu|io)\b)/gi, ".")
  }
]
/** Of any match. */
const longestMatch = 24

function* undone(text: string, { sign, undo }: Disguise): Slices<string> {
  if (text.search(sign) < 0) return text
  if (text.length <= sliceCharacters) return undo(text)
  const pieces: Array<string> = []
  for (let from = 0; from < text.length; ) {
    if (from > 0) yield
    let to = from + sliceCharacters
    const last = Array.from(text.slice(to - longestMatch, to).matchAll(sign)).at(-1)
    if (last !== undefined && to < text.length) to += last.index - longestMatch
    pieces.push(undo(text.slice(from, to)))
    from = to
  }
  return pieces.join("")
}

/** A text with percent-encoding, HTML entities, full-width forms and the like undone. Linear. */
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

const base64Characters = characters(/[\w+/-]/)
const shortestBase64 = 10
/** In a path or a name with dashes, only its parts may be whole. */
const base64Parts = /[a-z0-9+]{10,}/gi
/** How often: base64 of base64. */
const maxDecoded = 3

/** Tells the text of everything that is base64 or hex of a text, or of base64 of one. Linear. */
export function* hiddenInBase64(
  text: string,
  report: (decoded: string) => Slices<void>,
  depth = maxDecoded
): Slices<void> {
  function* read(run: string): Slices<boolean> {
    const decoded = decode(run)
    if (decoded === undefined) return false
    yield* report(decoded)
    if (depth > 1) yield* hiddenInBase64(decoded, report, depth - 1)
    return true
  }
  let start = 0
  let until = sliceCharacters
  for (let at = 0; at <= text.length; at++) {
    if (at >= until) {
      yield
      until = at + sliceCharacters
    }
    if (is(base64Characters, unitAt(text, at))) continue
    if (at - start >= shortestBase64 && !(yield* read(text.slice(start, at)))) {
      for (let from = start; from < at; from += sliceCharacters) {
        if (from > start) yield
        const piece = text.slice(from, Math.min(at, from + sliceCharacters))
        for (const [part] of piece.matchAll(base64Parts)) if (part.length < at - start) yield* read(part)
      }
    }
    start = at + 1
  }
}

const isText = (text: string): boolean => !/[^\t\n\r -\x7e\xa0-\ud7ff\uf900-\ufdff]/.test(text)
/** Characters of a run that are decoded to see whether it is text; a multiple of four, as base64 is. */
const sample = 4096

/** The text that a run is base64 or hex of. UTF-16 is what PowerShell takes. */
const decode = (run: string): string | undefined => {
  for (const encoding of ["base64", "hex"] as const) {
    if (encoding === "hex" && /[^0-9a-f]/i.test(run.slice(0, sample))) break
    const bytes = Buffer.from(run.slice(0, sample), encoding)
    const form = bytes[1] === 0 && bytes[3] === 0 ? "utf16le" : "utf8"
    // A character may be cut at the sample's end.
    if (isText(bytes.toString(form).slice(0, run.length > sample ? -2 : undefined)))
      return Buffer.from(run, encoding).toString(form)
  }
  return undefined
}
