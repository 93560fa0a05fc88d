import { Exit, Stream, type Take } from "effect"
import type { Decoded, Decoder, Event, FramingFailure } from "./Event.ts"

type Events = ReadonlyArray<Event>

/**
 * Reads a byte stream through a decoder: one array of events for each network chunk that completes any, and the
 * decoder's failure after the events before it. Bytes that fail keep their own failure: only a stream that ends
 * well is asked whether it ended inside an event.
 */
export const decodeWith =
  (make: () => Decoder) =>
  <E, R>(bytes: Stream.Stream<Uint8Array, E, R>): Stream.Stream<Events, E | FramingFailure, R> =>
    Stream.suspend(() => {
      const decoder = make()
      return bytes.pipe(
        Stream.mapAccumArray(
          () => decoder,
          (state, chunks) => [state, chunks.flatMap((chunk) => takes(state.feed(chunk)))]
        ),
        Stream.concat(Stream.suspend(() => Stream.fromIterable(takes(decoder.end())))),
        Stream.flattenTake
      )
    })

const takes = ({ events, failure }: Decoded): ReadonlyArray<Take.Take<Events, FramingFailure>> => {
  const found: Array<Take.Take<Events, FramingFailure>> = events.length > 0 ? [[events]] : []
  if (failure !== undefined) found.push(Exit.fail(failure))
  return found
}
