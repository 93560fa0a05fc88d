import { assert, describe, it, vi } from "@effect/vitest"
import { Schema } from "effect"
import { sse } from "../../src/stream/framing.ts"
import { maxEventBytes, maxEventLines } from "../../src/wire/sse.ts"
import { chunked, cut, run, shape } from "./steps.ts"

const bytes = (text: string) => Buffer.from(text, "utf8")
const read = (...chunks: ReadonlyArray<string | Uint8Array>) =>
  run(
    sse(),
    chunks.map((chunk) => (typeof chunk === "string" ? bytes(chunk) : chunk))
  )
const kind = (outcome: ReturnType<typeof read>) =>
  outcome.failure?._tag === "FramingError" ? outcome.failure.kind : undefined

describe("sse", () => {
  for (const [name, newline] of [
    ["LF", "\n"],
    ["CRLF", "\r\n"],
    ["CR", "\r"]
  ] as const) {
    it(`reads lines ended by ${name}`, () => {
      const text = ["event: a", 'data: {"x":1}', "", "data: [DONE]", "", ""].join(newline)
      assert.deepStrictEqual(read(text), {
        events: [
          { event: "a", data: '{"x":1}' },
          { event: undefined, data: "[DONE]" }
        ],
        failure: undefined
      })
    })
  }

  it("joins data lines, takes data without a space, and skips comments, id, retry and empty events", () => {
    const { events, failure } = read(": hi\n\nid: 1\nretry: 5\ndata:one\ndata: two\ndata\n\nevent: x\n\nunknown: y\n\n")
    assert.deepStrictEqual(events, [{ event: undefined, data: "one\ntwo\n" }])
    assert.strictEqual(failure, undefined)
  })

  it("removes one byte order mark at the start, and keeps others", () => {
    assert.deepStrictEqual(read("\uFEFFdata: \uFEFFa\n\n").events, [{ event: undefined, data: "\uFEFFa" }])
  })

  it("keeps a replacement character that the upstream really sent", () => {
    assert.deepStrictEqual(read("data: \uFFFD\n\n").events, [{ event: undefined, data: "\uFFFD" }])
  })

  it("answers invalid UTF-8 after the events before it, and nothing after", () => {
    const bad = Buffer.concat([bytes("data: 1\r\n\r\ndata: "), Buffer.from([0xc3, 0x28]), bytes("\n\ndata: 2\n\n")])
    const outcome = read(bad, "data: 3\n\n")
    assert.deepStrictEqual(outcome.events, [{ event: undefined, data: "1" }])
    assert.strictEqual(kind(outcome), "invalid-utf8")
  })

  it("answers truncated when the bytes end inside an event", () => {
    for (const rest of ["data: 2", "data: 2\n", "data: 2\r\n", "data: 2\r", "da", "event: x\ndata: 2\n"]) {
      const outcome = read("data: 1\n\n", rest)
      assert.deepStrictEqual(outcome.events, [{ event: undefined, data: "1" }], rest)
      assert.strictEqual(kind(outcome), "truncated", rest)
    }
    for (const rest of ["", "\n", "\r", ": bye\n"]) assert.strictEqual(read("data: 1\n\n", rest).failure, undefined)
  })

  it("passes an event of 10 MiB and refuses one byte more, whatever its lines and the chunks", () => {
    const event = (size: number) => bytes(`data: ${"é".repeat(16)}${"x".repeat(size - 32)}\n\n`)
    for (const size of [65_536, maxEventBytes + 100]) {
      assert.strictEqual(run(sse(), chunked(event(maxEventBytes), size)).events[0]?.data.length, maxEventBytes - 16)
      const over = run(sse(), chunked(Buffer.concat([bytes("data: 1\n\n"), event(maxEventBytes + 1)]), size))
      assert.strictEqual(kind(over), "too-large")
      assert.deepStrictEqual(over.events, [{ event: undefined, data: "1" }])
    }
    const line = `data: ${"x".repeat(1023)}\n`
    const lines = bytes(line.repeat(maxEventBytes / 1024 + 2))
    assert.strictEqual(kind(run(sse(), chunked(lines, 65_536))), "too-large")
  })

  it("passes an event of 65,536 lines and refuses one line more, wherever the chunks are cut", () => {
    const event = (lines: number) => bytes(`data: 1\n\n${"data:\n".repeat(lines)}\ndata: 2\n\n`)
    for (const size of [1000, 10_000_000]) {
      const passed = run(sse(), chunked(event(maxEventLines), size))
      assert.deepStrictEqual(
        passed.events.map(({ data }) => data.length),
        [1, maxEventLines - 1, 1]
      )
      const over = run(sse(), chunked(event(maxEventLines + 1), size))
      assert.strictEqual(kind(over), "too-large")
      assert.deepStrictEqual(over.events, [{ event: undefined, data: "1" }])
    }
  })

  it("gives up on an endless line without keeping it", () => {
    const decoder = sse()
    const chunk = Buffer.alloc(1024 * 1024, "x")
    const failed = Array.from({ length: 12 }, () => decoder.feed(chunk).failure).findIndex((f) => f !== undefined)
    assert.strictEqual(failed, 10)
  })

  it.prop(
    "is the same wherever the bytes are cut",
    {
      parts: Schema.Array(
        Schema.Union([
          Schema.Literals(["\n", "\r", "\r\n", "\n\n", "data:", "data: ", "event: ", ": ", "\uFEFF", "é€😀", "[DONE]"]),
          Schema.String
        ])
      ),
      bad: Schema.Boolean,
      places: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10_000 })))
    },
    ({ parts, bad, places }) => {
      const text = Buffer.concat([
        bytes(`data: first\n\n${parts.join("")}`),
        Buffer.from(bad ? [0xff] : []),
        bytes("\r\n\r\ndata: last\n\n")
      ])
      const whole = shape(run(sse(), [text]))
      assert.deepStrictEqual(shape(run(sse(), cut(text, places))), whole)
      assert.deepStrictEqual(shape(run(sse(), chunked(text, 1))), whole)
    }
  )

  it("copies and reads each byte of an event a few times, also when it comes byte by byte", () => {
    const size = 100_000
    const chunks = chunked(bytes(`data: ${"x".repeat(size)}\n\n`), 1)
    const set = vi.spyOn(Uint8Array.prototype, "set")
    const from = vi.spyOn(Buffer, "from")
    const decoded = vi.spyOn(Buffer.prototype, "toString")
    try {
      assert.strictEqual(run(sse(), chunks).events.length, 1)
      const sum = (sizes: ReadonlyArray<number>) => sizes.reduce((all, next) => all + next, 0)
      const moved =
        sum(set.mock.calls.map(([source]) => source.length)) +
        sum(from.mock.calls.map(([source]) => (source instanceof Uint8Array ? source.length : 0))) +
        sum(decoded.mock.contexts.map((read) => (read as Buffer).length))
      assert.isAbove(moved, size)
      assert.isBelow(moved, 8 * size)
    } finally {
      for (const spy of [set, from, decoded]) spy.mockRestore()
    }
  })
})
