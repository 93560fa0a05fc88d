/** The bytes of a streamed reply become events, a network chunk at a time. */
import { type GatewayError, noRoom } from "../model/GatewayError.ts"
import type { CallSpan } from "../telemetry/callSpan.ts"
import type { Decoded, Decoder, Event } from "../wire/Event.ts"
import { readExactObject } from "../wire/json.ts"
import type { Arrived, End, Source } from "../wire/Source.ts"
import { responseNames } from "./callAttributes.ts"
import { framingError, type Scrub } from "./fault.ts"
import type { Asked } from "./Provider.ts"

const none: ReadonlyArray<Event> = []

/** Events before a failure are not lost. */
export const decoding = (
  reply: Source<Uint8Array | End<GatewayError>>,
  decoder: Decoder,
  span: Pick<CallSpan, "chunk" | "fail" | "named" | "received">,
  scrub: Scrub,
  asked: Pick<Asked, "take">
): Source<Arrived<GatewayError>> => {
  let noted = false
  /** Bytes of an event that is not complete yet. */
  let pending = 0

  const arrived = ({ events, failure }: Decoded, end: "done" | undefined): Arrived<GatewayError> => {
    const [first] = events
    if (!noted && first !== undefined) {
      noted = true
      span.named(namesOfEvent(first))
    }
    if (failure === undefined) return { events, end }
    return failed(framingError(failure, scrub), events)
  }
  const failed = (error: GatewayError, events: ReadonlyArray<Event> = none): Arrived<GatewayError> => {
    span.fail(error)
    return { events, end: error }
  }
  /** Whether there is room in memory for what is not complete. */
  const held = ({ events }: Decoded, bytes: number): boolean => {
    if (events.length === 0) {
      pending += bytes
      return asked.take(bytes)
    }
    if (pending > 0) asked.take(-pending)
    pending = 0
    return true
  }

  const take = (): Arrived<GatewayError> | undefined => {
    const chunk = reply.take()
    if (chunk === undefined) return undefined
    if (chunk instanceof Uint8Array) {
      span.chunk()
      const decoded = decoder.feed(chunk)
      return held(decoded, chunk.length) ? arrived(decoded, undefined) : failed(noRoom)
    }
    if (chunk === "done") {
      span.received()
      return arrived(decoder.end(), chunk)
    }
    return failed(chunk)
  }
  return { take, notify: reply.notify }
}

/** Longest first event that is looked into, in characters; a response event may repeat the whole request. */
const maxFirstEvent = 64 * 1024

const namesOfEvent = ({ data }: Event) =>
  responseNames((data.length > maxFirstEvent ? undefined : readExactObject(data)) ?? {})
