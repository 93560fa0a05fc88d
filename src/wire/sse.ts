/** Server-sent events: the one reader and the one writer, for clouds, for callers and for the client (WHATWG HTML, 9.2). */
import * as Sse from "effect/encoding/Sse"
import type { Event } from "./Event.ts"

// Reader

/** What was read of a piece of text. */
export interface ReadEvents {
  readonly events: ReadonlyArray<Event>
  /** False once an event was larger than the limit. */
  readonly complete: boolean
}

/**
 * Reads events from text; where it is cut makes no difference. `id:`, `retry:` and comments are dropped: a reply is never taken up
 * again. The name `message`, which SSE means by no name, is `undefined`. `maxSize`: of an event, in bytes.
 */
export const eventReader = (maxSize: number): ((text: string) => ReadEvents) => {
  let events: Array<Event> = []
  const parser = Sse.makeParser(
    (item) => {
      if (item._tag !== "Retry")
        events.push({ event: item.event === "message" ? undefined : item.event, data: item.data })
    },
    { maxEventSize: maxSize }
  )
  return (text) => {
    events = []
    const complete = parser.feed(text) === undefined
    return { events, complete }
  }
}

// Writer

/** One event as it goes out; without a name it is a `message`. */
export interface SseEvent {
  readonly event?: string | undefined
  readonly data: string
}

/**
 * Whether a name can stand on an `event:` line. One that holds a line break would be read as further events, a forged
 * terminal one among them.
 */
export const isEventName = (name: string): boolean => !/[\r\n\0]/.test(name)

/** A comment in silence, which clients pass over, so that no proxy takes the connection for dead. */
export const keepAlive = ": keep-alive\n\n"

const printEvent = ({ data, event }: SseEvent): string => {
  if (event !== undefined && !isEventName(event)) throw new Error("an event's name holds a line break")
  const lines = /[\r\n]/.test(data) ? data.replace(/\r\n|\r|\n/g, "\ndata: ") : data
  return event === undefined ? `data: ${lines}\n\n` : `event: ${event}\ndata: ${lines}\n\n`
}

/** The text of events and comments. Data of several lines goes out in several; a name that cannot be printed is a defect of ours. */
export const printEvents = (items: ReadonlyArray<SseEvent | typeof keepAlive>): string =>
  items.map((item) => (item === keepAlive ? item : printEvent(item))).join("")
