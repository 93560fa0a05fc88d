import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Redacted, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import { levels } from "../../src/catalog/names.ts"
import {
  ApiError,
  type ChatCompletion,
  type ChatCompletionChunk,
  type Client,
  createClient,
  GatewayClient,
  isModelName,
  type Message,
  type MessageStreamEvent,
  MessagesError,
  type ModelName,
  StreamError
} from "../../src/EffectClient.ts"
import { gateway } from "../support/gateway.ts"
import { type Answer, fakeGateway, json } from "./fakeGateway.ts"

const user = (content: string) => [{ role: "user", content }] as const

/** A program of a caller's, against a gateway with the sandbox behind it. */
const withClient = <A, E>(use: (client: Client) => Effect.Effect<A, E>) =>
  Effect.gen(function* () {
    const { url } = yield* gateway()
    return yield* Effect.flatMap(GatewayClient, use).pipe(
      Effect.provide(GatewayClient.layer({ baseUrl: url, apiKey: Redacted.make("sandbox-key") })),
      Effect.provide(FetchHttpClient.layer)
    )
  })

describe("a key of a request", () => {
  it("goes to no other host, whatever redirects there", async () => {
    const other = await fakeGateway(json(200, {}))
    const location = `${other.url}/v1/models`
    const redirecting = await fakeGateway((reply) => reply.writeHead(307, { location }).end())
    const client = GatewayClient.layer({ baseUrl: redirecting.url, apiKey: "k" })
    const listed = Effect.flatMap(GatewayClient, ({ models }) => models.list()).pipe(
      Effect.provide(client),
      Effect.provide(FetchHttpClient.layer)
    )
    const says = `what answers there redirects to ${location}, which is not followed: set baseUrl to the gateway itself`
    for (const init of [{}, { redirect: "follow" }] as const) {
      const failed = Effect.flip(Effect.provideService(listed, FetchHttpClient.RequestInit, init))
      assert.include((await Effect.runPromise(failed)).message, says)
    }
    const error = await createClient({ baseUrl: redirecting.url, apiKey: "k" })
      .models.list()
      .catch((error: unknown) => error)
    assert.deepInclude(error, { status: 307, type: "unexpected_reply", message: says })
    // Each asked once.
    assert.lengthOf(redirecting.requests, 3)
    assert.isEmpty(other.requests)
    await Promise.all([other.stop(), redirecting.stop()])
  })
})

describe("the ID of a model", () => {
  it.each([".", ".."])("that leads to another path is refused before it is sent: %s", async (id) => {
    const fake = await fakeGateway(json(200, { object: "list", data: [] }))
    const says = `id: ${id} is no ID of a model`
    const error = await createClient({ baseUrl: fake.url, apiKey: "k" })
      .models.retrieve(id)
      .catch((error: unknown) => error)
    assert.deepInclude(error, { name: "TypeError", message: says })
    const failure = Effect.flatMap(GatewayClient, ({ models }) => Effect.flip(models.retrieve(id))).pipe(
      Effect.provide(GatewayClient.layer({ baseUrl: fake.url, apiKey: "k" })),
      Effect.provide(FetchHttpClient.layer)
    )
    assert.include((await Effect.runPromise(failure)).message, says)
    assert.isEmpty(fake.requests)
    await fake.stop()
  })
})

describe("a key", () => {
  const made = (apiKey: string) => Effect.runPromise(Effect.exit(Effect.scoped(Layer.build(layerOf(apiKey)))))
  const layerOf = (apiKey: string) =>
    Layer.provide(GatewayClient.layer({ baseUrl: "http://h", apiKey }), FetchHttpClient.layer)

  it.each(["a\nsecret", "\u201Csecret\u201D", undefined as unknown as string, 5 as unknown as string])(
    "that no header can have is refused before it is sent, and not quoted: %j",
    async (apiKey) => {
      const says = /^apiKey: must be text of printable ASCII characters$/
      assert.throws(() => createClient({ baseUrl: "http://h", apiKey }), TypeError, says)
      const exit = await made(apiKey)
      assert.match(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "", /^TypeError: apiKey: must be text/)
      assert.notInclude(String(exit), "secret")
    }
  )

  it("may end with the line feed of its file", async () => {
    const fake = await fakeGateway(json(200, { object: "list", data: [] }))
    await createClient({ baseUrl: fake.url, apiKey: "k\n" }).models.list()
    assert.strictEqual(fake.requests[0]?.key, "k")
    await fake.stop()
  })
})

