/** Reads the `[sandbox: …]` directives of what the user said last. Their effects: docs/operation.md#sandbox. */
import { jsonText } from "../wire/print.ts"
import { parseObject, readObject, textOf } from "./json.ts"

const OPEN = /\[sandbox:\s*/g

/** The end of the directive at `start`; -1 where its brackets and quotation marks do not match. */
const closingOf = (text: string, start: number): number => {
  let depth = 0
  let quoted = false
  for (let i = start; i < text.length; i++) {
    const sign = text[i]
    if (sign === '"') quoted = !quoted
    else if (quoted) i += sign === "\\" ? 1 : 0
    else if (sign === "]" && depth === 0) return i
    else if (sign === "{" || sign === "[") depth++
    else if (sign === "}" || sign === "]") depth--
  }
  return -1
}

/** `text` and `args` come last in their directive: their value may hold anything. */
const FIELD = /\s*(?:(text|args)=(.*)|([a-z-]+)(?:=(\S*))?)/gsy

const fieldsOf = (inner: string): ReadonlyMap<string, string> =>
  new Map(
    Array.from(inner.trim().matchAll(FIELD), ([, last, rest, name, value]) => [last ?? name ?? "", rest ?? value ?? ""])
  )

/** The longest that a timer can wait. */
const MAX_DELAY = 2 ** 31 - 1

const milliseconds = (text: string): number | undefined => {
  const [, digits, unit] = /^(\d+(?:\.\d+)?)(ms|s)?$/.exec(text) ?? []
  return digits === undefined ? undefined : Math.min(Number(digits) * (unit === "ms" ? 1 : 1000), MAX_DELAY)
}

const wholeNumber = (least: number, most: number) => (text: string) => {
  const value = text === "" ? Number.NaN : Number(text)
  return Number.isInteger(value) && value >= least && value <= most ? value : undefined
}

const MAX_EVENTS = 100_000

/** Fields with a number; a value that is none, or not within bounds, counts as absent. */
const NUMBERS = {
  status: wholeNumber(200, 599),
  "retry-after": wholeNumber(0, MAX_DELAY),
  delay: milliseconds,
  after: wholeNumber(0, MAX_EVENTS),
  events: wholeNumber(0, MAX_EVENTS),
  cached: wholeNumber(0, Number.MAX_SAFE_INTEGER)
}
const TEXTS: ReadonlySet<string> = new Set(["exception", "tool", "args", "text"])
const FLAGS: ReadonlySet<string> = new Set(
  "cut stall garbage no-terminal redirect html length refuse filter-prompt redacted interleaved".split(" ")
)

const isNumber = (name: string): name is keyof typeof NUMBERS => Object.hasOwn(NUMBERS, name)

const isUsable = (name: string, value: string): boolean =>
  isNumber(name) ? NUMBERS[name](value) !== undefined : TEXTS.has(name) || (FLAGS.has(name) && value === "")

/** Reads the directives in a text, in linear time. Positions count upstream events; durations are milliseconds. */
export const readDirectives = (text: string) => {
  const found: Array<ReadonlyMap<string, string>> = []
  let rest = ""
  // After one without matching brackets, each ends at its first bracket: scanning to the end for each takes quadratic time.
  let matches = true
  let from = 0
  for (const { index, 0: open } of text.matchAll(OPEN)) {
    // It may be nested in the one before.
    if (index < from) continue
    const start = index + open.length
    const matching: number = matches ? closingOf(text, start) : -1
    matches = matching >= 0
    const close = matches ? matching : text.indexOf("]", start)
    if (close < 0) break
    found.push(fieldsOf(text.slice(start, close)))
    rest += text.slice(from, index)
    from = close + 1
  }
  rest = (rest + text.slice(from)).trim()

  const holder = (name: string) => found.find((fields) => fields.has(name))
  const value = (name: string) => holder(name)?.get(name)
  const number = (name: keyof typeof NUMBERS, fields = holder(name)) => NUMBERS[name](fields?.get(name) ?? "")
  const after = (name: string) => holder(name) && (number("after", holder(name)) ?? 0)
  const exception = value("exception")
  const code = number("status")
  const written = value("text")
  return {
    status: code === undefined ? undefined : { code, retryAfter: number("retry-after", holder("status"))?.toString() },
    delay: number("delay") ?? 0,
    cut: after("cut"),
    stall: after("stall"),
    garbage: after("garbage"),
    exception: exception === undefined ? undefined : { name: exception, after: after("exception") ?? 0 },
    tools: found.flatMap((fields) => {
      const name = fields.get("tool")
      const args = fields.get("args") ?? "{}"
      const read = parseObject(args)
      return name === undefined ? [] : [{ name, json: read === undefined ? args : jsonText(read) }]
    }),
    text: written?.startsWith('"') ? (textOf(readObject(`{"text":${written}}`)?.text) ?? written) : written,
    events: number("events"),
    cached: number("cached") ?? 0,
    /** The names of all fields, with and without a value. */
    flags: new Set(found.flatMap((fields) => [...fields.keys()])),
    /** Fields that are not known, or whose value cannot be used, as they were written. */
    unusable: found.flatMap((fields) =>
      [...fields].flatMap(([name, value]) => (isUsable(name, value) ? [] : value === "" ? name : `${name}=${value}`))
    ),
    rest
  }
}

export type Directives = ReturnType<typeof readDirectives>

export const noDirectives = readDirectives("")
