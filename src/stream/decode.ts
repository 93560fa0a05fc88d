/** The bytes of a streamed reply become events, all those of a network chunk in one array. */
import { Exit } from "effect"
import type { Decoded, Decoder, Event, FramingFailure } from "../wire/Event.ts"
import { stage } from "./stage.ts"

export interface DecodeOptions<E, E2> {
  readonly decoder: Decoder
  /** Called when bytes have come, and with the first event. */
  readonly arrived: () => void
  readonly first: (event: Event) => void
  /** Takes memory for bytes of an event that is not complete; less than 0 gives it back. Answers why there is none. */
  readonly hold: (bytes: number) => E2 | undefined
  readonly framingError: (failure: FramingFailure) => E2
  readonly transportError: (error: E) => E2
}

/** Events before a failure are kept. */
export const decode = <E, E2>(options: DecodeOptions<E, E2>) =>
  stage<Uint8Array, Event, E, E2>(() => {
    const { arrived, decoder, first, framingError, hold, transportError } = options
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
      onError: transportError
    }
  })
