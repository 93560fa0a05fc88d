/**
 * Log lines, on standard error: standard output belongs to the usage records (`GATEWAY_USAGE_LOG`), so that the two streams
 * can be told apart. Whatever is in a value, a line stays one line and steers no terminal.
 */
import { Cause, Layer, Logger, LogLevel, Option, References } from "effect"
import type { GatewaySettings } from "../Settings.ts"

/** Control and format characters, line separators, lone surrogates: as escapes of JSON. */
const escaped = (text: string): string =>
  /^[ -~]*$/.test(text)
    ? text
    : text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (character) =>
        Array.from({ length: character.length }, (_, at) => {
          return `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`
        }).join("")
      )

/** V8 quotes the text that it could not parse, which may be a caller's or a model's. */
export const withoutQuotes = (cause: string): string =>
  cause.replace(/\bSyntaxError: [\s\S]*?(?=\n\s+at |$)/g, "SyntaxError")

/** A log line's parts, before they are written in one way or the other. */
interface Line {
  readonly timestamp: string
  readonly level: string
  readonly message: string
  readonly cause: string | undefined
  /** Annotations and the trace; what is undefined is left out. */
  readonly fields: Readonly<Record<string, unknown>>
}

const messageText = (message: unknown): string =>
  (Array.isArray(message) ? message : [message])
    .map((part) => (typeof part === "string" ? part : JSON.stringify(part)))
    .join(" ")

const line = Logger.make(({ cause, date, fiber, logLevel, message }): Line => {
  const annotations = fiber.getRef(References.CurrentLogAnnotations)
  const fields: Record<string, unknown> = {}
  for (const key in annotations) if (annotations[key] !== undefined) fields[key] = annotations[key]
  const span = fiber.cache.span
  if (span !== undefined && span.traceId !== "noop") {
    fields.trace_id = span.traceId
    fields.span_id = span.spanId
  }
  return {
    timestamp: date.toISOString(),
    level: logLevel.toLowerCase(),
    message: messageText(message),
    cause: cause.reasons.length === 0 ? undefined : withoutQuotes(Cause.pretty(cause)),
    fields
  }
})

/** One JSON object a line: `timestamp`, `level`, `message`, the annotations, `trace_id` and `span_id`, `cause`. */
export const jsonLogger = Logger.map(line, ({ fields, ...rest }) =>
  escaped(JSON.stringify({ ...rest, ...fields, ...rest }))
)

const colours: Readonly<Record<string, number>> = { fatal: 31, error: 31, warn: 33, info: 32, debug: 36, trace: 90 }
const plain = /^[\w.:/+@-]+$/
const valueText = (value: unknown): string => {
  const text = typeof value === "string" ? value : JSON.stringify(value)
  return plain.test(text) ? text : JSON.stringify(text)
}

/** For a person at a terminal: time, level, message, `key=value`, and below them a failure's stack. */
export const prettyLogger = Logger.map(line, ({ timestamp, level, message, cause, fields }) => {
  const values = Object.entries(fields).map(
    ([key, value]) => ` \u001b[90m${escaped(key)}=\u001b[0m${escaped(valueText(value))}`
  )
  const head = `\u001b[90m${timestamp.slice(11, 23)}\u001b[0m \u001b[${colours[level] ?? 0}m${level.toUpperCase().padEnd(5)}\u001b[0m`
  const below =
    cause === undefined
      ? ""
      : cause
          .split("\n")
          .map((text) => `\n  ${escaped(text)}`)
          .join("")
  return `${head} ${escaped(message)}${values.join("")}${below}`
})

/** How long a line may wait for others to be written with, in milliseconds: each write on standard error blocks. */
const patience = 5
let waiting = ""
let timer: NodeJS.Timeout | undefined

/** Blocks while the reader of a pipe is stalled: a log that is read too slowly must not be lost silently. */
const flush = () => {
  clearTimeout(timer)
  timer = undefined
  const text = waiting
  waiting = ""
  if (text !== "") process.stderr.write(text)
}

/** Writes whole lines on standard error. Trouble is written at once, with what came before it. */
const toStderr = (logger: Logger.Logger<unknown, string>) =>
  Logger.make((options) => {
    waiting += `${logger.log(options)}\n`
    if (LogLevel.isGreaterThanOrEqualTo(options.logLevel, "Warn")) flush()
    else timer ??= setTimeout(flush, patience)
  })
process.on("exit", flush)

const levels: Readonly<Record<GatewaySettings["logLevel"], LogLevel.LogLevel>> = {
  trace: "Trace",
  debug: "Debug",
  info: "Info",
  warn: "Warn",
  error: "Error",
  none: "None"
}

/** The console's logger and the level (`GATEWAY_LOG_FORMAT`, `GATEWAY_LOG_LEVEL`). */
export const logsLayer = (settings: Pick<GatewaySettings, "logFormat" | "logLevel">): Layer.Layer<never> => {
  const format = Option.getOrElse(settings.logFormat, () => (process.stderr.isTTY ? "pretty" : "json"))
  return Layer.merge(
    Logger.layer([toStderr(format === "json" ? jsonLogger : prettyLogger)]),
    Layer.succeed(References.MinimumLogLevel, levels[settings.logLevel])
  )
}
