import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { GatewayError } from "../../src/catalog/GatewayError.ts"
import { type CallSpan, makeCallSpans } from "../../src/telemetry/spans.ts"
import { open as post } from "../support/http.ts"
import { type Receiver, type Span, startReceiver } from "./receiver.ts"
import { caller, exportTo, type GatewayProcess, message, startProcess } from "./support.ts"

let receiver: Receiver
let gateway: GatewayProcess
beforeAll(async () => {
  receiver = await startReceiver()
  gateway = await startProcess({
    ...exportTo(receiver.url),
    GATEWAY_SANDBOX_PACE: "10 millis",
    GATEWAY_STREAM_IDLE_TIMEOUT: "700 millis"
  })
})
afterAll(async () => {
  await gateway.stop()
  await receiver.stop()
})

const server = 2
const client = 3
const unset = 0
const failed = 2

/** Posts within a trace of its own, and answers that trace once its server span has come. */
const traced = async (path: string, body: unknown, use: (response: Response) => Promise<unknown> = (r) => r.text()) => {
  const trace = caller()
  const response = await post(gateway.url + path, body, trace.headers)
  await use(response)
  const root = await receiver.until(() =>
    receiver.spans.find(({ traceId, kind }) => traceId === trace.traceId && kind === server)
  )
  const spans = receiver.spans.filter(({ traceId }) => traceId === trace.traceId)
  return { trace, response, root, spans, call: spans.find(({ kind }) => kind === client) }
}

const present = (span: Span | undefined): Span => {
  if (span === undefined) throw new Error("there is no client span")
  return span
}

const within = (inner: Span, outer: Span) => {
  assert.isAtLeast(inner.start, outer.start)
  assert.isAtMost(inner.end, outer.end)
}

it("a health check has no span", async () => {
  const { headers, traceId } = caller()
  await (await fetch(`${gateway.url}/health`, { headers })).text()
  // Spans are sent in the order in which they end.
  await traced("/v1/messages", message("Hello"))
  assert.isFalse(receiver.spans.some((span) => span.traceId === traceId))
})

it.effect("a call lasts to its last byte, its failure, or until it is given up, however late it is ended", () =>
  Effect.gen(function* () {
    const open = yield* makeCallSpans
    const labels = { provider: "p", model: "m", level: "il5", sandbox: true, address: "a", port: 1 }
    const options = { operation: "messages", deployment: "d", region: "r", stream: false, ...labels } as const
    const failure = new GatewayError({ reason: "upstream", message: "no" })
    for (const over of [
      (call: CallSpan) => call.received(),
      (call: CallSpan) => call.fail(failure),
      (call: CallSpan) => call.cancelled()
    ]) {
      const call = open(options, undefined)
      yield* TestClock.adjust("1 second")
      over(call)
      yield* TestClock.adjust("1 second")
      const [from, to] = call.period()
      assert.strictEqual(to - from, 1_000_000_000n)
      call.end()
    }
  })
)

