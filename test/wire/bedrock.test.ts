import {
  BedrockRuntimeClient,
  CountTokensCommand,
  InvokeModelCommand,
  InvokeModelWithResponseStreamCommand,
  ThrottlingException,
  ValidationException
} from "@aws-sdk/client-bedrock-runtime"
import { assert, layer } from "@effect/vitest"
import { NodeHttpHandler } from "@smithy/node-http-handler"
import { Effect } from "effect"
import OpenAI from "openai"
import { Sandbox } from "../../src/sandbox/Sandbox.ts"

const MODEL = "us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0"

// The client's own choice is HTTP/2, which the sandbox does not speak without TLS.
const requestHandler = () => new NodeHttpHandler()

/** AWS's own client, signing for the sandbox; with a wrong secret when asked. */
const connect = (secret?: string) =>
  Effect.map(
    Sandbox,
    ({ environment, urls }) =>
      new BedrockRuntimeClient({
        region: environment.BEDROCK_REGION ?? "",
        endpoint: urls.bedrock,
        maxAttempts: 1,
        requestHandler: requestHandler(),
        credentials: {
          accessKeyId: environment.AWS_ACCESS_KEY_ID ?? "",
          secretAccessKey: secret ?? environment.AWS_SECRET_ACCESS_KEY ?? ""
        }
      })
  )

const messages = (content: string, extra = {}) =>
  JSON.stringify({
    anthropic_version: "bedrock-2023-05-31",
    max_tokens: 2000,
    messages: [{ role: "user", content }],
    ...extra
  })

const invoke = (client: BedrockRuntimeClient, body: string, modelId = MODEL) =>
  Effect.tryPromise({
    try: async () => {
      const reply = await client.send(
        new InvokeModelCommand({ modelId, body, contentType: "application/json", accept: "application/json" })
      )
      return JSON.parse(reply.body.transformToString())
    },
    catch: (error) => error
  })

/** The inner events of a stream, as the client decodes them from the frames. */
const stream = (client: BedrockRuntimeClient, body: string) =>
  Effect.tryPromise({
    try: async () => {
      const reply = await client.send(
        new InvokeModelWithResponseStreamCommand({ modelId: MODEL, body, contentType: "application/json" })
      )
      const events = []
      for await (const event of reply.body ?? [])
        events.push(JSON.parse(Buffer.from(event.chunk?.bytes ?? []).toString()))
      return events
    },
    catch: (error) => error
  })

