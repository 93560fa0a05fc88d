/** Numbers and keys of what is passed on go on as they were written; numbers that the gateway reads may be written in any way. */
import { assert, describe, it } from "@effect/vitest"
import { chat, folded, foldedWhole, functionTool } from "../../support/chat.ts"
import { post } from "../../support/http.ts"
import { sharedGateway } from "../../support/shared.ts"

const gateway = sharedGateway()
const input =
  '{"ratio":1.0,"exp":1e3,"big":9007199254740993,"zero":-0,"tiny":0.0000001,"list":[1.50,[2.0]],"b":{"10":1,"a":{"2":2,"1":1.0},"2":[{"7":0,"3":0}]}}'
const schema =
  '{"type":"object","properties":{"ratio":{"type":"number","minimum":0.0,"default":127.10},"10":{"type":"object","properties":{"b":{},"2":{},"1":{}}},"9":{}}}'
const tools = `[{"name":"scale","input_schema":${schema}}]`

/** `fields` stand beside a conversation that holds a call, as text. */
const asked = (model: string, said: string, fields: string) =>
  `{"model":"${model}","messages":[{"role":"user","content":${JSON.stringify(said)}},
    {"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"scale","input":${input}}]},
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"1.0"}]}],
    "tools":${tools}${fields}}`

const sent = (): string => gateway.calls().at(-1)?.body ?? ""

describe.each(["claude-sonnet-4-5:il2", "claude-sonnet-4-5:il5"])("%s", (model) => {
  describe.each([
    ["small", "Hello"],
    ["large", "Hello ".repeat(60_000)]
  ])("a %s request", (_, said) => {
    it.each(["", ',"stream":true'])("keeps those of calls and tools%s", async (stream) => {
      const got = await post(`${gateway.url}/v1/messages`, asked(model, said, `,"max_tokens":2000.0${stream}`))
      assert.strictEqual(got.status, 200, got.text)
      for (const text of [`"input":${input}`, `"input_schema":${schema}`]) assert.include(sent(), text)
      assert.include(sent(), '"max_tokens":2000')
    })

    it("keeps them where it is counted", async () => {
      const got = await post(`${gateway.url}/v1/messages/count_tokens`, asked(model, said, ""))
      assert.strictEqual(got.status, 200, got.text)
      const { invokeModel } = JSON.parse(sent()).input ?? {}
      assert.include(invokeModel === undefined ? sent() : atob(invokeModel.body), `"input":${input}`)
    })
  })

  it.each([
    ["temperature", ',"max_tokens":2e3,"temperature":1.0', { max_tokens: 2000, temperature: 1 }],
    ["top_k", ',"max_tokens":2000,"top_k":4.0e1', { max_tokens: 2000, top_k: 40 }],
    [
      "budget_tokens",
      ',"max_tokens":2000.0,"thinking":{"type":"enabled","budget_tokens":1.024e3}',
      { max_tokens: 2000, thinking: { type: "enabled", budget_tokens: 1024 } }
    ]
  ])("reads %s however it is written", async (_, fields, read) => {
    const messages = '"messages":[{"role":"user","content":"Hello"}]'
    const got = await post(`${gateway.url}/v1/messages`, `{"model":"${model}",${messages}${fields}}`)
    assert.strictEqual(got.status, 200, got.text)
    assert.deepInclude(JSON.parse(sent()), read)
  })

  it.each(["temperature", "max_tokens", "top_p"])("refuses %s beyond its range", async (name) => {
    const messages = '"messages":[{"role":"user","content":"Hello"}]'
    const got = await post(
      `${gateway.url}/v1/messages`,
      `{"model":"${model}","max_tokens":9,${messages},"${name}":-1.0}`
    )
    assert.strictEqual(got.status, 400, got.text)
    assert.include(got.text, name)
  })
})

describe.each(["claude-sonnet-4-5:il2", "claude-sonnet-4-5:il5", "gemini-3-flash:il2", "gpt-5.1:il5"])(
  "chat to %s",
  (model) => {
    it.each(["Hello", "Hello ".repeat(60_000)])("keeps those of calls and tools", async (said) => {
      const call = `{"id":"call_1","type":"function","function":{"name":"scale","arguments":${JSON.stringify(input)}}}`
      const whole = '{"type":"object","properties":{"10":{"type":"object","properties":{"b":{},"2":{},"1":{}}},"9":{}}}'
      const body = `{"model":"${model}","messages":[{"role":"user","content":${JSON.stringify(said)}},
      {"role":"assistant","content":null,"tool_calls":[${call}]},{"role":"tool","tool_call_id":"call_1","content":"1.0"}],
      "tools":[{"type":"function","function":{"name":"scale","parameters":${whole}}}]}`
      const got = await post(`${gateway.url}/v1/chat/completions`, body)
      assert.strictEqual(got.status, 200, got.text)
      assert.include(sent(), model.startsWith("gpt") ? JSON.stringify(input) : `:${input}`)
      assert.include(sent(), `:${whole}`)
    })

    it.each([false, true])("keeps those of a call that it answers (streamed: %s)", async (stream) => {
      const said = `Scale it. [sandbox: tool=scale args=${input}]`
      const body = chat(model, said, { stream, tools: [functionTool("scale")] })
      const got = await post(`${gateway.url}/v1/chat/completions`, body)
      assert.strictEqual(got.status, 200, got.text)
      const { calls } = stream ? folded(got.text) : foldedWhole(got.json)
      assert.strictEqual(calls.map((call: { readonly arguments: string }) => call.arguments).join(), input)
    })
  }
)

