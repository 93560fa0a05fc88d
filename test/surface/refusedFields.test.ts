/** Fields that a cloud refuses by name (docs/decisions.md#fields-that-a-cloud-refuses). */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { GatewayError } from "../../src/model/GatewayError.ts"
import { makeRefusedFields, refusedField, systemTurns } from "../../src/surface/refusedFields.ts"
import type { JsonObject } from "../../src/wire/json.ts"
import { drops } from "../../src/wire/strip.ts"
import { sonnet } from "../dialect/support.ts"
import { bedrockFrame, message, saying, sseFrame, wholeMessage } from "../support/claude.ts"
import {
  chunk,
  type FakeUpstream,
  fakeUpstream,
  frameHead,
  lastChunk,
  reply,
  sseHead
} from "../support/fakeUpstream.ts"
import { cloudsAt, type Gateway, startGateway } from "../support/gateway.ts"
import { post } from "../support/http.ts"

const refusal = (message: string) =>
  new GatewayError({ reason: "invalid", code: "upstream-invalid", upstreamStatus: 400, message })
const extra = (path: string) => `${path}: Extra inputs are not permitted`

describe("what a refusal names", () => {
  const body: JsonObject = {
    metadata: { novel: 1 },
    safeguards: {},
    system: [{ type: "text", text: "x", cache_control: { type: "ephemeral", scope: "global" } }],
    tools: [
      { name: "a", input_schema: {} },
      { name: "b", input_schema: {}, later: true }
    ],
    tool_choice: { type: "auto", disable_parallel_tool_use: true },
    thinking: { type: "adaptive", display: "omitted", budget_tokens: 1 },
    messages: [
      { role: "user", content: [{ type: "text", text: "hi", novel: 1 }] },
      { role: "system", content: "Be brief." }
    ]
  }
  it.each([
    [extra("safeguards"), "safeguards"],
    [extra("metadata.novel"), "metadata.novel"],
    [extra("tools.1.custom.later"), "tools[].later"],
    [extra("messages.0.content.0.text.novel"), "messages[].content[].novel"],
    [extra("system.0.cache_control.ephemeral.scope"), "system[].cache_control.scope"],
    [extra("thinking.adaptive.display"), "thinking.display"],
    [extra("tool_choice.auto.disable_parallel_tool_use"), "tool_choice.disable_parallel_tool_use"],
    [`The model returned the following errors: ${extra("safeguards")}`, "safeguards"],
    [
      "Malformed input request: #/tool_choice: extraneous key [disable_parallel_tool_use] is not permitted, please",
      "tool_choice.disable_parallel_tool_use"
    ],
    ["Malformed input request: #: extraneous key [safeguards] is not permitted", "safeguards"],
    ["messages.1.role: Input should be 'user' or 'assistant'", systemTurns],
    ["role 'system' is not supported on this model", systemTurns],
    // What makes a request what it is, what is not there, and other words.
    [extra("thinking.adaptive.budget_tokens"), undefined],
    [extra("messages.0.content.0.text.source"), undefined],
    [extra("tools"), undefined],
    [extra("elsewhere.novel"), undefined],
    ["max_tokens: Field required", undefined]
  ])("%s", (message, expected) => {
    assert.strictEqual(refusedField(refusal(message), body), expected)
  })

  it("nothing, where the refusal is another", () => {
    const { message } = refusal(extra("safeguards"))
    for (const upstreamStatus of [200, 413, 500]) {
      const error = new GatewayError({ reason: "upstream", code: "upstream-error", upstreamStatus, message })
      assert.isUndefined(refusedField(error, body))
    }
    assert.isUndefined(refusedField(refusal("role 'system' is not supported"), { messages: [] }))
  })
})

describe("a deployment", () => {
  it("remembers for an hour, and no more than it can hold", () => {
    let now = 0
    const fields = makeRefusedFields(() => now)
    assert.strictEqual(fields.apply(sonnet), sonnet)
    for (let times = 0; times < 2; times++) fields.remember(sonnet.deployment, "a.b")
    assert.isTrue(drops(fields.apply(sonnet).strip, "a.b"))
    assert.isTrue(drops(fields.apply(sonnet).strip, "context_management"))
    now = 3_600_001
    assert.strictEqual(fields.apply(sonnet), sonnet)
    for (let at = 0; at < 100; at++) fields.remember(sonnet.deployment, `field${at}`)
    const known = (at: number) => drops(fields.apply(sonnet).strip, `field${at}`)
    assert.deepStrictEqual([known(0), known(35), known(36), known(99)], [false, false, true, true])
  })
})

