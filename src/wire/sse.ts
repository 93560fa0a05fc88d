/**
 * Server-sent events: the one reader and the one writer, for clouds, for callers and for the client (WHATWG HTML, 9.2). Without a
 * library, because the published client runs without any; a test compares the reader with Effect's.
 */

// Reader

/** One event that was read: its name where it has one, and its data: JSON, or `[DONE]`. */
export interface Event {
  readonly event: string | undefined
  readonly data: string
}

/** Largest event that is accepted, in bytes of its data (10 MiB). */
export const maxEventBytes = 10 * 1024 * 1024
/** Most lines of data of one event. JSON comes in one line; each further one takes some forty bytes of memory, however empty it is. */
export const maxEventLines = 65_536

/**
 * Reads events from text; where it is cut makes no difference. `id:`, `retry:` and comments are dropped: a reply is never resumed.
 * The name `message`, which SSE gives to events without a name, is `undefined`. `maxSize`: of an unfinished event, in characters;
 * `complete` is false once one is larger, or has more lines than `maxEventLines`, and nothing is read after it.
 */
export const eventReader = (maxSize: number) => {
  let events: Array<Event> = []
  let started = false
  /** Whether the text before ended with a carriage return, which a line feed may follow. */
  let returned = false
  /** The unfinished line in the pieces that came: joined once, so that a long line costs no more than its length. */
  let pieces: Array<string> = []
  let pending = 0
  let name = ""
  let data: string | undefined
  let dataLines = 0

  const readLine = (line: string): void => {
    if (dataLines > maxEventLines) return
    if (line === "") {
      if (data !== undefined) events.push({ event: name === "" || name === "message" ? undefined : name, data })
      name = ""
      data = undefined
      dataLines = 0
      return
    }
    const colon = line.indexOf(":")
    const field = colon < 0 ? line : line.slice(0, colon)
    if (field !== "data" && field !== "event") return
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1)
    if (field === "event") name = value
    else if (++dataLines <= maxEventLines) data = data === undefined ? value : `${data}\n${value}`
  }

  return (text: string) => {
    events = []
    if (text !== "") {
      const skipsFirst = started ? returned && text.startsWith("\n") : text.startsWith("\uFEFF")
      started = true
      returned = text.endsWith("\r")
      const [first = "", ...lines] = (skipsFirst ? text.slice(1) : text).split(/\r\n?|\n/)
      pieces.push(first)
      pending += first.length
      const unfinished = lines.pop()
      if (unfinished !== undefined) {
        readLine(pieces.join(""))
        for (const line of lines) readLine(line)
        pieces = [unfinished]
        pending = unfinished.length
      }
    }
    return { events, complete: dataLines <= maxEventLines && pending + (data?.length ?? 0) <= maxSize }
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

/**
 * A comment in silence, which clients pass over, so that no proxy takes the connection for dead. One line, which joins the block of
 * the next event: some readers take the empty line after a comment for an event without data (docs/api.md#comments-in-silence).
 */
export const keepAlive = ": keep-alive\n"

const printEvent = ({ data, event }: SseEvent): string => {
  if (event !== undefined && !isEventName(event)) throw new Error("an event's name holds a line break")
  const lines = /[\r\n]/.test(data) ? data.replace(/\r\n|\r|\n/g, "\ndata: ") : data
  return event === undefined ? `data: ${lines}\n\n` : `event: ${event}\ndata: ${lines}\n\n`
}

/** The text of events and comments. Data of several lines goes out in several; a name that cannot be printed is a defect of ours. */
export const printEvents = (items: ReadonlyArray<SseEvent | typeof keepAlive>): string =>
  items.map((item) => (item === keepAlive ? item : printEvent(item))).join("")
