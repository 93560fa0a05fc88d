/** What the promise client's streams offer beside their events, against the gateway with the sandbox behind it. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { createClient, type PromiseClient, StreamError } from "../../src/Client.ts"
import { type Gateway, startGateway } from "../support/gateway.ts"

let gateway: Gateway
let client: PromiseClient
beforeAll(async () => {
  gateway = await startGateway()
  client = createClient({ baseUrl: `${gateway.url}/`, apiKey: "sandbox-key", retries: 0 })
})
afterAll(() => gateway.stop())

const parameters = { type: "object", properties: { url: { type: "string" } } }
const user = (content: string) => [{ role: "user", content }] as const
const twoCalls = '[sandbox: tool=fetch args={"url":"https://example.com/a"}] [sandbox: tool=fetch args={"url":"b"}]'

const chat = (said: string, model: "claude-sonnet-4-5:il5" | "gemini-3-flash:il2" | "gpt-5.1:il5") => ({
  model,
  messages: user(said),
  reasoning_effort: "none" as const,
  stream_options: { include_usage: true },
  tools: [{ type: "function" as const, function: { name: "fetch", parameters } }]
})
const native = (said: string) => ({
  model: "claude-sonnet-4-5:il5" as const,
  max_tokens: 3000,
  thinking: { type: "enabled" as const, budget_tokens: 1024 },
  messages: user(said),
  tools: [{ name: "fetch", input_schema: parameters }]
})
const items = (said: string) => ({
  model: "gpt-5.1:il5" as const,
  input: said,
  tools: [{ type: "function" as const, name: "fetch", parameters }]
})

/** Without what differs between any two replies. */
const plain = (reply: object): unknown =>
  JSON.parse(
    JSON.stringify(reply, (key, value) =>
      // `annotations` come with whole replies only.
      /^(annotations|id|call_id|tool_call_id|created|created_at|completed_at|signature|usage|extra_content|logprobs|refusal)$/.test(
        key
      )
        ? undefined
        : value
    )
  )

describe("finalMessage is the reply that would have come whole", () => {
  const texts = ["[sandbox: text=One two three.]", twoCalls, "[sandbox: length]"]
  for (const said of texts) {
    for (const model of ["claude-sonnet-4-5:il5", "gemini-3-flash:il2", "gpt-5.1:il5"] as const) {
      it(`chat with ${model}: ${said}`, async () => {
        const stream = client.chat.stream(chat(said, model))
        const { usage, ...final } = await stream.finalMessage()
        const whole = await client.chat.completions(chat(said, model))
        assert.deepEqual(plain(final), plain(whole))
        assert.deepEqual(usage, whole.usage)
      })
    }
    it(`messages: ${said}`, async () => {
      const final = await client.messages.stream(native(said)).finalMessage()
      const whole = await client.messages.create(native(said))
      assert.deepEqual(plain(final), plain(whole))
      assert.strictEqual(final.usage.output_tokens, whole.usage.output_tokens)
    })
    it(`responses: ${said}`, async () => {
      const final = await client.responses.stream(items(said)).finalMessage()
      assert.deepEqual(plain(final), plain(await client.responses.create(items(said))))
    })
  }
})

describe("a stream", () => {
  const streams = (said: string) => [
    client.chat.stream(chat(said, "gpt-5.1:il5")),
    client.messages.stream(native(said)),
    client.responses.stream(items(said))
  ]

  it("gives its text in pieces, and whole", async () => {
    for (const stream of streams("[sandbox: text=One two three.]")) {
      const pieces: Array<string> = []
      for await (const piece of stream.text) pieces.push(piece)
      assert.strictEqual(pieces.join(""), "One two three.")
      assert.isAbove(pieces.length, 1)
    }
    for (const stream of streams("[sandbox: text=One two three.]")) {
      assert.strictEqual(await stream.finalText(), "One two three.")
    }
    for (const stream of streams("[sandbox: text=One two three.]")) {
      for await (const _ of stream) {
      }
      assert.strictEqual(await stream.finalText(), "One two three.")
    }
    for (const stream of streams("[sandbox: text=One two three.]")) {
      const [text, final] = await Promise.all([stream.finalText(), stream.finalMessage()])
      assert.strictEqual(text, "One two three.")
      assert.isObject(final)
    }
  })

  it("gives its calls, the same for every format, also after a loop", async () => {
    for (const stream of streams(twoCalls)) {
      let events = 0
      for await (const _ of stream) events++
      assert.isAbove(events, 2)
      const calls = await stream.toolCalls()
      assert.deepEqual(
        calls.map(({ name, arguments: args }) => [name, JSON.parse(args)]),
        [
          ["fetch", { url: "https://example.com/a" }],
          ["fetch", { url: "b" }]
        ]
      )
      for (const { id } of calls) assert.isNotEmpty(id)
    }
  })

  it("that was left has no final message, and one that fails says why", async () => {
    for (const stream of streams("Tell me a story.")) {
      for await (const _ of stream) break
      assert.instanceOf(await stream.finalMessage().catch((error: unknown) => error), StreamError)
      assert.instanceOf(await stream.finalText().catch((error: unknown) => error), StreamError)
    }
    for (const stream of streams("[sandbox: cut after=5] Tell me a story.")) {
      const error: unknown = await stream.finalMessage().catch((error: unknown) => error)
      assert.instanceOf(error, StreamError)
      assert.match(String(error), /broke off|ended/)
      // However often it is asked.
      assert.strictEqual(await stream.finalText().catch((error: unknown) => error), error)
    }
  })
})
