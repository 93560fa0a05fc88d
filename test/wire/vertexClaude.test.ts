import AnthropicVertex from "@anthropic-ai/vertex-sdk"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { OAuth2Client } from "google-auth-library"
import { Sandbox } from "../../src/sandbox/Sandbox.ts"

type Options = NonNullable<ConstructorParameters<typeof AnthropicVertex>[0]>

const MODEL = "claude-sonnet-4-5@20250929"
const tools = [
  {
    name: "get_weather",
    description: "Weather of a city",
    input_schema: { type: "object" as const, properties: { city: { type: "string" } }, required: ["city"] }
  }
]

/** The vendor's own client, pointed at the sandbox. `anthropic_version` is in the body because this model takes sampling parameters. */
const connect = Effect.map(Sandbox, ({ environment, urls }) => {
  const authClient = new OAuth2Client()
  authClient.setCredentials({ access_token: environment.VERTEX_ACCESS_TOKEN ?? "" })
  return new AnthropicVertex({
    baseURL: `${urls.vertex}/v1`,
    region: environment.VERTEX_LOCATION ?? "",
    projectId: environment.VERTEX_PROJECT ?? "",
    maxRetries: 0,
    logLevel: "off",
    // The client brings its own copy of the library, whose classes have private members.
    authClient: authClient as unknown as NonNullable<Options["authClient"]>
  })
})

const thinking = { type: "enabled" as const, budget_tokens: 1024 }

layer(Sandbox.layer({ pace: 0 }))("Vertex Claude, with Anthropic's client", (it) => {
  it.effect("answers a message and counts it alike", () =>
    Effect.gen(function* () {
      const client = yield* connect
      const body = {
        model: MODEL,
        messages: [{ role: "user" as const, content: "What is a glacier?" }],
        tools,
        thinking
      }
      const message = yield* Effect.promise(() => client.messages.create({ ...body, max_tokens: 2000 }))
      const counted = yield* Effect.promise(() => client.messages.countTokens(body))
      assert.strictEqual(message.stop_reason, "end_turn")
      assert.match(message.content.at(-1)?.type === "text" ? JSON.stringify(message.content.at(-1)) : "", /glacier/)
      assert.strictEqual(counted.input_tokens, message.usage.input_tokens)
    })
  )

  it.effect("streams the same as it answers whole", () =>
    Effect.gen(function* () {
      const client = yield* connect
      const body = {
        model: MODEL,
        max_tokens: 2000,
        messages: [{ role: "user" as const, content: "Tell me about otters" }]
      }
      const whole = yield* Effect.promise(() => client.messages.create(body))
      const streamed = yield* Effect.promise(() => client.messages.stream(body).finalMessage())
      assert.deepStrictEqual(streamed.content, whole.content)
      assert.deepStrictEqual(
        [streamed.stop_reason, streamed.usage.output_tokens],
        [whole.stop_reason, whole.usage.output_tokens]
      )
    })
  )

  it.effect("carries a tool through its loop, with thinking", () =>
    Effect.gen(function* () {
      const client = yield* connect
      const question = { role: "user" as const, content: "What is the weather in Oslo?" }
      const body = { model: MODEL, max_tokens: 2000, tools, thinking }
      const asked = yield* Effect.promise(() =>
        client.messages.stream({ ...body, messages: [question] }).finalMessage()
      )
      assert.strictEqual(asked.stop_reason, "tool_use")
      const call = asked.content.find((block) => block.type === "tool_use")
      assert.deepStrictEqual(call?.input, { city: "Oslo" })
      const result = {
        role: "user" as const,
        content: [{ type: "tool_result" as const, tool_use_id: call?.id ?? "", content: "4 degrees and rain" }]
      }
      const answered = yield* Effect.promise(() =>
        client.messages.create({ ...body, messages: [question, { role: "assistant", content: asked.content }, result] })
      )
      assert.match(JSON.stringify(answered.content), /4 degrees and rain/)
    })
  )

  it.effect("fails as the vendor does", () =>
    Effect.gen(function* () {
      const client = yield* connect
      const call = (content: string, extra = {}) =>
        Effect.flip(
          Effect.tryPromise({
            try: () =>
              client.messages.create({ model: MODEL, max_tokens: 10, messages: [{ role: "user", content }], ...extra }),
            catch: (error) => error
          })
        )
      const limited = yield* call("[sandbox: status=429 retry-after=7]")
      assert.instanceOf(limited, AnthropicVertex.RateLimitError)
      assert.strictEqual(limited.headers.get("retry-after"), "7")
      const invalid = yield* call("hi", { context_management: {} })
      assert.instanceOf(invalid, AnthropicVertex.BadRequestError)
      assert.match(invalid.message, /context_management: Extra inputs are not permitted/)
      assert.instanceOf(yield* call("hi", { model: "claude-nothing" }), AnthropicVertex.NotFoundError)
    })
  )

  it.effect("breaks a stream in ways the client notices", () =>
    Effect.gen(function* () {
      const client = yield* connect
      const stream = (directive: string) =>
        Effect.flip(
          Effect.tryPromise({
            try: () =>
              client.messages
                .stream({ model: MODEL, max_tokens: 100, messages: [{ role: "user", content: directive }] })
                .finalMessage(),
            catch: (error) => error
          })
        )
      assert.match(String(yield* stream("[sandbox: exception=throttlingException after=3]")), /rate_limit_error/)
      assert.instanceOf(yield* stream("[sandbox: cut after=5]"), Error)
      assert.match(String(yield* stream("[sandbox: garbage after=2]")), /JSON/)
    })
  )

  it.effect("refuses other credentials", () =>
    Effect.gen(function* () {
      const client = yield* connect
      const authClient = new OAuth2Client()
      authClient.setCredentials({ access_token: "ya29.wrong" })
      const other = client.withOptions({ authClient: authClient as unknown as NonNullable<Options["authClient"]> })
      const error = yield* Effect.flip(
        Effect.tryPromise({
          try: () =>
            other.messages.create({ model: MODEL, max_tokens: 10, messages: [{ role: "user", content: "hi" }] }),
          catch: (cause) => cause
        })
      )
      assert.instanceOf(error, AnthropicVertex.AuthenticationError)
    })
  )
})
