const code = (character: string): number => character.charCodeAt(0)
const [backslash, letterU] = [code("\\"), code("u")]

const plain = new Map([
  [code('"'), code('"')],
  [code("/"), code("/")],
  [backslash, backslash],
  [code("b"), code("\b")],
  [code("f"), code("\f")],
  [code("n"), code("\n")],
  [code("r"), code("\r")],
  [code("t"), code("\t")]
])

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

/** Undoes one level of escapes in place and answers the new length. What is not an escape of JSON stays as it is. */
const unescapeLevel = (units: Uint16Array, length: number): number => {
  let to = 0
  for (let from = 0; from < length; from++) {
    let unit = units[from] ?? 0
    if (unit === backslash && from + 1 < length) {
      const next = units[from + 1] ?? 0
      const single = plain.get(next)
      const point = next === letterU && from + 5 < length ? codePoint(units, from + 2) : -1
      if (single !== undefined) {
        unit = single
        from += 1
      } else if (point >= 0) {
        unit = point
        from += 5
      }
    }
    units[to++] = unit
  }
  return to
}

/**
 * A text with its JSON escapes undone, again and again until none is left, `levels` times at most. The text need not be
 * JSON. Linear in its length for a given number of levels.
 */
export const unescapeJson = (text: string, levels: number): string => {
  if (!text.includes("\\")) return text
  const units = new Uint16Array(text.length)
  for (let at = 0; at < text.length; at++) units[at] = text.charCodeAt(at)
  let length = text.length
  for (let level = 0; level < levels; level++) {
    const shorter = unescapeLevel(units, length)
    if (shorter === length) break
    length = shorter
  }
  let unescaped = ""
  for (let at = 0; at < length; at += 8192) {
    unescaped += String.fromCharCode(...units.subarray(at, Math.min(at + 8192, length)))
  }
  return unescaped
}
