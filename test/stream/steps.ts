/** Runs a decoder over bytes cut in different ways. */
import type { Decoded, Decoder, FramingFailure } from "../../src/stream/framing.ts"
import type { Event } from "../../src/wire/sse.ts"

export interface Outcome {
  readonly events: ReadonlyArray<Event>
  readonly failure: FramingFailure | undefined
}

/** Feeds the chunks, whose memory is then used for something else, then ends. The failure is the first one; events after it would show. */
export const run = (decoder: Decoder, chunks: ReadonlyArray<Uint8Array>): Outcome => {
  const events: Array<Event> = []
  let failure: FramingFailure | undefined
  const take = (decoded: Decoded) => {
    events.push(...decoded.events)
    failure ??= decoded.failure
  }
  for (const chunk of chunks) {
    const lent = Buffer.from(chunk)
    take(decoder.feed(lent))
    lent.fill("x")
  }
  take(decoder.end())
  return { events, failure }
}

/** Cuts bytes at the given places (taken modulo the length), in any order and with repeats. */
export const cut = (bytes: Uint8Array, places: ReadonlyArray<number>): ReadonlyArray<Uint8Array> => {
  const at = places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b)
  return [...at, bytes.length].map((end, i) => Uint8Array.from(bytes.subarray(at[i - 1] ?? 0, end)))
}

/** Chunks of one size. */
export const chunked = (bytes: Uint8Array, size: number): ReadonlyArray<Uint8Array> =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.subarray(i * size, (i + 1) * size))

/** What two runs must have in common. */
export const shape = ({ events, failure }: Outcome) => ({
  events,
  failure: failure === undefined ? undefined : { ...failure, message: failure.message }
})
