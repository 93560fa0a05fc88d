/** What a caller can provoke, and how it is read from a text. */
import { readObject } from "../wire/json.ts"
import { parseJson } from "./json.ts"

/**
 * What a caller can provoke by writing `[sandbox: …]` in the last message, when that message is a user's. Quoted in
 * docs/operation.md#sandbox.
 */
export const directives: Readonly<Record<string, string>> = {
  "status=429 retry-after=7": "The cloud's own error with this HTTP status; `retry-after` is optional.",
  "delay=2s": "Waits before the response headers (`ms` or `s`).",
  "cut after=5": "Breaks the connection after five upstream events (unstreamed: in the middle of the body).",
  "stall after=3": "Falls silent after three upstream events, with the connection open.",
  "garbage after=2": "Sends an event that is not JSON after two upstream events (unstreamed: as the body).",
  "exception=throttlingException after=2":
    "An in-stream error after two events: Bedrock's exception frame, or the error event of the API (unstreamed: its HTTP error). Claude on Vertex also takes an error type (`overloaded_error`), Responses `failed`.",
  "no-terminal": "Ends the stream cleanly, but without its terminal event.",
  redirect: "Answers 302.",
  html: "Answers 200 with an HTML page.",
  "tool=NAME args={…}": "Calls this tool with these arguments; repeat it for parallel calls.",
  "text=…": "Says exactly this; a JSON string may hold newlines.",
  "events=200": "Says that many words of one token, each in an event of its own (`worda wordb …`).",
  length: "Stops half way, as at the token limit.",
  refuse: "The model refuses in its cloud's way (`refusal`, `SAFETY`, `content_filter`).",
  "filter-prompt": "The prompt is blocked in the cloud's way (Azure: 400; Gemini: `promptFeedback`).",
  redacted: "Claude: a `redacted_thinking` block comes with the thinking.",
  "cached=100": "Reports that many prompt tokens as read from a cache."
}

type Fields = ReadonlyMap<string, string>

const OPEN = /\[sandbox:\s*/g

const closingOf = (text: string, start: number): number => {
  let depth = 0
  let quoted = false
  for (let i = start; i < text.length; i++) {
    const sign = text[i]
    if (quoted) {
      if (sign === "\\") i++
      else if (sign === '"') quoted = false
    } else if (sign === '"') quoted = true
    else if (sign === "{" || sign === "[") depth++
    else if (sign === "}") depth--
    else if (sign === "]") {
      if (depth === 0) return i
      depth--
    }
  }
  return text.indexOf("]", start)
}

/** Text and arguments are the last of their directive: their value may hold anything. */
const FIELD = /\s*(?:(text|args)=(.*)|([a-z-]+)(?:=(\S*))?)/gsy

const fieldsOf = (inner: string): Fields =>
  new Map(
    Array.from(inner.trim().matchAll(FIELD), ([, last, rest, name, value]) => [last ?? name ?? "", rest ?? value ?? ""])
  )

const milliseconds = (text: string): number => {
  const [, digits = "0", unit] = /^([\d.]+)(ms|s)?$/.exec(text) ?? []
  return Number(digits) * (unit === "ms" ? 1 : 1000)
}

const MAX_EVENTS = 100_000

/** A number within bounds; `undefined` for anything else, so that a typing error in a directive is no directive. */
const wholeNumber = (text: string | undefined, least: number, most: number): number | undefined => {
  const value = Number(text ?? "none")
  return Number.isInteger(value) && value >= least && value <= most ? value : undefined
}

/**
 * Reads the directives in a text. A bracket that is never closed is plain text. Linear in the text. Positions count upstream
 * events; durations are milliseconds.
 */
export const readDirectives = (text: string) => {
  const found: Array<Fields> = []
  let rest = ""
  let from = 0
  OPEN.lastIndex = 0
  for (let open = OPEN.exec(text); open !== null; open = OPEN.exec(text)) {
    const close = closingOf(text, OPEN.lastIndex)
    if (close < 0) break
    found.push(fieldsOf(text.slice(OPEN.lastIndex, close)))
    rest += text.slice(from, open.index)
    from = close + 1
    OPEN.lastIndex = from
  }
  rest = (rest + text.slice(from)).trim()

  const holder = (name: string) => found.find((fields) => fields.has(name))
  const value = (name: string) => holder(name)?.get(name)
  const after = (name: string) => holder(name) && (wholeNumber(holder(name)?.get("after"), 0, MAX_EVENTS) ?? 0)
  const exception = value("exception")
  const code = wholeNumber(value("status"), 200, 599)
  const said = value("text")
  const literal = said?.startsWith('"') ? parseJson(said) : said
  return {
    status: code === undefined ? undefined : { code, retryAfter: holder("status")?.get("retry-after") },
    delay: milliseconds(value("delay") ?? ""),
    cut: after("cut"),
    stall: after("stall"),
    garbage: after("garbage"),
    exception: exception === undefined ? undefined : { name: exception, after: after("exception") ?? 0 },
    tools: found.flatMap((fields) => {
      const name = fields.get("tool")
      const args = fields.get("args") ?? "{}"
      return name === undefined ? [] : [{ name, args: readObject(args) ?? args }]
    }),
    text: typeof literal === "string" ? literal : said,
    events: wholeNumber(value("events"), 0, MAX_EVENTS),
    cached: wholeNumber(value("cached"), 0, Number.MAX_SAFE_INTEGER) ?? 0,
    /** The names of all of them: those without a value are read here. */
    flags: new Set(found.flatMap((fields) => [...fields.keys()])),
    /** The text without them. */
    rest
  }
}

/** The directives of one request. */
export type Directives = ReturnType<typeof readDirectives>

/** No directives at all. */
export const noDirectives = readDirectives("")
