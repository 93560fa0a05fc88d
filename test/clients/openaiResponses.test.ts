/** The official OpenAI SDK against the responses surface: only the base URL and the key differ. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import OpenAI from "openai"
import type { ResponseFunctionToolCall, ResponseInput } from "openai/resources/responses/responses"
import { type Gateway, startGateway } from "../support/gateway.ts"

const model = "gpt-5.1:il5"
let gateway: Gateway
let client: OpenAI
beforeAll(async () => {
  gateway = await startGateway()
  client = new OpenAI({
    apiKey: "not-read",
    baseURL: `${gateway.url}/v1`,
    defaultHeaders: { "x-api-key": "sandbox-key" },
    maxRetries: 0
  })
})
afterAll(() => gateway.stop())

const tool = {
  type: "function" as const,
  name: "get_weather",
  description: "Weather of a city",
  parameters: {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false
  },
  strict: true
}
const callsIn = (output: ReadonlyArray<{ type: string }>) =>
  output.filter((item): item is ResponseFunctionToolCall => item.type === "function_call")

/** The output as it came out of the SDK, as input: with IDs, reasoning, and what its helpers add. */
const echo = (output: ReadonlyArray<object>): ResponseInput => output as ResponseInput

const failure = async (attempt: () => Promise<unknown>) => {
  try {
    await attempt()
  } catch (error) {
    return error
  }
  return assert.fail("it did not fail")
}

describe("responses.create", () => {
  it("answers a string", async () => {
    const { data, response } = await client.responses.create({ model, input: "What is a gateway?" }).withResponse()
    assert.strictEqual(data.status, "completed")
    assert.include(data.output_text, "gateway")
    assert.strictEqual(data.reasoning?.effort, "high")
    assert.propertyVal(data, "store", false)
    assert.strictEqual(data.usage?.total_tokens, (data.usage?.input_tokens ?? 0) + (data.usage?.output_tokens ?? 0))
    assert.isAbove(data.usage?.output_tokens_details.reasoning_tokens ?? 0, 0)
    assert.propertyVal(data, "_request_id", response.headers.get("x-request-id"))
  })

  it("shows a summary of the reasoning, and no encrypted content", async () => {
    const reply = await client.responses.create({
      model,
      input: "hi",
      reasoning: { effort: "medium", summary: "auto" },
      include: ["reasoning.encrypted_content"]
    })
    const [reasoning] = reply.output
    assert(reasoning?.type === "reasoning")
    assert.isNotEmpty(reasoning.summary[0]?.text)
    assert.isUndefined(reasoning.encrypted_content)
  })

  it("answers in a JSON schema", async () => {
    const reply = await client.responses.create({
      model,
      input: "A city",
      text: {
        format: {
          type: "json_schema",
          name: "city",
          strict: true,
          schema: {
            type: "object",
            properties: { name: { type: "string" }, people: { type: "integer" } },
            required: ["name", "people"],
            additionalProperties: false
          }
        }
      }
    })
    const city: unknown = JSON.parse(reply.output_text)
    assert.hasAllKeys(city, ["name", "people"])
  })

  it("parses what the SDK's helpers ask for", async () => {
    const reply = await client.responses.parse({
      model,
      input: '[sandbox: tool=get_weather args={"city":"Oslo"}]',
      tools: [tool],
      text: { format: { type: "json_schema", name: "city", strict: true, schema: { ...tool.parameters } } }
    })
    const [called] = callsIn(reply.output)
    assert.deepPropertyVal(called, "parsed_arguments", { city: "Oslo" })
    const said = await client.responses.parse({
      model,
      input: "A city",
      text: { format: { type: "json_schema", name: "city", strict: true, schema: { ...tool.parameters } } }
    })
    assert.hasAllKeys(said.output_parsed, ["city"])
  })

  it("samples without reasoning", async () => {
    const reply = await client.responses.create({ model, input: "hi", temperature: 0.2, top_p: 0.9 })
    assert.deepStrictEqual([reply.temperature, reply.top_p, reply.reasoning?.effort], [0.2, 0.9, "none"])
  })

  it("gives probabilities where they are asked for", async () => {
    const reply = await client.responses.create({
      model,
      input: "[sandbox: text=one two]",
      reasoning: { effort: "none" },
      include: ["message.output_text.logprobs"]
    })
    const parts = reply.output.flatMap((item) => (item.type === "message" ? item.content : []))
    const tokens = parts.flatMap((part) => (part.type === "output_text" ? (part.logprobs ?? []) : []))
    assert.strictEqual(tokens.map(({ token }) => token).join(""), reply.output_text)
  })

  it("sees an inline image", async () => {
    const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    const reply = await client.responses.create({
      model,
      input: [
        {
          role: "user",
          content: [
            { type: "input_text", text: "What is it?" },
            { type: "input_image", detail: "auto", image_url: `data:image/png;base64,${png}` }
          ]
        }
      ]
    })
    assert.match(reply.output_text, /image/i)
  })

  it("is incomplete at the token limit", async () => {
    const reply = await client.responses.create({
      model,
      input: "hi",
      max_output_tokens: 24,
      reasoning: { effort: "low" }
    })
    assert.strictEqual(reply.status, "incomplete")
    assert.strictEqual(reply.incomplete_details?.reason, "max_output_tokens")
  })
})

