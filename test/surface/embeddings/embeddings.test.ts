/** The embeddings surface (docs/api.md#embeddings). */
import type { Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { refused } from "../../support/chat.ts"
import { type Received, reply } from "../../support/fakeUpstream.ts"
import { open, post } from "../../support/http.ts"
import { sharedGateway, sharedUpstream } from "../../support/shared.ts"

const model = "titan-embed-text-v2:il5"

const floats = (base64: string): ReadonlyArray<number> => {
  const bytes = Buffer.from(base64, "base64")
  return Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readFloatLE(at * 4))
}

describe("with the sandbox", () => {
  const gateway = sharedGateway()
  const embed = (input: unknown, extra: Readonly<Record<string, unknown>> = {}, headers: Record<string, string> = {}) =>
    post(`${gateway.url}/v1/embeddings`, { model, input, ...extra }, headers)

  it("one string", async () => {
    const got = await embed("hello")
    assert.strictEqual(got.status, 200, got.text)
    const { data, usage, ...rest } = got.json
    assert.deepStrictEqual(rest, { object: "list", model })
    assert.strictEqual(data.length, 1)
    assert.deepStrictEqual(Object.keys(data[0]), ["object", "index", "embedding"])
    assert.strictEqual(data[0].object, "embedding")
    assert.strictEqual(data[0].index, 0)
    assert.strictEqual(data[0].embedding.length, 1024)
    assert.approximately(Math.hypot(...data[0].embedding), 1, 1e-6)
    assert.deepStrictEqual(Object.keys(usage), ["prompt_tokens", "total_tokens"])
    assert.isAbove(usage.prompt_tokens, 0)
    assert.strictEqual(usage.total_tokens, usage.prompt_tokens)
    assert.strictEqual(got.headers.get("x-gateway-served-model"), "titan-embed-text-v2")
    assert.match(got.headers.get("x-gateway-served-by") ?? "", /^sandbox-bedrock\//)
    assert.strictEqual(got.headers.get("x-gateway-served-level"), "il5")
  })

  it("asks for unit vectors of 1,024, each string by its own call", async () => {
    const before = gateway.calls().length
    await embed(["a", "b"])
    const calls = gateway.calls().slice(before)
    assert.deepStrictEqual(
      calls.map(({ body }) => JSON.parse(body)).sort((a, b) => (a.inputText < b.inputText ? -1 : 1)),
      [
        { inputText: "a", dimensions: 1024, normalize: true },
        { inputText: "b", dimensions: 1024, normalize: true }
      ]
    )
  })

  it("keeps the order and sums the usage", async () => {
    const texts = Array.from({ length: 40 }, (_, at) => `text number ${at} ${"x ".repeat(at)}`)
    const many = await embed(texts)
    assert.deepStrictEqual(
      many.json.data.map(({ index }: { index: number }) => index),
      texts.map((_, at) => at)
    )
    let tokens = 0
    for (const at of [0, 13, 39]) {
      const one = await embed(texts[at])
      assert.deepStrictEqual(many.json.data[at].embedding, one.json.data[0].embedding)
    }
    for (const text of texts) tokens += (await embed(text)).json.usage.prompt_tokens
    assert.strictEqual(many.json.usage.prompt_tokens, tokens)
  })

  it("base64 is little-endian float32 of the same vector", async () => {
    const plain = await embed("hello")
    const packed = await embed("hello", { encoding_format: "base64" })
    const { embedding } = packed.json.data[0]
    assert.strictEqual(Buffer.from(embedding, "base64").length, 4096)
    assert.deepStrictEqual(floats(embedding), plain.json.data[0].embedding.map(Math.fround))
    const explicit = await embed("hello", { encoding_format: "float" })
    assert.deepStrictEqual(explicit.json, plain.json)
    assert.deepStrictEqual((await embed("hello", { encoding_format: null })).json, plain.json)
  })

  it("ignores what it does not know", async () => {
    const plain = await embed("hello")
    const got = await embed("hello", { user: "u", dimensions: 256, input_type: "query", truncate: true, x: { y: 1e3 } })
    assert.deepStrictEqual(got.json, plain.json)
    assert.deepStrictEqual(JSON.parse(gateway.calls().at(-1)?.body ?? ""), {
      inputText: "hello",
      dimensions: 1024,
      normalize: true
    })
  })

  for (const level of ["fedramp-high", "fedramp-low", "il2", "il4", "itar", "il5+itar", "fedramp-high+itar"]) {
    it(`level ${level}`, async () => {
      assert.strictEqual((await embed("hi", { model: `titan-embed-text-v2:${level}` })).status, 200)
    })
  }

  describe("refused with 400, and nothing goes upstream", () => {
    const mib = 2_097_152
    const cases: ReadonlyArray<readonly [name: string, body: unknown, text: RegExp]> = [
      ["no JSON", "{", /not valid JSON/],
      ["no model", { input: "a" }, /model/],
      ["a bare model", { model: "titan-embed-text-v2", input: "a" }, /titan-embed-text-v2:il5/],
      ["an unknown model", { model: "ada:il5", input: "a" }, /ada/],
      ["a messages-format model", { model: "claude-sonnet-4-5:il5", input: "a" }, /\/v1\/(messages|chat\/completions)/],
      ["a GPT-class model", { model: "gpt-5.1:il5", input: "a" }, /\/v1\/(chat\/completions|responses)/],
      ["a Google-family model", { model: "gemini-3-flash:il2", input: "a" }, /\/v1\/chat\/completions/],
      ["no input", { model }, /input/],
      ["input null", { model, input: null }, /input/],
      ["input a number", { model, input: 5 }, /input/],
      ["input an object", { model, input: {} }, /input/],
      ["a token array", { model, input: [1, 2, 3] }, /^input.*token arrays are not accepted, because/],
      ["several token arrays", { model, input: [[1, 2], [3]] }, /^input.*token arrays are not accepted, because/],
      ["a string and a number", { model, input: ["a", 1] }, /^input/],
      ["no strings", { model, input: [] }, /at least one/],
      ["an empty string", { model, input: "" }, /input\[0\].*empty/],
      ["an empty string among others", { model, input: ["a", "b", ""] }, /input\[2\].*empty/],
      ["513 strings", { model, input: Array.from({ length: 513 }, () => "a") }, /512.*513/],
      ["a byte over 2 MiB", { model, input: ["a".repeat(mib), "b"] }, /2 MiB.*2097153/],
      ["2 MiB in characters of three bytes", { model, input: ["€".repeat(mib / 2)] }, /2 MiB/],
      ["another encoding", { model, input: "a", encoding_format: "int8" }, /encoding_format.*float or base64/],
      // Order of checks: model, count, emptiness, size.
      ["model before count", { model: "gpt-5.1:il5", input: Array.from({ length: 513 }, () => "") }, /\/v1\//],
      ["count before emptiness", { model, input: Array.from({ length: 513 }, () => "") }, /512/],
      ["emptiness before size", { model, input: ["a".repeat(mib), "b", ""] }, /input\[2\].*empty/]
    ]
    for (const [name, body, text] of cases) {
      it(name, async () => {
        const before = gateway.calls().length
        refused(await post(`${gateway.url}/v1/embeddings`, body), 400, "invalid_request_error", text)
        assert.strictEqual(gateway.calls().length, before)
      })
    }
  })

  it("512 strings of 2 MiB in all pass", async () => {
    const got = await embed(
      Array.from({ length: 512 }, (_, at) => `t${at}`.padEnd(4096, "a")),
      { encoding_format: "base64" }
    )
    assert.strictEqual(got.status, 200, got.text.slice(0, 300))
    assert.strictEqual(got.json.data.length, 512)
  })

  it("a string of too many tokens, with its index; never truncated", async () => {
    const long = "word ".repeat(9000)
    refused(
      await embed(["a", "b", long]),
      400,
      "invalid_request_error",
      /^input\[2\]: must be at most 8,192 tokens and 50,000 characters \(this has \d+ tokens\).*split/
    )
  })

  it("a string of too many characters, with its index", async () => {
    refused(
      await embed([" ".repeat(50_001)]),
      400,
      "invalid_request_error",
      /^input\[0\]: must be at most 8,192 tokens and 50,000 characters; nothing is truncated/
    )
  })

  it("429 of the upstream keeps its retry-after", async () => {
    const got = await embed(["a", "[sandbox: status=429 retry-after=9] b"])
    refused(got, 429, "rate_limit_error", /try again/)
    assert.strictEqual(got.headers.get("retry-after"), "9")
  })

  for (const [directive, status] of [
    ["status=500", 502],
    ["status=403", 502],
    ["html", 502],
    ["garbage", 502],
    ["cut", 502],
    ["redirect", 502]
  ] as const) {
    it(`an upstream that does '${directive}' is ${status}`, async () => {
      refused(await embed(`[sandbox: ${directive}] x`), status, "api_error", /./)
    })
  }

  it("403 without a key", async () => {
    refused(await embed("a", {}, { "x-api-key": "" }), 403, "authentication_error", /./)
  })

  it("other surfaces name this endpoint", async () => {
    for (const [path, extra] of [
      ["/v1/chat/completions", { messages: [{ role: "user", content: "hi" }] }],
      ["/v1/responses", { input: "hi" }],
      ["/v1/messages", { messages: [{ role: "user", content: "hi" }], max_tokens: 10 }]
    ] as const) {
      const got = await post(`${gateway.url}${path}`, { model, ...extra })
      assert.strictEqual(got.status, 400)
      assert.match(got.json.error.message, /\/v1\/embeddings/)
    }
  })
})

describe("calls side by side", () => {
  const { gateway, upstream } = sharedUpstream({ GATEWAY_EMBEDDINGS_CONCURRENCY: "3" })
  const texts = Array.from({ length: 10 }, (_, at) => `t${at}`)
  const embed = (input: unknown) => post(`${gateway.url}/v1/embeddings`, { model, input })
  const vector = (value: number, tokens: unknown = 2) =>
    reply(
      "200 OK",
      JSON.stringify({ embedding: Array.from({ length: 1024 }, () => value), inputTextTokenCount: tokens })
    )
  const textOf = ({ body }: Received): string => JSON.parse(body).inputText

  it("no more at a time than the setting says, in the order of the input whatever the order of the answers", async () => {
    let now = 0
    let most = 0
    upstream.use(async (socket: Socket, request) => {
      most = Math.max(most, ++now)
      const at = Number(textOf(request).slice(1))
      await sleep((10 - at) * 3)
      now--
      socket.write(vector(at / 1000))
    })
    const got = await embed(texts)
    assert.strictEqual(got.status, 200, got.text)
    assert.strictEqual(most, 3)
    assert.deepStrictEqual(
      got.json.data.map(({ embedding }: { embedding: ReadonlyArray<number> }) => embedding[0]),
      texts.map((_, at) => at / 1000)
    )
    assert.strictEqual(got.json.usage.prompt_tokens, 20)
  })

  it("the first failure cancels the others and is reported with its index; what was used is recorded", async () => {
    const before = upstream.received.length
    let aborted = 0
    upstream.use((socket, request) => {
      if (textOf(request) === "t1" || textOf(request) === "t2") socket.once("close", () => aborted++)
      if (textOf(request) === "t0") socket.write(vector(0))
      // The other two of the first three hang, until this one fails.
      if (textOf(request) === "t3") {
        setTimeout(
          () => socket.write(reply("400 Bad Request", JSON.stringify({ message: "no: arn:aws-us-gov:x:y" }))),
          30
        )
      }
    })
    const got = await embed(texts)
    refused(got, 400, "invalid_request_error", /^input\[3\]: no/)
    assert.notInclude(got.text, "arn:")
    assert.strictEqual(upstream.received.length - before, 4)
    for (let tries = 0; aborted < 2 && tries < 200; tries++) await sleep(5)
    assert.strictEqual(aborted, 2)
    const find = () => gateway.records().find(({ request_id }) => request_id === got.headers.get("x-request-id"))
    for (let tries = 0; find() === undefined && tries < 200; tries++) await sleep(10)
    assert.deepInclude(find(), { surface: "embeddings", tokens: { input: 2, output: 0 } })
  })

  it("a caller that leaves ends all of them within a second", async () => {
    const before = upstream.received.length
    let aborted = 0
    upstream.use((socket) => socket.once("close", () => aborted++))
    const controller = new AbortController()
    open(`${gateway.url}/v1/embeddings`, { model, input: texts }, {}, { signal: controller.signal }).catch(() => {})
    while (upstream.received.length < before + 3) await sleep(5)
    controller.abort()
    const left = Date.now()
    while (aborted < 3 && Date.now() - left < 1000) await sleep(5)
    assert.strictEqual(aborted, 3)
    assert.strictEqual(upstream.received.length, before + 3)
  })

  it("a token count of 3.0 is 3", async () => {
    upstream.use((socket) =>
      socket.write(reply("200 OK", `{"embedding":[${Array(1024).fill(0.03125).join()}],"inputTextTokenCount":3.0}`))
    )
    assert.include((await embed("a")).text, '"prompt_tokens":3,')
  })

  const bad: ReadonlyArray<readonly [string, object]> = [
    ["no vector", { inputTextTokenCount: 1 }],
    ["a short vector", { embedding: [1], inputTextTokenCount: 1 }],
    ["a vector of strings", { embedding: Array(1024).fill("1"), inputTextTokenCount: 1 }],
    ["no count", { embedding: Array(1024).fill(1) }]
  ]
  for (const [name, body] of bad) {
    it(`a reply with ${name} is 502`, async () => {
      upstream.use((socket) => socket.write(reply("200 OK", JSON.stringify(body))))
      refused(await embed("a"), 502, "api_error", /cannot be read/)
    })
  }

  it.each([
    ["500 Internal Server Error", 502, "api_error"],
    ["429 Too Many Requests", 429, "rate_limit_error"],
    ["403 Forbidden", 502, "api_error"]
  ])("a service that fails with %s blames no string", async (status, code, type) => {
    upstream.use((socket) => socket.write(reply(status, "{}")))
    refused(await embed(texts), code, type, /^the (?:cloud|model)/)
  })
})
