/**
 * Log lines, on standard error: standard output belongs to the usage records (`GATEWAY_USAGE_LOG`), so that the two streams
 * can be distinguished. Whatever is in a value, a line stays one line and cannot control a terminal.
 */
import { Cause, Effect, type Fiber, Layer, Logger, Option, References, String as Str, Tracer } from "effect"
import type { Outcome, RequestFacts } from "../catalog/RequestFacts.ts"
import type { GatewaySettings } from "../Settings.ts"
import { makeStderrRoom } from "../stderr.ts"
import { beginningOf, escapeControls, escapeJson } from "../wire/print.ts"

/** V8 quotes the text that it could not parse, which may be a caller's or a model's. */
export const withoutQuotes = (cause: string): string =>
  cause.replace(/\bSyntaxError: [\s\S]*?(?=\n\s+at |$)/g, "SyntaxError")

const causeText = (cause: Cause.Cause<unknown>): string | undefined =>
  cause.reasons.length === 0 ? undefined : withoutQuotes(Cause.pretty(cause))

const textOf = (message: unknown): string =>
  (Array.isArray(message) ? message : [message])
    .map((part) => (typeof part === "string" ? part : JSON.stringify(part)))
    .join(" ")

/** Adds the annotations and the trace to a line that has fields of its own. What is undefined is left out. */
const addFields = (line: Record<string, unknown>, fiber: Fiber.Fiber<unknown, unknown>): Record<string, unknown> => {
  for (const [key, value] of Object.entries(fiber.getRef(References.CurrentLogAnnotations))) {
    if (value !== undefined && !Object.hasOwn(line, key)) line[key] = value
  }
  const { span } = fiber.cache
  // Effect's name for a span that is not traced.
  if (span !== undefined && span.traceId !== "noop") {
    line.trace_id = span.traceId
    line.span_id = span.spanId
  }
  return line
}

/** One JSON object a line: `timestamp`, `level`, `message`, `cause`, the annotations, `trace_id` and `span_id`. */
export const jsonLogger = Logger.make(({ cause, date, fiber, logLevel, message }) => {
  const line = {
    timestamp: date.toISOString(),
    level: logLevel.toLowerCase(),
    message: textOf(message),
    cause: causeText(cause)
  }
  return escapeJson(JSON.stringify(addFields(line, fiber)))
})

const colours: Readonly<Record<string, number>> = { fatal: 31, error: 31, warn: 33, info: 32, debug: 36, trace: 90 }
const plain = /^[\w.:/+@-]+$/
const valueText = (value: unknown): string => {
  const text = typeof value === "string" ? value : JSON.stringify(value)
  return plain.test(text) ? text : JSON.stringify(text)
}

/** For a person at a terminal: time, level, message, `key=value`, and below them a failure's stack. */
export const prettyLogger = Logger.make(({ cause, date, fiber, logLevel, message }) => {
  const level = logLevel.toLowerCase()
  const values = Object.entries(addFields({}, fiber)).map(
    ([key, value]) => ` \u001b[90m${escapeControls(key)}=\u001b[0m${escapeControls(valueText(value))}`
  )
  const head = `\u001b[90m${date.toISOString().slice(11, 23)}\u001b[0m \u001b[${colours[level] ?? 0}m${level.toUpperCase().padEnd(5)}\u001b[0m`
  const below = (causeText(cause)?.split("\n") ?? []).map((text) => `\n  ${escapeControls(text)}`)
  return `${head} ${escapeControls(textOf(message))}${values.join("")}${below.join("")}`
})

/** Lines that may not wait for a stalled reader are lost. How many is logged once it has taken half of what waited. */
const toStderr = (logger: Logger.Logger<unknown, string>): Logger.Logger<unknown, void> => {
  const hasRoom = makeStderrRoom()
  let lost = 0
  return Logger.make((options) => {
    if (!hasRoom()) {
      lost++
      return
    }
    const { stderr } = process
    if (lost > 0) {
      const message = `${lost} log lines before this one are lost: their reader was stalled`
      stderr.write(`${logger.log({ ...options, message, logLevel: "Warn", cause: Cause.empty })}\n`)
      lost = 0
    }
    stderr.write(`${logger.log(options)}\n`)
  })
}

/** The console's logger and the level (`GATEWAY_LOG_FORMAT`, `GATEWAY_LOG_LEVEL`). */
export const logsLayer = (settings: Pick<GatewaySettings, "logFormat" | "logLevel">): Layer.Layer<never> => {
  const format = Option.getOrElse(settings.logFormat, () => (process.stderr.isTTY ? "pretty" : "json"))
  return Layer.merge(
    Logger.layer([toStderr(format === "json" ? jsonLogger : prettyLogger)]),
    Layer.succeed(References.MinimumLogLevel, Str.capitalize(settings.logLevel))
  )
}

/** Longest path and model ID in a line, in characters: they are what the caller wrote. */
const maxText = 256

/** The line of a request that is over. `endedAt` is in milliseconds since the epoch, `span` the request's. */
export const logRequest = (
  { id, method, modelId, path, startedAt, status }: RequestFacts,
  outcome: Outcome,
  endedAt: number,
  span: Tracer.AnySpan | undefined
): Effect.Effect<void> => {
  const line = Effect.annotateLogs(Effect.logInfo(`${method} ${beginningOf(path, maxText)}`), {
    request_id: id,
    status,
    outcome,
    ...(modelId === undefined ? {} : { model: beginningOf(modelId, maxText) }),
    duration_ms: endedAt - startedAt
  })
  return span === undefined ? line : Effect.provideService(line, Tracer.ParentSpan, span)
}
