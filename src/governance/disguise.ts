/** What hides a destination without hiding it from its reader, for the strict scan: encodings and other forms. */
import { type Slices, sliceCharacters } from "../wire/slices.ts"
import { characters, is, unitAt } from "./characters.ts"

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
/** A digit of any script as an ASCII one: digits lie in rows of ten, some of which follow each other. */
const digitOf = (digit: string): string => {
  const point = digit.codePointAt(0) ?? 0
  let before = 0
  while (isDigit(point - before - 1)) before++
  return String(before % 10)
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
  const pieces: Array<string> = []
  for (let from = 0; from < text.length; ) {
    if (from > 0) yield
    let to = from + sliceCharacters
    const last = Array.from(text.slice(to - longestMatch, to).matchAll(sign)).at(-1)
    if (last !== undefined) to += last.index - longestMatch
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
        for (const [part] of piece.matchAll(base64Parts)) yield* read(part)
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
