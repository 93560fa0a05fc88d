/** What a streamed reply gives back and records where it ends, and where it does not begin. */
import { assert, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Result, Stream } from "effect"
import { shippedCatalog } from "../../src/catalog/CatalogStore.ts"
import { GatewayError } from "../../src/catalog/GatewayError.ts"
import { RequestRecord } from "../../src/http/RequestRecord.ts"
import { makeStreamReply } from "../../src/http/streamReply.ts"
import { messagesProtocol } from "../../src/surfaces/messagesStream.ts"
import type { Event } from "../../src/wire/sse.ts"
import { saying } from "../support/claude.ts"
import { noSpan } from "../support/noSpan.ts"

const [model = assert.fail()] = Result.getOrThrow(shippedCatalog).models
const [deployment = assert.fail()] = model.deployments

const limit = Duration.minutes(1)
const limits = { heartbeat: limit, scanMode: "spec", streamIdleTimeout: limit } as const

const makeRecord = () =>
  new RequestRecord({
    id: "id",
    startedAt: 0,
    method: "POST",
    path: "/v1/messages",
    source: undefined,
    surface: "messages"
  })

const ping = { event: "ping", data: '{"type":"ping"}' }

/** The options of a reply for which the cloud sends `events`. */
const replyOf = (record: RequestRecord, events: Stream.Stream<Event, GatewayError>) => ({
  protocol: messagesProtocol("m"),
  prepared: { operation: "inference", bodies: [{}], stream: true } as never,
  route: { model, deployment, level: "il2" } as never,
  provider: { stream: () => events, scrub: () => (text: string) => text } as never,
  record,
  deadline: performance.now() + 60_000
})

it.effect("a key may begin another stream when its caller has the last event", () =>
  Effect.gen(function* () {
    const seen: Array<string> = []
    const record = makeRecord()
    record.endStream = Effect.sync(() => void seen.push("free"))
    const events = saying("one", "two").map((event) => ({ event: event.type, data: JSON.stringify(event) }))
    const { body } = yield* makeStreamReply(
      limits,
      () => Effect.never
    )(replyOf(record, Stream.rechunk(Stream.fromIterable(events), 1)))
    if (body._tag !== "Stream") return assert.fail(body._tag)
    yield* Stream.runForEach(body.stream, (bytes) =>
      Effect.sync(() => {
        for (const [, name = ""] of Buffer.from(bytes)
          .toString()
          .matchAll(/^event: (.+)$/gm))
          seen.push(name)
      })
    )
    assert.strictEqual(seen.at(-1), "message_stop")
    assert.include(seen, "free")
  }).pipe(Effect.scoped)
)

it.effect("a call that is refused leaves no timers: the request may be sent again", () =>
  Effect.gen(function* () {
    const record = makeRecord()
    record.caller = { id: "a", name: "a" }
    let watching = 0
    const watch = () =>
      Effect.callback<never>(() => {
        watching++
        return Effect.sync(() => void watching--)
      })
    const refused = new GatewayError({ reason: "invalid", message: "refused" })
    const error = yield* Effect.flip(makeStreamReply(limits, watch)(replyOf(record, Stream.fail(refused))))
    assert.strictEqual(error, refused)
    assert.strictEqual(watching, 0)
  }).pipe(Effect.scoped)
)

it.effect("a defect before the first frame is no caller that left", () =>
  Effect.gen(function* () {
    const record = makeRecord()
    yield* Effect.exit(makeStreamReply(limits, () => Effect.never)(replyOf(record, Stream.die("a defect"))))
    assert.isUndefined(record.streamEnd)
  }).pipe(Effect.scoped)
)

it.effect("a caller that leaves before the first frame is recorded as one that left", () =>
  Effect.gen(function* () {
    const record = makeRecord()
    const stream = makeStreamReply(limits, () => Effect.never)(replyOf(record, Stream.never))
    yield* Fiber.interrupt(yield* Effect.forkChild(stream, { startImmediately: true }))
    assert.strictEqual(record.streamEnd, "cancelled")
  }).pipe(Effect.scoped)
)

it.effect("the first event is the first one", () =>
  Effect.gen(function* () {
    let now = 0
    const record = Object.assign(makeRecord(), { now: () => ++now })
    const { body } = yield* makeStreamReply(
      limits,
      () => Effect.never
    )(replyOf(record, Stream.rechunk(Stream.make(ping, ping), 1)))
    if (body._tag !== "Stream") return assert.fail(body._tag)
    yield* Stream.runDrain(body.stream)
    assert.deepStrictEqual([record.events, record.firstEventAt], [2, 1])
  }).pipe(Effect.scoped)
)

it.effect("a reply is that of the last attempt", () =>
  Effect.gen(function* () {
    const seen: Array<string> = []
    const attemptOf = (name: string) => {
      const span = {
        ...noSpan,
        firstToken: () => void seen.push(`${name} began`),
        end: () => void seen.push(`${name} ended`)
      }
      return { span, sent: true, region: "r", noteLimit: () => {}, lastBytesAt: 0 }
    }
    const record = Object.assign(makeRecord(), { attempts: [attemptOf("first"), attemptOf("second")] })
    yield* Effect.scoped(makeStreamReply(limits, () => Effect.never)(replyOf(record, Stream.succeed(ping))))
    assert.deepStrictEqual(seen, ["second began", "second ended"])
  })
)

it.live("a call is silent while no bytes of its last attempt come", () =>
  Effect.gen(function* () {
    const attempt = { span: noSpan, sent: true, region: "r" }
    const last = {
      ...attempt,
      get lastBytesAt() {
        return performance.now()
      }
    }
    const record = Object.assign(makeRecord(), { attempts: [{ ...attempt, lastBytesAt: 0 }, last] })
    const late = Stream.fromEffect(Effect.delay(Effect.succeed(ping), "150 millis"))
    const stream = makeStreamReply({ ...limits, streamIdleTimeout: Duration.millis(50) }, () => Effect.never)
    assert.strictEqual((yield* stream(replyOf(record, late))).status, 200)
  }).pipe(Effect.scoped)
)

it.effect("the events of a call that is refused count for nothing", () =>
  Effect.gen(function* () {
    const record = makeRecord()
    const refusal = { event: "error", data: '{"type":"error","error":{"type":"overloaded_error","message":"no"}}' }
    const stream = makeStreamReply(limits, () => Effect.never)
    yield* Effect.flip(stream(replyOf(record, Stream.succeed(refusal))))
    assert.isUndefined(record.firstEventAt)
    yield* stream(replyOf(record, Stream.succeed(ping)))
    assert.strictEqual(record.events, 1)
  }).pipe(Effect.scoped)
)
