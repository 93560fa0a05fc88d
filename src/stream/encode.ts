/** The bytes of a streamed reply: one buffer an array, so one write a network chunk. */
import type { OutgoingMessage } from "node:http"
import { Cause, Effect, Pull, Stream } from "effect"
import { keepAlive as comment, printEvent } from "../wire/sse.ts"
import { type Item, keepAlive } from "./Frame.ts"
import { once } from "./once.ts"

/**
 * Texts above this many bytes get memory of their own: in Node's pool, one that waits for a slow reader would keep the 64 KiB
 * that it is a part of.
 */
export const pooled = 4 * 1024
const encoder = new TextEncoder()

/**
 * `onWrite` is told of the bytes of each write. Where Node frames the reply in chunks of HTTP/1.1, that is done here: Node writes the
 * length, the data and the end of each as pieces of their own, which takes 1 µs more, where a write takes some 6. It still writes
 * the last chunk, so that a reply which does not come to its end is not taken for whole.
 */
export const encode = (
  response: Pick<OutgoingMessage, "chunkedEncoding">,
  onWrite: (bytes: number) => void
): (<E>(items: Stream.Stream<Item, E>) => Stream.Stream<Uint8Array, E>) => encodeFor(once({ response, onWrite }))

const encodeFor =
  (
    writing: () => {
      readonly response: Pick<OutgoingMessage, "chunkedEncoding">
      readonly onWrite: (bytes: number) => void
    }
  ) =>
  <E>(items: Stream.Stream<Item, E>): Stream.Stream<Uint8Array, E> =>
    Stream.transformPull(items, (pull) =>
      Effect.sync(() => {
        const { onWrite, response } = writing()
        // The head has been written by now, and decides it.
        const chunked = response.chunkedEncoding
        response.chunkedEncoding = false
        return Pull.matchEffect(pull, {
          onSuccess: (array) => {
            let text = ""
            for (const item of array) text += item === keepAlive ? comment : printEvent(item)
            const length = Buffer.byteLength(text)
            onWrite(length)
            if (chunked) text = `${length.toString(16)}\r\n${text}\r\n`
            return Effect.succeed([length <= pooled ? Buffer.from(text) : encoder.encode(text)] as const)
          },
          onFailure: Effect.failCause,
          onDone: () => {
            response.chunkedEncoding = chunked
            return Cause.done()
          }
        })
      })
    )
