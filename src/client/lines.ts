/** Reads server-sent events from the bytes of a reply (WHATWG HTML, 9.2), without a library. */
import type { Event } from "./readers.ts"

/** Longest event that is taken, in characters (10 Mi). */
const maxEvent = 10 * 1024 * 1024

/** Fails with a `RangeError` where an event is too long, and with what the bytes fail with. */
export async function* eventsOf(bytes: ReadableStream<Uint8Array>): AsyncGenerator<Event, void, undefined> {
  const reader = bytes.getReader()
  const decoder = new TextDecoder()
  let pending = ""
  let event: string | undefined
  let data: Array<string> = []
  let size = 0

  /** Takes one line; answers the event that an empty one ends. */
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
      pending += done ? decoder.decode() : decoder.decode(value, { stream: true })
      let from = 0
      for (const end of pending.matchAll(/\r\n|\n|\r(?!\n|$)/g)) {
        const found = take(pending.slice(from, end.index))
        from = end.index + end[0].length
        if (found !== undefined) yield found
      }
      pending = pending.slice(from)
      if (size + pending.length > maxEvent) throw new RangeError("an event of more than 10 MiB")
      if (done) return
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}
