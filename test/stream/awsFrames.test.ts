import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { awsFrames } from "../../src/stream/framing.ts"
import { maxEventBytes } from "../../src/wire/sse.ts"
import { chunkFrame, exceptionFrame, frame, payloadFrame } from "./frames.ts"
import { chunked, cut, run, shape } from "./steps.ts"

const read = (...chunks: ReadonlyArray<Uint8Array>) => run(awsFrames(), chunks)
const kind = (outcome: ReturnType<typeof read>) =>
  outcome.failure?._tag === "FramingError" ? outcome.failure.kind : undefined
const stop = { event: undefined, data: '{"type":"message_stop"}' }
const good = chunkFrame(stop.data)

describe("awsFrames", () => {
  it("reads the vendor's frames", () => {
    const event = Buffer.from(
      "000000740000004b887e017e0b3a6576656e742d747970650700056368756e6b0d3a636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e0d3a6d6573736167652d747970650700056576656e747b226279746573223a226533303d222c2270223a226162227dd21f3a09",
      "hex"
    )
    const exception = Buffer.from(
      "0000008800000061de0175f40f3a657863657074696f6e2d747970650700137468726f74746c696e67457863657074696f6e0d3a636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e0d3a6d6573736167652d74797065070009657863657074696f6e7b226d657373616765223a22736c6f7720646f776e227d832ee072",
      "hex"
    )
    const { events, failure } = read(Buffer.concat([event, good, exception, good]))
    assert.deepStrictEqual(events, [{ event: undefined, data: "{}" }, stop])
    assert.ok(failure?._tag === "UpstreamException")
    assert.deepStrictEqual(
      [failure.type, failure.message, failure.status],
      ["throttlingException", "slow down", undefined]
    )
  })

  it("refuses a frame without a message type", () => {
    assert.strictEqual(kind(read(Buffer.from("000000100000000005c248eb7d98c8ff", "hex"))), "bad-frame")
  })

  it("reads each of several events, wherever their frames are cut", () => {
    const types = ["message_start", "content_block_delta", "content_block_delta", "message_delta", "message_stop"]
    const texts = types.map((type) => JSON.stringify({ type, text: "é\ufffd" }))
    const bytes = Buffer.concat(texts.map((text) => chunkFrame(text)))
    for (const size of [1, 7, 100, bytes.length]) {
      assert.deepStrictEqual(run(awsFrames(), chunked(bytes, size)), {
        events: texts.map((data) => ({ event: undefined, data })),
        failure: undefined
      })
    }
  })

  it("tells the model's own status and message from the outer ones", () => {
    const payload = { message: "outer", originalStatusCode: 529, originalMessage: "overloaded" }
    const { failure } = read(exceptionFrame("modelStreamErrorException", JSON.stringify(payload)))
    assert.ok(failure?._tag === "UpstreamException")
    assert.deepStrictEqual(
      [failure.type, failure.message, failure.status],
      ["modelStreamErrorException", "overloaded", 529]
    )
  })

  it("takes no number for a status that is none", () => {
    const { failure } = read(exceptionFrame("otherException", JSON.stringify({ originalStatusCode: 12_345_678 })))
    assert.ok(failure?._tag === "UpstreamException")
    assert.strictEqual(failure.status, undefined)
  })

  it("reads exceptions with an unreadable payload, and error frames", () => {
    const odd = read(exceptionFrame("internalServerException", "<html>")).failure
    assert.ok(odd?._tag === "UpstreamException" && odd.type === "internalServerException" && odd.message === "")
    const error = read(frame({ "message-type": "error", "error-code": "Internal", "error-message": "no" }, "")).failure
    assert.ok(error?._tag === "UpstreamException" && error.type === "Internal" && error.message === "no")
  })

  it("skips events of types it does not know, and refuses types that are no names", () => {
    const other = (type: string) => frame({ "message-type": "event", "event-type": type }, "{}")
    assert.deepStrictEqual(read(other("metering"), good), { events: [stop], failure: undefined })
    for (const type of ["chunk\r\n", "x\ny"]) assert.strictEqual(kind(read(other(type), good)), "bad-frame")
  })

  it("refuses every changed byte", () => {
    for (let at = 0; at < good.length; at++) {
      const changed = Buffer.from(good)
      changed[at] = (changed[at] ?? 0) ^ 0x10
      const outcome = read(Buffer.concat([good, changed, good]))
      assert.deepStrictEqual(outcome.events, [stop], `byte ${at}`)
      assert.strictEqual(kind(outcome), "bad-frame", `byte ${at}`)
    }
  })

  it("refuses payloads that hold no event", () => {
    const bad = (payload: string) => kind(read(Buffer.concat([good, payloadFrame(payload)])))
    assert.strictEqual(bad("not json"), "bad-frame")
    assert.strictEqual(bad("[]"), "bad-frame")
    assert.strictEqual(bad('{"p":"x"}'), "bad-frame")
    assert.strictEqual(bad('{"bytes":"e30=*e30="}'), "bad-frame")
    assert.strictEqual(kind(read(chunkFrame(Buffer.from([0x7b, 0xff, 0x7d])))), "invalid-utf8")
  })

  it("answers truncated when the bytes end inside a frame", () => {
    for (const length of [1, 11, 12, good.length - 1]) {
      const outcome = read(good, good.subarray(0, length))
      assert.deepStrictEqual(outcome.events, [stop])
      assert.strictEqual(kind(outcome), "truncated")
    }
    assert.strictEqual(read(good).failure, undefined)
    assert.strictEqual(read().failure, undefined)
  })

  it("passes an event of 10 MiB, refuses one byte more, and an impossible length at once", () => {
    const json = (size: number) => `{"type":"a","x":"${"x".repeat(size - 19)}"}`
    assert.strictEqual(json(100).length, 100)
    const at = run(awsFrames(), chunked(chunkFrame(json(maxEventBytes)), 65_536))
    assert.strictEqual(at.events[0]?.data.length, maxEventBytes)
    assert.strictEqual(kind(read(chunkFrame(json(maxEventBytes + 1)))), "too-large")
    const huge = chunkFrame(json(13 * 1024 * 1024))
    assert.strictEqual(kind({ ...awsFrames().feed(huge.subarray(0, 12)) }), "too-large")
  })

  it("refuses more than 128 KiB of headers", () => {
    const headersOf = (size: number) => {
      const value = "x".repeat(size / 5)
      return frame({ "message-type": "error", a: value, b: value, c: value, d: value, e: value }, "")
    }
    assert.strictEqual(read(headersOf(128_000)).failure?._tag, "UpstreamException")
    assert.strictEqual(kind(read(headersOf(132_000))), "too-large")
  })

  it.prop(
    "is the same wherever the bytes are cut",
    {
      frames: Schema.Array(Schema.Union([Schema.Json, Schema.Literals(["exception", "damage", "noise"])])),
      places: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10_000 })))
    },
    ({ frames, places }) => {
      const bytes = Buffer.concat(
        frames.map((item) => {
          if (item === "exception") return exceptionFrame("validationException", '{"message":"é"}')
          if (item === "noise") return Buffer.from("noise")
          if (item === "damage") return Buffer.concat([good.subarray(0, 40), Buffer.from([0]), good.subarray(41)])
          return chunkFrame(JSON.stringify(Array.isArray(item) ? { x: item, type: "a" } : { type: "b", x: item }))
        })
      )
      const whole = shape(run(awsFrames(), [bytes]))
      assert.deepStrictEqual(shape(run(awsFrames(), cut(bytes, places))), whole)
      assert.deepStrictEqual(shape(run(awsFrames(), chunked(bytes, 1))), whole)
    }
  )
})
