/**
 * How clouds frame their streams of events: server-sent events, and Bedrock's binary frames. Strict where a lenient reader would make
 * up a model's words.
 */
import { isUtf8 } from "node:buffer"
import { crc32 } from "node:zlib"
import { Data, Result } from "effect"
import { errorStatusOf } from "../catalog/UpstreamFault.ts"
import { readObject } from "../wire/json.ts"
import { type Event, eventReader, isEventName, maxEventBytes } from "../wire/sse.ts"

/** The bytes are not a well-formed stream of events. `truncated`: the stream ended inside an event. */
export class FramingError extends Data.TaggedError("FramingError")<{
  readonly kind: "too-large" | "invalid-utf8" | "bad-frame" | "truncated"
}> {}

/**
 * The upstream reported, in a well-formed frame, that it failed. `type` is the vendor's name for the failure
 * (`throttlingException`), `status` the HTTP status of the model behind it where the frame names one.
 */
export class UpstreamException extends Data.TaggedError("UpstreamException")<{
  readonly type: string
  readonly message: string
  readonly status: number | undefined
}> {}

/** Both ways in which reading frames ends early. */
export type FramingFailure = FramingError | UpstreamException

/** What one step of a decoder found: the events, in order, and then the failure that came after them, if any. */
export interface Decoded {
  readonly events: ReadonlyArray<Event>
  readonly failure: FramingFailure | undefined
}

/**
 * Turns the bytes of one stream into events. It has state, is synchronous, and never throws; where the chunks are
 * cut changes nothing. After a failure every further step returns that failure again, without events.
 */
export interface Decoder {
  /** Takes the next network chunk. The chunk is not kept: its memory is used again. */
  readonly feed: (chunk: Uint8Array) => Decoded
  /** The stream has ended: `truncated` when it ended inside an event. */
  readonly end: () => Decoded
}

const tooLarge = new FramingError({ kind: "too-large" })
const invalidUtf8 = new FramingError({ kind: "invalid-utf8" })
const badFrame = new FramingError({ kind: "bad-frame" })
const truncated = new FramingError({ kind: "truncated" })

const empty = Buffer.alloc(0)

/**
 * The bytes of an unfinished line or frame, kept from one network chunk to the next. A chunk that comes while nothing is kept is viewed
 * and not copied; else the buffer doubles as it grows, so that n bytes cost O(n) however small the chunks they come in.
 */
