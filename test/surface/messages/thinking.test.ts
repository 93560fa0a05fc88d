import { assert, describe, it } from "@effect/vitest"
import { message } from "../../support/claude.ts"
import { post } from "../../support/http.ts"
import { sharedGateway } from "../../support/shared.ts"

const gateway = sharedGateway()

const il2 = "claude-sonnet-4-5:il2"
const il5 = "claude-sonnet-4-5:il5"
const interleaved = "interleaved-thinking-2025-05-14"
const tools = [{ name: "get_weather", description: "Weather", input_schema: { type: "object", properties: {} } }]

const create = (body: unknown, headers: Record<string, string> = {}) =>
  post(`${gateway.url}/v1/messages`, body, headers)
const sent = () => JSON.parse(gateway.calls().at(-1)?.body ?? "null")
const enabled = (budget_tokens: unknown) => ({ type: "enabled", budget_tokens })

/** Asks, wants a 200 and this header, and gives what went upstream. */
const adjusted = async (
  model: string,
  extra: Readonly<Record<string, unknown>>,
  header: string | null,
  headers: Record<string, string> = {}
) => {
  const got = await create(message(model, "Why is the sky blue?", extra), headers)
  assert.strictEqual(got.status, 200, got.text)
  assert.strictEqual(got.headers.get("x-gateway-thinking-adjusted"), header)
  return sent()
}

for (const model of [il2, il5, "claude-haiku-4-5:fedramp-high", "claude-haiku-4-5:itar"]) {
  describe(`budgets on ${model}`, () => {
    const rows: ReadonlyArray<
      readonly [maxTokens: number, budget: number, sent: number | undefined, header: string | null]
    > = [
      [8192, 32_000, 7168, "budget_tokens:32000->7168"],
      [8192, 8192, 7168, "budget_tokens:8192->7168"],
      [8192, 8191, 8191, null],
      [8192, 7168, 7168, null],
      [2048, 2048, 1024, "budget_tokens:2048->1024"],
      [2047, 2047, undefined, "thinking:dropped"],
      [1025, 1024, 1024, null],
      [1024, 1024, undefined, "thinking:dropped"],
      [1, 30_000, undefined, "thinking:dropped"],
      [4096, 500, 1024, "budget_tokens:500->1024"],
      [4096, 0, 1024, "budget_tokens:0->1024"],
      [1024, 500, undefined, "thinking:dropped"]
    ]
    for (const [max_tokens, budget, expected, header] of rows) {
      it(`max_tokens ${max_tokens}, budget ${budget}: ${expected ?? "no thinking"}`, async () => {
        const body = await adjusted(model, { max_tokens, thinking: enabled(budget) }, header)
        assert.deepStrictEqual(body.thinking, expected === undefined ? undefined : enabled(expected))
        assert.strictEqual(body.max_tokens, max_tokens)
      })
    }

    it("takes sampling parameters away", async () => {
      const body = await adjusted(
        model,
        { thinking: enabled(1024), temperature: 0.2, top_p: 0.5, top_k: 4 },
        "temperature:removed, top_p:removed, top_k:removed"
      )
      for (const name of ["temperature", "top_p", "top_k"]) assert.notProperty(body, name)
      assert.deepStrictEqual(body.thinking, enabled(1024))
    })

    it("takes away what no model would take", async () => {
      const body = await adjusted(
        model,
        { thinking: enabled(1024), temperature: 1.5, top_p: 2, top_k: -1 },
        "temperature:removed, top_p:removed, top_k:removed"
      )
      for (const name of ["temperature", "top_p", "top_k"]) assert.notProperty(body, name)
    })

    it("takes the force out of a forced tool choice", async () => {
      const any = await adjusted(
        model,
        { thinking: enabled(1024), tools, tool_choice: { type: "any" } },
        "tool_choice:any->auto"
      )
      assert.deepStrictEqual(any.tool_choice, { type: "auto" })
      const one = await adjusted(
        model,
        { thinking: enabled(1024), tools, tool_choice: { type: "tool", name: "get_weather" } },
        "tool_choice:tool->auto"
      )
      assert.deepStrictEqual(one.tool_choice, { type: "auto" })
      for (const type of ["auto", "none"]) {
        const kept = await adjusted(model, { thinking: enabled(1024), tools, tool_choice: { type } }, null)
        assert.deepStrictEqual(kept.tool_choice, { type })
      }
    })

    it("reports several changes at once", async () => {
      await adjusted(
        model,
        { max_tokens: 8192, thinking: enabled(32_000), temperature: 1, tools, tool_choice: { type: "any" } },
        "budget_tokens:32000->7168, temperature:removed, tool_choice:any->auto"
      )
    })

    it("leaves sampling and a forced choice alone where there is no thinking", async () => {
      const plain = { temperature: 0.2, top_k: 4, tools, tool_choice: { type: "any" } }
      const off = await adjusted(model, { ...plain, thinking: { type: "disabled" } }, null)
      assert.include(off, { temperature: 0.2, top_k: 4 })
      assert.deepStrictEqual(off.tool_choice, { type: "any" })
      const none = await adjusted(model, plain, null)
      assert.deepStrictEqual(none.tool_choice, { type: "any" })
      const dropped = await adjusted(model, { ...plain, max_tokens: 100, thinking: enabled(5000) }, "thinking:dropped")
      assert.include(dropped, { temperature: 0.2, top_k: 4 })
      assert.deepStrictEqual(dropped.tool_choice, { type: "any" })
    })

    it("says the same in a stream", async () => {
      const body = await adjusted(
        model,
        { max_tokens: 8192, thinking: enabled(32_000), stream: true },
        "budget_tokens:32000->7168"
      )
      assert.deepStrictEqual(body.thinking, enabled(7168))
    })

    it("leaves a block that is none for the model's API to refuse", async () => {
      for (const thinking of [enabled("many"), enabled(undefined), enabled(1.5), { type: "loud" }, "yes", 7]) {
        const got = await create(message(model, "hi", { thinking }))
        assert.strictEqual(got.status, 400, JSON.stringify(thinking))
        assert.strictEqual(got.json.error.type, "invalid_request_error")
      }
    })
  })
}

