import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { open as post } from "../support/http.ts"
import { documentedMetrics } from "../support/metricTable.ts"
import { type Point, type Receiver, startReceiver } from "./receiver.ts"
import { exportTo, type GatewayProcess, message, startProcess } from "./support.ts"

let receiver: Receiver
let gateway: GatewayProcess
/** Tokens of the successful replies, as the callers saw them. */
const tokens = { input: 0, output: 0 }

const send = async (path: string, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  (await post(gateway.url + path, body, headers)).text()

/** Every kind of request that is counted, each a known number of times. */
const series = async () => {
  for (let n = 0; n < 3; n++) {
    const { usage } = JSON.parse(await send("/v1/messages", message("Hello")))
    tokens.input += usage.input_tokens
    tokens.output += usage.output_tokens
  }
  for (let n = 0; n < 2; n++)
    await send("/v1/messages", message("Hello", { model: "claude-haiku-4-5:il2", stream: true }))
  await send("/v1/messages", message("[sandbox: cut after=5]", { model: "claude-opus-4-7:il5", stream: true }))
  await send("/v1/messages", message("[sandbox: status=429]", { model: "claude-opus-4-7:il5" }))
  await send("/v1/messages", message("Hello", { model: "nothing:il5" }))
  await send("/v1/messages", message("Hello"), { "x-api-key": "wrong" })
  await send("/v1/messages/count_tokens", message("Hello"))
  await send("/v1/nowhere", {})
  const flagged = '[sandbox: tool=send args={"to":"https://a.example","cc":"https://b.example"}]'
  const tools = [{ name: "send", input_schema: { type: "object", properties: { to: { type: "string" } } } }]
  await send("/v1/messages", message(flagged, { model: "claude-opus-4-8:il2", tools }))
  const hook = { type: "object", properties: { webhook_url: { type: "string" } } }
  await send("/v1/chat/completions", {
    model: "gpt-5.1:il5",
    messages: [{ role: "user", content: "Hello" }],
    tools: [{ type: "function", function: { name: "call", parameters: hook } }]
  })
  await send("/v1/embeddings", { model: "titan-embed-text-v2:itar", input: ["one", "two"] })
  await fetch(`${gateway.url}/health`)
}

beforeAll(async () => {
  receiver = await startReceiver()
  gateway = await startProcess({
    ...exportTo(receiver.url),
    GATEWAY_METRICS_PORT: "0",
    GATEWAY_SANDBOX_PACE: "2 millis"
  })
  await series()
})
afterAll(async () => {
  await gateway.stop()
  await receiver.stop()
})

const matches = (point: Point, name: string, labels: Readonly<Record<string, string>>) =>
  point.name === name && Object.entries(labels).every(([key, value]) => point.attributes[key] === value)

/** The sum over the series with these labels, once it is what it must come to (the number of observations of a histogram). */
const comesTo = (expected: number, name: string, labels: Readonly<Record<string, string>> = {}) =>
  receiver
    .until(() => {
      const found = receiver.points().filter((point) => matches(point, name, labels))
      const sum = found.reduce((total, { value, count }) => total + (count ?? value), 0)
      return found.length > 0 && sum === expected ? true : undefined
    })
    .catch(() => {
      const found = receiver.points().filter((point) => point.name === name)
      assert.fail(`${name} ${JSON.stringify(labels)} is not ${expected}: ${JSON.stringify(found)}`)
    })

describe("after a known series of requests", () => {
  it("requests are counted by surface, status and outcome", async () => {
    const requests = "gateway_requests_total"
    await comesTo(7, requests, { surface: "messages", status: "200" })
    await comesTo(6, requests, { surface: "messages", outcome: "ok" })
    await comesTo(1, requests, { surface: "messages", status: "200", outcome: "cut" })
    await comesTo(1, requests, { surface: "messages", status: "429", outcome: "upstream_error" })
    await comesTo(1, requests, { surface: "messages", status: "400", outcome: "invalid" })
    await comesTo(1, requests, { surface: "messages", status: "401", outcome: "unauthenticated" })
    await comesTo(1, requests, { surface: "count_tokens", status: "200", outcome: "ok" })
    await comesTo(1, requests, { surface: "embeddings", status: "200", outcome: "ok" })
    await comesTo(1, requests, { surface: "chat", status: "400", outcome: "invalid" })
    await comesTo(1, requests, { surface: "other", status: "404", outcome: "invalid" })
    await comesTo(14, requests)
    await comesTo(3, "gateway_request_duration_seconds", { surface: "messages", stream: "true" })
    await comesTo(3, "gateway_time_to_first_event_seconds", { surface: "messages" })
    await comesTo(0, "gateway_requests_in_flight")
    await comesTo(0, "gateway_streams_in_flight")
  })

  it("governance is counted", async () => {
    await comesTo(1, "gateway_governance_flags_total", { surface: "messages" })
    await comesTo(1, "gateway_screen_refusals_total", { surface: "chat" })
  })

  it("upstream calls are counted by the GenAI conventions", async () => {
    const duration = "gen_ai.client.inference.duration"
    await comesTo(2, "gen_ai.client.operation.duration", { "gen_ai.operation.name": "embeddings" })
    // Token counts are free, and no inference.
    await comesTo(2, "gen_ai.client.operation.duration")
    await comesTo(3, duration, { "gen_ai.request.model": "claude-sonnet-4-5", "gen_ai.provider.name": "aws.bedrock" })
    await comesTo(2, duration, { "gen_ai.request.model": "claude-haiku-4-5", "gen_ai.provider.name": "gcp.vertex_ai" })
    await comesTo(1, duration, { "gen_ai.request.model": "claude-opus-4-7", "error.type": "cut" })
    await comesTo(1, duration, { "gen_ai.request.model": "claude-opus-4-7", "error.type": "429" })
    // Counting tokens is free, and no inference.
    await comesTo(8, duration)
    await comesTo(2, "gen_ai.client.operation.duration", { "gen_ai.operation.name": "embeddings" })
    await comesTo(2, "gen_ai.client.inference.time_to_first_chunk", { "gen_ai.request.model": "claude-haiku-4-5" })
    const chunks = receiver.points().find(({ name }) => name === "gen_ai.client.inference.time_per_output_chunk")
    assert.isAbove(chunks?.count ?? 0, 1)
  })

  it("tokens are those that the callers saw, by model and level", async () => {
    const labels = { "gen_ai.request.model": "claude-sonnet-4-5", "gateway.level": "il5" }
    await comesTo(tokens.input, "gen_ai.client.inference.usage.input_tokens", labels)
    await comesTo(tokens.output, "gen_ai.client.inference.usage.output_tokens", labels)
    assert.isAbove(tokens.output, 0)
  })

  it("tokens that were charged are counted by type, also of a stream that broke off", () => {
    const sum = (name: string, type?: string) =>
      receiver
        .points()
        .filter((point) => point.name === name && (type === undefined || point.attributes.type === type))
        .reduce((total, { value }) => total + value, 0)
    assert.isAtLeast(sum("gateway_tokens_total", "output"), sum("gen_ai.client.inference.usage.output_tokens"))
    assert.isAtLeast(sum("gateway_tokens_total", "input"), tokens.input)
  })

  it("labels are those of the documented table", () => {
    for (const { name, attributes } of receiver.points()) {
      assert.includeMembers([...(documentedMetrics.get(name)?.labels ?? [])], Object.keys(attributes), name)
    }
  })

  it("what the gateway adds is counted, without the time of the clouds", async () => {
    const overhead = "gateway_overhead_seconds"
    await comesTo(8, overhead, { surface: "messages" })
    await comesTo(1, overhead, { surface: "embeddings" })
    const sumOf = (name: string) =>
      receiver.points().find((point) => matches(point, name, { surface: "messages", stream: "true" }))?.value ?? 0
    assert.isAbove(sumOf(overhead), 0)
    assert.isBelow(sumOf(overhead), sumOf("gateway_request_duration_seconds"))
  })

  it("what simulated clouds served says so", () => {
    const served = receiver.points().filter(({ attributes }) => "gen_ai.provider.name" in attributes)
    assert.isNotEmpty(served)
    for (const { attributes, name } of served) {
      assert.deepInclude(attributes, { "gateway.sandbox": "true", "server.address": "127.0.0.1" }, name)
    }
    const requests = receiver.points().filter(({ name }) => name === "gateway_requests_total")
    const sandbox = (status: string) =>
      new Set(
        requests.filter(({ attributes }) => attributes.status === status).map((it) => it.attributes["gateway.sandbox"])
      )
    assert.deepStrictEqual([...sandbox("200")], ["true"])
    assert.deepStrictEqual([...sandbox("401")], [undefined])
  })

  it("units are those of the conventions", () => {
    const units = new Map(receiver.points().map(({ name, unit }) => [name, unit]))
    assert.strictEqual(units.get("gen_ai.client.inference.duration"), "s")
    assert.strictEqual(units.get("gen_ai.client.inference.usage.input_tokens"), "{token}")
    // A unit of "1" would become a `_ratio` in the collector's Prometheus names.
    assert.strictEqual(units.get("gateway_requests_in_flight"), "")
  })

  it("Prometheus reads the same on its own port", async () => {
    const response = await fetch(gateway.metrics())
    assert.match(response.headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/)
    const text = await response.text()
    assert.include(
      text,
      'gateway_requests_total{surface="messages",status="200",outcome="cut",gateway_sandbox="true"} 1'
    )
    assert.match(text, /^gen_ai_client_inference_duration_seconds_count\{.*claude-sonnet-4-5.*\} 3$/m)
    assert.match(text, /^gen_ai_client_inference_usage_output_tokens_total\{.*gateway_level="il5".*\} \d+$/m)
    assert.strictEqual((await fetch(`${gateway.metrics()}?name[]=up`)).status, 200)
    assert.strictEqual((await fetch(new URL("/nothing", gateway.metrics()))).status, 404)
    assert.strictEqual((await fetch(`${gateway.url}/metrics`)).status, 404)
  })
})
