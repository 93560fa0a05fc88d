import { assert, describe, it } from "@effect/vitest"
import { type Attributes, type HrTime, SpanStatusCode } from "@opentelemetry/api"
import { ProtobufLogsSerializer, ProtobufTraceSerializer } from "@opentelemetry/otlp-transformer"
import { emptyResource } from "@opentelemetry/resources"
import { Effect, Exit, Logger, Schema, Tracer } from "effect"
import { TestClock } from "effect/testing"
import { type Batch, makeBatches } from "../../src/telemetry/otlp/batches.ts"
import { batchLimits, sampling, spanLimits, temporality } from "../../src/telemetry/otlp/environment.ts"
import { Id, makeIds } from "../../src/telemetry/otlp/ids.ts"
import { makeOtlpLogger } from "../../src/telemetry/otlp/logger.ts"
import { type Message, nanosOf, ProtobufWriter } from "../../src/telemetry/otlp/protobuf.ts"
import { makeTracer, type TracerOptions } from "../../src/telemetry/otlp/tracer.ts"
import type { SpanSort, SpanStart } from "../../src/telemetry/spans.ts"

const traceId = "0af7651916cd43dd8448eb211c80319c"
const spanId = "b7ad6b7169203331"
const caller = Tracer.externalSpan({ traceId, spanId: "00f067aa0ba902b7", sampled: true })
const scope = { name: "scope", version: "1" }
const begun = 1_763_683_200_123_456_789n
const ended = begun + 987_654_321n
const hrTime = (nanos: bigint): HrTime => [Number(nanos / 1_000_000_000n), Number(nanos % 1_000_000_000n)]

/** Whether the bytes of a request hold a record as its field 2. */
const holds = (request: Uint8Array | undefined, record: Uint8Array) => Buffer.from(request ?? []).includes(record)

interface Opening extends Partial<Omit<SpanStart, "of"> & Pick<SpanSort, "name" | "kind">> {
  readonly shared?: Attributes
  readonly own?: Attributes
}

/** A tracer, and the bytes of the spans that have ended. */
const tracing = (options: Partial<TracerOptions> = {}) => {
  const writer = new ProtobufWriter()
  const tracer = makeTracer({
    sampler: () => true,
    limits: spanLimits({}),
    ids: { trace: () => Id.of(traceId), span: () => Id.of(spanId) },
    add: (write) => writer.record(2, write),
    ...options
  })
  const open = ({ name = "s", kind = "server", shared = {}, own = {}, ...more }: Opening = {}) => {
    const of = { name, kind, attributes: shared }
    const span = tracer.open({ of, parent: undefined, startTime: begun, ...more })
    for (const [key, value] of Object.entries(own)) span.attribute(key, value)
    return span
  }
  return { writer, open }
}

const Value = Schema.Union([Schema.String, Schema.Boolean, Schema.Finite, Schema.Array(Schema.String)])
const Fields = Schema.Record(Schema.String, Value)
const attributesOf = (prefix: string, fields: typeof Fields.Type): Attributes =>
  Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [`${prefix}.${key}`, typeof value === "object" ? [...value] : value])
  )
const long = "é".repeat(50_000)

/** What OpenTelemetry's serializer is given for the same span. */
const readable = (fields: {
  readonly attributes: Attributes
  readonly name: string
  readonly child?: boolean
  readonly error?: string
}) => ({
  name: fields.name,
  kind: fields.child === true ? 2 : 1,
  spanContext: () => ({ traceId, spanId, traceFlags: 1 }),
  ...(fields.child === true
    ? { parentSpanContext: { traceId, spanId: caller.spanId, traceFlags: 1, isRemote: true } }
    : {}),
  startTime: hrTime(begun),
  endTime: hrTime(ended),
  status:
    fields.error === undefined ? { code: SpanStatusCode.UNSET } : { code: SpanStatusCode.ERROR, message: fields.error },
  attributes: fields.attributes,
  links: [],
  events: fields.child === true ? [{ name: "event", time: hrTime(begun), attributes: {} }] : [],
  duration: hrTime(ended - begun),
  ended: true,
  resource: emptyResource(),
  instrumentationScope: scope,
  droppedAttributesCount: 0,
  droppedEventsCount: 0,
  droppedLinksCount: 0
})

