/** Counting (docs/api.md#counting-tokens). */
import { assert, describe, it } from "@effect/vitest"
import { message } from "../../support/claude.ts"
import { post } from "../../support/http.ts"
import { sharedGateway } from "../../support/shared.ts"

const gateway = sharedGateway()

const count = (body: unknown) => post(`${gateway.url}/v1/messages/count_tokens`, body)
const create = (body: unknown) => post(`${gateway.url}/v1/messages`, body)

const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
const tools = [
  {
    name: "get_weather",
    description: "Weather",
    input_schema: { type: "object", properties: { city: { type: "string" } } }
  }
]
const requests: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  plain: {},
  "system and several turns": {
    system: "Be brief.",
    messages: [
      { role: "user", content: "One." },
      { role: "assistant", content: "Two." },
      { role: "user", content: [{ type: "text", text: "Three." }] }
    ]
  },
  tools: { tools },
  "a forced tool": { tools, tool_choice: { type: "tool", name: "get_weather" } },
  "an image": {
    messages: [
      { role: "user", content: [{ type: "image", source: { type: "base64", media_type: "image/png", data: png } }] }
    ]
  }
}
const budgeted: typeof requests = {
  thinking: { max_tokens: 4000, thinking: { type: "enabled", budget_tokens: 2000 } },
  "thinking with a clamped budget": { max_tokens: 4000, thinking: { type: "enabled", budget_tokens: 20_000 } },
  "thinking with a budget of more than the model's output": {
    max_tokens: 4000,
    thinking: { type: "enabled", budget_tokens: 64_000 }
  },
  "thinking with a raised budget": { max_tokens: 4000, thinking: { type: "enabled", budget_tokens: 1 } },
  "thinking and a forced tool": {
    max_tokens: 4000,
    thinking: { type: "enabled", budget_tokens: 2000 },
    tools,
    tool_choice: { type: "any" }
  },
  "adaptive thinking": { max_tokens: 60_000, thinking: { type: "adaptive" }, output_config: { effort: "high" } }
}
const adaptive: typeof requests = {
  "adaptive thinking": { thinking: { type: "adaptive" }, output_config: { effort: "high" } },
  "thinking disabled": { thinking: { type: "disabled" } },
  "a budget and a forced tool": { ...budgeted["thinking and a forced tool"] }
}

describe("a count is what the identical request is billed", () => {
  for (const [model, more] of [
    ["claude-sonnet-4-5:il2", budgeted],
    ["claude-sonnet-4-5:fedramp-high", budgeted],
    ["claude-sonnet-4-5:il5", budgeted],
    ["claude-sonnet-4-5:itar", budgeted],
    ["claude-haiku-4-5:il5", budgeted],
    ["claude-opus-4-7:il2", adaptive],
    ["claude-opus-4-7:il5", adaptive],
    ["claude-opus-4-8:il2", adaptive],
    ["claude-opus-5:fedramp-high", adaptive]
  ] as const) {
    for (const [name, extra] of Object.entries({ ...requests, ...more })) {
      it(`${model}: ${name}`, async () => {
        const body = message(model, "How is the weather on Svalbard?", extra)
        const billed = await create(body)
        assert.strictEqual(billed.status, 200, billed.text)
        const counted = await count(body)
        assert.strictEqual(counted.status, 200, counted.text)
        assert.deepStrictEqual(counted.json, { input_tokens: billed.json.usage.input_tokens })
        const { max_tokens: _, ...without } = body
        assert.deepStrictEqual((await count(without)).json, counted.json, "max_tokens is optional")
      })
    }
  }
})

