import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Stream } from "effect"
import { decodeWith } from "../../../src/provider/framing/decode.ts"
import { sse } from "../../../src/provider/framing/sse.ts"

const collect = <E>(bytes: Stream.Stream<Uint8Array, E>) =>
  Effect.gen(function* () {
    const seen: Array<ReadonlyArray<string>> = []
    const exit = yield* bytes.pipe(
      decodeWith(sse),
      Stream.runForEach((events) => Effect.sync(() => seen.push(events.map(({ data }) => data)))),
      Effect.exit
    )
    const failure = Exit.isFailure(exit) ? exit.cause.reasons[0] : undefined
    return { seen, error: failure?._tag === "Fail" ? failure.error : undefined }
  })

const bytes = (...texts: ReadonlyArray<string>) => Stream.fromIterable(texts.map((text) => Buffer.from(text, "utf8")))

describe("decodeWith", () => {
  it.effect("gives one array for each chunk that completes events", () =>
    Effect.gen(function* () {
      const { seen, error } = yield* collect(bytes("data: 1\n\ndata: 2\n\nda", "ta: 3", "\n\n"))
      assert.deepStrictEqual(seen, [["1", "2"], ["3"]])
      assert.strictEqual(error, undefined)
    })
  )

  it.effect("fails after the events before the failure", () =>
    Effect.gen(function* () {
      const bad = Buffer.concat([Buffer.from("data: 1\n\ndata: "), Buffer.from([0xff, 10, 10])])
      const { seen, error } = yield* collect(Stream.concat(Stream.make(bad), bytes("data: 2\n\n")))
      assert.deepStrictEqual(seen, [["1"]])
      assert.ok(error !== undefined && error._tag === "FramingError" && error.kind === "invalid-utf8")
    })
  )

  it.effect("fails when the bytes end inside an event", () =>
    Effect.gen(function* () {
      const { seen, error } = yield* collect(bytes("data: 1\n\ndata: 2"))
      assert.deepStrictEqual(seen, [["1"]])
      assert.ok(error !== undefined && error._tag === "FramingError" && error.kind === "truncated")
    })
  )

  it.effect("passes the failure of the bytes on, not the end it would have had", () =>
    Effect.gen(function* () {
      const { seen, error } = yield* collect(Stream.concat(bytes("data: 1\n\ndata: 2"), Stream.fail("cut" as const)))
      assert.deepStrictEqual(seen, [["1"]])
      assert.strictEqual(error, "cut")
    })
  )
})