describe("a span", () => {
  it.prop(
    "is the bytes that OpenTelemetry's own serializer makes of it",
    { name: Schema.String, shared: Fields, own: Fields },
    (given) => {
      const { writer, open } = tracing()
      const [shared, own] = [attributesOf("shared", given.shared), attributesOf("own", given.own)]
      open({ name: given.name, shared, own }).end(ended, Exit.void)
      const same = readable({ name: given.name, attributes: { ...shared, ...own } })
      assert.isTrue(holds(ProtobufTraceSerializer.serializeRequest([same]), writer.take()))
    }
  )

  it("has a parent, an event, a failure, and more bytes than fit the buffer", () => {
    const { writer, open } = tracing()
    const span = open({ name: "child", kind: "client", parent: caller })
    span.attribute("text", long)
    span.event("event", begun)
    span.end(ended, Exit.fail("cut"))
    const given = readable({ name: "child", child: true, error: "cut", attributes: { text: long } })
    assert.isTrue(holds(ProtobufTraceSerializer.serializeRequest([given]), writer.take()))
  })

  it("keeps what was set last of a shared attribute", () => {
    const { writer, open } = tracing()
    const shared = { a: 1, b: "two" }
    const [changed, same] = [open({ shared }), open({ shared })]
    changed.attribute("b", "three")
    changed.end(ended, Exit.void)
    const given = readable({ name: "s", attributes: { a: 1, b: "three" } })
    assert.isTrue(holds(ProtobufTraceSerializer.serializeRequest([given]), writer.take()))
    same.attribute("b", "two")
    same.end(ended, Exit.void)
    same.end(ended, Exit.void)
    const twice = readable({ name: "s", attributes: shared })
    assert.isTrue(holds(ProtobufTraceSerializer.serializeRequest([twice]), writer.take()))
  })

  it("keeps its times when the machine's clock is set before it is written", () => {
    const spans: Array<Message> = []
    const { writer, open } = tracing({ add: (span) => void spans.push(span) })
    const wallTime = Number(begun / 1_000_000n)
    open({ startTime: 1, wallTime }).close(1, undefined, {}, {})
    open({ startTime: 1, wallTime: wallTime + 3_600_000 })
    for (const span of spans) writer.record(2, span)
    const at = hrTime(begun - (begun % 1_000_000n))
    const given = { ...readable({ name: "s", attributes: {} }), startTime: at, endTime: at }
    assert.isTrue(holds(ProtobufTraceSerializer.serializeRequest([given]), writer.take()))
  })

  it("takes what was learned when it ends: what others have too, and its own", () => {
    const { writer, open } = tracing()
    const span = open({ shared: { a: 1 }, startTime: 1, wallTime: Number(begun / 1_000_000n) })
    const learned = [{ b: "two", none: undefined }, { c: ["three"] }] as const
    const end = 1 + Number(ended / 1_000_000n - begun / 1_000_000n)
    span.close(end, "cut", ...learned)
    span.close(end, undefined, {}, {})
    const given = {
      ...readable({ name: "s", attributes: { a: 1, b: "two", c: ["three"] }, error: "cut" }),
      startTime: hrTime(begun - (begun % 1_000_000n)),
      endTime: hrTime(ended - (ended % 1_000_000n))
    }
    const written = writer.take()
    assert.isTrue(holds(ProtobufTraceSerializer.serializeRequest([given]), written))
    open({ shared: { a: 1 } }).close(ended, undefined, ...learned)
    const again = readable({ name: "s", attributes: { a: 1, b: "two", c: ["three"] } })
    assert.isTrue(holds(ProtobufTraceSerializer.serializeRequest([again]), writer.take()))
  })

  it("obeys the limits of the SDK", () => {
    const limits = spanLimits({
      OTEL_ATTRIBUTE_COUNT_LIMIT: "9",
      OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT: "3",
      OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT: "4",
      OTEL_SPAN_EVENT_COUNT_LIMIT: "1"
    })
    assert.deepStrictEqual(limits, { count: 3, length: 4, events: 1 })
    const { writer, open } = tracing({ limits })
    const span = open({ shared: { a: "12345", b: 2 }, own: { c: ["12345"], d: 4, e: 5 } })
    span.event("first", begun)
    span.event("second", begun)
    span.end(ended, Exit.void)
    const given = {
      ...readable({ name: "s", attributes: { a: "1234", b: 2, c: ["1234"] } }),
      events: [{ name: "second", time: hrTime(begun), attributes: {} }],
      droppedAttributesCount: 2,
      droppedEventsCount: 1
    }
    assert.isTrue(holds(ProtobufTraceSerializer.serializeRequest([given]), writer.take()))
    const closed = open({ shared: { a: "12345", b: 2 } })
    closed.event("first", begun)
    closed.event("second", begun)
    closed.close(ended, undefined, { c: ["12345"], d: 4 }, { e: 5 })
    assert.isTrue(holds(ProtobufTraceSerializer.serializeRequest([given]), writer.take()))
  })
})

