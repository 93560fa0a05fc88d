/** What is charged of a reply that the cloud has not counted, because its caller left or it was no use (docs/decisions.md#limits-and-quotas). */
import { assert, describe, it } from "@effect/vitest"
import { readUntil } from "../../operation/surfaces.ts"
import {
  bedrockFrame,
  blockStart,
  jsonDelta,
  messageStart,
  saying,
  sseFrame,
  textDelta,
  wholeMessage
} from "../../support/claude.ts"
import { answering, chunk, frameHead, reply, sseHead, streaming } from "../../support/fakeUpstream.ts"
import { recordOf as findRecord } from "../../support/gateway.ts"
import { open, post } from "../../support/http.ts"
import { sharedUpstream } from "../../support/shared.ts"

const { gateway, upstream } = sharedUpstream()

interface Record {
  readonly outcome: string
  readonly tokens: { readonly input: number; readonly output: number; readonly estimated?: boolean } | null
}
const recordOf = async (id: string | null) => (await findRecord(gateway, id)) as unknown as Record

const data = (json: unknown) => `data: ${JSON.stringify(json)}\n\n`
const named = (json: { readonly type: string }) => `event: ${json.type}\n${data(json)}`
const delta = (delta: object) => data({ id: "c", object: "chat.completion.chunk", choices: [{ index: 0, delta }] })
const thinking = (text: string) => ({
  type: "content_block_delta" as const,
  index: 0,
  delta: { type: "thinking_delta", thinking: text }
})
const signed = (signature: string) => ({
  type: "content_block_delta" as const,
  index: 0,
  delta: { type: "signature_delta", signature }
})
const redacted = (data: string) => blockStart(1, { type: "redacted_thinking", data })
const called = { type: "tool_use", id: "toolu_1", name: "f", input: {} }
const item = (type: string) =>
  named({
    type: "response.output_item.added",
    output_index: 0,
    item: { id: "i", type, name: "f", call_id: "c", arguments: "" }
  } as never)
const responses = (type: string) => (text: string) =>
  named({ type, output_index: 0, item_id: `msg_${"0".repeat(50)}`, delta: text, obfuscation: "abcdefgh" } as never)

const messages = { path: "/v1/messages", body: { max_tokens: 64_000, messages: [{ role: "user", content: "hi" }] } }
const chat = { path: "/v1/chat/completions", body: { messages: [{ role: "user", content: "hi" }] } }
const plain = { path: "/v1/responses", body: { input: "hi" } }

interface Way {
  readonly surface: { readonly path: string; readonly body: object }
  readonly model: string
  readonly head?: string
  readonly begin?: ReadonlyArray<string | Buffer>
  readonly say: (text: string) => string | Buffer
  /** What the caller sees last; thinking is kept back on chat. */
  readonly end?: string
}
const text = { type: "text", text: "" }
const vertex = (
  surface: Way["surface"],
  block: object,
  say: (text: string) => Parameters<typeof sseFrame>[0]
): Way => ({
  surface,
  model: "claude-sonnet-4-5:il2",
  begin: [messageStart(), blockStart(0, block)].map(sseFrame),
  say: (text) => sseFrame(say(text))
})
const ways: Readonly<{ [name: string]: Way }> = {
  "messages, text": vertex(messages, text, (said) => textDelta(0, said)),
  "messages, thinking": vertex(messages, { type: "thinking", thinking: "" }, thinking),
  "messages, thinking that is not shown": vertex(messages, { type: "thinking", thinking: "" }, signed),
  "messages, redacted thinking": vertex(messages, text, redacted),
  "messages, arguments": vertex(messages, called, (said) => jsonDelta(0, said)),
  "messages, text on Bedrock": {
    surface: messages,
    model: "claude-sonnet-4-5:il5",
    head: frameHead,
    begin: [messageStart(), blockStart(0, text)].map(bedrockFrame),
    say: (said) => bedrockFrame(textDelta(0, said))
  },
  "chat, text of Claude": vertex(chat, text, (said) => textDelta(0, said)),
  "chat, thinking of Claude": {
    ...vertex(chat, { type: "thinking", thinking: "" }, thinking),
    end: [blockStart(1, text), textDelta(1, "END")].map(sseFrame).join("")
  },
  "chat, thinking of Claude that is not shown": {
    ...vertex(chat, { type: "thinking", thinking: "" }, signed),
    end: [blockStart(1, text), textDelta(1, "END")].map(sseFrame).join("")
  },
  "chat, redacted thinking of Claude": {
    ...vertex(chat, text, redacted),
    end: [blockStart(1, text), textDelta(1, "END")].map(sseFrame).join("")
  },
  "chat, arguments of Claude": vertex(chat, called, (said) => jsonDelta(0, said)),
  "chat, text of GPT": { surface: chat, model: "gpt-5.1:il5", say: (content) => delta({ content }) },
  "chat, arguments of GPT": {
    surface: chat,
    model: "gpt-5.1:il5",
    begin: [delta({ tool_calls: [{ index: 0, id: "c", type: "function", function: { name: "f", arguments: "" } }] })],
    say: (said) => delta({ tool_calls: [{ index: 0, function: { arguments: said } }] })
  },
  "chat, text of Gemini": {
    surface: chat,
    model: "gemini-3-flash:il2",
    say: (said) => data({ candidates: [{ content: { role: "model", parts: [{ text: said }] } }] })
  },
  "responses, text": {
    surface: plain,
    model: "gpt-5.1:il5",
    begin: [item("message")],
    say: responses("response.output_text.delta")
  },
  "responses, reasoning": {
    surface: plain,
    model: "gpt-5.1:il5",
    begin: [item("reasoning")],
    say: responses("response.reasoning_summary_text.delta")
  },
  "responses, arguments": {
    surface: plain,
    model: "gpt-5.1:il5",
    begin: [item("function_call")],
    say: responses("response.function_call_arguments.delta")
  }
}

