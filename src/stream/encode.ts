/** The bytes of a streamed reply: one buffer an array, so one write a network chunk. */
import { Stream } from "effect"
import { keepAlive as comment, printEvent } from "../wire/sse.ts"
import type { Frame } from "./Frame.ts"
import { type KeepAlive, keepAlive } from "./heartbeat.ts"

/**
 * Texts above this many characters get memory of their own: in Node's pool, one that waits for a slow reader would keep the 64 KiB
 * that it is a part of.
 */
const pooled = 4 * 1024
const encoder = new TextEncoder()

/** `onWrite` is told of the bytes of each write. */
export const encode =
  (onWrite: (bytes: number) => void) =>
  <E>(items: Stream.Stream<Frame | KeepAlive, E>): Stream.Stream<Uint8Array, E> =>
    Stream.mapArray(items, (array) => {
      let text = ""
      for (const item of array) text += item === keepAlive ? comment : printEvent(item)
      const bytes = text.length <= pooled ? Buffer.from(text) : encoder.encode(text)
      onWrite(bytes.length)
      return [bytes]
    })