it.prop(
  "a time in milliseconds is the nanoseconds that are nearest to it",
  [Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 4e12 }))],
  ([time]) => {
    const writer = new ProtobufWriter()
    writer.time(1, time)
    const bytes = Buffer.from(writer.take())
    assert.strictEqual(bytes.readBigUInt64LE(1), nanosOf(time))
    writer.time(1, nanosOf(time))
    assert.deepStrictEqual(Buffer.from(writer.take()), bytes)
  }
)

it("IDs are random, and as long as they should be", () => {
  const ids = makeIds()
  const made = Array.from({ length: 1000 }, () => ({ trace: ids.trace(), span: ids.span() }))
  for (const { trace, span } of made) {
    assert.match(trace.hex, /^[0-9a-f]{32}$/)
    assert.match(span.hex, /^[0-9a-f]{16}$/)
  }
  const all = made.flatMap(({ trace, span }) => [trace, span])
  assert.strictEqual(new Set(all.map(({ hex }) => hex)).size, 2000)
  for (const { at, bytes, hex, length } of all) {
    assert.strictEqual(Buffer.from(bytes.subarray(at, at + length)).toString("hex"), hex)
  }
})

describe("sampling", () => {
  const parent = (sampled: boolean) => Tracer.externalSpan({ traceId, spanId, sampled })
  const low = "0".repeat(31).concat("1")
  const high = "f".repeat(8).concat("0".repeat(24))
  it.each([
    [undefined, undefined, [true, true, false, true]],
    ["always_on", undefined, [true, true, true, true]],
    ["always_off", undefined, [false, false, false, false]],
    ["traceidratio", "0.5", [true, false, true, true]],
    ["parentbased_always_off", undefined, [false, false, false, true]],
    ["parentbased_traceidratio", "0.5", [true, false, false, true]],
    ["parentbased_traceidratio", "2", [true, true, false, true]],
    ["nonsense", undefined, [true, true, false, true]]
  ] as const)("%s %s", (name, ratio, expected) => {
    const { sampler, complaint } = sampling({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: ratio })
    const kept = [
      sampler(Id.of(low), undefined),
      sampler(Id.of(high), undefined),
      sampler(Id.of(low), parent(false)),
      sampler(Id.of(low), parent(true))
    ]
    assert.deepStrictEqual(kept, [...expected])
    assert.strictEqual(complaint !== undefined, name === "nonsense" || ratio === "2")
  })

  it("an unsampled span is not written, and its children know", () => {
    const { writer, open } = tracing({ sampler: () => false })
    const span = open()
    span.attribute("a", 1)
    span.end(ended, Exit.void)
    assert.deepStrictEqual([span.sampled, writer.take().length], [false, 0])
  })
})

it.each([
  [undefined, "cumulative", false],
  ["", "cumulative", false],
  ["Cumulative", "cumulative", false],
  ["DELTA", "delta", false],
  ["lowmemory", "cumulative", true]
] as const)("metrics: temporality %s", (given, expected, complains) => {
  const { is, complaint } = temporality({ OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: given })
  assert.deepStrictEqual([is, complaint !== undefined], [expected, complains])
})

it.effect("a log record is the bytes that OpenTelemetry's own serializer makes of it", () =>
  Effect.gen(function* () {
    yield* TestClock.setTime(Date.UTC(2026, 10, 21))
    const writer = new ProtobufWriter()
    const logger = makeOtlpLogger((write) => writer.record(2, write), spanLimits({}))
    yield* Effect.logWarning("the message", { more: 1 }).pipe(
      Effect.annotateLogs({ request_id: "r", nothing: undefined, status: 200 }),
      Effect.withParentSpan(caller),
      Effect.provide(Logger.layer([logger]))
    )
    const time = hrTime(BigInt(Date.UTC(2026, 10, 21)) * 1_000_000n)
    const given = {
      hrTime: time,
      hrTimeObserved: time,
      spanContext: { traceId, spanId: caller.spanId, traceFlags: 1 },
      severityText: "Warn",
      severityNumber: 13,
      body: 'the message {"more":1}',
      resource: emptyResource(),
      instrumentationScope: scope,
      attributes: { request_id: "r", status: 200 },
      droppedAttributesCount: 0
    }
    assert.isTrue(holds(ProtobufLogsSerializer.serializeRequest([given]), writer.take()))
  })
)

