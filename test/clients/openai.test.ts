/** The official OpenAI SDK against every kind of upstream: what its users do works unchanged. */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import OpenAI from "openai"
import { ParsingToolFunction } from "openai/lib/RunnableFunction"
import type { ChatCompletionMessageParam, ChatCompletionTool } from "openai/resources/chat/completions"
import { dataUri } from "../support/chat.ts"
import { sixModels } from "../support/chatKinds.ts"
import { sharedGateway } from "../support/shared.ts"

const gateway = sharedGateway()
let client: OpenAI
beforeAll(async () => {
  client = new OpenAI({
    baseURL: `${gateway.url}/v1`,
    apiKey: "anything",
    defaultHeaders: { "x-api-key": "sandbox-key" },
    maxRetries: 0
  })
})

const say = (content: string): Array<ChatCompletionMessageParam> => [{ role: "user", content }]
const weather: ChatCompletionTool = {
  type: "function",
  function: {
    name: "get_weather",
    description: "The weather of a city",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
  }
}
const two = '[sandbox: tool=get_weather args={"city":"Oslo"}] [sandbox: tool=get_weather args={"city":"Rome"}]'

const plan = {
  type: "json_schema",
  json_schema: {
    name: "plan",
    strict: true,
    schema: {
      type: "object",
      properties: { city: { type: "string" }, days: { type: "integer" } },
      required: ["city", "days"],
      additionalProperties: false
    }
  }
} as const

