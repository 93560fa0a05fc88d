/** `application/vnd.amazon.eventstream`, as Bedrock's InvokeModelWithResponseStream answers (docs/upstreams.md#amazon-bedrock). */
import { isUtf8 } from "node:buffer"
import { crc32 } from "node:zlib"
import { Result } from "effect"
import { type Decoder, FramingError, type FramingFailure, UpstreamException } from "../wire/Event.ts"
import { readObject } from "../wire/json.ts"
import { type Event, maxEventBytes } from "../wire/sse.ts"
import { makeRemainder } from "./decode.ts"

/** Total length, length of the headers, and the checksum of both; the checksum of the whole ends a frame. */
const preludeBytes = 12
const checksumBytes = 4
/** Largest frame accepted (16 MiB): an event at its limit in base64, with room for headers and padding. */
const maxFrameBytes = 16 * 1024 * 1024

const badFrame = (message: string) => new FramingError({ kind: "bad-frame", message })
const tooLarge = new FramingError({ kind: "too-large", message: "an upstream event is over 10 MiB" })
const invalidUtf8 = new FramingError({ kind: "invalid-utf8", message: "an upstream chunk is not valid UTF-8" })
const damaged = badFrame("an upstream frame has a wrong checksum or headers")
const truncated = new FramingError({ kind: "truncated", message: "the upstream stream ended inside a frame" })

type Read<A> = Result.Result<A, FramingFailure>

/**
 * A decoder of one stream. A `chunk` frame becomes the event in its `bytes`, named by the JSON's own `type`, because the wire has no
 * other name. `exception` and `error` frames end the stream with `UpstreamException`; events of other types are skipped.
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
  if (crc32(prelude.subarray(0, 8)) !== prelude.readUInt32BE(8)) {
    return Result.fail(badFrame("the checksum of an upstream frame's prelude is wrong"))
  }
  const length = prelude.readUInt32BE(0)
  if (length < preludeBytes + prelude.readUInt32BE(4) + checksumBytes) {
    return Result.fail(badFrame("the lengths in an upstream frame contradict each other"))
  }
  return length > maxFrameBytes ? Result.fail(tooLarge) : Result.succeed(length)
}

/** The event of a whole frame; undefined where it means nothing to us. */
const readFrame = (frame: Buffer): Read<Event | undefined> => {
  const bodyAt = preludeBytes + frame.readUInt32BE(4)
  const bodyEnd = frame.length - checksumBytes
  const headers = readHeaders(frame.subarray(preludeBytes, bodyAt))
  if (headers === undefined || crc32(frame.subarray(0, bodyEnd)) !== frame.readUInt32BE(bodyEnd)) {
    return Result.fail(damaged)
  }
  const body = frame.subarray(bodyAt, bodyEnd)
  const header = (name: string) => headers.get(name) ?? ""
  switch (header(":message-type")) {
    case "event":
      return header(":event-type") === "chunk" ? readChunk(body) : Result.succeed(undefined)
    case "exception":
      return Result.fail(readException(header(":exception-type"), body))
    case "error":
      return Result.fail(
        new UpstreamException({ type: header(":error-code"), message: header(":error-message"), status: undefined })
      )
    default:
      return Result.fail(badFrame("an upstream frame has no known message type"))
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
  if (typeof base64 !== "string") return Result.fail(badFrame("an upstream chunk has no bytes"))
  const bytes = Buffer.from(base64, "base64")
  // Node skips what is not base64, so a shorter result is how damage shows.
  if (bytes.length !== Buffer.byteLength(base64, "base64")) {
    return Result.fail(badFrame("an upstream chunk is not base64"))
  }
  if (bytes.length > maxEventBytes) return Result.fail(tooLarge)
  if (!isUtf8(bytes)) return Result.fail(invalidUtf8)
  const data = bytes.toString("utf8")
  // The vendor prints `type` first; parsing every text delta only for its name would be most of the work here.
  const name = /^\{\s*"type"\s*:\s*"(\w+)"/.exec(data)?.[1]
  if (name !== undefined) return Result.succeed({ event: name, data })
  const json = readObject(data)
  if (json === undefined) return Result.fail(badFrame("an upstream chunk is not a JSON object"))
  return Result.succeed({ event: typeof json.type === "string" ? json.type : undefined, data })
}

/** `modelStreamErrorException` carries the model's own status and message, which say more than the outer one. */
const readException = (type: string, body: Buffer): UpstreamException => {
  const json = readObject(body.toString("utf8")) ?? {}
  const message = [json.originalMessage, json.message, json.Message].find((text) => typeof text === "string")
  return new UpstreamException({
    type,
    message: message ?? "",
    status: typeof json.originalStatusCode === "number" ? json.originalStatusCode : undefined
  })
}
