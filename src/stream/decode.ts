/** The bytes of a streamed reply become events, all those of a network chunk in one array. */
import { Cause, Exit } from "effect"
import type { Decoded, Decoder, FramingFailure } from "../wire/Event.ts"
import type { Event } from "../wire/sse.ts"
import { failed, stage } from "./stage.ts"

export interface DecodeOptions<E, E2> {
  readonly decoder: Decoder
  /** Called when bytes have come, and with the first event. */
  readonly arrived: () => void
  readonly first: (event: Event) => void
  /** Takes memory for bytes of an event that is not complete; less than 0 gives it back. Answers why there is none. */
  readonly hold: (bytes: number) => E | undefined
  readonly framingError: (failure: FramingFailure) => E
  /** What a failure of the connection is. */
  readonly clientError: (failure: E2) => E
}

/** Events before a failure are kept. */
export const decode = <E, E2>(options: DecodeOptions<E, E2>) =>
  stage<Uint8Array, Event, E, E2>(() => {
    const { arrived, clientError, decoder, first, framingError, hold } = options
    let begun = false
    let pending = 0
    const step = ({ events, failure }: Decoded) => ({
      emit: events,
      end: failure === undefined ? undefined : Exit.fail(framingError(failure))
    })
    return {
      onArray: (chunks) => {
        arrived()
        const events: Array<Event> = []
        let bytes = 0
        let failure: FramingFailure | undefined
        for (const chunk of chunks) {
          bytes += chunk.length
          const decoded = decoder.feed(chunk)
          for (const event of decoded.events) events.push(event)
          failure = decoded.failure
          if (failure !== undefined) break
        }
        if (!begun && events[0] !== undefined) {
          begun = true
          first(events[0])
        }
        if (failure !== undefined) return step({ events, failure })
        const before = pending
        pending = events.length > 0 ? 0 : pending + bytes
        const refused = pending === before ? undefined : hold(pending - before)
        return { emit: events, end: refused === undefined ? undefined : Exit.fail(refused) }
      },
      onDone: () => step(decoder.end()),
      onFailure: (cause) => failed(Cause.map(cause, clientError))
    }
  })

const empty = Buffer.alloc(0)

/**
 * The bytes of an unfinished line or frame, kept from one network chunk to the next. A chunk that comes while nothing is kept is viewed
 * and not copied; else the buffer doubles as it grows, so that n bytes cost O(n) however small the chunks they come in.
 */
export const makeRemainder = () => {
  let buffer: Buffer = empty
  let owned = false
  let length = 0
  return {
    length: () => length,
    append: (bytes: Uint8Array): void => {
      if (length === 0) {
        buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
        owned = false
      } else {
        if (!owned || length + bytes.length > buffer.length) {
          const larger = Buffer.allocUnsafe(Math.max(length + bytes.length, 2 * length, 256))
          larger.set(buffer.subarray(0, length))
          buffer = larger
          owned = true
        }
        buffer.set(bytes, length)
      }
      length += bytes.length
    },
    /** The kept bytes, valid until the next `append`. */
    view: (): Buffer => buffer.subarray(0, length),
    /** Drops so many of the first bytes. The others are kept apart from the chunk that they came in. */
    drop: (bytes: number): void => {
      length -= bytes
      if (length === 0) buffer = empty
      else if (bytes > 0 || !owned) buffer = Buffer.from(buffer.subarray(bytes, bytes + length))
      owned = true
    }
  }
}
