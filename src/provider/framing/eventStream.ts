/** `application/vnd.amazon.eventstream`, as Bedrock's InvokeModelWithResponseStream answers. */
import { isUtf8 } from "node:buffer"
import { crc32 } from "node:zlib"
import { EventStreamCodec } from "@smithy/core/event-streams"
import { Result } from "effect"
import {
  type Decoded,
  type Decoder,
  type Event,
  FramingError,
  type FramingFailure,
  maxEventBytes,
  UpstreamException
} from "../../wire/Event.ts"
import { readObject } from "../../wire/json.ts"
import { asBuffer, Remainder } from "../../wire/remainder.ts"
import { checksumBytes, PlainChunks, preludeBytes } from "./plainChunk.ts"

/** A frame without headers and payload: the prelude and the checksum of the whole. */
const minFrameBytes = preludeBytes + checksumBytes

/** Largest frame accepted (16 MiB): an event at its limit in base64, with room for headers and padding. */
export const maxFrameBytes = 16 * 1024 * 1024

const badFrame = (message: string) => new FramingError({ kind: "bad-frame", message })
const tooLarge = new FramingError({ kind: "too-large", message: "an upstream event is over 10 MiB" })
const damaged = badFrame("an upstream frame has a wrong checksum or headers")
const truncated = new FramingError({ kind: "truncated", message: "the upstream stream ended inside a frame" })

const codec = new EventStreamCodec(
  (bytes) => (typeof bytes === "string" ? bytes : asBuffer(bytes).toString("utf8")),
  (text) => Buffer.from(text, "utf8")
)

/** What all streams of a cloud share: how it prints chunks. */
export interface Known {
  plain: PlainChunks | undefined
}

class EventStreamDecoder implements Decoder {
  private readonly known: Known
  private readonly rest = new Remainder()
  private failure: FramingFailure | undefined

  constructor(known: Known) {
    this.known = known
  }

  feed(chunk: Uint8Array): Decoded {
    const { rest } = this
    const events: Array<Event> = []
    let bytes = asBuffer(chunk)
    // First the frame begun by earlier chunks: its prelude, then the rest of it, so that nothing is copied twice.
    while (this.failure === undefined && rest.length > 0 && bytes.length > 0) {
      const wanted = rest.length < preludeBytes ? preludeBytes : rest.view().readUInt32BE(0)
      const part = bytes.subarray(0, wanted - rest.length)
      rest.append(part)
      bytes = bytes.subarray(part.length)
      if (this.readFrames(rest.view(), events) > 0) rest.take()
    }
    if (this.failure === undefined) {
      const read = this.readFrames(bytes, events)
      if (read < bytes.length) rest.append(bytes.subarray(read))
    }
    return { events, failure: this.failure }
  }

  end(): Decoded {
    if (this.rest.length > 0) this.failure ??= truncated
    return { events: [], failure: this.failure }
  }

  /** Reads the frames that are complete in `bytes`; answers where the unfinished one begins. */
  private readFrames(bytes: Buffer, events: Array<Event>): number {
    let at = this.known.plain?.read(bytes, events) ?? 0
    while (this.failure === undefined && bytes.length - at >= preludeBytes) {
      const length = frameLength(bytes.subarray(at, at + preludeBytes))
      if (Result.isFailure(length)) {
        this.failure = length.failure
      } else if (bytes.length - at < length.success) {
        break
      } else {
        const frame = this.readFrame(bytes.subarray(at, at + length.success))
        at += length.success
        if (Result.isFailure(frame)) this.failure = frame.failure
        else if (frame.success !== undefined) events.push(frame.success)
      }
    }
    return at
  }

  /** Reads one whole frame; `undefined` when it is one that means nothing to us. */
  private readFrame(frame: Buffer): Result.Result<Event | undefined, FramingFailure> {
    const bodyAt = preludeBytes + frame.readUInt32BE(4)
    const bodyEnd = frame.length - checksumBytes
    const headers = frame.toString("latin1", preludeBytes, bodyAt)
    if (headers !== this.known.plain?.headers) {
      const message = readMessage(frame)
      if (message !== "chunk") return message
      this.known.plain = new PlainChunks(headers)
    } else if (crc32(frame.subarray(0, bodyEnd)) !== frame.readUInt32BE(bodyEnd)) {
      return Result.fail(damaged)
    }
    return readChunk(frame.toString("utf8", bodyAt, bodyEnd))
  }
}

