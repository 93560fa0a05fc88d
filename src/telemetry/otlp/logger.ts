/** Log records for a collector. */
import { Cause, Logger, type LogLevel } from "effect"
import { type Entry, entryOf } from "../entry.ts"
import { withoutQuotes } from "../logs.ts"
import type { Attributes } from "../spans.ts"
import { type AttributeLimits, writeAttributes } from "./attributes.ts"
import type { Add } from "./batches.ts"
import { idsOf } from "./ids.ts"
import type { Message, ProtobufWriter } from "./protobuf.ts"

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

/** The fields of OTLP's `LogRecord`. */
class LogRecord implements Message {
  private readonly level: LogLevel.LogLevel
  private readonly entry: Entry
  private readonly attributes: Attributes
  private readonly limits: AttributeLimits

  constructor(level: LogLevel.LogLevel, entry: Entry, attributes: Attributes, limits: AttributeLimits) {
    this.level = level
    this.entry = entry
    this.attributes = attributes
    this.limits = limits
  }

  write(writer: ProtobufWriter): void {
    const { span, text, time } = this.entry
    writer.time(1, time)
    writer.integer(2, severities[this.level])
    writer.string(3, this.level)
    const body = writer.open(5)
    writer.string(1, text)
    writer.close(body)
    writer.integer(7, writeAttributes(writer, 6, this.attributes, this.limits).dropped)
    if (span !== undefined) {
      writer.fixed32(8, span.sampled ? 1 : 0)
      const { trace, id } = idsOf(span)
      writer.id(9, trace)
      writer.id(10, id)
    }
    writer.time(11, time)
  }
}

/** A logger whose records `add` takes. */
export const makeOtlpLogger = (add: Add, limits: AttributeLimits): Logger.Logger<unknown, void> =>
  Logger.make((options) => {
    const { cause, logLevel } = options
    const entry = entryOf(options)
    const attributes = cause.reasons.length === 0 ? entry.fields : { ...entry.fields, ...exceptionOf(cause) }
    add(new LogRecord(logLevel, entry, attributes, limits))
  })
