import { setTimeout as sleep } from "node:timers/promises"
import { afterEach, assert, describe, it } from "@effect/vitest"
import {
  ApiError,
  ConnectionError,
  createClient,
  type GatewayHeaders,
  MessagesError,
  StreamError
} from "../../src/Client.ts"
import { type Answer, events, type FakeGateway, fakeGateway, hangUp, json, silence } from "./fakeGateway.ts"

const chunk = (content: string, finish: string | null = null) =>
  `data: ${JSON.stringify({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "m:il2",
    choices: [{ index: 0, delta: { content }, finish_reason: finish }]
  })}\n\n`
const completion = {
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "m:il2",
  choices: [{ index: 0, message: { role: "assistant", content: "Hi." }, finish_reason: "stop" }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
}
const refusal = (type: string, message: string) => ({ error: { type, message } })
const ask = { model: "m:il2", messages: [{ role: "user", content: "Hello" }] } as const
const askMessages = { ...ask, max_tokens: 10 } as const

const started: Array<FakeGateway> = []
afterEach(async () => {
  await Promise.all(started.splice(0).map((gateway) => gateway.stop()))
})
const start = async (...answers: ReadonlyArray<Answer>) => {
  const gateway = await fakeGateway(...answers)
  started.push(gateway)
  return { gateway, client: createClient({ baseUrl: gateway.url, apiKey: "k" }) }
}
const rejection = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error) => error
  )
/** What a stream gave, and what it threw. */
const drain = async <A>(stream: AsyncIterable<A>) => {
  const values: Array<A> = []
  try {
    for await (const value of stream) values.push(value)
  } catch (error) {
    return { values, error }
  }
  return { values, error: undefined }
}

/** A client of a reply that comes in chunks of a size. */
const streamOf = (bytes: Uint8Array, size: number) => {
  const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.subarray(at * size, (at + 1) * size)
  )
  const headers = { "content-type": "text/event-stream" }
  const fetch = () => Promise.resolve(new Response(ReadableStream.from(chunks), { headers }))
  return createClient({ baseUrl: "http://gateway", apiKey: "k", fetch })
}

describe("a reply", () => {
  it("is the typed body, and the headers say who answered", async () => {
    const { gateway, client } = await start(
      json(200, completion, { "x-gateway-served-by": "azure/usgov", "x-gateway-served-level": "il5" })
    )
    const seen: Array<GatewayHeaders> = []
    const body = await client.chat.completions(ask, { onHeaders: (headers) => seen.push(headers) })
    assert.strictEqual(body.choices[0]?.message.content, "Hi.")
    assert.deepInclude(seen[0], { requestId: "req-1", servedBy: "azure/usgov", servedLevel: "il5" })
    assert.strictEqual(gateway.requests[0]?.path, "/v1/chat/completions")
    assert.strictEqual(gateway.requests[0]?.key, "k")
    assert.deepEqual(JSON.parse(gateway.requests[0]?.body ?? ""), { ...ask, stream: false })
  })

  it("may be a refusal: its status, type, message and request ID, and who refused", async () => {
    const served = { "x-gateway-served-by": "azure/usgov", "x-gateway-served-level": "il5" }
    const { gateway, client } = await start(json(400, refusal("invalid_request_error", "no such model"), served))
    const seen: Array<GatewayHeaders> = []
    const onHeaders = (headers: GatewayHeaders) => void seen.push(headers)
    const error = await rejection(client.chat.completions(ask, { onHeaders }))
    await rejection(client.chat.stream(ask, { onHeaders }).finalMessage())
    assert.deepStrictEqual(
      seen.map(({ servedBy, servedLevel }) => [servedBy, servedLevel]),
      [
        ["azure/usgov", "il5"],
        ["azure/usgov", "il5"]
      ]
    )
    assert.instanceOf(error, ApiError)
    assert.deepInclude(error, { status: 400, message: "no such model", requestId: "req-1" })
    assert.strictEqual(gateway.requests.length, 2)
  })

  it("may come from something that is no gateway, or from nobody", async () => {
    const { client } = await start((response) => {
      response.writeHead(502, { "content-type": "text/html", "x-should-retry": "false" })
      response.end("<h1>Bad gateway</h1>")
    })
    assert.deepInclude(await rejection(client.chat.completions(ask)), { status: 502, type: "unexpected_reply" })
    assert.deepInclude(await rejection(client.messages.create(askMessages)), { _tag: "MessagesError", status: 502 })
    const nobody = createClient({ baseUrl: "http://127.0.0.1:1", apiKey: "k", retries: 0 })
    assert.instanceOf(await rejection(nobody.models.list()), ConnectionError)
    assert.instanceOf((await drain(nobody.chat.stream(ask))).error, ConnectionError)
  })

  it("has the messages shape on the messages endpoints", async () => {
    const { client } = await start(json(401, { type: "error", ...refusal("authentication_error", "bad key") }))
    assert.instanceOf(await rejection(client.messages.create(askMessages)), MessagesError)
    const { error } = await drain(client.messages.stream(askMessages))
    assert.deepInclude(error, { _tag: "MessagesError", status: 401, type: "authentication_error" })
  })
})