describe("interleaved thinking", () => {
  const over = { max_tokens: 8192, thinking: enabled(32_000) }

  it("honors a budget above max_tokens on cloud B, from the body or the header", async () => {
    const fromBody = await adjusted(il5, { ...over, anthropic_beta: [interleaved] }, null)
    assert.deepStrictEqual(fromBody.thinking, enabled(32_000))
    assert.deepStrictEqual(fromBody.anthropic_beta, [interleaved])
    const fromHeader = await adjusted(il5, over, null, { "anthropic-beta": `foo-2020-01-01, ${interleaved}` })
    assert.deepStrictEqual(fromHeader.thinking, enabled(32_000))
    assert.deepStrictEqual(fromHeader.anthropic_beta, [interleaved])
  })

  it("clamps on cloud A all the same", async () => {
    const fromBody = await adjusted(il2, { ...over, anthropic_beta: [interleaved] }, "budget_tokens:32000->7168")
    assert.deepStrictEqual(fromBody.thinking, enabled(7168))
    assert.notProperty(fromBody, "anthropic_beta")
    assert.strictEqual(gateway.calls().at(-1)?.headers["anthropic-beta"], interleaved)
    await adjusted(il2, over, "budget_tokens:32000->7168", { "anthropic-beta": interleaved })
  })
})

describe("models of the adaptive API", () => {
  for (const model of [
    "claude-opus-4-7:il2",
    "claude-opus-4-7:il5",
    "claude-opus-4-8:itar",
    "claude-opus-5:il2",
    "claude-sonnet-5:il5"
  ]) {
    it(`${model}: forwards untouched`, async () => {
      const extra = { thinking: { type: "adaptive" }, output_config: { effort: "low" } }
      const body = await adjusted(model, extra, null)
      assert.deepStrictEqual(body.thinking, extra.thinking)
      assert.deepStrictEqual(body.output_config, extra.output_config)
    })

    it(`${model}: a budget becomes an effort`, async () => {
      const change = "thinking:enabled->adaptive, budget_tokens:4000->low"
      const body = await adjusted(model, { thinking: enabled(4000) }, change)
      assert.deepStrictEqual([body.thinking, body.output_config], [{ type: "adaptive" }, { effort: "low" }])
    })
  }

  it("an adaptive block on a budgeted model becomes a budget", async () => {
    const body = await adjusted(
      il5,
      { max_tokens: 32_000, thinking: { type: "adaptive" }, output_config: { effort: "low" } },
      "thinking:adaptive->enabled"
    )
    assert.deepStrictEqual(body.thinking, enabled(1024))
    assert.notProperty(body, "output_config")
  })
})

describe.each([il2, il5])("a turn that goes on with %s", (model) => {
  const question = { role: "user", content: "Weather? [sandbox: tool=get_weather args={}]" }
  const answered = (content: ReadonlyArray<{ readonly type: string; readonly id?: string }>) =>
    content.flatMap(({ id, type }) =>
      type === "tool_use" ? [{ type: "tool_result", tool_use_id: id, content: "5" }] : []
    )
  const use = { type: "tool_use", id: "toolu_1", name: "get_weather", input: {} }
  const text = { type: "text", text: "I look." }
  const asked = { max_tokens: 4000, tools, thinking: enabled(1024) }
  const loop = (content: ReadonlyArray<{ readonly type: string; readonly id?: string }>) => [
    question,
    { role: "assistant", content },
    { role: "user", content: answered(content) }
  ]
  const prefill = [
    { role: "user", content: "hi" },
    { role: "assistant", content: "Well," }
  ]

  it.each([
    ["a call without its thinking", loop([use])],
    ["a text and a call without their thinking", loop([text, use])],
    ["a later call of such a turn", [...loop([use]), ...loop([text, { ...use, id: "toolu_2" }]).slice(1)]],
    ["a prefill", prefill]
  ])("%s does not think, and is counted so", async (_, messages) => {
    for (const thinking of [enabled(1024), { type: "adaptive" }])
      for (const stream of [false, true]) {
        const body = await adjusted(model, { ...asked, thinking, messages, stream }, "thinking:dropped")
        assert.notProperty(body, "thinking")
        assert.strictEqual(body.max_tokens, 4000)
      }
    const counted = await post(`${gateway.url}/v1/messages/count_tokens`, message(model, "", { ...asked, messages }))
    const billed = await create(message(model, "", { ...asked, messages }))
    assert.deepStrictEqual(counted.json, { input_tokens: billed.json.usage.input_tokens }, counted.text)
  })

  it("thinks on where it began with thinking, and where it is a new one", async () => {
    const { json } = await create(message(model, "", { ...asked, messages: [question] }))
    const said = { role: "assistant", content: json.content }
    assert.strictEqual(json.content[0].type, "thinking")
    const results = { role: "user", content: answered(json.content) }
    for (const messages of [
      [question, said, results],
      [...loop([use]), { role: "assistant", content: "5 degrees." }, { role: "user", content: "And?" }],
      [...prefill, { role: "user", content: "hi" }]
    ]) {
      const body = await adjusted(model, { ...asked, messages }, null)
      assert.deepStrictEqual(body.thinking, enabled(1024))
    }
  })
})