describe("batches", () => {
  const limits = { batch: 2, queue: 4, delay: 20, timeout: 1000 }
  const listen = () => {
    const logged: Array<string> = []
    return { logged, logs: Logger.layer([Logger.make(({ message }) => void logged.push(String(message)))]) }
  }

  it("have the limits of the environment, or the specification's", () => {
    const env = { OTEL_BSP_MAX_QUEUE_SIZE: "10", OTEL_BSP_SCHEDULE_DELAY: "x", OTEL_BSP_EXPORT_TIMEOUT: "" }
    assert.deepStrictEqual(batchLimits(env, "BSP"), { batch: 512, queue: 10, delay: 5000, timeout: 30_000 })
    assert.strictEqual(batchLimits(env, "BLRP").delay, 1000)
  })

  it.live("are sent when they are full, when they are old, and when the scope closes", () =>
    Effect.gen(function* () {
      const sent: Array<Batch> = []
      const send = (batch: Batch) =>
        Effect.sync(() => void sent.push({ ...batch, bytes: Uint8Array.from(batch.bytes) }))
      yield* Effect.scoped(
        Effect.gen(function* () {
          const add = yield* makeBatches({ limits, room: 0, send, shutdownTimeout: "1 second" })
          const record = () => add({ write: (writer) => writer.integer(1, 7) })
          for (let n = 0; n < 3; n++) record()
          yield* Effect.sleep("5 millis")
          assert.deepStrictEqual(
            sent.map(({ records }) => records),
            [2]
          )
          yield* Effect.sleep("50 millis")
          assert.strictEqual(sent.length, 2)
          record()
        })
      )
      assert.deepStrictEqual(
        sent.map(({ bytes }) => [...bytes]),
        [
          [18, 2, 8, 7, 18, 2, 8, 7],
          [18, 2, 8, 7],
          [18, 2, 8, 7]
        ]
      )
    })
  )

  it.live("lie behind the room that was asked for; the memory of one that failed is not written to again", () =>
    Effect.gen(function* () {
      const sent: Array<Uint8Array> = []
      const send = ({ bytes }: Batch) => {
        sent.push(bytes)
        return sent.length === 1 ? Effect.fail({ message: "refused" }) : Effect.void
      }
      yield* Effect.gen(function* () {
        const add = yield* makeBatches({ limits, room: 100, send, shutdownTimeout: "1 second" })
        for (let n = 0; n < 8; n++) {
          add({ write: (writer) => writer.integer(1, n) })
          yield* Effect.sleep("2 millis")
        }
      }).pipe(Effect.scoped, Effect.provide(Logger.layer([])))
      for (const { byteOffset } of sent) assert.strictEqual(byteOffset, 100)
      assert.deepStrictEqual([...(sent[0] ?? [])], [18, 2, 8, 0, 18, 2, 8, 1])
      assert.strictEqual(new Set(sent.map(({ buffer }) => buffer)).size, 3)
    })
  )

  it.live("that wait too long are dropped, which is said; a failure is said, and the next is tried", () => {
    const { logged, logs } = listen()
    return Effect.gen(function* () {
      const sent: Array<number> = []
      let free = () => {}
      const stalled = Effect.callback<void>((resume) => {
        free = () => resume(Effect.void)
      })
      const outcomes = [stalled, Effect.fail({ message: "refused" })]
      const send = ({ records }: Batch) =>
        Effect.suspend(() => {
          sent.push(records)
          return outcomes.shift() ?? Effect.void
        })
      const add = yield* makeBatches({ limits, room: 0, send, shutdownTimeout: "1 second" })
      const record = () => add({ write: (writer) => writer.integer(1, 7) })
      for (let n = 0; n < 2; n++) record()
      yield* Effect.sleep("5 millis")
      // One is being sent, one waits, two are too many.
      for (let n = 0; n < 6; n++) record()
      free()
      yield* Effect.sleep("5 millis")
      for (let n = 0; n < 2; n++) record()
      yield* Effect.sleep("5 millis")
      assert.deepStrictEqual(sent, [2, 2, 2])
      assert.deepStrictEqual(logged, [
        "telemetry: refused",
        "telemetry: 4 records were dropped, as the collector is too slow"
      ])
    }).pipe(Effect.scoped, Effect.provide(logs))
  })
})
