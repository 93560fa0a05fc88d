import { type Slices, sliceCharacters } from "../wire/slices.ts"

const code = (character: string): number => character.charCodeAt(0)
const [backslash, letterU] = [code("\\"), code("u")]

const [quote, slash, colon, letterS, letterP] = [code('"'), code("/"), code(":"), code("s"), code("p")]

/** What a letter or sign after a backslash stands for; 0 where it is no escape. */
const plain = new Uint16Array(128)
for (const sign of ['"', "/", "\\"]) plain[code(sign)] = code(sign)
plain[code("b")] = code("\b")
plain[code("f")] = code("\f")
plain[code("n")] = code("\n")
plain[code("r")] = code("\r")
plain[code("t")] = code("\t")

const hexDigit = (unit: number | undefined): number => {
  if (unit === undefined) return -1
  if (unit >= 0x30 && unit <= 0x39) return unit - 0x30
  const lower = unit | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}

const codePoint = (units: Uint16Array, from: number): number => {
  let value = 0
  for (let at = from; at < from + 4; at++) {
    const digit = hexDigit(units[at])
    if (digit < 0) return -1
    value = value * 16 + digit
  }
  return value
}

/** An escape that stands for itself. */
const isSign = (unit: number): boolean => unit === quote || isSlash(unit)
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
        const single = next < 128 ? (plain[next] ?? 0) : 0
        const point = next === letterU && from + 5 < length ? codePoint(units, from + 2) : -1
        if (single !== 0 && (certain || isSign(next) || !followsScheme(units, to))) {
          unit = single
          from += 1
        } else if (point >= 0) {
          unit = point
          from += 5
        }
      }
      units[to++] = unit
    }
  }
  return to
}

/**
 * A text with its JSON escapes undone, again and again until none is left, `levels` times at most. The text need not be
 * JSON; with `isJson` its outermost escapes are taken for what JSON says they are. Linear in its length for a given number of levels.
 */
export function* unescapeJson(text: string, levels: number, isJson: boolean): Slices<string> {
  if (!text.includes("\\")) return text
  const units = new Uint16Array(text.length)
  for (let at = 0; at < text.length; ) {
    if (at > 0) yield
    for (const end = Math.min(at + sliceCharacters, text.length); at < end; at++) units[at] = text.charCodeAt(at)
  }
  let length = text.length
  for (let level = 0; level < levels; level++) {
    const shorter = yield* unescapeLevel(units, length, isJson && level === 0)
    if (shorter === length) break
    length = shorter
  }
  let unescaped = ""
  for (let at = 0; at < length; at += 8192) {
    if (at > 0) yield
    // Spreading would iterate, which takes longer than all the rest of this.
    unescaped += Reflect.apply(String.fromCharCode, undefined, units.subarray(at, Math.min(at + 8192, length)))
  }
  return unescaped
}
