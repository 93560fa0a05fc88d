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

const milliseconds = (text: string): number => {
  const [, digits = "0", unit] = /^([\d.]+)(ms|s)?$/.exec(text) ?? []
  return Math.min(Number(digits) * (unit === "ms" ? 1 : 1000), MAX_DELAY)
}

const MAX_EVENTS = 100_000

/** A number within bounds; `undefined` for anything else, so that a typing error in a directive is no directive. */
const wholeNumber = (text: string | undefined, least: number, most: number): number | undefined => {
  const value = Number(text ?? "none")
  return Number.isInteger(value) && value >= least && value <= most ? value : undefined
}

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
  const after = (name: string) => holder(name) && (wholeNumber(holder(name)?.get("after"), 0, MAX_EVENTS) ?? 0)
  const exception = value("exception")
  const code = wholeNumber(value("status"), 200, 599)
  const seconds = wholeNumber(holder("status")?.get("retry-after"), 0, MAX_DELAY)
  const written = value("text")
  return {
    status: code === undefined ? undefined : { code, retryAfter: seconds?.toString() },
    delay: milliseconds(value("delay") ?? ""),
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
    events: wholeNumber(value("events"), 0, MAX_EVENTS),
    cached: wholeNumber(value("cached"), 0, Number.MAX_SAFE_INTEGER) ?? 0,
    /** The names of all fields, with and without a value. */
    flags: new Set(found.flatMap((fields) => [...fields.keys()])),
    rest
  }
}

export type Directives = ReturnType<typeof readDirectives>

export const noDirectives = readDirectives("")
