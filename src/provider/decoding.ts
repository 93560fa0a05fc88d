/** The bytes of a streamed reply become events, a network chunk at a time. */
import { type GatewayError, noRoom } from "../model/GatewayError.ts"
import type { CallSpan } from "../telemetry/callSpan.ts"
import type { Decoded, Decoder, Event } from "../wire/Event.ts"
import { readExactObject } from "../wire/json.ts"
import type { Arrived, End, Reader, Source } from "../wire/Source.ts"
import { responseNames } from "./callAttributes.ts"
import { framingError, type Scrub } from "./fault.ts"
import type { Asked } from "./Provider.ts"

const none: ReadonlyArray<Event> = []

type Chunks = Source<Uint8Array | End<GatewayError>>
type Span = Pick<CallSpan, "chunk" | "fail" | "named" | "received">

/** Events before a failure are not lost. */
export class Decoding implements Source<Arrived<GatewayError>> {
  private readonly reply: Chunks
  private readonly decoder: Decoder
  private readonly span: Span
  private readonly scrub: Scrub
  private readonly asked: Pick<Asked, "take">
  private noted = false
  /** Bytes of an event that is not complete yet. */
  private pending = 0

  constructor(reply: Chunks, decoder: Decoder, span: Span, scrub: Scrub, asked: Pick<Asked, "take">) {
    this.reply = reply
    this.decoder = decoder
    this.span = span
    this.scrub = scrub
    this.asked = asked
  }

  take(): Arrived<GatewayError> | undefined {
    const chunk = this.reply.take()
    if (chunk === undefined) return undefined
    if (chunk instanceof Uint8Array) {
      this.span.chunk()
      const decoded = this.decoder.feed(chunk)
      return this.held(decoded, chunk.length) ? this.arrived(decoded, undefined) : this.failed(noRoom)
    }
    if (chunk === "done") {
      this.span.received()
      return this.arrived(this.decoder.end(), chunk)
    }
    return this.failed(chunk)
  }

  notify(reader: Reader): void {
    this.reply.notify(reader)
  }

  private arrived({ events, failure }: Decoded, end: "done" | undefined): Arrived<GatewayError> {
    const [first] = events
    if (!this.noted && first !== undefined) {
      this.noted = true
      this.span.named(() => namesOfEvent(first))
    }
    if (failure === undefined) return { events, end }
    return this.failed(framingError(failure, this.scrub), events)
  }

  private failed(error: GatewayError, events: ReadonlyArray<Event> = none): Arrived<GatewayError> {
    this.span.fail(error)
    return { events, end: error }
  }

  /** Whether there is room in memory for what is not complete. */
  private held({ events }: Decoded, bytes: number): boolean {
    if (events.length === 0) {
      this.pending += bytes
      return this.asked.take(bytes)
    }
    if (this.pending > 0) this.asked.take(-this.pending)
    this.pending = 0
    return true
  }
}

/** Longest first event that is looked into, in characters; a response event may repeat the whole request. */
const maxFirstEvent = 64 * 1024

const namesOfEvent = ({ data }: Event) =>
  responseNames((data.length > maxFirstEvent ? undefined : readExactObject(data)) ?? {})