describe("a base URL", () => {
  const listed = (baseUrl: string | URL) =>
    Effect.flatMap(GatewayClient, ({ models }) => models.list()).pipe(
      Effect.provide(GatewayClient.layer({ baseUrl, apiKey: "k", retries: 0 })),
      Effect.provide(FetchHttpClient.layer)
    )

  it("may have a path and end with slashes", async () => {
    const fake = await fakeGateway(json(200, { object: "list", data: [] }))
    for (const path of ["", "/", "/team/a", "/team/a//"]) {
      await Effect.runPromise(listed(new URL(fake.url + path)))
      await createClient({ baseUrl: fake.url + path, apiKey: "k" }).models.list()
    }
    const paths = fake.requests.map(({ path }) => path)
    const [own, team] = ["/v1/models", "/team/a/v1/models"]
    assert.deepStrictEqual(paths, [own, own, own, own, team, team, team, team])
    await fake.stop()
  })

  it.each(["http://h/?a=b", "http://h?", "http://h#f", "/proxy?to=", new URL("http://h/#f"), "http://u:secret@h"])(
    "has nothing that a path cannot follow, and no password: %s",
    async (baseUrl) => {
      const says = /^TypeError: baseUrl: must have no query, [^:]*$/
      assert.match(await Effect.runPromise(listed(baseUrl)).then(() => "", String), says)
      assert.throws(() => createClient({ baseUrl, apiKey: "k" }), TypeError, /^baseUrl: must have no query, [^:]*$/)
    }
  )
})

it("a refusal that is not the gateway's fails, by whichever client of Effect's", async () => {
  const fake = await fakeGateway((reply) => reply.writeHead(502, { "content-type": "text/html" }).end("<h1>Bad</h1>"))
  const request = { model: "gpt-5.1:il5", messages: user("Hi") } as const
  const asked = Effect.flatMap(GatewayClient, ({ chat }) => chat.completions(request)).pipe(
    Effect.provide(GatewayClient.layer({ baseUrl: fake.url, apiKey: "k", retries: 0 }))
  )
  for (const layer of [FetchHttpClient.layer, NodeHttpClient.layerNodeHttp, NodeHttpClient.layerUndici]) {
    const exit = await Effect.runPromise(Effect.exit(Effect.provide(asked, layer)))
    assert.isFalse(Exit.hasDies(exit))
    assert.match(String(exit), /502/)
  }
  await fake.stop()
})

it("a reply that is no stream where one was asked for, or is one where none was, is an error", async () => {
  const whole = json(200, { id: "c" })
  const events: Answer = (reply) =>
    reply.writeHead(200, { "content-type": "text/event-stream" }).end("data: [DONE]\n\n")
  const request = { model: "gpt-5.1:il5", messages: user("Hi") } as const
  for (const [answer, stream, says] of [
    [whole, true, /a whole reply came for a stream \(status 200\)/],
    [events, false, /a stream came for a whole reply \(status 200\)/],
    [events, undefined, /a stream came for a whole reply \(status 200\)/]
  ] as const) {
    const fake = await fakeGateway(answer)
    const asked = Effect.flatMap(GatewayClient, ({ chat }) =>
      chat.completions(stream === undefined ? request : { ...request, stream })
    ).pipe(
      Effect.provide(GatewayClient.layer({ baseUrl: fake.url, apiKey: "k" })),
      Effect.provide(FetchHttpClient.layer)
    )
    assert.match(String(await Effect.runPromise(Effect.flip(asked))), says)
    await fake.stop()
  }
})

it.each(["localhost:8080", "ftp://h", "file:///h"])("a base URL that is not of the web is refused: %s", (baseUrl) => {
  assert.throws(() => createClient({ baseUrl, apiKey: "k" }), TypeError, /^baseUrl: must begin with https/)
})

