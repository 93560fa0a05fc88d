import { crc32 } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { followedBy, shiftOf } from "../../../src/provider/framing/checksum.ts"

describe("followedBy", () => {
  it.prop(
    "is the checksum of messages that end in theirs",
    { messages: Schema.Array(Schema.Uint8Array) },
    ({ messages }) => {
      const sealed = messages.map((message) => {
        const bytes = Buffer.concat([message, Buffer.alloc(4)])
        bytes.writeUInt32BE(crc32(message), message.length)
        return bytes
      })
      const combined = sealed.reduce(
        (before, bytes) => followedBy(before, shiftOf(bytes.length), bytes.readUInt32BE(bytes.length - 4)),
        0
      )
      assert.strictEqual(combined, crc32(Buffer.concat(sealed)))
    }
  )
})
