/** Server-sent events: the one reader and the one writer, for clouds, for callers and for the client (WHATWG HTML, 9.2). */
import * as Sse from "effect/encoding/Sse"
import type { Event } from "./Event.ts"

// Reader

/** Reads text; where it is cut makes no difference. */
export interface EventReader {
  /** Answers false once an event was larger than the limit. */
  readonly feed: (text: string) => boolean
}

/**
 * Events as clouds and this gateway print them: at most a name, then one line of data, then a blank line. Answers where such
 * events end. What looks otherwise in any way is left where it is.
 */
const readPlain = (text: string, maxSize: number, onEvent: (event: Event) => void): number => {
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
    if (!text.startsWith("data: ", data) || text[end + 1] !== "\n" || end - data > maxSize / 3) return at
    onEvent({ event: event === "message" ? undefined : event, data: text.slice(data + "data: ".length, end) })
    at = end + 2
  }
  return at
}

/** Google ends lines with CRLF. A CR alone ends one, too, and may be half of what is to come. */
const withoutCr = (text: string): string | undefined =>
  /\r(?!\n)/.test(text) ? undefined : text.replaceAll("\r\n", "\n")

/**
 * Effect's parser reads the grammar; plain events are read without it, which takes a fifth of the time. `id:`, `retry:` and
 * comments are dropped: a reply is never taken up again. The name `message`, which SSE means by no name, is `undefined`.
 * `maxSize` is in bytes.
 */
export const makeEventReader = (onEvent: (event: Event) => void, maxSize: number): EventReader => {
  const parser = Sse.makeParser(
    (item) => {
      if (item._tag === "Retry") return
      onEvent({ event: item.event === "message" ? undefined : item.event, data: item.data })
    },
    { maxEventSize: maxSize }
  )
  /** Whether the parser has seen the beginning of the stream, where a byte order mark may stand. */
  let begun = false
  /** Whether the parser holds nothing of an event that is not complete. */
  let clean = true
  return {
    feed: (given) => {
      if (given === "") return true
      const plain = given.includes("\r") ? withoutCr(given) : given
      const text = plain ?? given
      const read = clean && plain !== undefined ? readPlain(text, maxSize, onEvent) : 0
      if (read > 0 && !begun) parser.feed("\n")
      begun = true
      if (read === text.length) return true
      const rest = text.slice(read)
      clean = rest.endsWith("\n\n")
      return parser.feed(rest) === undefined
    }
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

/** What is sent on silence, so that nobody between takes the connection for dead. */
export const keepAlive = ": keep-alive\n\n"

/** The text of one event. Data of several lines goes out in several; a name that cannot be printed is a defect of ours. */
export const printEvent = ({ event, data }: Outgoing): string => {
  const lines = data.includes("\n") || data.includes("\r") ? data.replace(/\r\n|\r|\n/g, "\ndata: ") : data
  if (event === undefined) return `data: ${lines}\n\n`
  if (!isEventName(event)) throw new Error("an event's name holds a line break")
  return `event: ${event}\ndata: ${lines}\n\n`
}

/** The text of several events. */
export const printEvents = (events: ReadonlyArray<Outgoing>): string => {
  let text = ""
  for (const event of events) text += printEvent(event)
  return text
}