describe("a request that cannot be sent", () => {
  it("is told in the words of what is wrong with it, and once", async () => {
    const { gateway, client } = await start(json(200, completion))
    assert.instanceOf(await rejection(client.chat.completions({ ...ask, seed: 7n as never })), TypeError)
    assert.instanceOf((await drain(client.chat.stream({ ...ask, seed: 7n as never }))).error, TypeError)
    assert.strictEqual(gateway.requests.length, 0)
  })
})

describe("a request that got no answer is sent again", () => {
  it.each([
    ["a rate limit", json(429, refusal("rate_limit_error", "slow down"), { "retry-after": "0" })],
    ["a bad gateway", json(502, refusal("api_error", "upstream"))],
    ["an overload", json(503, refusal("api_error", "busy"))],
    ["a broken connection", hangUp]
  ])("after %s", async (_, failure) => {
    const { gateway, client } = await start(failure, json(200, completion))
    assert.strictEqual((await client.chat.completions(ask)).id, "chatcmpl-1")
    assert.strictEqual(gateway.requests.length, 2)
  })

  it("not before retry-after has passed", async () => {
    const { client } = await start(
      json(429, refusal("rate_limit_error", "slow down"), { "retry-after": "1" }),
      json(200, completion)
    )
    const startedAt = performance.now()
    await client.chat.completions(ask)
    assert.isAtLeast(performance.now() - startedAt, 990)
  })

  it("at most as often as it is told to", async () => {
    const { gateway } = await start(json(503, refusal("api_error", "busy"), { "retry-after": "0" }))
    const client = createClient({ baseUrl: gateway.url, apiKey: "k", retries: 1 })
    assert.deepInclude(await rejection(client.chat.completions(ask)), { status: 503 })
    assert.strictEqual(gateway.requests.length, 2)
  })

  it.each([
    ["86400", 86_400],
    // As what stands before the gateway may send it.
    ["Fri, 31 Dec 9999 23:59:59 GMT", Math.ceil((Date.UTC(9999, 11, 31, 23, 59, 59) - Date.now()) / 1000)]
  ])("not when it would have to wait longer than it may: retry-after %s", async (header, seconds) => {
    const { gateway, client } = await start(json(429, refusal("rate_limit_error", "quota"), { "retry-after": header }))
    const error = await rejection(client.chat.completions(ask))
    assert.instanceOf(error, ApiError)
    assert.closeTo(error.retryAfter ?? 0, seconds, 3600)
    assert.strictEqual(gateway.requests.length, 1)
  })

  it.each(["Thu, 01 Jan 1970 00:00:00 GMT", "soon", "-1", "1.5"])(
    "at once where retry-after is no time to come: %s",
    async (header) => {
      const { client } = await start(
        json(503, refusal("api_error", "busy"), { "retry-after": header }),
        json(200, completion)
      )
      assert.strictEqual((await client.chat.completions(ask)).id, "chatcmpl-1")
    }
  )

  it.each([400, 403, 408, 413, 415, 500, 504])("not after %i", async (status) => {
    const { gateway, client } = await start(json(status, refusal("api_error", "no")))
    assert.deepInclude(await rejection(client.chat.completions(ask)), { status })
    assert.strictEqual(gateway.requests.length, 1)
  })

  it("as x-should-retry says, whatever the status", async () => {
    const said = (value: string) => ({ "x-should-retry": value, "retry-after": "0" })
    const again = await start(json(504, refusal("api_error", "slow"), said("true")), json(200, completion))
    assert.strictEqual((await again.client.chat.completions(ask)).id, "chatcmpl-1")
    const never = await start(json(429, refusal("rate_limit_error", "quota"), said("false")), json(200, completion))
    assert.deepInclude(await rejection(never.client.chat.completions(ask)), { status: 429 })
    assert.strictEqual(never.gateway.requests.length, 1)
  })

  // The second is longer than a timer keeps.
  it.each(["20", "4000000"])("not where a signal ends the wait of %s seconds", async (wait) => {
    const { gateway } = await start(json(429, refusal("rate_limit_error", "slow"), { "retry-after": wait }))
    const client = createClient({ baseUrl: gateway.url, apiKey: "k", maxRetryDelay: Number.POSITIVE_INFINITY })
    const controller = new AbortController()
    const answer = rejection(client.chat.completions(ask, { signal: controller.signal }))
    while (gateway.requests.length === 0) await sleep(5)
    await sleep(20)
    controller.abort(new Error("enough"))
    assert.deepInclude(await answer, { message: "enough" })
    assert.strictEqual(gateway.requests.length, 1)
  })

  it("not where a signal ends the refusal before the wait", async () => {
    const controller = new AbortController()
    const refused = new ReadableStream({
      pull: (body) => {
        controller.abort(new Error("enough"))
        body.error(controller.signal.reason)
      }
    })
    const client = createClient({
      baseUrl: "http://gateway",
      apiKey: "k",
      fetch: () => Promise.resolve(new Response(refused, { status: 429, headers: { "retry-after": "20" } }))
    })
    const answer = rejection(client.chat.completions(ask, { signal: controller.signal }))
    assert.deepInclude(await Promise.race([answer, sleep(1000)]), { message: "enough" })
  })

  it("not once the reply has begun", async () => {
    const { gateway, client } = await start(events(chunk("Hel"), "cut"))
    const { values, error } = await drain(client.chat.stream(ask))
    assert.strictEqual(values.length, 1)
    assert.deepInclude(error, { _tag: "StreamError", type: "stream_error", requestId: "req-2" })
    assert.strictEqual(gateway.requests.length, 1)
  })

  it("not for the health check", async () => {
    const { gateway, client } = await start(json(503, { status: "draining", service: "s", version: "1" }))
    assert.strictEqual((await client.health()).status, "draining")
    assert.strictEqual(gateway.requests.length, 1)
  })
})

