/** How AWS frames the events of a stream. */
import { EventStreamCodec } from "@smithy/core/event-streams"
import { fromUtf8, toUtf8 } from "@smithy/core/serde"
import type { JsonObject } from "../json.ts"

const codec = new EventStreamCodec(toUtf8, fromUtf8)

const header = (value: string) => ({ type: "string" as const, value })

/** An event, or an exception (`throttlingException`, …). */
export const frame = (kind: "event" | "exception", name: string, body: JsonObject): Uint8Array =>
  codec.encode({
    headers: {
      [`:${kind}-type`]: header(name),
      ":content-type": header("application/json"),
      ":message-type": header(kind)
    },
    body: Buffer.from(JSON.stringify(body))
  })

/** A `chunk` event that carries this text; `p` is the padding that hides its length. */
export const chunk = (text: string): Uint8Array => {
  const p = "abcdefghijklmnopqrstuvwxyz".slice(0, text.length % 26)
  return frame("event", "chunk", { bytes: Buffer.from(text).toString("base64"), p })
}
