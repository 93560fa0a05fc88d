/** What a log line says, wherever it stands: in the message and in the context of the fiber, or in an entry. */
import { type Logger, References, type Tracer } from "effect"
import { currentSpan } from "./spans.ts"

/** A line that brings its fields, its span and its time along: for the line of every request, no context is made for them. */
export class Entry {
  readonly text: string
  readonly fields: Readonly<Record<string, unknown>>
  readonly span: Tracer.AnySpan | undefined
  /** When it was, in milliseconds since the epoch. */
  readonly time: number

  constructor(text: string, fields: Readonly<Record<string, unknown>>, span: Tracer.AnySpan | undefined, time: number) {
    this.text = text
    this.fields = fields
    this.span = span
    this.time = time
  }

  toString(): string {
    return this.text
  }
}

const textOf = (message: unknown): string =>
  (Array.isArray(message) ? message : [message])
    .map((part) => (typeof part === "string" ? part : JSON.stringify(part)))
    .join(" ")

/** The one thing that was logged. */
const only = (message: unknown): unknown => (Array.isArray(message) && message.length === 1 ? message[0] : message)

/** Whether a message says all there is, whatever the fiber does meanwhile. */
export const isEntry = (message: unknown): boolean => only(message) instanceof Entry

/** What was logged, and when, as one text with its fields. A span that nobody sees is none. */
export const entryOf = ({ date, fiber, message }: Logger.Options<unknown>): Entry => {
  const said = only(message)
  const entry =
    said instanceof Entry
      ? said
      : new Entry(textOf(message), fiber.getRef(References.CurrentLogAnnotations), currentSpan(fiber), date.getTime())
  return entry.span?.traceId === "noop" ? new Entry(entry.text, entry.fields, undefined, entry.time) : entry
}
