/** A streamed reply of the promise client: its events, and what most callers want of them. */
import type { Accumulator, StreamedToolCall } from "./accumulate.ts"
import { StreamError } from "./errors.ts"

/**
 * The request is sent when the stream is first read, in any of its forms. It has one reader: a loop over the events, a loop
 * over {@link text}, or {@link finalMessage}, which may also follow a loop that went to the end. A loop that is left ends the
 * request.
 */
export class EventStream<Event, Final> implements AsyncIterable<Event> {
  readonly #events: AsyncGenerator<Event, void, undefined>
  readonly #accumulator: Accumulator<Event, Final>
  #text = ""
  /** Why there is no whole reply. */
  #failure: unknown

  constructor(events: AsyncGenerator<Event, void, undefined>, accumulator: Accumulator<Event, Final>) {
    this.#events = events
    this.#accumulator = accumulator
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Event, void, undefined> {
    let failure: unknown = new StreamError({ type: "stream_error", message: "the stream was left before its end" })
    try {
      for await (const event of this.#events) {
        this.#accumulator.add(event)
        this.#text += this.#accumulator.textOf(event)
        yield event
      }
      failure = undefined
    } catch (error) {
      failure = error
      throw error
    } finally {
      this.#failure ??= failure
    }
  }

  /** The pieces of the answer's text. */
  get text(): AsyncIterable<string> {
    return this.#pieces()
  }

  async *#pieces(): AsyncGenerator<string, void, undefined> {
    for await (const event of this) {
      const piece = this.#accumulator.textOf(event)
      if (piece !== "") yield piece
    }
  }

  /** The whole reply, as it would have come without a stream; reads what has not been read yet. */
  async finalMessage(): Promise<Final> {
    for await (const _ of this) {
    }
    const final = this.#accumulator.final()
    if (this.#failure !== undefined) throw this.#failure
    if (final !== undefined) return final
    throw new StreamError({ type: "stream_error", message: "the stream had no reply" })
  }

  /** The text of the whole reply; reads what has not been read yet. */
  async finalText(): Promise<string> {
    await this.finalMessage()
    return this.#text
  }

  /** The calls of the whole reply, the same for every format; reads what has not been read yet. */
  async toolCalls(): Promise<ReadonlyArray<StreamedToolCall>> {
    await this.finalMessage()
    return this.#accumulator.toolCalls()
  }
}
