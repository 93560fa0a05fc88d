/** Log records for a collector. */
import { Cause, Logger, type LogLevel } from "effect"
import { entryOf } from "../entry.ts"
import { withoutQuotes } from "../logs.ts"
import { type AttributeLimits, writeAttributes } from "./attributes.ts"
import type { Add } from "./batches.ts"

/** OpenTelemetry's numbers. */
const severities: Readonly<Record<LogLevel.LogLevel, number>> = {
  All: 0,
  Trace: 1,
  Debug: 5,
  Info: 9,
  Warn: 13,
  Error: 17,
  Fatal: 21,
  None: 0
}

/** What the lines on the console leave out is left out here, too. */
const exceptionOf = (cause: Cause.Cause<unknown>): Readonly<Record<string, string>> => {
  const errors = Cause.prettyErrors(cause, { includeCauseInStack: true })
  const [first] = errors
  if (first === undefined) return {}
  return {
    "exception.type": first.name,
    "exception.message": first.name === "SyntaxError" ? "" : first.message,
    "exception.stacktrace": withoutQuotes(errors.map(({ stack }) => stack).join("\n"))
  }
}

/** A logger whose records `add` takes. */
export const makeOtlpLogger = (add: Add, limits: AttributeLimits): Logger.Logger<unknown, void> =>
  Logger.make(({ cause, date, fiber, logLevel, message }) => {
    const time = BigInt(date.getTime()) * 1_000_000n
    const { fields, span, text } = entryOf(message, fiber)
    const attributes = cause.reasons.length === 0 ? fields : { ...fields, ...exceptionOf(cause) }
    // The fields of OTLP's `LogRecord`.
    add((writer) => {
      writer.fixed64(1, time)
      writer.integer(2, severities[logLevel])
      writer.string(3, logLevel)
      const body = writer.open(5)
      writer.string(1, text)
      writer.close(body)
      writer.integer(7, writeAttributes(writer, 6, attributes, limits).dropped)
      if (span !== undefined) {
        writer.fixed32(8, span.sampled ? 1 : 0)
        writer.hex(9, span.traceId)
        writer.hex(10, span.spanId)
      }
      writer.fixed64(11, time)
    })
  })
