/** A text that a regular expression matches. It is the caller's: it is read, and not run, as some take exponential time. */
import { Result } from "effect"

const TOKEN =
  /\\(?:u\{[\da-f]+\}|u[\da-f]{4}|x[\da-f]{2}|p\{[^}]*\}|.)|\[(?:\\.|[^\]\\])*\]|\((?:\?(?:[:=!]|<[=!]|<\w+>))?|./isuy
const QUANTIFIER = /([*+?]|\{(\d+)(,(\d*))?\})\??/y

const ascii = Array.from({ length: 95 }, (_, at) => String.fromCharCode(32 + at))
const CHARACTERS = ["a", "0", "A", "_", ...ascii, "\t", "\n", "é", "世"]

/** Characters of a text that is made. */
const MOST = 64 * 1024

/** The first character that an escape, a class or the dot matches. */
const characterOf = (token: string): string | undefined => {
  if (!/^(?:[\\[].|\.$)/s.test(token)) return token
  const compiled = (flags: string) => Result.try(() => new RegExp(`^${token}$`, flags))
  // Expressions of other languages escape more.
  const expression = Result.getOrUndefined(Result.orElse(compiled("u"), () => compiled("")))
  return CHARACTERS.find((character) => expression?.test(character))
}

/** With as few repetitions as it takes, and so many more where it takes any number; undefined for what cannot be read. */
const matching = (pattern: string, more: number): string | undefined => {
  let at = 0
  let left = MOST
  const next = (kind: RegExp) => {
    kind.lastIndex = at
    const found = kind.exec(pattern)
    at += found?.[0].length ?? 0
    return found
  }
  const times = (): number => {
    const [, sign, least = 0, open, most] = next(QUANTIFIER) ?? []
    if (sign === undefined) return 1
    if (sign === "?") return 0
    if (sign === "*" || sign === "+") return more + (sign === "+" ? 1 : 0)
    return Math.min(Number(least) + (open === undefined ? 0 : more), Number(most || MOST + 1))
  }
  /** The first alternative of those up to the end of a group. */
  const group = (): string => {
    let first: string | undefined
    let text = ""
    for (;;) {
      const token = next(TOKEN)?.[0] ?? ")"
      if (token === ")" || token === "|") {
        first ??= text
        if (token === ")") return first
        text = ""
        continue
      }
      const looks = /^(?:\(\?<?[=!]|[\^$]|\\b)$/i.test(token)
      const whole = token.startsWith("(") ? group() : looks ? "" : characterOf(token)
      const count = Math.min(times(), MOST + 1)
      left -= whole === undefined ? Number.POSITIVE_INFINITY : whole.length * count
      if (left < 0) return ""
      if (!looks) text += whole?.repeat(count)
    }
  }
  const text = group()
  return left < 0 ? undefined : text
}

/** Takes time in proportion to the length of the expression, some microseconds a character. */
export const patternSample = (pattern: string, minLength: number): string | undefined => {
  const least = matching(pattern, 0)
  return least === undefined || least.length >= minLength ? least : matching(pattern, minLength)
}
