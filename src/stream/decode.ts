/** Bytes of the cloud become events. */
import { Cause, Effect } from "effect"
import type { Event } from "../wire/sse.ts"
import type { Decoded, Decoder, FramingFailure } from "./framing.ts"
import { failed, stage } from "./stage.ts"

export interface DecodeOptions<E, E2> {
  readonly decoder: Decoder
  readonly onBytes: () => void
  readonly onFirstEvent: (event: Event) => void
  /** Takes memory for bytes of an incomplete event; a negative number gives it back. Returns an error where there is none left. */
  readonly hold: (bytes: number) => E | undefined
  readonly framingError: (failure: FramingFailure) => E
  /** Of a failure of the connection. */
  readonly clientError: (failure: E2) => E
}

/** All events of a network chunk come in one array. Events before a failure are kept. */
export const decode = <E, E2>(options: DecodeOptions<E, E2>) =>
  stage<Uint8Array, Event, E, E2>(() => {
    const { clientError, decoder, framingError, hold, onBytes, onFirstEvent } = options
    let begun = false
    let pending = 0
    const step = ({ events, failure }: Decoded) => ({
      emit: events,
      end: failure === undefined ? undefined : Effect.fail(framingError(failure))
    })
    return {
      onArray: (chunks) => {
        onBytes()
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
          onFirstEvent(events[0])
        }
        if (failure !== undefined) return step({ events, failure })
        const before = pending
        pending = events.length > 0 ? 0 : pending + bytes
        const refused = pending === before ? undefined : hold(pending - before)
        return { emit: events, end: refused === undefined ? undefined : Effect.fail(refused) }
      },
      onDone: () => step(decoder.end()),
      onFailure: (cause) => failed(Cause.map(cause, clientError))
    }
  })