describe("a request that succeeds", () => {
  it("has a server span in the caller's trace, by the HTTP conventions", async () => {
    const { trace, root, response } = await traced("/v1/messages?tag=query-is-not-recorded", message("Hello"))
    assert.strictEqual(root.name, "POST /v1/messages")
    assert.strictEqual(root.parentId, trace.spanId)
    assert.strictEqual(root.status, unset)
    const { "user_agent.original": agent, ...attributes } = root.attributes
    assert.isString(agent)
    assert.deepStrictEqual(attributes, {
      "gateway.sandbox": true,
      "http.request.method": "POST",
      "http.route": "/v1/messages",
      "http.response.status_code": 200,
      "url.path": "/v1/messages",
      "url.scheme": "http",
      "gateway.request_id": response.headers.get("x-request-id") ?? "",
      "gateway.model": "claude-sonnet-4-5",
      "gateway.level": "il5"
    })
    assert.strictEqual(root.resource["service.name"], "government-model-gateway")
    assert.strictEqual(root.resource["deployment.environment.name"], "test")
  })

  it("has one client span, by the GenAI conventions", async () => {
    const { root, spans, call } = await traced("/v1/messages", message("Hello"))
    const span = present(call)
    assert.strictEqual(spans.length, 2)
    assert.strictEqual(span.name, "chat claude-sonnet-4-5")
    assert.strictEqual(span.parentId, root.spanId)
    assert.strictEqual(span.status, unset)
    within(span, root)
    const {
      "server.port": port,
      "gen_ai.response.id": id,
      "gen_ai.response.model": model,
      "gen_ai.usage.input_tokens": input,
      "gen_ai.usage.output_tokens": output,
      "gateway.deployment": deployment,
      ...attributes
    } = span.attributes
    assert.isAbove(Number(port), 0)
    assert.match(String(id), /^msg_/)
    assert.match(String(model), /^claude-sonnet-4-5/)
    assert.match(String(deployment), /claude-sonnet-4-5/)
    assert.isAbove(Number(input), 0)
    assert.isAbove(Number(output), 0)
    assert.deepStrictEqual(attributes, {
      "gateway.sandbox": true,
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "aws.bedrock",
      "gen_ai.request.model": "claude-sonnet-4-5",
      "gen_ai.request.stream": false,
      "gen_ai.response.finish_reasons": ["end_turn"],
      "server.address": "127.0.0.1",
      "http.response.status_code": 200,
      "gateway.level": "il5",
      "gateway.region": "us-gov-west-1",
      "gateway.governance.flags": 0
    })
  })

  it("streams: the client span has the cloud's model and ID, also where the first event has none, as Azure's", async () => {
    const body = { model: "gpt-5.1:il5", messages: [{ role: "user", content: "Hello" }], stream: true }
    const { attributes } = present((await traced("/v1/chat/completions", body)).call)
    assert.match(String(attributes["gen_ai.response.model"]), /^gpt-5\.1/)
    assert.match(String(attributes["gen_ai.response.id"]), /^chatcmpl-/)
  })

  it("streams: the client span has the first token and lasts to the last", async () => {
    const { root, call } = await traced("/v1/messages", message("Hello", { stream: true }))
    const span = present(call)
    within(span, root)
    assert.strictEqual(span.attributes["gen_ai.request.stream"], true)
    assert.match(String(span.attributes["gen_ai.response.model"]), /^claude-sonnet-4-5/)
    assert.isAbove(Number(span.attributes["gen_ai.usage.output_tokens"]), 0)
    assert.deepStrictEqual(span.attributes["gen_ai.response.finish_reasons"], ["end_turn"])
    assert.deepStrictEqual(
      span.events.map(({ name }) => name),
      ["gen_ai.first_token"]
    )
    const first = span.events[0]?.time ?? 0
    assert.approximately(
      (first - span.start) / 1000,
      Number(span.attributes["gen_ai.response.time_to_first_chunk"]),
      0.002
    )
    // Some twenty words at ten milliseconds each.
    assert.isAbove(span.end - first, 100)
  })

  it("counts flags", async () => {
    const tool = { name: "send", input_schema: { type: "object", properties: { to: { type: "string" } } } }
    const text = '[sandbox: tool=send args={"to":"https://example.org/x"}]'
    const { call, response } = await traced("/v1/messages", message(text, { tools: [tool] }))
    assert.strictEqual(response.status, 200)
    assert.strictEqual(present(call).attributes["gateway.governance.flags"], 1)
  })

  it("is traced on the other surfaces too", async () => {
    const chat = { model: "gpt-5.1:il5", messages: [{ role: "user", content: "Hello" }] }
    const azure = present((await traced("/v1/chat/completions", chat)).call)
    assert.strictEqual(azure.name, "chat gpt-5.1")
    assert.strictEqual(azure.attributes["gen_ai.provider.name"], "azure.ai.openai")
    assert.isNumber(azure.attributes["gen_ai.usage.reasoning.output_tokens"])

    const google = await traced("/v1/chat/completions", { ...chat, model: "gemini-3-flash:il2", stream: true })
    assert.strictEqual(present(google.call).name, "generate_content gemini-3-flash")
    assert.strictEqual(present(google.call).attributes["gen_ai.provider.name"], "gcp.vertex_ai")
    assert.isAbove(Number(present(google.call).attributes["gen_ai.usage.output_tokens"]), 0)

    const responses = await traced("/v1/responses", { model: "gpt-5.1:il5", input: "Hello", stream: true })
    assert.strictEqual(responses.root.name, "POST /v1/responses")
    assert.isAbove(Number(present(responses.call).attributes["gen_ai.usage.output_tokens"]), 0)

    const count = await traced("/v1/messages/count_tokens", message("Hello"))
    assert.strictEqual(present(count.call).name, "count_tokens claude-sonnet-4-5")
  })

  it("shows every call of an embeddings request", async () => {
    const { root, spans } = await traced("/v1/embeddings", {
      model: "titan-embed-text-v2:il5",
      input: ["one", "two", "three"]
    })
    const calls = spans.filter(({ kind }) => kind === client)
    assert.strictEqual(calls.length, 3)
    for (const call of calls) {
      assert.strictEqual(call.name, "embeddings titan-embed-text-v2")
      assert.strictEqual(call.parentId, root.spanId)
      assert.isAbove(Number(call.attributes["gen_ai.usage.input_tokens"]), 0)
      within(call, root)
    }
  })
})

