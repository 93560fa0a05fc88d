/** What a collector gets of spans and log lines, by the layer that exports them. */
import { createServer, type Server } from "node:net"
import { afterAll, assert, beforeAll, describe, it, vi } from "@effect/vitest"
import { Cause, Data, Effect, Exit, Fiber, Logger, Metric, Tracer } from "effect"
import { otlpLayer, type Signal } from "../../src/telemetry/otlp.ts"
import { endSpan, makeOpenSpan } from "../../src/telemetry/spans.ts"
import { type Receiver, startReceiver } from "./receiver.ts"
import { caller } from "./support.ts"

let receiver: Receiver
beforeAll(async () => {
  receiver = await startReceiver()
})
afterAll(() => receiver.stop())

/** Runs an effect with export, as the process does by these variables, and answers what it said to the log. All is sent at its end. */
const exporting = async (
  signal: Signal,
  effect: Effect.Effect<unknown, unknown>,
  env: Readonly<Record<string, string>> = {}
) => {
  const variables = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, ...env }
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value)
  const logged: Array<string> = []
  const logger = Logger.layer([Logger.make(({ message }) => void logged.push(String(message)))])
  receiver.spans.length = 0
  receiver.records.length = 0
  try {
    const layer = otlpLayer(new Set([signal]), variables)
    await Effect.runPromise(Effect.exit(effect).pipe(Effect.provide(layer), Effect.provide(logger)))
  } finally {
    vi.unstubAllEnvs()
  }
  return logged
}

const parentOf = ({ traceId, spanId }: ReturnType<typeof caller>, sampled = true) =>
  Tracer.externalSpan({ traceId, spanId, sampled })

class Refused extends Data.TaggedError("Refused")<{ readonly message: string }> {}

describe("a span", () => {
  it("of a success has no status, and its attributes and events", async () => {
    const parent = caller()
    await exporting(
      "traces",
      Effect.gen(function* () {
        const open = yield* makeOpenSpan
        const span = open?.("s", "client", parentOf(parent), BigInt(Date.now()) * 1_000_000n)
        if (span === undefined) return
        span.event("first", 1_763_683_200_123_456_789n)
        endSpan(span, 4_000_000_000_000_000_000n, { a: 1, b: "two", c: ["three"], d: undefined })
        endSpan(span, 5_000_000_000_000_000_000n, { a: 2, "error.type": "late" })
      })
    )
    const [span, ...others] = receiver.spans
    assert.deepStrictEqual(others, [])
    assert.deepInclude(span, {
      name: "s",
      kind: 3,
      status: 0,
      traceId: parent.traceId,
      parentId: parent.spanId,
      end: 4_000_000_000_000,
      attributes: { a: 1, b: "two", c: ["three"] }
    })
    assert.deepInclude(span?.events[0], { name: "first", time: 1_763_683_200_123.456 })
  })

  it("of a failure has its kind", async () => {
    const ending = Effect.map(makeOpenSpan, (open) => {
      const span = open?.("s", "server", undefined, 1n)
      if (span !== undefined) endSpan(span, 4_000_000_000_000_000_000n, { "error.type": "cut" })
    })
    await exporting("traces", ending)
    assert.deepInclude(receiver.spans[0], {
      status: 2,
      failure: "cut",
      events: [],
      attributes: { "error.type": "cut" }
    })
  })

  const failures: ReadonlyArray<readonly [string, Effect.Effect<never, unknown>, string]> = [
    ["of an error its tag", Effect.fail(new Refused({ message: "CANARY" })), "Refused"],
    ["of a defect its name", Effect.die(new TypeError("CANARY")), "TypeError"],
    ["of what is no error nothing", Effect.fail("CANARY"), "Error"],
    ["of an interruption nothing", Effect.interrupt, ""]
  ]
  it.each(failures)("tells %s, and no message", async (_, failing, failure) => {
    await exporting("traces", Effect.withSpan(failing, "s"))
    const [span] = receiver.spans
    assert.deepInclude(span, { status: failure === "" ? 0 : 2, failure, events: [] })
    assert.notInclude(receiver.text(), "CANARY")
  })

  it("has the limits of the variables", async () => {
    const env = { OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT: "2", OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT: "4" }
    await exporting("traces", Effect.withSpan(Effect.void, "s", { attributes: { a: "12345", b: 2, c: 3 } }), env)
    assert.deepStrictEqual(receiver.spans[0]?.attributes, { a: "1234", b: 2 })
  })
})