/**
 * A decoder of one event stream. Frames are cut here, where the prelude's checksum is verified before its length is
 * believed; headers are read by Smithy's codec, but those of chunks only once, because they are the same in all of them. A `chunk`
 * frame becomes the event in its `bytes`, named by the JSON's own `type` (undefined without one), because the wire has no other
 * name. `exception` and `error` frames end the stream with `UpstreamException`; events of other types are skipped.
 */
export const eventStream = (known: Known = { plain: undefined }): Decoder => new EventStreamDecoder(known)

/** The length of the frame that a prelude announces. */
const frameLength = (prelude: Buffer): Result.Result<number, FramingError> => {
  if (crc32(prelude.subarray(0, 8)) !== prelude.readUInt32BE(8)) {
    return Result.fail(badFrame("the checksum of an upstream frame's prelude is wrong"))
  }
  const length = prelude.readUInt32BE(0)
  if (length < minFrameBytes || prelude.readUInt32BE(4) > length - minFrameBytes) {
    return Result.fail(badFrame("the lengths in an upstream frame contradict each other"))
  }
  return length > maxFrameBytes ? Result.fail(tooLarge) : Result.succeed(length)
}

/** Whether a frame is a chunk, by its headers; else what it comes to. */
const readMessage = (frame: Buffer): "chunk" | Result.Result<undefined, FramingFailure> => {
  const message = Result.try(() => codec.decode(frame))
  if (Result.isFailure(message)) return Result.fail(damaged)
  const { headers, body } = message.success
  const header = (name: string): string => {
    const value = headers[name]
    return value?.type === "string" ? value.value : ""
  }
  switch (header(":message-type")) {
    case "event":
      return header(":event-type") === "chunk" ? "chunk" : Result.succeed(undefined)
    case "exception":
      return Result.fail(readException(header(":exception-type"), body))
    case "error":
      return Result.fail(
        new UpstreamException({
          type: header(":error-code"),
          message: header(":error-message"),
          status: undefined
        })
      )
    default:
      return Result.fail(badFrame("an upstream frame has no known message type"))
  }
}

const readChunk = (text: string): Result.Result<Event, FramingError> => {
  const base64 = readObject(text)?.bytes
  if (typeof base64 !== "string") return Result.fail(badFrame("an upstream chunk has no bytes"))
  const bytes = Buffer.from(base64, "base64")
  // Node skips what is not base64, so a shorter result is how damage shows.
  if (bytes.length !== Buffer.byteLength(base64, "base64")) {
    return Result.fail(badFrame("an upstream chunk is not base64"))
  }
  if (bytes.length > maxEventBytes) return Result.fail(tooLarge)
  if (!isUtf8(bytes)) {
    return Result.fail(new FramingError({ kind: "invalid-utf8", message: "an upstream chunk is not valid UTF-8" }))
  }
  const data = bytes.toString("utf8")
  // The vendor prints `type` first; parsing every text delta only for its name would be most of the work here.
  const name = /^\{\s*"type"\s*:\s*"(\w+)"/.exec(data)?.[1]
  if (name !== undefined) return Result.succeed({ event: name, data })
  const json = readObject(data)
  if (json === undefined) return Result.fail(badFrame("an upstream chunk is not a JSON object"))
  return Result.succeed({ event: typeof json.type === "string" ? json.type : undefined, data })
}

/** `modelStreamErrorException` carries the model's own status and message, which say more than the outer one. */
const readException = (type: string, body: Uint8Array): UpstreamException => {
  const json = readObject(asBuffer(body).toString("utf8")) ?? {}
  const message = [json.originalMessage, json.message, json.Message].find((text) => typeof text === "string")
  return new UpstreamException({
    type,
    message: message ?? "",
    status: typeof json.originalStatusCode === "number" ? json.originalStatusCode : undefined
  })
}