describe("against the gateway", () => {
  it.live("chat: JSON or stream, as `stream` says", () =>
    withClient((client) =>
      Effect.gen(function* () {
        const request = { model: "claude-sonnet-4-5:il5", messages: user("[sandbox: text=One two three.]") } as const
        const { body, headers } = yield* client.chat.completions(request)
        assert.strictEqual(body.choices[0]?.message.content, "One two three.")
        assert.deepInclude(headers, { servedBy: "sandbox-bedrock/us-gov-west-1", servedLevel: "il5" })
        assert.match(headers.requestId ?? "", /^[0-9a-f-]{36}$/)

        const streamed = yield* client.chat.completions({
          ...request,
          stream: true,
          stream_options: { include_usage: true }
        })
        const chunks = yield* Stream.runCollect(streamed.body)
        assert.strictEqual(chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join(""), "One two three.")
        assert.isAbove(chunks.at(-1)?.usage?.completion_tokens ?? 0, 0)
        assert.strictEqual(streamed.headers.servedLevel, "il5")
      })
    )
  )

  it.live("messages: JSON, stream, count", () =>
    withClient((client) =>
      Effect.gen(function* () {
        const request = {
          model: "claude-sonnet-4-5:il2",
          max_tokens: 200,
          messages: user("[sandbox: text=One two three.]")
        } as const
        const { body, headers } = yield* client.messages.create(request)
        assert.deepInclude(body.content[0], { type: "text", text: "One two three." })
        assert.strictEqual(headers.servedModel, "claude-sonnet-4-5")
        const streamed = yield* client.messages.create({ ...request, stream: true })
        const events = yield* Stream.runCollect(streamed.body)
        assert.strictEqual(events[0]?.type, "message_start")
        assert.strictEqual(events.at(-1)?.type, "message_stop")
        const count = yield* client.messages.countTokens(request)
        assert.strictEqual(count.body.input_tokens, body.usage.input_tokens)
      })
    )
  )

  it.live("responses: JSON and stream", () =>
    withClient((client) =>
      Effect.gen(function* () {
        const request = { model: "gpt-5.1:il5", input: "[sandbox: text=One two three.]" } as const
        const { body } = yield* client.responses.create(request)
        assert.strictEqual(body.status, "completed")
        const streamed = yield* client.responses.create({ ...request, stream: true })
        const events = yield* Stream.runCollect(streamed.body)
        assert.strictEqual(events.at(-1)?.type, "response.completed")
      })
    )
  )

  it.live("embeddings, models, health", () =>
    withClient((client) =>
      Effect.gen(function* () {
        const { body } = yield* client.embeddings.create({ model: "titan-embed-text-v2:il5", input: ["a", "b"] })
        assert.strictEqual(body.data.length, 2)
        const models = yield* client.models.list()
        assert.isTrue(models.body.data.some(({ id }) => id === "claude-sonnet-4-5:il5"))
        assert.isTrue(models.body.data.every(({ id }) => isModelName(id)))
        const id = "claude-sonnet-4-5:il5+itar"
        const model = yield* client.models.retrieve(id)
        assert.deepEqual(
          model.body,
          models.body.data.find((one) => one.id === id)
        )
        const absent = yield* Effect.flip(client.models.retrieve("a/b?c:il5"))
        assert.deepInclude(absent, { _tag: "ApiError", status: 404, type: "not_found_error" })
        assert.strictEqual((yield* client.health()).body.status, "ok")
      })
    )
  )

  it.live("one model, for promises too", () =>
    Effect.gen(function* () {
      const { url } = yield* gateway()
      const { models } = createClient({ baseUrl: url, apiKey: "sandbox-key" })
      const id = "claude-sonnet-4-5:il5+itar"
      const { data } = yield* Effect.promise(() => models.list())
      const model = yield* Effect.promise(() => models.retrieve(id))
      assert.deepEqual(
        model,
        data.find((one) => one.id === id)
      )
      const absent = yield* Effect.promise(() => models.retrieve("a/b?c:il5").catch((error) => error))
      assert.deepInclude(absent, { _tag: "ApiError", status: 404, type: "not_found_error" })
    })
  )

  it.live("fields that are undefined are absent, at any depth", () =>
    withClient((client) =>
      Effect.gen(function* () {
        const given = {
          model: "claude-sonnet-4-5:il5",
          max_tokens: 100,
          temperature: undefined,
          stream: undefined,
          system: [{ type: "text", text: "Be brief.", cache_control: undefined }],
          messages: [{ role: "user", content: "[sandbox: text=One two three.]" }],
          tools: [{ name: "f", description: undefined, input_schema: { type: "object", properties: {} } }]
        }
        // As it is typed where `exactOptionalPropertyTypes` is off.
        const { body } = yield* client.messages.create<false>(given as never)
        assert.deepInclude(body.content[0], { type: "text", text: "One two three." })
      })
    )
  )

  it.live("errors are typed, before the reply and in it", () =>
    withClient((client) =>
      Effect.gen(function* () {
        const refused = yield* Effect.flip(client.chat.completions({ model: "nobody:il5", messages: user("Hi") }))
        assert.instanceOf(refused, ApiError)
        assert.deepInclude(refused, { status: 400, type: "invalid_request_error" })
        const messages = user("[sandbox: cut after=5] Tell me a long story.")
        const chat = yield* client.chat.completions({
          model: "claude-sonnet-4-5:il5",
          messages,
          reasoning_effort: "none",
          stream: true
        })
        assert.instanceOf(yield* Effect.flip(Stream.runDrain(chat.body)), StreamError)
        const request = { model: "claude-sonnet-4-5:il5", max_tokens: 100, messages } as const
        const native = yield* client.messages.create({ ...request, stream: true })
        assert.instanceOf(yield* Effect.flip(Stream.runDrain(native.body)), StreamError)
      })
    )
  )

  it.live("a wrong key is refused in the shape of the endpoint", () =>
    Effect.gen(function* () {
      const { url } = yield* gateway()
      const client = createClient({ baseUrl: url, apiKey: "wrong" })
      const error = yield* Effect.promise(() =>
        client.messages.countTokens({ model: "claude-sonnet-4-5:il5", messages: user("Hi") }).catch((e) => e)
      )
      assert.instanceOf(error, MessagesError)
      assert.strictEqual(error.status, 401)
    })
  )
})

