/** How AWS frames the events of a stream. */
import { EventStreamCodec } from "@smithy/core/event-streams"
import { fromUtf8, toUtf8 } from "@smithy/core/serde"
import type { JsonObject } from "../json.ts"

const codec = new EventStreamCodec(toUtf8, fromUtf8)

const frame = (headers: Readonly<Record<string, string>>, body: string): Uint8Array =>
  codec.encode({
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, { type: "string" as const, value }])
    ),
    body: Buffer.from(body)
  })

/** A `chunk` event that carries this text; `p` is the padding that hides its length. */
export const chunkFrame = (text: string): Uint8Array =>
  frame(
    { ":event-type": "chunk", ":content-type": "application/json", ":message-type": "event" },
    JSON.stringify({
      bytes: Buffer.from(text).toString("base64"),
      p: "abcdefghijklmnopqrstuvwxyz".slice(0, text.length % 26)
    })
  )

/** An exception frame (`throttlingException`, …). */
export const exceptionFrame = (name: string, body: JsonObject): Uint8Array =>
  frame(
    { ":exception-type": name, ":content-type": "application/json", ":message-type": "exception" },
    JSON.stringify(body)
  )
