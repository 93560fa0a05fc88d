/** The bytes of a streamed reply: one buffer an array, so one write a network chunk. */
import { Cause, Effect, Pull, Stream } from "effect"
import { printEvents } from "../wire/sse.ts"
import type { Item } from "./Frame.ts"

const encoder = new TextEncoder()

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
        return Pull.matchEffect(
          Effect.suspend(() => {
            wait(0)
            return upstream
          }),
          {
            onSuccess: (array) => {
              const bytes = encoder.encode(printEvents(array))
              wait(bytes.length)
              return Effect.succeed([bytes] as const)
            },
            onFailure: Effect.failCause,
            onDone: () => Cause.done()
          }
        )
      })
    )