/** The record of a stream that its caller leaves once all that was sent has come. */
const leave = async ({ begin = [], end, head = sseHead, model, say, surface }: Way, pieces: ReadonlyArray<string>) => {
  upstream.use((socket) => {
    socket.write(head)
    for (const frame of [...begin, ...pieces.map(say), end ?? say("END")]) socket.write(chunk(frame))
  })
  const leaving = new AbortController()
  const response = await open(
    `${gateway.url}${surface.path}`,
    { model, stream: true, ...surface.body },
    {},
    { signal: leaving.signal }
  )
  await readUntil(response, "END")
  leaving.abort()
  return recordOf(response.headers.get("x-request-id"))
}

describe.each(Object.entries(ways))("a stream that its caller leaves: %s", (_, way) => {
  it("is charged a quarter of its bytes, as an estimate", async () => {
    const { outcome, tokens } = await leave(way, Array(10).fill("é".repeat(5_000)))
    assert.strictEqual(outcome, "cancelled")
    assert.isTrue(tokens?.estimated)
    assert.isAtLeast(tokens?.output ?? 0, 25_000)
    assert.isBelow(tokens?.output ?? 0, 25_100)
  })

  it("is charged for what it says, and not for how that is written", async () => {
    const { tokens } = await leave(way, Array(200).fill("word"))
    assert.isAtLeast(tokens?.output ?? 0, 200)
    assert.isBelow(tokens?.output ?? 0, 210)
  })
})

/** 100 KB of text, and what no reply of that vendor is. */
const long = "x".repeat(100_000)
const claude = JSON.stringify(wholeMessage([{ type: "text", text: long }], { type: "other" }))
const gpt = JSON.stringify({ object: "chat.completion", choices: [{ text: long }] })
const use: Readonly<{ [name: string]: readonly [surface: Way["surface"], model: string, reply: Buffer] }> = {
  "no message": [messages, "claude-sonnet-4-5:il2", reply("200 OK", claude)],
  "no completion": [chat, "gpt-5.1:il5", reply("200 OK", gpt)],
  "no answer of Claude": [chat, "claude-sonnet-4-5:il2", reply("200 OK", JSON.stringify({ content: long }))],
  "no answer of Gemini": [chat, "gemini-3-flash:il2", reply("200 OK", JSON.stringify({ text: long }))],
  "no response": [plain, "gpt-5.1:il5", reply("200 OK", JSON.stringify({ object: "other", output: long }))],
  "no JSON": [chat, "gpt-5.1:il5", reply("200 OK", `{"choices":"${long}`)],
  "no UTF-8": [messages, "claude-sonnet-4-5:il5", reply("200 OK", Buffer.alloc(100_000, 0xff))],
  "broken off": [chat, "gpt-5.1:il5", reply("200 OK", gpt).subarray(0, 100_500)]
}

describe.each(Object.entries(use))("a whole reply that is no use: %s", (_, [{ body, path }, model, bytes]) => {
  it("is charged a quarter of its bytes, as an estimate", async () => {
    upstream.use((socket) => void socket.end(bytes))
    const got = await post(`${gateway.url}${path}`, { model, ...body })
    assert.strictEqual(got.status, 502)
    const { tokens } = await recordOf(got.headers.get("x-request-id"))
    assert.isTrue(tokens?.estimated)
    assert.isAtLeast(tokens?.output ?? 0, 25_000)
    assert.isBelow(tokens?.output ?? 0, 25_200)
  })
})

