/** `x-gateway-adjusted` on the chat surface, and its count in the usage record (docs/api.md#adjusted-requests). */
import { assert, describe, it, vi } from "@effect/vitest"
import { chat } from "../../support/chat.ts"
import { post } from "../../support/http.ts"
import { sharedGateway } from "../../support/shared.ts"

const gateway = sharedGateway()

const model = "claude-sonnet-4-5:il5"

describe("an adjusted request", () => {
  for (const stream of [false, true]) {
    it(`is named and counted${stream ? ", streamed" : ""}`, async () => {
      const send = async (extra: object) => {
        const { headers } = await post(`${gateway.url}/v1/chat/completions`, chat(model, "hi", { stream, ...extra }))
        const id = headers.get("x-request-id")
        const find = () => gateway.records().find(({ request_id }) => request_id === id)
        const record = await vi.waitFor(() => find() ?? assert.fail("no record yet"))
        return { header: headers.get("x-gateway-adjusted"), counts: record.counts }
      }
      const adjusted = await send({ temperature: 1.7, logprobs: true, reasoning_effort: "none", max_tokens: 50 })
      assert.strictEqual(adjusted.header, "logprobs:removed, temperature:1.7->1")
      assert.deepInclude(adjusted.counts, { adjusted: 2 })
      const plain = await send({ temperature: 1, reasoning_effort: "none", max_tokens: 50 })
      assert.isNull(plain.header)
      assert.notProperty(plain.counts, "adjusted")
    })
  }

  for (const stream of [false, true]) {
    it(`is named where the cloud refuses it, too${stream ? ", streamed" : ""}`, async () => {
      const refused = chat(model, "[sandbox: status=400]", { seed: 1, max_tokens: 50, stream })
      const got = await post(`${gateway.url}/v1/chat/completions`, refused)
      assert.strictEqual(got.status, 400)
      assert.strictEqual(got.headers.get("x-gateway-adjusted"), "seed:removed, reasoning_effort:unset->none")
      const wrong = await post(`${gateway.url}/v1/chat/completions`, { ...refused, stop: 7 })
      assert.isNull(wrong.headers.get("x-gateway-adjusted"))
    })
  }

  it.each(["claude-sonnet-4-5:il5", "gemini-3-flash:il2", "gpt-5.1:il5", "gpt-5.6-terra:il5", "gpt-oss-120b:il5"])(
    "names what nobody reads inside of messages and tools: %s",
    async (model) => {
      const parameters = { type: "object", properties: {} }
      const { headers } = await post(`${gateway.url}/v1/chat/completions`, {
        ...chat(model, "hi", { max_tokens: 4096 }),
        messages: [{ role: "user", content: [{ type: "text", text: "hi", foo: 1 }], bar: "x", idle: null }],
        tools: [{ type: "function", extra: 1, function: { name: "f", parameters, more: [1] } }]
      })
      const named = (headers.get("x-gateway-adjusted") ?? "").split(", ")
      assert.includeMembers(named, [
        "messages.bar:removed",
        "messages.content.foo:removed",
        "tools.extra:removed",
        "tools.function.more:removed"
      ])
      assert.notInclude(named, "messages.idle:removed")
    }
  )

  it.each([
    [["object", "null"], "object|null"],
    [{ toString: 1 }, "?"]
  ])("names the type of parameters that are no object: %j", async (type, said) => {
    const tools = [{ type: "function", function: { name: "f", parameters: { type } } }]
    const got = await post(`${gateway.url}/v1/chat/completions`, chat(model, "hi", { tools, max_tokens: 50 }))
    assert.strictEqual(got.status, 200, got.text)
    const entry = `tools.function.parameters.type:${said}->object`
    assert.include((got.headers.get("x-gateway-adjusted") ?? "").split(", "), entry)
  })
})
