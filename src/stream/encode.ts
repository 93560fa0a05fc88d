/** The bytes of a streamed reply: one buffer an array, so one write a network chunk. */
import { Effect, Stream } from "effect"
import { printEvents } from "../wire/sse.ts"
import type { Item } from "./Frame.ts"

/** `onWaiting` is called with how many more bytes wait for the caller, or fewer: an array is asked for when the last one has left. */
export const encode =
  (onWaiting: (bytes: number) => void) =>
  <E>(items: Stream.Stream<Item, E>): Stream.Stream<Uint8Array, E> =>
    Stream.transformPull(items, (upstream) =>
      Effect.sync(() => {
        let waiting = 0
        const wait = (bytes: number) => {
          if (bytes !== waiting) onWaiting(bytes - waiting)
          waiting = bytes
        }
        const next = Effect.suspend(() => {
          wait(0)
          return upstream
        })
        return Effect.map(next, (array) => {
          const bytes = Buffer.from(printEvents(array))
          wait(bytes.length)
          return [bytes] as const
        })
      })
    )
