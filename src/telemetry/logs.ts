/**
 * Log lines, on standard error: standard output belongs to the usage records (`GATEWAY_USAGE_LOG`), so that the two streams
 * can be told apart. Whatever is in a value, a line stays one line and cannot control a terminal.
 */
import { Cause, Effect, Layer, Logger, LogLevel, Option, References, type Scope } from "effect"
import type { GatewaySettings } from "../Settings.ts"
import { escapeControls, escapeJson } from "../wire/escape.ts"
import { gather } from "../wire/gather.ts"
import { isoTime } from "../wire/isoTime.ts"
import { type Entry, entryOf, isEntry } from "./entry.ts"

/** V8 quotes the text that it could not parse, which may be a caller's or a model's. */
export const withoutQuotes = (cause: string): string =>
  cause.replace(/\bSyntaxError: [\s\S]*?(?=\n\s+at |$)/g, "SyntaxError")

const causeText = (cause: Cause.Cause<unknown>): string | undefined =>
  cause.reasons.length === 0 ? undefined : withoutQuotes(Cause.pretty(cause))

/** Adds the fields and the trace of what was logged to a line that has its own. What is undefined is left out. */
const addFields = (line: Record<string, unknown>, { fields, span }: Entry): Record<string, unknown> => {
  for (const key in fields) {
    if (fields[key] !== undefined && !Object.hasOwn(line, key)) line[key] = fields[key]
  }
  if (span !== undefined) {
    line.trace_id = span.traceId
    line.span_id = span.spanId
  }
  return line
}

/** One JSON object a line: `timestamp`, `level`, `message`, `cause`, the annotations, `trace_id` and `span_id`. */
export const jsonLogger = Logger.make((options) => {
  const entry = entryOf(options)
  const line = {
    timestamp: isoTime(entry.time),
    level: options.logLevel.toLowerCase(),
    message: entry.text,
    cause: causeText(options.cause)
  }
  return escapeJson(JSON.stringify(addFields(line, entry)))
})

const colours: Readonly<Record<string, number>> = { fatal: 31, error: 31, warn: 33, info: 32, debug: 36, trace: 90 }
const plain = /^[\w.:/+@-]+$/
const valueText = (value: unknown): string => {
  const text = typeof value === "string" ? value : JSON.stringify(value)
  return plain.test(text) ? text : JSON.stringify(text)
}

/** For a person at a terminal: time, level, message, `key=value`, and below them a failure's stack. */
export const prettyLogger = Logger.make((options) => {
  const { cause, logLevel } = options
  const entry = entryOf(options)
  const level = logLevel.toLowerCase()
  const values = Object.entries(addFields({}, entry)).map(
    ([key, value]) => ` \u001b[90m${escapeControls(key)}=\u001b[0m${escapeControls(valueText(value))}`
  )
  const head = `\u001b[90m${isoTime(entry.time).slice(11, 23)}\u001b[0m \u001b[${colours[level] ?? 0}m${level.toUpperCase().padEnd(5)}\u001b[0m`
  const below = (causeText(cause)?.split("\n") ?? []).map((text) => `\n  ${escapeControls(text)}`)
  return `${head} ${escapeControls(entry.text)}${values.join("")}${below.join("")}`
})

/** How long a line may wait for others to be written with, in milliseconds: each write on standard error blocks. */
const patience = 5

/**
 * Writes whole lines on standard error, the last ones when the scope closes or the process ends. Trouble is written at once,
 * with what came before it. An entry has all that it says, so it is also printed then, together with others.
 */
const toStderr = (
  logger: Logger.Logger<unknown, string>
): Effect.Effect<Logger.Logger<unknown, void>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { add } = yield* gather<string | Logger.Options<unknown>>({
      patience,
      most: Number.POSITIVE_INFINITY,
      // Blocks while the reader of a pipe is stalled: a log that is read too slowly must not be lost silently.
      take: (lines) => {
        let text = ""
        for (const line of lines) text += `${typeof line === "string" ? line : logger.log(line)}\n`
        process.stderr.write(text)
      }
    })
    return Logger.make((options) => {
      const line = isEntry(options.message) ? options : logger.log(options)
      add(line, LogLevel.isGreaterThanOrEqualTo(options.logLevel, "Warn"))
    })
  })

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