describe("what is read", () => {
  for (const model of ["claude-sonnet-4-5:il2", "claude-sonnet-4-5:il5"]) {
    it(`${model}: max_tokens, stream and output_config say nothing, whatever they are`, async () => {
      const plain = await count(message(model))
      for (const extra of [
        { max_tokens: -5 },
        { max_tokens: "x" },
        { max_tokens: null },
        { stream: true },
        { output_config: { effort: "nonsense" } },
        { temperature: 99, top_k: -1, stop_sequences: [""], metadata: 7 }
      ]) {
        const got = await count(message(model, "hi", extra))
        assert.deepStrictEqual(got.json, plain.json, JSON.stringify(extra))
        assert.match(got.headers.get("content-type") ?? "", /^application\/json/)
      }
    })

    it(`${model}: refuses what inference refuses`, async () => {
      for (const [extra, text] of [
        [{ messages: [] }, /messages/],
        [{ messages: undefined }, /messages/],
        [{ model: undefined }, /model/],
        [{ model: "claude-sonnet-4-5" }, /level/],
        [{ model: "gpt-5.1:il5" }, /./]
      ] as const) {
        const got = await count({ ...message(model), ...extra })
        assert.strictEqual(got.status, 400)
        assert.strictEqual(got.json.error.type, "invalid_request_error")
        assert.match(got.json.error.message, text)
      }
    })

    it(`${model}: never runs inference`, async () => {
      const before = gateway.calls().length
      await count(message(model))
      const made = gateway.calls().slice(before)
      assert.strictEqual(made.length, 1)
      assert.match(made[0]?.path ?? "", /count-tokens/)
    })

    it(`${model}: errors of the cloud keep their status`, async () => {
      for (const [directive, status] of [
        ["429 retry-after=3", 429],
        ["500", 502],
        ["400", 400]
      ] as const) {
        const got = await count(message(model, `[sandbox: status=${directive}]`))
        assert.strictEqual(got.status, status)
        assert.strictEqual(got.json.type, "error")
      }
    })
  }

  it("carries the headers of a reply", async () => {
    const got = await count(message("claude-sonnet-4-5:il5"))
    assert.strictEqual(got.headers.get("x-gateway-served-model"), "claude-sonnet-4-5")
    assert.strictEqual(got.headers.get("x-gateway-served-by"), "sandbox-bedrock/us-gov-west-1")
    assert.strictEqual(got.headers.get("x-gateway-served-level"), "il5")
    assert.isNull(got.headers.get("x-gateway-thinking-adjusted"))
  })

  it("names what was changed", async () => {
    const odd = { ...message("claude-sonnet-4-5:il5"), anthropic_beta: ["unheard-of"] }
    const got = await count(odd)
    assert.strictEqual(got.status, 200)
    assert.strictEqual(got.headers.get("x-gateway-adjusted"), (await create(odd)).headers.get("x-gateway-adjusted"))
    assert.strictEqual(got.headers.get("x-gateway-adjusted"), "anthropic-beta.unheard-of:removed")
    assert.isNull((await count(message("claude-sonnet-4-5:il5"))).headers.get("x-gateway-adjusted"))
  })

  it("leaves no usage record", () => {
    assert.isEmpty(gateway.records().filter((record) => record.outcome === "ok" && record.surface === "count_tokens"))
  })
})

describe("models that cannot be counted on cloud B", () => {
  const unavailable = "Token counting is not yet available for this model. Estimate client-side for now."
  for (const model of [
    "claude-opus-5:itar",
    "claude-opus-5:fedramp-high+itar",
    "claude-opus-5:fedramp-moderate+itar",
    "claude-opus-5:fedramp-low+itar",
    "claude-sonnet-5:il5",
    "claude-sonnet-5:il2",
    "claude-sonnet-5:itar",
    "claude-sonnet-5:fedramp-high",
    "claude-sonnet-5:il5+itar",
    "claude-opus-4-8:itar"
  ]) {
    it(`${model}: the exact refusal, and nothing goes upstream`, async () => {
      const before = gateway.calls().length
      const got = await count(message(model))
      assert.strictEqual(got.status, 400)
      assert.deepStrictEqual(got.json, {
        type: "error",
        error: { type: "invalid_request_error", message: unavailable }
      })
      assert.strictEqual(gateway.calls().length, before)
    })

    it(`${model}: is served all the same`, async () => {
      assert.strictEqual((await create(message(model))).status, 200)
      assert.match(gateway.calls().at(-1)?.cloud ?? "", /bedrock/)
    })
  }
})
