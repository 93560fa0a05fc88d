/** The vendor's own client, unchanged, against the gateway. */
import Anthropic from "@anthropic-ai/sdk"
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema"
import { jsonSchemaOutputFormat } from "@anthropic-ai/sdk/helpers/json-schema"
import { assert, describe, it } from "@effect/vitest"
import { sharedGateway } from "../support/shared.ts"

const gateway = sharedGateway()

/**
 * The client sends what it is given as a bearer, which is ignored; the key is the header `x-api-key`
 * (docs/api.md#authentication).
 */
const defaultHeaders = { "x-api-key": "sandbox-key" }
const clients = {
  "an apiKey of any value": () =>
    new Anthropic({ apiKey: "any-string", baseURL: gateway.url, maxRetries: 0, defaultHeaders }),
  "an authToken of any value": () =>
    new Anthropic({ apiKey: null, authToken: "any-string", baseURL: gateway.url, maxRetries: 0, defaultHeaders }),
  "a base URL with a slash": () =>
    new Anthropic({ apiKey: "any-string", baseURL: `${gateway.url}/`, maxRetries: 0, defaultHeaders })
}
const client = clients["an apiKey of any value"]
const models = ["claude-sonnet-4-5:il2", "claude-sonnet-4-5:il5", "claude-opus-4-7:il2", "claude-opus-4-7:il5"]
const ask = (content: string) => ({ max_tokens: 4000, messages: [{ role: "user" as const, content }] })

const rejection = async (promise: PromiseLike<unknown>): Promise<unknown> => {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error("it was not rejected")
}

for (const [name, make] of Object.entries(clients)) {
  it(`authenticates by x-api-key beside ${name}`, async () => {
    const message = await make().messages.create({ model: "claude-sonnet-4-5:il5", ...ask("hi") })
    assert.strictEqual(message.type, "message")
  })
}

for (const model of models) {
  const base = model.slice(0, model.indexOf(":"))

  describe(model, () => {
    it("creates a message", async () => {
      const { data, response, request_id } = await client()
        .messages.create({ model, ...ask("What is a fjord?") })
        .withResponse()
      assert.strictEqual(data.model, base)
      assert.strictEqual(data.stop_reason, "end_turn")
      assert.strictEqual(data.content[0]?.type, "text")
      assert.strictEqual(request_id, response.headers.get("x-request-id"))
      assert.strictEqual(response.headers.get("x-gateway-served-level"), model.slice(base.length + 1))
    })

    it("parses the JSON of a schema, streamed and not, whether the model has it natively or not", async () => {
      const format = jsonSchemaOutputFormat({
        type: "object",
        properties: { city: { type: "string" }, days: { type: "integer", minimum: 1 } },
        required: ["city", "days"],
        additionalProperties: false
      })
      const asked = { model, ...ask("Plan a trip."), output_config: { format } }
      const whole = await client().messages.parse(asked)
      assert.hasAllKeys(whole.parsed_output, ["city", "days"])
      const streamed = await client().messages.stream(asked).finalMessage()
      assert.hasAllKeys(streamed.parsed_output, ["city", "days"])
    })

    it("streams what it would have said whole", async () => {
      const whole = await client().messages.create({ model, ...ask("What is a fjord?") })
      const stream = client().messages.stream({ model, ...ask("What is a fjord?") })
      let text = ""
      stream.on("text", (delta) => {
        text += delta
      })
      const final = await stream.finalMessage()
      assert.deepStrictEqual(final.content, whole.content)
      assert.deepStrictEqual(
        [{ type: "text", text }],
        final.content.map(({ type, ...rest }) => ({ type, text: Reflect.get(rest, "text") }))
      )
      assert.strictEqual(final.model, base)
      assert.strictEqual(final.usage.output_tokens, whole.usage.output_tokens)
    })

    it("reads raw events, too", async () => {
      const types: Array<string> = []
      for await (const event of await client().messages.create({ model, ...ask("hi"), stream: true }))
        types.push(event.type)
      assert.strictEqual(types[0], "message_start")
      assert.strictEqual(types.at(-1), "message_stop")
    })

    it("thinks, and goes on thinking through a tool loop", async () => {
      const thinking = base.includes("opus")
        ? { thinking: { type: "adaptive" as const, display: "summarized" as const } }
        : { thinking: { type: "enabled" as const, budget_tokens: 2000 } }
      const asked: Array<string> = []
      const runner = client().beta.messages.toolRunner({
        model,
        max_tokens: 8000,
        ...thinking,
        messages: [{ role: "user", content: 'How is the weather? [sandbox: tool=get_weather args={"city":"Oslo"}]' }],
        tools: [
          betaTool({
            name: "get_weather",
            description: "The weather of a city",
            inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
            run: ({ city }) => {
              asked.push(city)
              return `rain in ${city}`
            }
          })
        ]
      })
      const last = await runner
      assert.deepStrictEqual(asked, ["Oslo"])
      assert.strictEqual(last.stop_reason, "end_turn")
      assert.match(JSON.stringify(last.content), /rain in Oslo/)
    })

    it("sees the flag of a call", async () => {
      const stream = client().messages.stream({
        model,
        ...ask('Go. [sandbox: tool=fetch args={"url":"https://a.example/x"}]'),
        tools: [{ name: "fetch", input_schema: { type: "object", properties: { url: { type: "string" } } } }]
      })
      const final = await stream.finalMessage()
      const call = final.content.find((block) => block.type === "tool_use")
      assert.deepStrictEqual(call?.input, { url: "https://a.example/x" })
      const whole = await client().messages.create({
        model,
        ...ask('Go. [sandbox: tool=fetch args={"url":"https://a.example/x"}]'),
        tools: [{ name: "fetch", input_schema: { type: "object", properties: { url: { type: "string" } } } }]
      })
      const governance = Reflect.get(whole, "x_gateway_governance")
      assert.deepStrictEqual(governance.flags[0].destinations, ["https://a.example/x"])
    })

    it("sends what the clouds do not take as they take it", async () => {
      const twice = [...ask("What is a fjord?").messages, ...ask("In one sentence.").messages]
      const asked = { model, max_tokens: 4000, messages: twice, cache_control: { type: "ephemeral" as const } }
      const thinking = { type: "enabled" as const, budget_tokens: 1024 }
      const sampling = { temperature: 1 }
      const { response } = await client()
        .messages.create({ ...asked, ...sampling, thinking })
        .withResponse()
      const named = response.headers.get("x-gateway-adjusted")?.split(", ") ?? []
      assert.includeMembers(named, ["messages:merged", "cache_control:request->block"])
      const counted = await client().messages.countTokens({ model, messages: twice })
      const billed = await client().messages.create({ model, max_tokens: 4000, messages: twice })
      assert.strictEqual(counted.input_tokens, billed.usage.input_tokens)
    })

    it("searches among tools, with and without the beta, and counts without", async () => {
      const tools = [
        { type: "tool_search_tool_regex_20251119" as const, name: "tool_search_tool_regex" as const },
        { name: "get_weather", input_schema: { type: "object" as const }, defer_loading: true }
      ]
      for (const betas of [[], ["advanced-tool-use-2025-11-20"]]) {
        const message = await client().beta.messages.create({ model, ...ask("hi"), tools, betas })
        assert.strictEqual(message.stop_reason, "end_turn")
      }
      const counted = client().beta.messages.countTokens({ model, ...ask("hi"), tools })
      const { data, response } = await counted.withResponse()
      assert.isAbove(data.input_tokens, 0)
      assert.include(response.headers.get("x-gateway-adjusted"), "tool_search_tool_regex_20251119:removed")
    })

    it("counts what it is billed", async () => {
      const counted = await client().messages.countTokens({ model, messages: ask("What is a fjord?").messages })
      const billed = await client().messages.create({ model, ...ask("What is a fjord?") })
      assert.strictEqual(counted.input_tokens, billed.usage.input_tokens)
    })

    it("a stream that breaks is an error, not a message", async () => {
      for (const directive of [
        "cut after=5",
        "no-terminal",
        "exception=throttlingException after=4",
        "garbage after=1"
      ]) {
        const stream = client().messages.stream({ model, ...ask(`[sandbox: ${directive}]`) })
        assert.instanceOf(await rejection(stream.finalMessage()), Anthropic.APIError, directive)
      }
    })
  })
}