describe("a tool loop by function_call_output, with the whole output echoed", () => {
  for (const stream of [false, true]) {
    it(stream ? "streamed" : "whole", async () => {
      const ask = async (input: ResponseInput) => {
        const request = { model, input, tools: [tool], reasoning: { summary: "auto" as const } }
        return stream ? await client.responses.stream(request).finalResponse() : await client.responses.create(request)
      }
      const input: ResponseInput = [
        {
          role: "user",
          content:
            'Weather? [sandbox: tool=get_weather args={"city":"Bonn"}] [sandbox: tool=get_weather args={"city":"https://example.com/"}]'
        }
      ]
      const first = await ask(input)
      const calls = callsIn(first.output)
      assert.deepStrictEqual(
        calls.map((call) => JSON.parse(call.arguments)),
        [{ city: "Bonn" }, { city: "https://example.com/" }]
      )
      assert.deepStrictEqual(Reflect.get(first, "x_gateway_governance"), {
        flags: [
          {
            tool_call_id: calls[1]?.call_id,
            tool_name: "get_weather",
            destinations: ["https://example.com/"],
            reason: "external_destination"
          }
        ]
      })
      input.push(...echo(first.output))
      for (const call of calls) {
        input.push({ type: "function_call_output", call_id: call.call_id, output: "12 degrees" })
      }
      const second = await ask(input)
      assert.include(second.output_text, "12 degrees")
      assert.notProperty(second, "x_gateway_governance")
      input.push(...echo(second.output), { role: "user", content: "Thanks" })
      assert.strictEqual((await ask(input)).status, "completed")
    })
  }

  it("three turns by the SDK's parsing helpers", async () => {
    const format = { type: "json_schema" as const, name: "city", strict: true, schema: tool.parameters }
    const parsed = { model, tools: [tool], text: { format } }
    const input: ResponseInput = []
    for (const [turn, city] of ["Bonn", "Oslo", "Rome"].entries()) {
      input.push({ role: "user", content: `Weather? [sandbox: tool=get_weather args={"city":"${city}"}]` })
      const stream = client.responses.stream({ ...parsed, input })
      const called = turn === 1 ? await client.responses.parse({ ...parsed, input }) : await stream.finalResponse()
      const [call] = callsIn(called.output)
      assert.deepPropertyVal(call, "parsed_arguments", { city })
      input.push(...echo(called.output))
      input.push({ type: "function_call_output", call_id: call?.call_id ?? "", output: `{"city":"${city}"}` })
      const { data, response } = await client.responses.parse({ ...parsed, input }).withResponse()
      assert.hasAllKeys(data.output_parsed, ["city"])
      assert.include(response.headers.get("x-gateway-adjusted"), "input.parsed_arguments:removed")
      input.push(...echo(data.output))
    }
  })
})

