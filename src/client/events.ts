/** Streamed replies as streams of their events. */
import { Stream } from "effect"
import type { HttpClientResponse } from "effect/http"
import type { Event } from "../wire/Event.ts"
import { eventReader } from "../wire/sse.ts"
import { StreamError } from "./errors.ts"
import type { GatewayHeaders } from "./headers.ts"
import { broken, type Problem, type Reader, unreadable } from "./readers.ts"

/** Longest event that is taken, in bytes (10 MiB). */
const maxEvent = 10 * 1024 * 1024
const tooLarge = "too-large"

/** Splits bytes into events. */
const splitEvents = <E>(bytes: Stream.Stream<Uint8Array, E>) =>
  bytes.pipe(
    Stream.decodeText,
    Stream.mapAccumArray(
      () => eventReader(maxEvent),
      (read, texts) => {
        const found: Array<Event | typeof tooLarge> = []
        for (const text of texts) {
          const { complete, events } = read(text)
          found.push(...events)
          if (!complete) found.push(tooLarge)
        }
        return [read, found] as const
      }
    )
  )

/** The reply's events. It ends well only after the last event of its format. */
export const readEvents = <A>(
  reply: HttpClientResponse.HttpClientResponse,
  read: Reader<A>,
  { requestId }: GatewayHeaders
): Stream.Stream<A, StreamError> =>
  Stream.suspend(() => {
    let complete = false
    const fail = (problem: Problem) => Stream.fail(new StreamError({ ...problem, requestId }))
    const values = splitEvents(reply.stream).pipe(
      Stream.catch((error) => fail(broken("the connection broke in the middle of the reply", error))),
      Stream.flatMap((event) => {
        if (event === tooLarge) return fail(unreadable("an event of more than 10 MiB").problem)
        const { value, problem, last } = read(event)
        if (last === true) complete = true
        if (problem !== undefined) return fail(problem)
        return value === undefined ? Stream.empty : Stream.succeed(value)
      })
    )
    const end = Stream.suspend(() =>
      complete ? Stream.empty : fail(broken("the reply ended before its last event, so it may be incomplete"))
    )
    return Stream.concat(values, end)
  })
