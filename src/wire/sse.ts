/** Server-sent events: the one reader and the one writer, for clouds, for callers and for the client (WHATWG HTML, 9.2). */
import * as Sse from "effect/encoding/Sse"
import type { Event } from "./Event.ts"

// Reader

/** Google ends lines with CRLF. A CR alone ends one, too, and may be half of what is to come. */
const withoutCr = (text: string): string | undefined =>
  /\r(?!\n)/.test(text) ? undefined : text.replaceAll("\r\n", "\n")

/**
 * Reads events from text; where it is cut makes no difference. Effect's parser reads the grammar; plain events are read without it,
 * which takes a fifth of the time. `id:`, `retry:` and comments are dropped: a reply is never taken up again. The name `message`,
 * which SSE means by no name, is `undefined`.
 */
export class EventReader {
  private readonly maxSize: number
  /** Undefined until something is not plain. */
  private parser: Sse.Parser | undefined
  /** Whether anything was read, after which a byte order mark is none. */
  private begun = false
  /** Whether the parser holds nothing of an event that is not complete. */
  private clean = true
  /** Undefined where there is none: a list that grows from nothing takes room for seventeen. */
  private found: Array<Event> | undefined

  /** `maxSize`: of an event, in bytes. */
  constructor(maxSize: number) {
    this.maxSize = maxSize
  }

  /** Answers false once an event was larger than the limit. */
  feed(given: string): boolean {
    if (given === "") return true
    const plain = given.includes("\r") ? withoutCr(given) : given
    const text = plain ?? given
    const read = this.clean && plain !== undefined ? this.readPlain(text) : 0
    if (read === text.length) {
      this.begun = true
      return true
    }
    const rest = text.slice(read)
    const parser = this.parser ?? this.makeParser()
    if (read > 0 && !this.begun) parser.feed("\n")
    this.begun = true
    this.clean = rest.endsWith("\n\n")
    return parser.feed(rest) === undefined
  }

  /** The events that were complete since the last time; undefined where none was. */
  take(): Array<Event> | undefined {
    const { found } = this
    this.found = undefined
    return found
  }

  /**
   * Events as clouds and this gateway print them: at most a name, then one line of data, then a blank line. Answers where such
   * events end. What looks otherwise in any way is left where it is.
   */
  private readPlain(text: string): number {
    let at = 0
    while (at < text.length) {
      let data = at
      let event: string | undefined
      if (text.startsWith("event: ", at)) {
        const end = text.indexOf("\n", at)
        if (end < 0) return at
        event = text.slice(at + "event: ".length, end)
        if (event === "") return at
        data = end + 1
      }
      const end = text.indexOf("\n", data)
      if (end < 0) return at
      if (!text.startsWith("data: ", data) || text[end + 1] !== "\n" || end - data > this.maxSize / 3) return at
      this.add(event, text.slice(data + "data: ".length, end))
      at = end + 2
    }
    return at
  }

  private makeParser(): Sse.Parser {
    this.parser = Sse.makeParser(
      (item) => {
        if (item._tag !== "Retry") this.add(item.event, item.data)
      },
      { maxEventSize: this.maxSize }
    )
    // What was read before it ended in a line of its own.
    if (this.begun) this.parser.feed("\n")
    return this.parser
  }

  private add(name: string | undefined, data: string): void {
    const event = { event: name === "message" ? undefined : name, data }
    if (this.found === undefined) this.found = [event]
    else this.found.push(event)
  }
}

// Writer

/** One event as it goes out; without a name it is a `message`. */
export interface Outgoing {
  readonly event?: string | undefined
  readonly data: string
}

/**
 * Whether a name can stand on an `event:` line. One that holds a line break would be read as further events, a forged
 * terminal one among them.
 */
export const isEventName = (name: string): boolean => !/[\r\n\0]/.test(name)

/** A comment on silence, which clients pass over, so that nobody between takes the connection for dead. */
export const keepAlive = ": keep-alive\n\n"

/** The text of events and comments. Data of several lines goes out in several; a name that cannot be printed is a defect of ours. */
export const printEvents = (items: ReadonlyArray<Outgoing | typeof keepAlive>): string => {
  let text = ""
  let named: string | undefined
  for (const item of items) {
    if (item === keepAlive) {
      text += item
      continue
    }
    const { data, event } = item
    const lines = data.includes("\n") || data.includes("\r") ? data.replace(/\r\n|\r|\n/g, "\ndata: ") : data
    if (event !== undefined && event !== named && !isEventName(event)) {
      throw new Error("an event's name holds a line break")
    }
    named = event
    text += event === undefined ? `data: ${lines}\n\n` : `event: ${event}\ndata: ${lines}\n\n`
  }
  return text
}