describe("errors", () => {
  const rows = [
    ["claude-sonnet-4-5:il5", "[sandbox: status=429 retry-after=1]", Anthropic.RateLimitError, 429],
    ["claude-sonnet-4-5:il2", "[sandbox: status=529]", Anthropic.InternalServerError, 502],
    ["claude-sonnet-4-5:il5", "[sandbox: status=400]", Anthropic.BadRequestError, 400],
    ["claude-sonnet-4-5", "hi", Anthropic.BadRequestError, 400]
  ] as const
  for (const [model, content, kind, status] of rows) {
    for (const stream of [false, true]) {
      it(`${kind.name} for ${model} ${content}${stream ? ", streamed" : ""}`, async () => {
        const error = await rejection(client().messages.create({ model, ...ask(content), stream }))
        assert.instanceOf(error, kind)
        if (!(error instanceof Anthropic.APIError)) return
        assert.strictEqual(error.status, status)
        assert.match(error.requestID ?? "", /^[0-9a-f-]{36}$/)
        assert.strictEqual(Reflect.get(error.error ?? {}, "type"), "error")
      })
    }
  }

  it("AuthenticationError for a wrong key, and for a right one that comes only as a bearer", async () => {
    for (const headers of [{ "x-api-key": "wrong" }, {}]) {
      const wrong = new Anthropic({
        apiKey: "sandbox-key",
        baseURL: gateway.url,
        maxRetries: 0,
        defaultHeaders: headers
      })
      const error = await rejection(wrong.messages.create({ model: "claude-sonnet-4-5:il5", ...ask("hi") }))
      assert.instanceOf(error, Anthropic.AuthenticationError)
      assert.match(error instanceof Error ? error.message : "", /x-api-key/)
    }
  })

  it("NotFoundError for what is not served", async () => {
    const error = await rejection(client().messages.batches.list())
    assert.instanceOf(error, Anthropic.NotFoundError)
  })

  it("retries by itself what can be retried", async () => {
    const patient = new Anthropic({ apiKey: "any-string", baseURL: gateway.url, maxRetries: 1, defaultHeaders })
    const before = gateway.calls().length
    const error = await rejection(
      patient.messages.create({ model: "claude-sonnet-4-5:il5", ...ask("[sandbox: status=429 retry-after=1]") })
    )
    assert.instanceOf(error, Anthropic.RateLimitError)
    assert.strictEqual(gateway.calls().length, before + 2)
  })
})