describe("a stream", () => {
  it("gives the chunks, and ends at [DONE]", async () => {
    const { gateway, client } = await start(events(`: hi\n\n${chunk("a")}${chunk("", "stop")}data: [DONE]\n\n`))
    const seen: Array<GatewayHeaders> = []
    const { values, error } = await drain(client.chat.stream(ask, { onHeaders: (headers) => seen.push(headers) }))
    assert.isUndefined(error)
    assert.deepEqual(
      values.map(({ choices }) => choices[0]?.delta.content),
      ["a", ""]
    )
    assert.deepInclude(seen[0], { servedBy: "vertex/us-east5", requestId: "req-2" })
    assert.strictEqual(JSON.parse(gateway.requests[0]?.body ?? "").stream, true)
  })

  it.each([
    ["chat", `${chunk("a")}data: {"error":{"type":"api_error","message":"upstream broke"}}\n\n`],
    [
      "messages",
      `event: ping\ndata: {"type":"ping"}\n\nevent: error\ndata: {"type":"error","error":{"type":"api_error","message":"upstream broke"}}\n\n`
    ],
    [
      "responses",
      `event: response.created\ndata: {"type":"response.created"}\n\nevent: error\ndata: {"type":"error","code":"api_error","message":"upstream broke","sequence_number":2}\n\n`
    ]
  ] as const)("that fails in-band throws what the gateway said (%s)", async (surface, text) => {
    const { client } = await start(events(text))
    const { values, error } = await drain<unknown>(
      surface === "messages"
        ? client.messages.stream(askMessages)
        : surface === "chat"
          ? client.chat.stream(ask)
          : client.responses.stream({ model: "m:il2", input: "Hello" })
    )
    assert.strictEqual(values.length, 1)
    assert.instanceOf(error, StreamError)
    assert.deepInclude(error, { type: "api_error", message: "upstream broke", requestId: "req-2" })
  })

  it.each([
    ["chat", chunk("a", "stop")],
    ["messages", `event: ping\ndata: {"type":"ping"}\n\n`],
    ["responses", `event: response.created\ndata: {"type":"response.created"}\n\n`]
  ] as const)("that ends early is an error (%s)", async (surface, text) => {
    const { client } = await start(events(text))
    const { error } = await drain<unknown>(
      surface === "messages"
        ? client.messages.stream(askMessages)
        : surface === "chat"
          ? client.chat.stream(ask)
          : client.responses.stream({ model: "m:il2", input: "Hello" })
    )
    assert.deepInclude(error, { _tag: "StreamError", type: "stream_error" })
  })

  it("passes over message events that it does not know, and reads to the governance event", async () => {
    const flags = [{ tool_call_id: "t", tool_name: "get", destinations: ["https://x"], reason: "external_destination" }]
    const { client } = await start(
      events(
        `retry: 5\nevent: new_thing\ndata: {"type":"new_thing"}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n` +
          `event: gateway_governance\ndata: ${JSON.stringify({ type: "gateway_governance", x_gateway_governance: { flags } })}\n\n`
      )
    )
    const { values, error } = await drain(client.messages.stream(askMessages))
    assert.isUndefined(error)
    assert.deepEqual(
      values.map(({ type }) => type),
      ["message_stop", "gateway_governance"]
    )
  })

  it("is the same wherever its bytes are cut", async () => {
    const bytes = Buffer.from(`\uFEFF${chunk("é😀")}: hi\r\n\r\n${chunk("", "stop")}data: [DONE]\n\n`)
    for (const size of [1, 2, 3, 7, 1000]) {
      const { values, error } = await drain(streamOf(bytes, size).chat.stream(ask))
      assert.isUndefined(error)
      assert.deepEqual(
        values.map(({ choices }) => choices[0]?.delta.content),
        ["é😀", ""]
      )
    }
  })

  it("with an event of more than 10 MiB is an error before the event is whole", async () => {
    const bytes = Buffer.from(`${chunk("a")}data: ${"x".repeat(11 * 1024 * 1024)}`)
    const { values, error } = await drain(streamOf(bytes, 65_536).chat.stream(ask))
    assert.strictEqual(values.length, 1)
    assert.deepInclude(error, { _tag: "StreamError", type: "stream_error", cause: "an event of more than 10 MiB" })
  })

  it("with an event that cannot be read is an error", async () => {
    const { client } = await start(events(`${chunk("a")}data: {"nonsense":1}\n\ndata: [DONE]\n\n`))
    const { values, error } = await drain(client.chat.stream(ask))
    assert.strictEqual(values.length, 1)
    assert.deepInclude(error, { _tag: "StreamError", type: "stream_error" })
  })
})

