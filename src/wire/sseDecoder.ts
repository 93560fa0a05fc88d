/** The bytes of server-sent events, as clouds stream them: strict where a lenient reader would make up a model's words. */
import { isUtf8 } from "node:buffer"
import { type Decoded, type Decoder, type Event, FramingError, type FramingFailure, maxEventBytes } from "./Event.ts"
import { asBuffer, Remainder } from "./remainder.ts"
import { EventReader } from "./sse.ts"

const none: ReadonlyArray<Event> = []

const LF = 10
const CR = 13

/** Longest line: an event at its limit, and the field name before it. */
const maxLineBytes = maxEventBytes + 16

const tooLarge = new FramingError({ kind: "too-large", message: "an upstream event is over 10 MiB" })
const invalidUtf8 = new FramingError({ kind: "invalid-utf8", message: "the upstream stream is not valid UTF-8" })
const truncated = new FramingError({ kind: "truncated", message: "the upstream stream ended inside an event" })

class SseDecoder implements Decoder {
  /** An unfinished line; clouds write whole events, so mostly there never is one. */
  private line: Remainder | undefined
  private readonly reader = new EventReader(maxEventBytes + 1) // it counts the line break that it removes at the end
  private failure: FramingFailure | undefined

  feed(chunk: Uint8Array): Decoded {
    if (this.failure !== undefined) return this.decoded()
    const bytes = asBuffer(chunk)
    const clean = !this.unfinished
    if (clean && bytes[bytes.length - 1] === LF) {
      this.read(bytes)
      return this.decoded()
    }
    this.line ??= new Remainder()
    const { line } = this
    const end = afterLastBreak(bytes)
    if (end > 0 && clean) this.read(bytes.subarray(0, end))
    else if (end > 0) {
      line.append(bytes.subarray(0, end))
      this.read(line.take())
    }
    line.append(bytes.subarray(end))
    if (line.length > maxLineBytes) this.failure ??= tooLarge
    return this.decoded()
  }

  end(): Decoded {
    if (this.failure !== undefined) return this.decoded()
    if (this.unfinished) this.failure = truncated
    else {
      // Two breaks: the first may be taken for the second half of a CRLF. What they complete was incomplete.
      this.reader.feed("\n\n")
      if (this.reader.take() !== undefined) this.failure = truncated
    }
    return this.decoded()
  }

  private get unfinished(): boolean {
    return this.line !== undefined && this.line.length > 0
  }

  private read(lines: Buffer): void {
    const valid = isUtf8(lines) ? lines : validLines(lines)
    if (!this.reader.feed(valid.toString("utf8"))) this.failure = tooLarge
    if (valid.length < lines.length) this.failure ??= invalidUtf8
  }

  private decoded(): Decoded {
    const events = this.reader.take() ?? none
    const large = events.findIndex(exceeds)
    if (large < 0) return { events, failure: this.failure }
    this.failure = tooLarge
    return { events: events.slice(0, large), failure: tooLarge }
  }
}

/**
 * A decoder of one SSE stream (WHATWG HTML, "Server-sent events"). Effect's parser reads the grammar; it is handed
 * whole lines only, because a line break never lies inside a UTF-8 sequence: so each line can be checked strictly
 * (the parser takes text, and a lenient decoder would pass U+FFFD on as the model's words), an error stays behind
 * the events before it, and limits count bytes. `id:`, `retry:` and comments are dropped; the name `message`, which
 * SSE means by no name, is `undefined`. An event without its closing blank line at the end is dropped, as the
 * specification says, and `end` answers `truncated`.
 */
export const sse = (): Decoder => new SseDecoder()

/** Where the unfinished line begins: 0 when there is no line break. */
const afterLastBreak = (bytes: Buffer): number => {
  const lf = bytes.lastIndexOf(LF)
  return lf + 2 + bytes.subarray(lf + 1).lastIndexOf(CR)
}

/** The lines before the first one that is not UTF-8. Only reached when there is one. */
const validLines = (lines: Buffer): Buffer => {
  let start = 0
  for (let at = 0; at < lines.length; at++) {
    if (lines[at] !== LF && lines[at] !== CR) continue
    if (!isUtf8(lines.subarray(start, at))) break
    start = at + 1
  }
  return lines.subarray(0, start)
}

/** Counts only what could be over the limit: a character is at most three bytes. */
const exceeds = ({ data }: Event): boolean =>
  data.length * 3 > maxEventBytes && Buffer.byteLength(data, "utf8") > maxEventBytes
