/** Builds event-stream frames with the vendor's own codec, so that the reader is not tested against its own ideas. */
import { EventStreamCodec } from "@smithy/core/event-streams"

const codec = new EventStreamCodec(
  (bytes) => (typeof bytes === "string" ? bytes : Buffer.from(bytes).toString("utf8")),
  (text) => Buffer.from(text, "utf8")
)

export const frame = (headers: Record<string, string>, payload: string): Buffer =>
  Buffer.from(
    codec.encode({
      headers: Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [`:${name}`, { type: "string" as const, value }])
      ),
      body: Buffer.from(payload, "utf8")
    })
  )

const event = { "event-type": "chunk", "content-type": "application/json", "message-type": "event" }

export const chunkFrame = (json: string | Uint8Array): Buffer =>
  frame(event, JSON.stringify({ bytes: Buffer.from(json).toString("base64"), p: "abcdef" }))

export const payloadFrame = (payload: string): Buffer => frame(event, payload)

export const exceptionFrame = (type: string, payload: string): Buffer =>
  frame({ "exception-type": type, "content-type": "application/json", "message-type": "exception" }, payload)