for (const model of sixModels) {
  describe(model, () => {
    it("create, with its request ID", async () => {
      const { data, request_id } = await client.chat.completions
        .create({ model, messages: say("What is a fjord?") })
        .withResponse()
      assert.match(data.choices[0]?.message.content ?? "", /fjord/)
      assert.strictEqual(data.model, model)
      assert.match(request_id ?? "", /^[0-9a-f-]{36}$/)
    })

    it("a stream, chunk by chunk", async () => {
      const stream = await client.chat.completions.create({
        model,
        messages: say("[sandbox: events=20]"),
        stream: true,
        stream_options: { include_usage: true }
      })
      let text = ""
      let usage: OpenAI.CompletionUsage | null | undefined
      for await (const chunk of stream) {
        text += chunk.choices[0]?.delta.content ?? ""
        usage = chunk.usage ?? usage
      }
      assert.match(text, /^worda .*wordt/)
      assert.isAbove(usage?.completion_tokens ?? 0, 0)
    })

    it("the stream helper's final completion", async () => {
      const runner = client.chat.completions.stream({
        model,
        messages: say(two),
        tools: [weather],
        stream_options: { include_usage: true }
      })
      const done = await runner.finalChatCompletion()
      assert.strictEqual(done.choices[0]?.finish_reason, "tool_calls")
      assert.deepStrictEqual(
        done.choices[0]?.message.tool_calls?.map((call) => call.type === "function" && call.function.arguments),
        ['{"city":"Oslo"}', '{"city":"Rome"}']
      )
      assert.isAbove((await runner.totalUsage()).prompt_tokens, 0)
    })

    for (const stream of [false, true] as const) {
      it(`runTools, parallel calls, thinking on${stream ? ", streamed" : ""}`, async () => {
        const asked: Array<string> = []
        const params = { model, messages: say(two), reasoning_effort: "medium" as const }
        const tools = [
          new ParsingToolFunction<{ city: string }>({
            name: "get_weather",
            description: "The weather of a city",
            parameters: { type: "object", properties: { city: { type: "string" } } },
            parse: (args) => JSON.parse(args),
            function: ({ city }) => {
              asked.push(city)
              return `rain in ${city}`
            }
          })
        ]
        const runner = stream
          ? client.chat.completions.runTools({ ...params, tools, stream: true })
          : client.chat.completions.runTools({ ...params, tools })
        assert.match((await runner.finalContent()) ?? "", /rain in Rome|rain in Oslo/)
        assert.deepStrictEqual(asked, ["Oslo", "Rome"])
        // The runner sends no field that it does not know, so what the vendors need back is lost (docs/clients.md#thinking-in-tool-loops).
        const sent = gateway.calls().at(-1)?.body ?? ""
        if (model.startsWith("claude")) assert.notMatch(sent, /"thinking":\{"type":"enabled"/)
        if (model.startsWith("gemini")) assert.match(sent, /skip_thought_signature_validator/)
      })
    }

    for (const helper of ["create", "stream"] as const) {
      it(`a loop of three turns by hand, echoing what ${helper} gave`, async () => {
        const messages: Array<ChatCompletionMessageParam> = [{ role: "system", content: "Be brief." }]
        const ask = async () => {
          const params = { model, messages, tools: [weather], reasoning_effort: "medium" as const }
          const done =
            helper === "create"
              ? await client.chat.completions.create(params)
              : await client.chat.completions.stream(params).finalChatCompletion()
          const message = done.choices[0]?.message
          assert.isDefined(message)
          if (message !== undefined) messages.push(message)
          return message
        }
        for (let turn = 0; turn < 3; turn++) {
          messages.push(...say(two))
          const calls = (await ask())?.tool_calls ?? []
          assert.strictEqual(calls.length, 2)
          for (const { id } of calls) messages.push({ role: "tool", tool_call_id: id, content: "rain" })
          assert.match((await ask())?.content ?? "", /rain/)
        }
        // The SDK keeps what the vendors need back, also in a stream.
        const sent = gateway.calls().at(-1)?.body ?? ""
        if (model.startsWith("claude")) assert.match(sent, /"thinking":\{"type":"enabled"/)
        assert.notMatch(sent, /skip_thought_signature_validator/)
      })
    }

    it("JSON of a schema, parsed", async () => {
      const done = await client.chat.completions.parse({
        model,
        messages: say("Plan a trip to Oslo, as JSON"),
        response_format: plan
      })
      const message = done.choices[0]?.message
      assert.hasAllKeys(message?.parsed, ["city", "days"])
      if (message !== undefined) {
        const again = await client.chat.completions.create({
          model,
          messages: [...say("Plan"), message, ...say("And now?")]
        })
        assert.isString(again.choices[0]?.message.content)
      }
    })

    it("a strict tool, parsed, and echoed as the SDK keeps it", async () => {
      const strict: ChatCompletionTool = {
        type: "function",
        function: {
          ...weather.function,
          strict: true,
          parameters: { ...weather.function.parameters, additionalProperties: false }
        }
      }
      const done = await client.chat.completions.parse({ model, messages: say(two), tools: [strict] })
      const message = done.choices[0]?.message
      const [call] = message?.tool_calls ?? []
      assert.deepStrictEqual(call?.type === "function" && call.function.parsed_arguments, { city: "Oslo" })
      if (message === undefined) return
      const results = (message.tool_calls ?? []).map(({ id }) => ({
        role: "tool" as const,
        tool_call_id: id,
        content: "rain"
      }))
      const next = await client.chat.completions.create({
        model,
        messages: [...say("hi"), message, ...results],
        tools: [strict]
      })
      assert.match(next.choices[0]?.message.content ?? "", /rain/)
    })

    it("a forced tool without reasoning, as instructor asks for an answer", async () => {
      const done = await client.chat.completions.create({
        model,
        messages: say('[sandbox: tool=get_weather args={"city":"Oslo"}]'),
        tools: [weather],
        tool_choice: { type: "function", function: { name: "get_weather" } },
        reasoning_effort: "none"
      })
      const calls = done.choices[0]?.message.tool_calls ?? []
      const names = calls.map((call) => call.type === "function" && call.function.name)
      assert.deepStrictEqual([names, done.choices[0]?.finish_reason], [["get_weather"], "tool_calls"])
    })

    it("a stop sequence ends the answer before it, with reasoning on", async () => {
      const asked = { model, messages: say("[sandbox: text=one two END three]"), stop: ["END"] }
      const whole = await client.chat.completions.create(asked)
      const streamed = await client.chat.completions.stream(asked).finalChatCompletion()
      for (const { choices } of [whole, streamed]) {
        assert.deepStrictEqual([choices[0]?.message.content?.trim(), choices[0]?.finish_reason], ["one two", "stop"])
      }
    })

    it("probabilities where the model has them, and null where it has none", async () => {
      const asked = {
        model,
        messages: say("[sandbox: text=one two]"),
        reasoning_effort: "none",
        logprobs: true
      } as const
      const whole = await client.chat.completions.create(asked)
      const streamed = await client.chat.completions.stream(asked).finalChatCompletion()
      const gpt = model.startsWith("gpt-5")
      // Gemini has them in whole replies only.
      const has = [gpt || model.startsWith("gemini"), gpt]
      for (const [at, { choices }] of [whole, streamed].entries()) {
        const tokens = choices[0]?.logprobs?.content?.map(({ token }) => token).join("")
        assert.strictEqual(tokens, has[at] === true ? choices[0]?.message.content : undefined)
      }
      assert.strictEqual(whole.choices[0]?.logprobs === null, has[0] !== true)
      assert.isNull(whole.choices[0]?.message.refusal)
    })

    it("images and PDFs where the model takes them", async () => {
      const parts: Array<OpenAI.ChatCompletionContentPart> = [{ type: "text", text: "What is this?" }]
      if (!model.startsWith("gpt-oss")) {
        parts.push({ type: "image_url", image_url: { url: dataUri("image/png"), detail: "auto" } })
      }
      if (/^(claude|gemini)/.test(model)) {
        parts.push({ type: "file", file: { filename: "a.pdf", file_data: dataUri("application/pdf") } })
      }
      const done = await client.chat.completions.create({ model, messages: [{ role: "user", content: parts }] })
      const seen = done.choices[0]?.message.content ?? ""
      if (parts.length > 1) assert.match(seen, /I see/)
    })

    it("a filtered answer does not end the conversation", async () => {
      const params = { model, messages: say("[sandbox: refuse]") }
      const stream = client.chat.completions.stream(params)
      for (const done of [await client.chat.completions.create(params), await stream.finalChatCompletion()]) {
        const message = done.choices[0]?.message
        assert.strictEqual(done.choices[0]?.finish_reason, "content_filter")
        assert.strictEqual(message?.content, "")
        if (message === undefined) continue
        await client.chat.completions.create({ model, messages: [...params.messages, message, ...say("And now?")] })
      }
    })

    it("errors as the SDK's own classes", async () => {
      const failing = async (directive: string, extra: object = {}) => {
        try {
          await client.chat.completions.create({ model, messages: say(directive), ...extra })
        } catch (error) {
          assert.instanceOf(error, OpenAI.APIError)
          if (!(error instanceof OpenAI.APIError)) throw error
          assert.match(error.requestID ?? "", /^[0-9a-f-]{36}$/)
          assert.isNotEmpty(error.message)
          return error
        }
        throw new Error(`${directive} did not fail`)
      }
      const bad = await failing("[sandbox: status=400]")
      assert.instanceOf(bad, OpenAI.BadRequestError)
      assert.strictEqual(bad.type, "invalid_request_error")
      assert.instanceOf(await failing("hi", { temperature: 3 }), OpenAI.BadRequestError)
      const limited = await failing("[sandbox: status=429 retry-after=7]")
      assert.instanceOf(limited, OpenAI.RateLimitError)
      assert.strictEqual(limited.headers?.get("retry-after"), "7")
      const down = await failing("[sandbox: status=503]")
      assert.instanceOf(down, OpenAI.InternalServerError)
      assert.strictEqual(down.status, 502)
    })

    it("an error in a stream is thrown", async () => {
      const stream = await client.chat.completions.create({
        model,
        messages: say("[sandbox: events=60] [sandbox: cut after=40]"),
        stream: true
      })
      let thrown: unknown
      try {
        for await (const _ of stream) {
        }
      } catch (error) {
        thrown = error
      }
      assert.instanceOf(thrown, OpenAI.APIError)
    })
  })
}

it("a wrong key is 403, the models are listed, a retry waits as told", async () => {
  const stranger = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: "sandbox-key", maxRetries: 0 })
  let thrown: unknown
  try {
    await stranger.chat.completions.create({ model: "gpt-5.1:il5", messages: say("hi") })
  } catch (error) {
    thrown = error
  }
  assert.instanceOf(thrown, OpenAI.PermissionDeniedError)
  const ids: Array<string> = []
  for await (const { id } of client.models.list()) ids.push(id)
  for (const model of sixModels) assert.include(ids, model)

  const before = gateway.calls().length
  const started = Date.now()
  await client
    .withOptions({ maxRetries: 1 })
    .chat.completions.create({ model: "gpt-5.1:il5", messages: say("[sandbox: status=429 retry-after=1]") })
    .catch(() => {})
  assert.strictEqual(gateway.calls().length, before + 2)
  assert.isAtLeast(Date.now() - started, 950)
})
