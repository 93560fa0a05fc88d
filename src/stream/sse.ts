/** The bytes of server-sent events, as clouds stream them: strict where a lenient reader would make up a model's words. */
import { isUtf8 } from "node:buffer"
import { type Decoder, FramingError, type FramingFailure } from "../wire/Event.ts"
import { type Event, eventReader, maxEventBytes } from "../wire/sse.ts"
import { makeRemainder } from "./decode.ts"

const LF = 10
const CR = 13

/** Longest line: an event at its limit, and the field name before it. */
const maxLineBytes = maxEventBytes + 16

const tooLarge = new FramingError({ kind: "too-large", message: "an upstream event is over 10 MiB" })
const invalidUtf8 = new FramingError({ kind: "invalid-utf8", message: "the upstream stream is not valid UTF-8" })
const truncated = new FramingError({ kind: "truncated", message: "the upstream stream ended inside an event" })

/**
 * A decoder of one SSE stream. The reader is handed whole lines only, because a line break never lies inside a UTF-8 sequence: so each
 * line can be checked strictly (the reader takes text, and a lenient decoder would pass U+FFFD on as the model's words), an error stays
 * behind the events before it, and limits count bytes. An event without its closing blank line at the end is dropped, as the
 * specification says, and `end` answers `truncated`.
 */
export const sse = (): Decoder => {
  const reader = eventReader(maxEventBytes)
  const rest = makeRemainder()
  let failure: FramingFailure | undefined

  const read = (lines: Buffer): ReadonlyArray<Event> => {
    const valid = isUtf8(lines) ? lines : validLines(lines)
    const { events, complete } = reader(valid.toString("utf8"))
    if (!complete) failure = tooLarge
    else if (valid.length < lines.length) failure = invalidUtf8
    const large = events.findIndex(exceeds)
    if (large < 0) return events
    failure = tooLarge
    return events.slice(0, large)
  }

  return {
    feed: (chunk) => {
      if (failure !== undefined) return { events: [], failure }
      const before = rest.length()
      const end = afterLastBreak(chunk)
      rest.append(chunk)
      const events = end === 0 ? [] : read(rest.view().subarray(0, before + end))
      rest.drop(end === 0 ? 0 : before + end)
      if (rest.length() > maxLineBytes) failure ??= tooLarge
      return { events, failure }
    },
    end: () => {
      // Two breaks: the first may be taken for the second half of a CRLF. What they complete was incomplete.
      if (failure === undefined && (rest.length() > 0 || reader("\n\n").events.length > 0)) failure = truncated
      return { events: [], failure }
    }
  }
}

/** Where the unfinished line begins: 0 when there is no line break. */
const afterLastBreak = (bytes: Uint8Array): number => {
  const lf = bytes.lastIndexOf(LF)
  return lf + 2 + bytes.subarray(lf + 1).lastIndexOf(CR)
}

/** The lines before the first one that is not UTF-8. */
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