describe("sampling", () => {
  it.each([
    ["", "", [true, true, false, true]],
    ["always_on", "", [true, true, true, true]],
    ["always_off", "", [false, false, false, false]],
    ["traceidratio", "0.5", [true, false, true, true]],
    ["parentbased_always_off", "", [false, false, false, true]],
    ["parentbased_traceidratio", "0", [false, false, false, true]],
    ["parentbased_traceidratio", "2", [true, true, false, true]],
    ["nonsense", "", [true, true, false, true]]
  ] as const)("%s %s", async (name, ratio, expected) => {
    const ids = ["1".padStart(32, "0"), `${"f".repeat(8)}${"0".repeat(23)}1`]
    const byRatio = ids.map((traceId) => Tracer.externalSpan({ traceId, spanId: "1".repeat(16), sampled: true }))
    const [low, high] = byRatio
    const cases: ReadonlyArray<readonly [string, Tracer.AnySpan | undefined]> =
      name === "traceidratio"
        ? [
            ["a", low],
            ["b", high],
            ["c", low],
            ["d", low]
          ]
        : [
            ["a", undefined],
            ["b", undefined],
            ["c", parentOf(caller(), false)],
            ["d", parentOf(caller())]
          ]
    const spans = Effect.forEach(cases, ([name, parent]) =>
      Effect.withSpan(Effect.void, name, parent === undefined ? { root: true } : { parent })
    )
    const logged = await exporting("traces", spans, { OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: ratio })
    assert.deepStrictEqual(
      receiver.spans.map((span) => span.name).sort(),
      cases.map(([name]) => name).filter((_, at) => expected[at])
    )
    assert.strictEqual(
      logged.some((line) => /OTEL_TRACES_SAMPLER/.test(line)),
      name === "nonsense" || ratio === "2"
    )
  })
})

describe("a log record", () => {
  it("has the line's text, annotations and trace, and nothing else", async () => {
    const parent = caller()
    const line = Effect.logWarning("the message").pipe(
      Effect.annotateLogs({ request_id: "r", status: 200 }),
      Effect.withParentSpan(parentOf(parent))
    )
    await exporting("logs", line)
    assert.deepStrictEqual(receiver.records, [
      { severity: "Warn", body: "the message", attributes: { request_id: "r", status: 200 }, traceId: parent.traceId }
    ])
  })

  it("does not repeat what V8 quotes of a text that is not JSON", async () => {
    const parse = () => JSON.parse('{"a": CANARY')
    assert.throws(parse, "CANARY")
    const parsing = Effect.sync(parse)
    await exporting(
      "logs",
      Effect.catchCause(parsing, (cause) => Effect.logError("oh", cause))
    )
    assert.strictEqual(receiver.records[0]?.attributes["exception.type"], "SyntaxError")
    assert.notInclude(receiver.text(), "CANARY")
  })

  it("has the limits of the variables", async () => {
    const env = { OTEL_LOGRECORD_ATTRIBUTE_VALUE_LENGTH_LIMIT: "2", OTEL_BLRP_MAX_EXPORT_BATCH_SIZE: "1" }
    await exporting("logs", Effect.annotateLogs(Effect.logInfo("m"), { a: "123" }), env)
    assert.deepStrictEqual(receiver.records[0]?.attributes, { a: "12" })
  })
})

describe("metrics", () => {
  it.each([
    ["", 5, false],
    ["Cumulative", 5, false],
    ["DELTA", 3, false],
    ["lowmemory", 5, true]
  ] as const)("temporality %s", async (given, last, complains) => {
    const name = `test_${given || "default"}`
    const counter = Metric.counter(name, { incremental: true })
    const point = () => receiver.points().find((found) => found.name === name)
    const counting = Effect.gen(function* () {
      yield* Metric.update(counter, 2)
      yield* Effect.promise(() => receiver.until(point))
      yield* Metric.update(counter, 3)
    })
    const logged = await exporting("metrics", counting, {
      OTEL_METRIC_EXPORT_INTERVAL: "300",
      OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: given
    })
    assert.strictEqual(point()?.value, last)
    assert.strictEqual(
      logged.some((line) => line.includes("TEMPORALITY")),
      complains
    )
  })
})

describe("a collector that does not answer", () => {
  let stalled: Server
  beforeAll(async () => {
    stalled = createServer(() => {})
    await new Promise<void>((resolve) => stalled.listen(0, "127.0.0.1", resolve))
  })
  afterAll(() => stalled.close())

  it("costs spans, and no long time at the end", async () => {
    const address = stalled.address()
    const url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
    const many = Effect.repeat(Effect.withSpan(Effect.void, "s"), { times: 50 })
    const begun = Date.now()
    const logged = await exporting("traces", many, {
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_BSP_MAX_QUEUE_SIZE: "10",
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "5",
      OTEL_EXPORTER_OTLP_TIMEOUT: "60000"
    })
    assert.isBelow(Date.now() - begun, 15_000)
    assert.deepStrictEqual(logged, [])
  })
})

it("a fiber that is interrupted ends its spans", async () => {
  const waiting = Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(Effect.withSpan(Effect.never, "s"), { startImmediately: true })
    const exit = yield* Effect.andThen(Fiber.interrupt(fiber), Fiber.await(fiber))
    assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
  })
  await exporting("traces", waiting)
  assert.deepStrictEqual(
    receiver.spans.map(({ name, status }) => [name, status]),
    [["s", 0]]
  )
})
