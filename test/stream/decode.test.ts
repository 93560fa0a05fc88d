/** What becomes of a cloud's bytes on their way in, and of the bytes that wait on their way out. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Option, Stream } from "effect"
import type { Item } from "../../src/stream/Frame.ts"
import { sse } from "../../src/stream/framing.ts"
import { type DecodeOptions, decode, encode } from "../../src/stream/reply.ts"
import { keepAlive } from "../../src/wire/sse.ts"

type Options = DecodeOptions<string>

/** What comes of these network reads, each with its chunks, and how it ends. */
const decoded = (reads: ReadonlyArray<ReadonlyArray<string>>, more: Partial<Options> = {}, failure?: string) => {
  const options: Options = {
    decoder: sse(),
    onRead: () => {},
    hold: () => undefined,
    framingError: ({ _tag }) => _tag,
    ...more
  }
  const bytes = Stream.flatMap(Stream.fromIterable(reads), (chunks) =>
    Stream.fromIterable(chunks.map((chunk) => Buffer.from(chunk)))
  )
  const failing = failure === undefined ? bytes : Stream.concat(bytes, Stream.fail(failure))
  const arrays: Array<string> = []
  const exit = Effect.runSyncExit(
    Stream.runForEachArray(decode(options)(failing), (events) =>
      Effect.sync(() => arrays.push(events.map(({ data }) => data).join()))
    )
  )
  const end = Exit.isSuccess(exit) ? "done" : Option.getOrElse(Cause.findErrorOption(exit.cause), () => "defect")
  return { arrays, end }
}

/** Fails with the first chunk that holds the beginning of an event. */
const failing = (): Options["decoder"] => {
  const decoder = sse()
  return {
    ...decoder,
    feed: (chunk) => {
      const { events } = decoder.feed(chunk)
      return { events, failure: decoder.end().failure }
    }
  }
}

describe("the bytes of a cloud", () => {
  it("become one array of events for each read", () => {
    const reads = [["data: 1\n\ndata: 2\n\n", "data: 3\n\nda"], ["ta: 4\n"], ["\n"]]
    assert.deepStrictEqual(decoded(reads), { arrays: ["1,2,3", "4"], end: "done" })
  })

  it("fail after the events before: in their framing, at an end inside an event, and with the connection", () => {
    const reads = [["data: 1\n\n"], ["data: 2\n\nda"]]
    assert.deepStrictEqual(decoded(reads), { arrays: ["1", "2"], end: "FramingError" })
    assert.deepStrictEqual(decoded(reads, {}, "cut"), { arrays: ["1", "2"], end: "cut" })
    assert.deepStrictEqual(decoded(reads, { decoder: failing() }), { arrays: ["1", "2"], end: "FramingError" })
  })

  it("are noticed at each read, with the events that it completed", () => {
    const seen: Array<string> = []
    const onRead: Options["onRead"] = (events) => seen.push(events.map(({ data }) => data).join())
    decoded([["da"], ["ta: 1\n\ndata: 2\n\n"], ["data: 3\n\n"]], { onRead })
    assert.deepStrictEqual(seen.splice(0), ["", "1,2", "3"])
    decoded([["data: 1\n\nda"]], { decoder: failing(), onRead })
    assert.deepStrictEqual(seen, ["1"], "also when its framing fails in the same read")
  })

  it("of an event that is not complete take memory, which its end gives back", () => {
    const held: Array<number> = []
    const hold = (bytes: number) => {
      held.push(bytes)
      return undefined
    }
    assert.strictEqual(
      decoded([["data: 1\n\n"], ["data"], [": ", "2"], ["\n\n"], ["data: 3\n\n"]], { hold }).end,
      "done"
    )
    assert.deepStrictEqual(held, [4, 3, -7])
    const none = (bytes: number) => (bytes > 5 ? "no room" : undefined)
    assert.deepStrictEqual(decoded([["data: 1\n\n"], ["data"], [": 2345"]], { hold: none }), {
      arrays: ["1"],
      end: "no room"
    })
  })
})

it("bytes wait for the caller until the next are asked for, comments among them", () => {
  const items: ReadonlyArray<Item> = [{ data: "1" }, keepAlive, { event: "end", data: "{}" }]
  const seen: Array<string | number> = []
  const stream = encode((bytes) => seen.push(bytes))(Stream.rechunk(Stream.fromIterable(items), 2))
  Effect.runSync(Stream.runForEach(stream, (bytes) => Effect.sync(() => seen.push(Buffer.from(bytes).toString()))))
  const [first, last] = ["data: 1\n\n: keep-alive\n", "event: end\ndata: {}\n\n"]
  assert.deepStrictEqual(seen, [first.length, first, -first.length, last.length, last, -last.length])
})