describe("a call ends when the caller wants it to", () => {
  const gone = async (gateway: FakeGateway) => {
    for (let waited = 0; gateway.abandoned() === 0 && waited < 2000; waited += 10) await sleep(10)
    return gateway.abandoned()
  }

  it("by its signal, before the answer", async () => {
    const { gateway, client } = await start(silence)
    const controller = new AbortController()
    const answer = rejection(client.chat.completions(ask, { signal: controller.signal }))
    while (gateway.requests.length === 0) await sleep(5)
    controller.abort()
    assert.deepInclude(await answer, { name: "AbortError" })
    assert.strictEqual(await gone(gateway), 1)
  })

  it("by its signal, in the middle of a stream", async () => {
    const { gateway, client } = await start(events(chunk("a"), "hang"))
    const controller = new AbortController()
    const reason = new Error("enough")
    const { values, error } = await drain(
      (async function* () {
        for await (const value of client.chat.stream(ask, { signal: controller.signal })) {
          yield value
          controller.abort(reason)
        }
      })()
    )
    assert.strictEqual(values.length, 1)
    assert.strictEqual(error, reason)
    assert.strictEqual(await gone(gateway), 1)
  })

  it("by a signal that has been given before", async () => {
    const { gateway, client } = await start(json(200, completion))
    assert.deepInclude(await rejection(client.chat.completions(ask, { signal: AbortSignal.abort() })), {
      name: "AbortError"
    })
    assert.strictEqual(gateway.requests.length, 0)
  })

  it("by leaving the loop", async () => {
    const { gateway, client } = await start(events(chunk("a"), "hang"))
    for await (const _ of client.chat.stream(ask)) break
    assert.strictEqual(await gone(gateway), 1)
  })
})
