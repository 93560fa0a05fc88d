/**
 * Markings of classified information and CUI in a text, by the forms that their registers publish: portion marks in parentheses
 * and banner lines (docs/guards.md#markings). Upper case only; words in prose are none.
 */
import type { Level } from "../catalog/names.ts"
import { type Slices, sliceCharacters } from "../wire/slices.ts"

/** What a marking says of its text. */
export type Marking = "classified" | "cui"

/** Levels that may hold CUI. `itar` alone names no level of either ladder; nothing here may hold classified information. */
const holdsCui: ReadonlySet<string> = new Set(["fedramp-moderate", "fedramp-high", "il4", "il5"])

export const isSpill = (marking: Marking, level: Level): boolean =>
  marking === "classified" || !holdsCui.has(level.replace(/\+itar$/, ""))

/** Longest marking that is looked for, in characters. */
const longest = 200

/** Text before a piece that decides about its markings: the beginning of its line, and the items of a list. In characters. */
export const contextCharacters = 1_000

/** How controls begin that may stand after `//`: compartments, programs, atomic energy, foreign government and dissemination. */
const controls = new RegExp(
  `^(?:${[
    ...["SI", "TK", "HCS", "KDK", "KLONDIKE", "RSV", "BUR", "SAR", "SPECIAL ACCESS REQUIRED", "WAIVED", "ACCM"],
    ...["RD", "RESTRICTED DATA", "FRD", "FORMERLY RESTRICTED DATA", "TFNI", "CNWDI", "DOD UCNI", "DOE UCNI"],
    ...["FGI", "JOINT", "NATO", "ATOMAL", "BOHEMIA", "BALK"],
    ...["NF", "NOFORN", "OC", "ORCON", "REL", "RELIDO", "PR", "PROPIN", "IMC", "IMCON", "FISA", "RS", "RSEN", "DSEN"],
    ...["DISPLAY ONLY", "EYES ONLY", "EYES", "DEA SENSITIVE", "CUI", "FOUO", "LIMDIS", "DS", "XD", "EXDIS", "ND"],
    ...["NODIS", "SBU", "SBU NOFORN", "LES", "SSI", "NNPI"]
  ].join("|")})(?=$|[ ,/-])`
)
const isControl = (text: string): boolean => controls.test(text.trim())

/** Of other governments and NATO, behind `//`, as portions and as banners have them. */
const foreign =
  /^(?:(?:[A-Z]{3} (?:TS|S|C|R|TOP SECRET|SECRET|CONFIDENTIAL|RESTRICTED))|JOINT (?:TS|S|C|TOP SECRET|SECRET|CONFIDENTIAL)(?: [A-Z]{3,4})*|CTS(?:-[AB]|A)?|COSMIC TOP SECRET|NS(?:AT)?|NCA?|NR|NATO (?:SECRET|CONFIDENTIAL|RESTRICTED))$/

/** What stands in parentheses, and the banners at the beginnings of lines, behind quotes, headings and bullets. */
const candidates = new RegExp(
  `\\(([A-Z/][A-Z0-9 ,/-]{0,${longest}})\\)` +
    `|^[ \\t>#*_|-]{0,16}(TOP SECRET|SECRET|CONFIDENTIAL|COSMIC TOP SECRET|NATO SECRET|NATO CONFIDENTIAL|CUI|CONTROLLED|//(?=[A-Z]))([^\\n\\r]{0,${longest}})`,
  "gm"
)

/** A portion mark with controls, which may stand anywhere; undefined where it is none. */
const portion = (text: string): Marking | undefined => {
  const [head = "", ...rest] = text.split("//")
  if (head === "" && rest[0] !== undefined) return foreign.test(rest[0]) ? "classified" : undefined
  if (rest.length === 0) return undefined
  if (head === "CUI") return /^[A-Z]{2}/.test(rest[0] ?? "") ? "cui" : undefined
  return (head === "TS" || head === "S" || head === "C") && rest.every(isControl) ? "classified" : undefined
}

