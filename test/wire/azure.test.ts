import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import OpenAI from "openai"
import { Sandbox } from "../../src/sandbox/Sandbox.ts"

const MODEL = "gpt-5.1"

/** OpenAI's client, with an Entra ID token. */
const connect = Effect.map(
  Sandbox,
  ({ bearers, urls }) => new OpenAI({ baseURL: `${urls.azure}/openai/v1`, apiKey: bearers.azure, maxRetries: 0 })
)

const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] }

const failure = (call: () => Promise<unknown>) => Effect.flip(Effect.tryPromise({ try: call, catch: (error) => error }))

layer(Sandbox.layer({ pace: 0 }))("Azure OpenAI, with OpenAI's client", (it) => {
  it.effect("completes chats, and streams the same", () =>
    Effect.gen(function* () {
      const azure = yield* connect
      const body = { model: MODEL, messages: [{ role: "user" as const, content: "What is a delta?" }] }
      const whole = yield* Effect.promise(() => azure.chat.completions.create(body))
      assert.match(whole.choices[0]?.message.content ?? "", /delta/)
      const streamed = yield* Effect.promise(() =>
        azure.chat.completions.stream({ ...body, stream_options: { include_usage: true } }).finalChatCompletion()
      )
      assert.strictEqual(streamed.choices[0]?.message.content, whole.choices[0]?.message.content)
      assert.deepStrictEqual(streamed.usage, whole.usage)
    })
  )

  it.effect("carries a tool through its loop in both APIs", () =>
    Effect.gen(function* () {
      const azure = yield* connect
      const question = { role: "user" as const, content: "Weather in Bergen?" }
      const tools = [
        { type: "function" as const, function: { name: "weather", description: "Weather of a city", parameters } }
      ]
      const asked = yield* Effect.promise(() =>
        azure.chat.completions.stream({ model: MODEL, messages: [question], tools }).finalChatCompletion()
      )
      const message = asked.choices[0]?.message
      const call = message?.tool_calls?.[0]
      assert.deepStrictEqual(call?.type === "function" && JSON.parse(call.function.arguments), { city: "Bergen" })
      const answered = yield* Effect.promise(() =>
        azure.chat.completions.create({
          model: MODEL,
          tools,
          messages: [
            question,
            {
              role: "assistant",
              content: null,
              tool_calls: [{ id: call?.id ?? "", type: "function", function: { name: "weather", arguments: "{}" } }]
            },
            { role: "tool", tool_call_id: call?.id ?? "", content: "rain" }
          ]
        })
      )
      assert.match(answered.choices[0]?.message.content ?? "", /rain/)

      const flat = [
        { type: "function" as const, name: "weather", description: "Weather of a city", parameters, strict: false }
      ]
      const first = yield* Effect.promise(() =>
        azure.responses
          .stream({
            model: MODEL,
            input: [question],
            tools: flat,
            reasoning: { effort: "low" },
            store: false,
            include: ["reasoning.encrypted_content"]
          })
          .finalResponse()
      )
      assert.deepStrictEqual(
        first.output.map((item) => item.type),
        ["reasoning", "function_call"]
      )
      const made = first.output.find((item) => item.type === "function_call")
      const second = yield* Effect.promise(() =>
        azure.responses.create({
          model: MODEL,
          store: false,
          tools: flat,
          input: [
            question,
            ...first.output.map((item) => {
              // The client adds what it parsed.
              const { parsed_arguments: _, ...sent } = { parsed_arguments: undefined, ...item }
              return sent as OpenAI.Responses.ResponseInputItem
            }),
            { type: "function_call_output", call_id: made?.call_id ?? "", output: "snow" }
          ]
        })
      )
      assert.match(second.output_text, /snow/)
    })
  )

  it.effect("streams Responses as it answers whole", () =>
    Effect.gen(function* () {
      const azure = yield* connect
      const body = {
        model: MODEL,
        input: "What is a moraine?",
        reasoning: { effort: "medium" as const, summary: "auto" as const }
      }
      const whole = yield* Effect.promise(() => azure.responses.create(body))
      const streamed = yield* Effect.promise(() => azure.responses.stream(body).finalResponse())
      assert.strictEqual(streamed.output_text, whole.output_text)
      assert.deepStrictEqual(streamed.usage, whole.usage)
      assert.notProperty(whole.output[0], "encrypted_content")
    })
  )

  it.effect("fails as Azure does", () =>
    Effect.gen(function* () {
      const azure = yield* connect
      const chat = (content: string, extra = {}) =>
        failure(() => azure.chat.completions.create({ model: MODEL, messages: [{ role: "user", content }], ...extra }))
      const limited = yield* chat("[sandbox: status=429 retry-after=3]")
      assert.instanceOf(limited, OpenAI.RateLimitError)
      assert.strictEqual(limited.headers.get("retry-after"), "3")
      const filtered = yield* chat("[sandbox: filter-prompt]")
      assert.instanceOf(filtered, OpenAI.BadRequestError)
      assert.strictEqual(filtered.code, "content_filter")
      const missing = yield* chat("hi", { model: "gpt-nothing" })
      assert.instanceOf(missing, OpenAI.NotFoundError)
      assert.strictEqual(missing.code, "DeploymentNotFound")
      assert.match(String(yield* chat("hi", { max_tokens: 5 })), /'max_tokens' is not supported/)
      assert.match(
        String(yield* chat("hi", { temperature: 0.5, reasoning_effort: "low" })),
        /'temperature' is not supported/
      )
      const broken = yield* failure(() =>
        azure.responses
          .stream({ model: MODEL, input: "[sandbox: exception=internalServerException after=3]" })
          .finalResponse()
      )
      assert.match(String(broken), /internalServerException/)
      const wrong = new OpenAI({ baseURL: azure.baseURL, apiKey: "wrong", maxRetries: 0 })
      assert.instanceOf(
        yield* failure(() => wrong.responses.create({ model: MODEL, input: "hi" })),
        OpenAI.AuthenticationError
      )
    })
  )
})