describe("a request that fails", () => {
  it("has no client span when it is refused here, and is no failure of the server", async () => {
    const { root, call, response } = await traced("/v1/messages", message("Hello", { model: "nothing:il5" }))
    assert.strictEqual(response.status, 400)
    assert.isUndefined(call)
    assert.strictEqual(root.status, unset)
    assert.strictEqual(root.attributes["http.response.status_code"], 400)
  })

  it("says what the cloud refused it with", async () => {
    const { root, call } = await traced("/v1/messages", message("[sandbox: status=429]"))
    const span = present(call)
    assert.strictEqual(span.status, failed)
    assert.strictEqual(span.attributes["error.type"], "429")
    assert.strictEqual(span.attributes["http.response.status_code"], 429)
    assert.strictEqual(root.status, unset)
    assert.strictEqual(root.attributes["http.response.status_code"], 429)
  })

  it("fails with the cloud", async () => {
    const { root, call } = await traced("/v1/messages", message("[sandbox: status=503]", { stream: true }))
    assert.strictEqual(present(call).attributes["error.type"], "503")
    assert.strictEqual(root.status, failed)
    assert.strictEqual(root.attributes["http.response.status_code"], 502)
    within(present(call), root)
  })

  it("shows a stream that broke off behind its 200, with what came until then", async () => {
    const { root, call } = await traced("/v1/messages", message("[sandbox: cut after=5]", { stream: true }))
    const span = present(call)
    assert.strictEqual(span.status, failed)
    assert.strictEqual(span.attributes["error.type"], "cut")
    assert.strictEqual(span.events[0]?.name, "gen_ai.first_token")
    assert.isAbove(Number(span.attributes["gen_ai.usage.input_tokens"]), 0)
    assert.strictEqual(root.status, failed)
    assert.strictEqual(root.attributes["error.type"], "cut")
    assert.strictEqual(root.attributes["http.response.status_code"], 200)
  })

  it("ends at the idle limit, with what came until then", async () => {
    const { root, call } = await traced("/v1/messages", message("[sandbox: stall after=3]", { stream: true }))
    const span = present(call)
    assert.strictEqual(span.attributes["error.type"], "idle")
    assert.isAbove(Number(span.attributes["gen_ai.usage.input_tokens"]), 0)
    assert.isAtLeast(span.end - span.start, 690)
    assert.strictEqual(root.attributes["error.type"], "idle")
    within(span, root)
  })

  it("ends at the idle limit also before the cloud's headers", async () => {
    const { root, call } = await traced("/v1/messages", message("[sandbox: delay=5s]", { stream: true }))
    assert.strictEqual(present(call).attributes["error.type"], "idle")
    assert.strictEqual(present(call).status, failed)
    assert.strictEqual(root.attributes["error.type"], "idle")
  })

  it("ends when the caller leaves", async () => {
    const trace = caller()
    const leaving = new AbortController()
    const response = await post(
      `${gateway.url}/v1/messages`,
      message("[sandbox: delay=50ms] Hello", { stream: true }),
      trace.headers,
      { signal: leaving.signal }
    )
    await response.body?.getReader().read()
    await sleep(30)
    const left = Date.now()
    leaving.abort()
    const [root, span] = await receiver.until(() => {
      const [a, b, ...rest] = receiver.spans.filter(({ traceId }) => traceId === trace.traceId)
      if (a === undefined || b === undefined || rest.length > 0) return undefined
      return a.kind === server ? [a, b] : [b, a]
    })
    for (const ended of [root, span]) {
      assert.strictEqual(ended?.attributes["error.type"], "cancelled")
      assert.strictEqual(ended?.status, unset)
      assert.isBelow((ended?.end ?? 0) - left, 1000)
    }
  })
})

it("one log line a request carries its trace", async () => {
  const { trace, response } = await traced("/v1/messages", message("Hello"))
  const record = await receiver.until(() => receiver.records.find(({ traceId }) => traceId === trace.traceId))
  assert.strictEqual(record.body, "POST /v1/messages")
  assert.strictEqual(record.attributes.request_id, response.headers.get("x-request-id"))
  const lines = gateway
    .stderr()
    .split("\n")
    .filter((line) => line.includes(trace.traceId))
  assert.strictEqual(lines.length, 1)
  const line = JSON.parse(lines[0] ?? "")
  assert.deepInclude(line, { level: "info", status: 200, outcome: "ok", model: "claude-sonnet-4-5:il5" })
})