describe("responses", () => {
  it.each(["Hello", "Hello ".repeat(60_000)])("keep those of tools", async (said) => {
    const parameters = `"parameters":${schema}`
    const body = `{"model":"gpt-5.1:il5","input":${JSON.stringify(said)},"max_output_tokens":2e3,"top_p":1.0,"reasoning":{"effort":"none"},
      "temperature":1.0,"tools":[{"type":"function","name":"scale",${parameters}}]}`
    const got = await post(`${gateway.url}/v1/responses`, body)
    assert.strictEqual(got.status, 200, got.text)
    assert.include(sent(), parameters)
    assert.deepInclude(JSON.parse(sent()), { max_output_tokens: 2000, temperature: 1, top_p: 1 })
  })

  it.each(["temperature", "max_output_tokens", "top_p"])("refuse %s beyond its range", async (name) => {
    const got = await post(`${gateway.url}/v1/responses`, `{"model":"gpt-5.1:il5","input":"Hello","${name}":-1.0}`)
    assert.strictEqual(got.status, 400, got.text)
    assert.include(got.text, name)
  })
})

describe("a number that JavaScript cannot hold", () => {
  const schema = { type: "object", properties: { a: { type: "string" } } }
  const bodies: Readonly<Record<string, object>> = {
    "/v1/chat/completions": chat("claude-sonnet-4-5:il2", "Hello", {
      messages: [
        { role: "user", content: [{ type: "text", text: "Hello", cache_control: { type: "ephemeral" } }] },
        {
          role: "assistant",
          content: null,
          tool_calls: [
            { id: "call_1", type: "function", function: { name: "f", arguments: "{}" }, extra_content: { google: {} } }
          ],
          extra_content: { anthropic: { thinking_blocks: [] } }
        },
        { role: "tool", tool_call_id: "call_1", content: "x" }
      ],
      tools: [functionTool("f", schema)],
      tool_choice: { type: "function", function: { name: "f" } },
      response_format: { type: "json_schema", json_schema: { name: "n", schema } },
      logit_bias: { 50256: 1 },
      stream_options: {}
    }),
    "/v1/messages": {
      model: "claude-sonnet-4-5:il5",
      max_tokens: 2000,
      system: [{ type: "text", text: "s", cache_control: { type: "ephemeral" } }],
      messages: [
        { role: "user", content: [{ type: "text", text: "Hello", citations: {} }] },
        { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "f", input: {} }] },
        {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: "toolu_1", content: [{ type: "text", text: "x" }] }]
        }
      ],
      tools: [{ name: "f", input_schema: schema, cache_control: { type: "ephemeral" } }],
      tool_choice: { type: "auto" },
      thinking: { type: "disabled" },
      metadata: {},
      output_config: {},
      context_management: { edits: [] }
    },
    "/v1/responses": {
      model: "gpt-5.1:il5",
      input: [
        { role: "user", content: [{ type: "input_text", text: "Hello" }] },
        { type: "function_call", call_id: "call_1", name: "f", arguments: "{}" },
        { type: "function_call_output", call_id: "call_1", output: "x" },
        { type: "shell_call", call_id: "call_2", action: { commands: ["ls"] } },
        { type: "shell_call_output", call_id: "call_2", output: [] }
      ],
      tools: [{ type: "function", name: "f", parameters: schema }],
      tool_choice: { type: "function", name: "f" },
      reasoning: {},
      text: { format: { type: "text" } },
      metadata: { a: "b" },
      client_metadata: {}
    }
  }
  /** The body's texts, with the number in the place of each part. */
  const withNumber = (value: unknown): ReadonlyArray<string> => {
    const inside = Object.entries(Object(value)).flatMap(([key, part]) =>
      typeof value === "string" ? [] : withNumber(part).map((text) => [key, text] as const)
    )
    const texts = Object.entries(Object(value)).map(([key, part]) => [key, JSON.stringify(part)] as const)
    const around = ([key, text]: readonly [string, string]) => {
      const parts = texts.map(([other, own]) => [other, other === key ? text : own] as const)
      return Array.isArray(value)
        ? `[${parts.map(([, part]) => part).join()}]`
        : `{${parts.map(([name, part]) => `${JSON.stringify(name)}:${part}`).join()}}`
    }
    return ["1e400", ...inside.map(around)]
  }

  it.each(Object.entries(bodies))("is one wherever it stands in a body of %s", async (path, body) => {
    const whole = await post(gateway.url + path, body)
    assert.strictEqual(whole.status, 200, whole.text)
    for (const text of withNumber(body)) {
      const got = await post(gateway.url + path, text)
      assert.include([200, 400], got.status, `${text} ${got.text}`)
      for (const shown of [got.text, got.status === 200 ? sent() : ""]) assert.notInclude(shown, "rawJSON", text)
    }
  })
})