const makeRemainder = () => {
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

// Server-sent events

const LF = 10
const CR = 13

/** Longest line: an event at its limit, and the field name before it. */
const maxLineBytes = maxEventBytes + 16

/**
 * A decoder of one SSE stream. The reader is handed whole lines only, because a line break never lies inside a UTF-8 sequence: so each
 * line can be checked strictly (the reader takes text, and a lenient decoder would pass U+FFFD on as the model's words), an error stays
 * behind the events before it, and limits count bytes. An event without its closing blank line at the end is dropped, as the
 * specification says, and `end` returns `truncated`.
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

// `application/vnd.amazon.eventstream`, as Bedrock's InvokeModelWithResponseStream answers (docs/upstreams.md#amazon-bedrock)

/** Total length, length of the headers, and the checksum of both; the checksum of the whole ends a frame. */
const preludeBytes = 12
const checksumBytes = 4
/** Largest frame accepted (16 MiB): an event at its limit in base64, with room for headers and padding. */
const maxFrameBytes = 16 * 1024 * 1024
/** Most bytes of a frame's headers, by its specification (128 KiB). */
const maxHeaderBytes = 128 * 1024

type Read<A> = Result.Result<A, FramingFailure>

/**
 * A decoder of one stream. A `chunk` frame becomes the event in its `bytes`, which has no name beside the `type` in its JSON.
 * `exception` and `error` frames end the stream with `UpstreamException`; events of other types are skipped.
 */
export const awsFrames = (): Decoder => {
  const rest = makeRemainder()
  let failure: FramingFailure | undefined
  return {
    feed: (chunk) => {
      const events: Array<Event> = []
      rest.append(chunk)
      const bytes = rest.view()
      let at = 0
      while (failure === undefined && bytes.length - at >= preludeBytes) {
        const length = frameLength(bytes.subarray(at, at + preludeBytes))
        if (Result.isFailure(length)) failure = length.failure
        else if (bytes.length - at < length.success) break
        else {
          const event = readFrame(bytes.subarray(at, at + length.success))
          at += length.success
          if (Result.isFailure(event)) failure = event.failure
          else if (event.success !== undefined) events.push(event.success)
        }
      }
      rest.drop(at)
      return { events, failure }
    },
    end: () => {
      if (rest.length() > 0) failure ??= truncated
      return { events: [], failure }
    }
  }
}

/** The length of the frame that a prelude announces, which is believed only with its checksum. */
const frameLength = (prelude: Buffer): Read<number> => {
  const length = prelude.readUInt32BE(0)
  const headers = prelude.readUInt32BE(4)
  const isIntact = crc32(prelude.subarray(0, 8)) === prelude.readUInt32BE(8)
  if (!isIntact || length < preludeBytes + headers + checksumBytes) return Result.fail(badFrame)
  return length > maxFrameBytes || headers > maxHeaderBytes ? Result.fail(tooLarge) : Result.succeed(length)
}

/** The event of a whole frame; undefined where it means nothing to us. */
const readFrame = (frame: Buffer): Read<Event | undefined> => {
  const bodyAt = preludeBytes + frame.readUInt32BE(4)
  const bodyEnd = frame.length - checksumBytes
  const headers = readHeaders(frame.subarray(preludeBytes, bodyAt))
  if (headers === undefined || crc32(frame.subarray(0, bodyEnd)) !== frame.readUInt32BE(bodyEnd)) {
    return Result.fail(badFrame)
  }
  const body = frame.subarray(bodyAt, bodyEnd)
  const header = (name: string) => headers.get(name) ?? ""
  switch (header(":message-type")) {
    case "event":
      if (header(":event-type") === "chunk") return readChunk(body)
      return isEventName(header(":event-type")) ? Result.succeed(undefined) : Result.fail(badFrame)
    case "exception":
      return Result.fail(readException(header(":exception-type"), body))
    case "error":
      return Result.fail(
        new UpstreamException({ type: header(":error-code"), message: header(":error-message"), status: undefined })
      )
    default:
      return Result.fail(badFrame)
  }
}

/** Bytes of a header's value by its type; those of type 6 and 7 (a string) say their own length. */
const valueBytes = [0, 0, 1, 2, 4, 8, undefined, undefined, 8, 16]
const stringType = 7

/** The headers that are strings; undefined where they cannot be read. */
const readHeaders = (bytes: Buffer): ReadonlyMap<string, string> | undefined => {
  const headers = new Map<string, string>()
  let at = 0
  while (at < bytes.length) {
    const nameEnd = at + 1 + (bytes[at] ?? 0)
    const type = bytes[nameEnd]
    if (type === undefined || type >= valueBytes.length) return undefined
    const fixed = valueBytes[type]
    if (fixed === undefined && nameEnd + 3 > bytes.length) return undefined
    const from = nameEnd + (fixed === undefined ? 3 : 1)
    const end = from + (fixed ?? bytes.readUInt16BE(nameEnd + 1))
    if (end > bytes.length) return undefined
    if (type === stringType) headers.set(bytes.toString("utf8", at + 1, nameEnd), bytes.toString("utf8", from, end))
    at = end
  }
  return headers
}

const readChunk = (body: Buffer): Read<Event> => {
  const base64 = readObject(body.toString("utf8"))?.bytes
  if (typeof base64 !== "string") return Result.fail(badFrame)
  const bytes = Buffer.from(base64, "base64")
  // Node skips what is not base64, so a shorter result is how damage shows.
  if (bytes.length !== Buffer.byteLength(base64, "base64")) return Result.fail(badFrame)
  if (bytes.length > maxEventBytes) return Result.fail(tooLarge)
  if (!isUtf8(bytes)) return Result.fail(invalidUtf8)
  return Result.succeed({ event: undefined, data: bytes.toString("utf8") })
}

/** `modelStreamErrorException` carries the model's own status and message, which say more than the outer one. */
const readException = (type: string, body: Buffer): UpstreamException => {
  const json = readObject(body.toString("utf8")) ?? {}
  const message = [json.originalMessage, json.message, json.Message].find((text) => typeof text === "string")
  return new UpstreamException({
    type,
    message: message ?? "",
    status: errorStatusOf(json.originalStatusCode)
  })
}
