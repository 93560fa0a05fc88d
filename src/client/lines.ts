/** Reads server-sent events from the bytes of a reply (WHATWG HTML, 9.2), without a library. */
import type { Event } from "./readers.ts"

/** Longest event that is taken, in characters (10 Mi). */
const maxEvent = 10 * 1024 * 1024

/** Fails with a `RangeError` where an event is too long, and with what the bytes fail with. */
export async function* eventsOf(bytes: ReadableStream<Uint8Array>): AsyncGenerator<Event, void, undefined> {
  const reader = bytes.getReader()
  const decoder = new TextDecoder()
  /** An unfinished line, in the pieces that it came in: joined once, so that a long one costs no more than its length. */
  let line: Array<string> = []
  let length = 0
  /** What came ends with a carriage return, which may be half of a break. */
  let returned = false
  let event: string | undefined
  let data: Array<string> = []
  let size = 0

  /** Takes a whole line; answers the event that an empty one ends. */
  const take = (line: string): Event | undefined => {
    if (line === "") {
      const found =
        data.length === 0 ? undefined : { event: event === "message" ? undefined : event, data: data.join("\n") }
      event = undefined
      data = []
      size = 0
      return found
    }
    const colon = line.indexOf(":")
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1)
    if (field === "event") event = value === "" ? undefined : value
    if (field === "data") {
      size += value.length
      data.push(value)
    }
    return undefined
  }

  try {
    for (;;) {
      const { done, value } = await reader.read()
      let text: string = (returned ? "\r" : "") + (done ? decoder.decode() : decoder.decode(value, { stream: true }))
      returned = text.endsWith("\r")
      if (returned) text = text.slice(0, -1)
      let from = 0
      for (const end of text.matchAll(/\r\n|\n|\r/g)) {
        line.push(text.slice(from, end.index))
        const found = take(line.join(""))
        line = []
        length = 0
        from = end.index + end[0].length
        if (found !== undefined) yield found
      }
      line.push(text.slice(from))
      length += text.length - from
      if (size + length > maxEvent) throw new RangeError("an event of more than 10 MiB")
      if (done) return
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}