const failure = {
  object: "response",
  status: "failed",
  output: [],
  error: { code: "server_error", message: long.slice(0, 1000) }
}
it.each([
  ["refusal", plain, "gpt-5.1:il5", "503 Service Unavailable", { error: { message: long } }],
  ["failure that the reply tells of", plain, "gpt-5.1:il5", "200 OK", failure],
  ["failure that the reply tells of on chat", chat, "gpt-5.6-terra:il5", "200 OK", failure]
] as const)("a %s costs nothing", async (_, { body: asked, path }, model, status, body) => {
  upstream.use(answering(reply(status, JSON.stringify(body))))
  const got = await open(`${gateway.url}${path}`, { model, ...asked })
  await got.text()
  const { tokens } = await recordOf(got.headers.get("x-request-id"))
  assert.isNull(tokens)
})

it("a stream that begins with a failure costs nothing", async () => {
  upstream.use(streaming([data({ error: { message: "overloaded", code: "server_error" } })]))
  const got = await open(`${gateway.url}${chat.path}`, { model: "gpt-5.1:il5", stream: true, ...chat.body })
  await got.text()
  assert.isAtLeast(got.status, 400)
  assert.isNull((await recordOf(got.headers.get("x-request-id"))).tokens)
})

it.each(["messages", "chat"])(
  "a stream of %s that ends without a count of its output is charged what it said",
  async (path) => {
    const events = saying(long).map((event) =>
      event.type === "message_delta" ? { ...event, usage: undefined } : event
    )
    upstream.use(streaming(events.map(sseFrame)))
    const { body, path: at } = path === "chat" ? chat : messages
    const got = await open(`${gateway.url}${at}`, { model: "claude-sonnet-4-5:il2", stream: true, ...body })
    await got.text()
    const { outcome, tokens } = await recordOf(got.headers.get("x-request-id"))
    assert.strictEqual(outcome, "ok")
    assert.deepStrictEqual(tokens, { input: 10, output: 25_000, estimated: true })
  }
)

const absurd: Readonly<{ [name: string]: readonly [surface: Way["surface"], model: string, reply: string] }> = {
  "messages, Claude": [
    messages,
    "claude-sonnet-4-5:il2",
    '{"type":"message","role":"assistant","content":[],"stop_reason":"end_turn","usage":{"input_tokens":IN,"output_tokens":OUT}}'
  ],
  "chat, Claude": [
    chat,
    "claude-sonnet-4-5:il5",
    '{"type":"message","role":"assistant","content":[],"stop_reason":"end_turn","usage":{"input_tokens":IN,"output_tokens":OUT}}'
  ],
  "chat, GPT": [
    chat,
    "gpt-5.1:il5",
    '{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":IN,"completion_tokens":OUT}}'
  ],
  "chat, Gemini": [
    chat,
    "gemini-3-flash:il2",
    '{"candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":IN,"candidatesTokenCount":OUT}}'
  ],
  responses: [
    plain,
    "gpt-5.1:il5",
    '{"object":"response","status":"completed","output":[],"usage":{"input_tokens":IN,"output_tokens":OUT}}'
  ]
}

describe.each(Object.entries(absurd))("a count that cannot be one: %s", (_, [{ body, path }, model, text]) => {
  it.each(["-1000000", "1.5", "1e300", "1e400", "9007199254740993", "1e12"])("is none: %s", async (count) => {
    for (const [input, output] of [
      [count, "7"],
      ["7", count]
    ] as const) {
      upstream.use(answering(reply("200 OK", text.replace("IN", input).replace("OUT", output))))
      // Native replies are passed on as they came.
      const got = await open(`${gateway.url}${path}`, { model, ...body })
      const said = await got.text()
      assert.strictEqual(got.status, 200, said)
      const { tokens } = await recordOf(got.headers.get("x-request-id"))
      if (tokens === null) throw new Error("nothing is charged")
      if (input === count) assert.isTrue(tokens.estimated)
      for (const part of [tokens.input, tokens.output]) {
        assert.isTrue(Number.isInteger(part))
        assert.isAtLeast(part, 0)
        assert.isBelow(part, 200)
      }
      if (path !== chat.path) continue
      const { completion_tokens, prompt_tokens, total_tokens } = JSON.parse(said).usage
      assert.deepStrictEqual(
        [prompt_tokens, completion_tokens, total_tokens],
        [tokens.input, tokens.output, tokens.input + tokens.output]
      )
    }
  })
})