layer(Sandbox.layer({ pace: 0 }))("Bedrock, with the vendors' clients", (it) => {
  it.effect("invokes, streams and counts alike", () =>
    Effect.gen(function* () {
      const client = yield* connect()
      const body = messages("What is a fjord? [sandbox: cached=2]")
      const whole = yield* invoke(client, body)
      const events = yield* stream(client, body)
      const text = events.map((event) => event.delta?.text ?? "").join("")
      assert.strictEqual(text, whole.content[0].text)
      const last = events.at(-1)
      assert.strictEqual(last.type, "message_stop")
      const { firstByteLatency: _, invocationLatency: __, ...counts } = last["amazon-bedrock-invocationMetrics"]
      const { input_tokens: input, output_tokens: output } = whole.usage
      assert.deepStrictEqual(counts, {
        ...{ inputTokenCount: input, cacheReadInputTokenCount: 2, cacheWriteInputTokenCount: 0 },
        outputTokenCount: output
      })
      const counted = yield* Effect.promise(() =>
        client.send(
          new CountTokensCommand({
            modelId: MODEL.replace("us-gov.", ""),
            input: { invokeModel: { body: Buffer.from(body) } }
          })
        )
      )
      assert.strictEqual(counted.inputTokens, input + 2)
    })
  )

  it.effect("answers with AWS's exceptions", () =>
    Effect.gen(function* () {
      const client = yield* connect()
      const limited = yield* Effect.flip(invoke(client, messages("[sandbox: status=429]")))
      assert.instanceOf(limited, ThrottlingException)
      const invalid = yield* Effect.flip(invoke(client, messages("hi", { stream: true })))
      assert.instanceOf(invalid, ValidationException)
      assert.match(invalid.message, /stream: Extra inputs are not permitted/)
      const flag = yield* Effect.flip(invoke(client, messages("hi", { anthropic_beta: ["unheard-of-2020-01-01"] })))
      assert.strictEqual((flag as Error).message, "invalid beta flag")
      const bare = yield* Effect.flip(invoke(client, messages("hi"), MODEL.replace("us-gov.", "")))
      assert.match(String(bare), /on-demand throughput/)
      const unknown = yield* Effect.flip(invoke(client, messages("hi"), "us-gov.meta.nothing"))
      assert.instanceOf(unknown, ValidationException)
      assert.match(unknown.message, /^The provided model identifier is invalid\.$/)
    })
  )

  it.effect("sends exception frames that the client throws", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        stream(yield* connect(), messages("[sandbox: exception=throttlingException after=2]"))
      )
      assert.strictEqual((error as Error).name, "ThrottlingException")
    })
  )

  it.effect("checks the signature", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(invoke(yield* connect("wrong"), messages("hi")))
      assert.strictEqual((error as Error).name, "InvalidSignatureException")
    })
  )

  it.effect("takes an API key instead of a signature", () =>
    Effect.gen(function* () {
      const { bearers, urls } = yield* Sandbox
      const client = new BedrockRuntimeClient({
        region: "us-gov-west-1",
        endpoint: urls.bedrock,
        requestHandler: requestHandler(),
        token: { token: bearers.bedrock },
        authSchemePreference: ["httpBearerAuth"]
      })
      const reply = yield* invoke(client, JSON.stringify({ inputText: "hello" }), "amazon.titan-embed-text-v2:0")
      assert.strictEqual(reply.embedding.length, 1024)
    })
  )

  it.effect("embeds similar texts close to each other", () =>
    Effect.gen(function* () {
      const client = yield* connect()
      const embed = (inputText: string) =>
        Effect.map(
          invoke(client, JSON.stringify({ inputText }), "amazon.titan-embed-text-v2:0"),
          (reply): Array<number> => reply.embedding
        )
      const [a, b, c] = yield* Effect.all([
        embed("how to bake bread"),
        embed("baking a loaf of bread"),
        embed("quarterly tax report")
      ])
      const dot = (x: Array<number>, y: Array<number>) =>
        x.reduce((sum, value, index) => sum + value * (y[index] ?? 0), 0)
      assert.approximately(dot(a, a), 1, 1e-9)
      assert.isAbove(dot(a, b), dot(a, c) + 0.2)
    })
  )

  it.effect("speaks OpenAI chat for gpt-oss, its reasoning inline", () =>
    Effect.gen(function* () {
      const { bearers, urls } = yield* Sandbox
      const client = new OpenAI({
        baseURL: `${urls.bedrock}/openai/v1`,
        apiKey: bearers.bedrock,
        maxRetries: 0
      })
      const body = {
        model: "openai.gpt-oss-120b-1:0",
        messages: [{ role: "user" as const, content: "[sandbox: text=hello]" }]
      }
      const whole = yield* Effect.promise(() => client.chat.completions.create(body))
      assert.match(whole.choices[0]?.message.content ?? "", /^<reasoning>.+<\/reasoning>hello$/)
      assert.isUndefined(whole.usage?.completion_tokens_details)
      const streamed = yield* Effect.promise(() =>
        client.chat.completions.stream({ ...body, stream_options: { include_usage: true } }).finalChatCompletion()
      )
      assert.strictEqual(streamed.choices[0]?.message.content, whole.choices[0]?.message.content)
      assert.strictEqual(streamed.usage?.completion_tokens, whole.usage?.completion_tokens)
    })
  )
})