describe("on the wire", () => {
  let upstream: FakeUpstream
  let gateway: Gateway
  /** Fields that the cloud refuses, by their place. */
  let refused: ReadonlyArray<readonly [path: string, has: (body: JsonObject) => boolean]> = []
  beforeAll(async () => {
    upstream = await fakeUpstream((socket, { body, path }) => {
      const sent = JSON.parse(body)
      const found = refused.find(([, has]) => has(sent))
      if (found !== undefined) {
        const error = { type: "error", error: { type: "invalid_request_error", message: extra(found[0]) } }
        socket.write(reply("400 Bad Request", JSON.stringify(error)))
      } else if (/stream/i.test(path)) {
        const [head, frame] = path.includes("/model/") ? [frameHead, bedrockFrame] : [sseHead, sseFrame]
        socket.write(head)
        for (const event of saying("Hello.")) socket.write(chunk(frame(event)))
        socket.write(lastChunk)
      } else {
        const content = [{ type: "text", text: "```json\n{}\n```" }]
        const usage = { input_tokens: 1, output_tokens: 2 }
        socket.write(reply("200 OK", JSON.stringify(wholeMessage(content, { usage }))))
      }
    })
    gateway = await startGateway({ settings: cloudsAt(upstream.url) })
  })
  afterAll(async () => {
    await gateway.stop()
    await upstream.stop()
  })
  const ask = async (model: string, extra: Readonly<Record<string, unknown>>, path = "/v1/messages") => {
    const before = upstream.received.length
    const got = await post(`${gateway.url}${path}`, message(model, "hi", extra))
    const bodies = upstream.received.slice(before).map(({ body }) => JSON.parse(body))
    return { got, bodies, sent: bodies.at(-1), adjusted: got.headers.get("x-gateway-adjusted") }
  }
  const isIn = (name: string) => (body: JsonObject) => name in body

  for (const stream of [false, true]) {
    for (const level of ["il2", "il5"]) {
      it(`${level}${stream ? ", streamed" : ""}: is sent again without them, one at a time`, async () => {
        // Another model for each, because deployments remember.
        const model = `claude-${stream ? "sonnet" : "haiku"}-4-5:${level}`
        refused = [
          ["safeguards", isIn("safeguards")],
          ["metadata.novel", (body) => JSON.stringify(body.metadata ?? {}).includes("novel")]
        ]
        const extra = { stream, safeguards: {}, metadata: { user_id: "u", novel: 1 } }
        const first = await ask(model, extra)
        assert.strictEqual(first.got.status, 200, first.got.text)
        assert.lengthOf(first.bodies, 3)
        assert.deepStrictEqual(first.sent.metadata, { user_id: "u" })
        assert.strictEqual(first.adjusted, "safeguards:removed, metadata.novel:removed")
        const second = await ask(model, { ...extra, safeguards: { a: 1 } })
        assert.lengthOf(second.bodies, 1)
        assert.strictEqual(second.adjusted, "safeguards:removed, metadata.novel:removed")
        const record = () =>
          gateway.records().find(({ request_id }) => request_id === second.got.headers.get("x-request-id"))
        while (record() === undefined) await new Promise((resolve) => setTimeout(resolve, 5))
        assert.deepInclude(record(), { outcome: "ok", stream, stream_end: stream ? "complete" : null })
      })
    }
  }

  it("requests at the same time all go without it", async () => {
    refused = [["together", isIn("together")]]
    const asked = Array.from({ length: 5 }, () => ask("claude-opus-5:il2", { together: 1 }))
    for (const { got } of await Promise.all(asked)) assert.strictEqual(got.status, 200, got.text)
  })

  it("three times at most, and then the refusal is the answer", async () => {
    refused = ["a", "b", "c", "d"].map((name) => [`${name}1`, isIn(`${name}1`)] as const)
    const { bodies, got } = await ask("claude-opus-4-7:il2", { a1: 1, b1: 1, c1: 1, d1: 1 })
    assert.lengthOf(bodies, 4)
    assert.strictEqual(got.status, 400)
    assert.match(got.json.error.message, /^d1: Extra inputs/)
  })

  it("what makes a request what it is stays the caller's to mend", async () => {
    refused = [["tools.0.custom.description", () => true]]
    const { bodies, got } = await ask("claude-opus-4-7:il5", {
      tools: [{ name: "f", description: "", input_schema: {} }]
    })
    assert.strictEqual(got.status, 400)
    assert.lengthOf(bodies, 1)
  })

  it("a format that the cloud refuses becomes an instruction, on both surfaces", async () => {
    refused = [["output_config.format", (body) => JSON.stringify(body.output_config ?? {}).includes("format")]]
    const schema = { type: "object", properties: {}, additionalProperties: false }
    const { adjusted, bodies, got, sent } = await ask("claude-haiku-4-5:il5", {
      output_config: { format: { type: "json_schema", schema } }
    })
    assert.lengthOf(bodies, 2)
    assert.include(JSON.stringify(sent.system), "conforms to this JSON Schema")
    assert.strictEqual(got.json.content[0].text, "{}")
    assert.strictEqual(adjusted, "output_config.format:json_schema->instruction")
    const response_format = { type: "json_schema", json_schema: { name: "x", strict: true, schema } }
    const chat = await ask("claude-haiku-4-5:il5", { response_format }, "/v1/chat/completions")
    assert.include(chat.adjusted, "response_format:json_schema->instruction")
    assert.strictEqual(chat.got.json.choices[0].message.content, "{}")
  })
})