/** Portion marks of one word, which are also list items, signs and abbreviations: they begin a line and have a text behind them. */
const bare: ReadonlyMap<string, Marking> = new Map([
  ["TS", "classified"],
  ["S", "classified"],
  ["C", "classified"],
  ["CUI", "cui"]
])
/** What may stand before a portion mark on its line: quotes, headings, bullets, a number. */
const lineStart = /(?:^|[\n\r])[ \t>#*_|-]{0,16}(?:\d{1,3}(?:\.\d{1,3}){0,3}[.)]?[ \t]{1,4})?$/
const mostBefore = 48
/** Not `(C) 2024 …` and `(C) Copyright …`. */
const behindBare = /^ {1,4}(?!\d{4}\b|Copyright|COPYRIGHT)\S/

const isBare = (mark: string, text: string, from: number, to: number): boolean => {
  const before = text.slice(Math.max(0, from - mostBefore), from)
  if (!lineStart.test(from > mostBefore ? `x${before}` : before)) return false
  if (!behindBare.test(text.slice(to, to + 16))) return false
  // In a list the letter before it came first.
  const item = `(${String.fromCharCode(mark.charCodeAt(0) - 1)})`
  return mark.length > 1 || !text.slice(Math.max(0, from - contextCharacters), from).includes(item)
}

/** A banner is the whole line, or goes on with controls. */
const banner = (head: string, tail: string): Marking | undefined => {
  const rest = tail.replace(/[ \t*_|#-]+$/, "")
  const marking = head === "CUI" || head === "CONTROLLED" ? "cui" : "classified"
  if (head === "//") return foreign.test(rest.split("//")[0] ?? "") ? marking : undefined
  if (rest === "") return marking
  const control = /^ ?\/\/ ?([A-Z]{2}.*)$/.exec(rest)?.[1]
  if (control === undefined) return undefined
  return marking === "cui" || isControl(control) ? marking : undefined
}

/** Marks in a piece of a text; those that end in what was before it have been found there. */
const inPiece = (before: string, piece: string, found: Set<Marking>): void => {
  // A text that is cut does not begin a line where it is cut.
  const context = before.length < contextCharacters ? before : `x${before.slice(1 - contextCharacters)}`
  const text = context + piece
  const note = (marking: Marking | undefined): void => void (marking !== undefined && found.add(marking))
  candidates.lastIndex = 0
  for (let match = candidates.exec(text); match !== null; match = candidates.exec(text)) {
    const [whole, mark, head, tail = ""] = match
    const end = match.index + whole.length
    if (head !== undefined) {
      if (end > context.length) note(banner(head, tail))
      // The rest of the line may hold portion marks.
      candidates.lastIndex = end - tail.length
    } else if (mark !== undefined && end > context.length) {
      const alone = bare.get(mark)
      if (alone === undefined) note(portion(mark))
      else if (!found.has(alone) && isBare(mark, text, match.index, end)) note(alone)
    }
  }
}

/** Where the piece that begins at `from` ends: behind a line, if there is one in its second half. */
const endOfPiece = (text: string, from: number): number => {
  const to = from + sliceCharacters
  if (to >= text.length) return text.length
  const half = to - sliceCharacters / 2
  const line = text.slice(half, to).lastIndexOf("\n")
  return line < 0 ? to : half + line + 1
}

/**
 * The markings in a text, in slices; linear in its size. `before` is what stood before it, at least the last
 * `contextCharacters`: its markings are not counted again.
 */
export function* markingsIn(text: string, before = ""): Slices<ReadonlySet<Marking>> {
  const found = new Set<Marking>()
  for (let at = 0; at < text.length; ) {
    const to = endOfPiece(text, at)
    inPiece(at === 0 ? before : text.slice(Math.max(0, at - contextCharacters), at), text.slice(at, to), found)
    at = to
    if (found.size === 2) break
    if (at < text.length) yield
  }
  return found
}
