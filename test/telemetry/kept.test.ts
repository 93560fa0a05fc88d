/** What spans, records and log lines keep of texts that callers and clouds chose: they wait until they are exported. */
import { assert, it } from "@effect/vitest"
import { Effect, References, Tracer } from "effect"
import { makeCallSpans } from "../../src/telemetry/spans.ts"
import { beginningOf } from "../../src/wire/print.ts"
import { heap } from "../support/heap.ts"
import { recordingTracer } from "../support/recordingTracer.ts"

it("the beginning of a text holds nothing of the rest of it", () => {
  const before = heap()
  const kept = Array.from({ length: 50 }, (_, at) => beginningOf(`${at}é${"x".repeat(500_000)}`, 200))
  assert.isBelow(heap() - before, 5_000_000)
  assert.strictEqual(kept[7], `7é${"x".repeat(198)}`)
  assert.strictEqual(beginningOf("short \ud800", 200), "short \ufffd")
  assert.strictEqual(beginningOf("cut 😀", 5), "cut \ufffd")
})

it.effect("a span says the beginning of a finish reason that a cloud made up", () =>
  Effect.gen(function* () {
    const { spans, tracer } = recordingTracer()
    const open = yield* makeCallSpans.pipe(
      Effect.provideService(Tracer.Tracer, tracer),
      Effect.provideService(References.TracerEnabled, true)
    )
    const named = {
      operation: "messages",
      provider: "p",
      model: "m",
      level: "il5",
      deployment: "d",
      region: "r"
    } as const
    const span = open({ ...named, stream: false, sandbox: false, address: "h", port: 443 }, undefined)
    span.used({ input: 1, output: 1 }, "x".repeat(1000))
    span.end()
    assert.deepStrictEqual(spans[0]?.attributes.get("gen_ai.response.finish_reasons"), ["x".repeat(200)])
  })
)