describe("responses.stream", () => {
  it("gives text as it comes, and the final response", async () => {
    const stream = client.responses.stream({ model, input: "Tell me more", reasoning: { summary: "auto" } })
    let text = ""
    let thought = ""
    const types = new Set<string>()
    const numbers: Array<number> = []
    for await (const event of stream) {
      types.add(event.type)
      numbers.push(event.sequence_number)
      if (event.type === "response.output_text.delta") text += event.delta
      if (event.type === "response.reasoning_summary_text.delta") thought += event.delta
    }
    const final = await stream.finalResponse()
    assert.strictEqual(final.output_text, text)
    assert.isNotEmpty(thought)
    assert.deepStrictEqual(
      numbers,
      numbers.map((_, index) => index)
    )
    for (const type of [
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.completed"
    ]) {
      assert.isTrue(types.has(type), type)
    }
  })

  it("create with stream: true is the same events", async () => {
    const stream = await client.responses.create({ model, input: "hi", stream: true })
    const types: Array<string> = []
    for await (const event of stream) types.push(event.type)
    assert.strictEqual(types[0], "response.created")
    assert.strictEqual(types.at(-1), "response.completed")
  })

  for (const fault of ["cut after=5", "no-terminal", "garbage after=4", "exception=internalServerException after=4"]) {
    it(`fails where the upstream's stream does: ${fault}`, async () => {
      const error = await failure(() =>
        client.responses.stream({ model, input: `hi [sandbox: ${fault}]` }).finalResponse()
      )
      assert.instanceOf(error, Error)
      const types: Array<string> = []
      const thrown = await failure(async () => {
        const stream = await client.responses.create({ model, input: `hi [sandbox: ${fault}]`, stream: true })
        for await (const event of stream) types.push(event.type)
      })
      if (!(thrown instanceof OpenAI.APIError)) throw thrown
      assert.strictEqual(thrown.type, "api_error")
      assert.match(String(thrown), /cloud that serves this model/)
      assert.notInclude(types, "response.completed")
    })
  }

  it("a caller that breaks off ends the upstream call", async () => {
    const stream = await client.responses.create({ model, input: "hi [sandbox: stall after=4]", stream: true })
    for await (const event of stream) {
      if (event.type === "response.in_progress") break
    }
    const end = Date.now() + 1000
    while (gateway.calls().at(-1)?.aborted !== true && Date.now() < end) await new Promise((r) => setTimeout(r, 5))
    assert.strictEqual(gateway.calls().at(-1)?.aborted, true)
  })
})

describe("errors are the SDK's own", () => {
  it("400", async () => {
    const error = await failure(() => client.responses.create({ model: "claude-sonnet-4-5:il5", input: "hi" }))
    assert(error instanceof OpenAI.BadRequestError)
    assert.strictEqual(error.type, "invalid_request_error")
    assert.match(error.message, /\/v1\/messages/)
    assert.isString(error.requestID)
  })
  it("400 for what would be stored", async () => {
    for (const extra of [{ store: true }, { previous_response_id: "resp_1" }, { background: true }]) {
      const error = await failure(() => client.responses.create({ model, input: "hi", ...extra }))
      assert.instanceOf(error, OpenAI.BadRequestError)
    }
  })
  it("400 for a hosted tool", async () => {
    const error = await failure(() => client.responses.create({ model, input: "hi", tools: [{ type: "web_search" }] }))
    assert.match(String(error), /tools\[0\] is "web_search"/)
  })
  it("403", async () => {
    const stranger = client.withOptions({ defaultHeaders: { "x-api-key": "wrong" } })
    const error = await failure(() => stranger.responses.create({ model, input: "hi" }))
    assert.instanceOf(error, OpenAI.PermissionDeniedError)
  })
  for (const stream of [false, true]) {
    it(`429 with its retry-after, ${stream ? "streamed" : "whole"}`, async () => {
      const error = await failure(() =>
        client.responses.create({ model, input: "[sandbox: status=429 retry-after=7]", stream })
      )
      assert(error instanceof OpenAI.RateLimitError)
      assert.strictEqual(error.headers.get("retry-after"), "7")
    })
  }
  it("502", async () => {
    const error = await failure(() => client.responses.create({ model, input: "[sandbox: status=503]" }))
    assert.instanceOf(error, OpenAI.InternalServerError)
  })
  it("a blocked prompt is a 400", async () => {
    const error = await failure(() => client.responses.create({ model, input: "[sandbox: filter-prompt]" }))
    assert.instanceOf(error, OpenAI.BadRequestError)
    assert.strictEqual(error.code, "content_filter")
  })
})