describe("the types", () => {
  it("of model IDs want a level of the gateway's", () => {
    expectTypeOf<"claude-sonnet-4-5:il5">().toExtend<ModelName>()
    expectTypeOf<"anthropic:claude:fedramp-high+itar">().toExtend<ModelName>()
    expectTypeOf<"claude-sonnet-4-5">().not.toExtend<ModelName>()
    expectTypeOf<"claude-sonnet-4-5:il6">().not.toExtend<ModelName>()
    for (const level of levels) assert.isTrue(isModelName(`m:${level}`))
    for (const text of ["m", "m:", "m:il6", ":il5", "m:IL5", "m:il5 ", "m:itar+itar"]) assert.isFalse(isModelName(text))
  })

  it("of replies follow `stream`", () => {
    const calls = (client: Client) => ({
      json: client.chat.completions({ model: "m:il5", messages: [] }),
      stream: client.chat.completions({ model: "m:il5", messages: [], stream: true }),
      messages: client.messages.create({ model: "m:il5", messages: [], max_tokens: 1, stream: false }),
      events: client.messages.create({ model: "m:il5", messages: [], max_tokens: 1, stream: true })
    })
    type Body<K extends keyof ReturnType<typeof calls>> = Effect.Success<ReturnType<typeof calls>[K]>["body"]
    expectTypeOf<Body<"json">>().toEqualTypeOf<ChatCompletion>()
    expectTypeOf<Body<"stream">>().toEqualTypeOf<Stream.Stream<ChatCompletionChunk, StreamError>>()
    expectTypeOf<Body<"messages">>().toEqualTypeOf<Message>()
    expectTypeOf<Body<"events">>().toEqualTypeOf<Stream.Stream<MessageStreamEvent, StreamError>>()
    const bare = (client: Client) =>
      // @ts-expect-error a model without a level
      client.chat.completions({ model: "claude-sonnet-4-5", messages: [] })
    const promised = (client: ReturnType<typeof createClient>) =>
      // @ts-expect-error the JSON call does not stream
      client.chat.completions({ model: "m:il5", messages: [], stream: true })
    assert.isFunction(bare)
    assert.isFunction(promised)
  })
})
