/**
 * `npm run bench -- --stages`: what each step of a request costs on the gateway's own thread, in microseconds and in bytes
 * allocated, without sockets. What a whole request costs beyond their sum is Node, undici and Effect's server.
 */
import { getHeapStatistics } from "node:v8"
import { Effect, Result, Stream } from "effect"
import { digestOf } from "../src/access/KeyFile.ts"
import { recordLine, usageRecordOf } from "../src/access/UsageRecord.ts"
import { purposePaths } from "../src/api/Api.ts"
import { ChatRequest } from "../src/api/Chat.ts"
import { compiled } from "../src/api/compiled.ts"
import { makeAccumulator } from "../src/governance/accumulate.ts"
import { governanceOfCalls } from "../src/governance/flags.ts"
import { clouds } from "../src/model/Catalog.ts"
import { shippedCatalog } from "../src/model/CatalogStore.ts"
import { bestSites } from "../src/model/Partition.ts"
import { makeIndex } from "../src/model/Resolver.ts"
import { faultError } from "../src/provider/fault.ts"
import { ReplyWriter } from "../src/stream/encode.ts"
import type { Progress, Protocol } from "../src/stream/Frame.ts"
import { Relay } from "../src/stream/relay.ts"
import { chat } from "../src/surface/chat.ts"
import { messages } from "../src/surface/messages.ts"
import { Observation } from "../src/surface/Observation.ts"
import { makeRecordRequest } from "../src/telemetry/metrics.ts"
import type { Event } from "../src/wire/Event.ts"
import { parseExact, readExactObject } from "../src/wire/json.ts"
import { measure } from "../src/wire/measure.ts"
import { atOnce } from "../src/wire/slices.ts"
import { sse } from "../src/wire/sseDecoder.ts"
import { nothing, responseTo } from "./caller.ts"
import * as calls from "./calls.ts"
import { replies } from "./wire.ts"

/** Microseconds and bytes of one run: the best of five rounds, after warming up. */
const cost = (run: () => unknown, per = 1) => {
  const times = 2_000
  for (let n = 0; n < 10 * times; n++) run()
  let best = Number.POSITIVE_INFINITY
  for (let round = 0; round < 5; round++) {
    const began = performance.now()
    for (let n = 0; n < times; n++) run()
    best = Math.min(best, performance.now() - began)
  }
  const before = getHeapStatistics().total_allocated_bytes
  for (let n = 0; n < times; n++) run()
  const allocated = getHeapStatistics().total_allocated_bytes - before
  return { micros: (best * 1000) / times / per, bytes: allocated / times / per }
}

const rows: Array<readonly [name: string, micros: number, bytes: number]> = []
const stage = (name: string, run: () => unknown, per = 1) => {
  const { bytes, micros } = cost(run, per)
  rows.push([name, micros, bytes])
}

const index = makeIndex(Result.getOrThrow(shippedCatalog), bestSites(clouds), purposePaths)
const arrival = { id: crypto.randomUUID(), startedAt: Date.now(), headers: {} }
const whole = calls.chat("claude-sonnet-4-5:il2", false).body
const bytes = Buffer.from(whole)
const decode = compiled(ChatRequest)
const request = Result.getOrThrow(decode(JSON.parse(whole)))
const route = Result.getOrThrow(index.resolve(request.model, "chat"))
const prepared = Result.getOrThrow(chat.prepare(request, route, arrival))
const events = 200
const upstream = replies(events)
const replyText = upstream.claude.events[0]?.toString("utf8") ?? "{}"
const reply = { raw: replyText, body: readExactObject(replyText) ?? {} }

const facts = new Observation({
  ...arrival,
  method: "POST",
  path: "/v1/chat/completions",
  source: "::1",
  surface: "chat"
})
facts.route = route
facts.region = "us-east5"
facts.status = 200
facts.tokens = { input: 300, output: 200 }
const record = usageRecordOf(facts, false, Date.now())
const recordRequest = makeRecordRequest("team")

stage("digest of the key", () => digestOf("gmg_0123456789012345678901234567890123456789012"))
stage("request ID", () => crypto.randomUUID())
stage("measure the body", () => measure(bytes))
stage("parse the body", () => JSON.parse(bytes.toString("utf8")))
stage("judge it by the schema", () => decode(request))
stage("resolve the model", () => index.resolve(request.model, "chat"))
stage("translate the request", () => chat.prepare(request, route, arrival))
stage("print it for the cloud", () => JSON.stringify(prepared.bodies[0]))
stage("parse the reply, exactly", () => parseExact(replyText))
stage("translate, scan and print the reply", () =>
  Result.map(chat.answer(prepared, reply), (said) =>
    JSON.stringify(said.body(atOnce(governanceOfCalls(said.calls, "spec"))))
  )
)
stage("usage record and its line", () => record && recordLine(usageRecordOf(facts, false, Date.now()) ?? record))
stage("metrics of the request", () => recordRequest(facts, "ok", Date.now(), facts.tokens))

const response = responseTo(false)

/** A stream, one event a network chunk as clouds send them; costs are for each event. */
const streamed = <S extends Progress>(name: string, protocol: Protocol<S>, frames: ReadonlyArray<Buffer>) => {
  const decoded = (): ReadonlyArray<ReadonlyArray<Event>> => {
    const decoder = sse()
    return frames.map((frame) => decoder.feed(frame).events)
  }
  const chunks = decoded()
  const errorOf = (fault: Parameters<typeof faultError>[0]) => faultError(fault, (message) => message)
  const step = () => {
    const state = protocol.initial()
    return chunks.map((array) => protocol.step(state, array)[1])
  }
  stage(`${name}: frame the bytes`, decoded, frames.length)
  stage(`${name}: step the protocol`, step, frames.length)
  stage(
    `${name}: the relay, with the steps`,
    () => {
      const state = protocol.initial()
      let at = 0
      const writer = new ReplyWriter(response, nothing)
      const relay = new Relay({
        protocol,
        state,
        calls: makeAccumulator(),
        every: 60_000,
        writer,
        onFirst: nothing,
        onKept: () => undefined,
        onEnd: nothing,
        errorOf,
        lastWords: () => []
      })
      relay.opened({
        take: () => ({ events: chunks[at++] ?? [], end: at > chunks.length ? "done" : undefined }),
        notify: nothing
      })
      return Effect.runSync(Stream.runDrain(writer.encode(Stream.unwrap(relay.begin))))
    },
    frames.length
  )
}

const messagesRequest = { ...JSON.parse(calls.messages("claude-sonnet-4-5:il2", true).body) }
const native = Result.getOrThrow(messages.prepare(messagesRequest, route, arrival))
if (messages.protocol !== undefined) streamed("messages", messages.protocol(native), upstream.claudeStream.events)
if (chat.protocol !== undefined) streamed("chat", chat.protocol(prepared), upstream.claudeStream.events)

const print = (name: string, micros: number, allocated: number) =>
  process.stdout.write(`| ${name} | ${micros.toFixed(2)} | ${Math.round(allocated).toLocaleString("en-US")} |\n`)
process.stdout.write("| Step | µs | bytes |\n| --- | ---: | ---: |\n")
for (const [name, micros, allocated] of rows) print(name, micros, allocated)
