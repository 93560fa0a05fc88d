/** A turn that was answered, and given back by a chat client (docs/decisions.md#tool-loops-that-survive-thinking). */
import { describe, expect, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import OpenAI from "openai"
import type { Route } from "../../../src/catalog/Route.ts"
import { chatAccumulator } from "../../../src/client/accumulate.ts"
import type { ChatCompletionChunk } from "../../../src/client/contract.ts"
import { chunkWriter, renderCompletion } from "../../../src/surfaces/chatReply.ts"
import { arrayOf, type Json, type JsonObject, objectOf } from "../../../src/wire/json.ts"
import { adjusted, asked, chat, chunksOf, dialect, hear, hearStream, opus, opusBedrock, sonnet } from "../support.ts"

const heading = { id: "chatcmpl-1", created: 1, model: "m:il2" }
const question = { role: "user", content: "hi" }

const thought = (text: string) => ({ type: "thinking", thinking: text, signature: `c2ln${text.length}+/==` })
const redacted = (data: string) => ({ type: "redacted_thinking", data })
const text = (text: string) => ({ type: "text", text })
const use = (id: string, input: JsonObject = { a: "é" }) => ({ type: "tool_use", id, name: "f", input })

const deltasOf = (block: JsonObject): readonly [JsonObject, ReadonlyArray<JsonObject>] => {
  const halves = (value: Json | undefined) => [String(value).slice(0, 2), String(value).slice(2)]
  switch (block.type) {
    case "thinking":
      return [
        { ...block, thinking: "", signature: "" },
        [
          ...halves(block.thinking).map((thinking) => ({ type: "thinking_delta", thinking })),
          { type: "signature_delta", signature: block.signature ?? "" }
        ]
      ]
    case "text":
      return [{ ...block, text: "" }, halves(block.text).map((text) => ({ type: "text_delta", text }))]
    case "tool_use":
      return [
        { ...block, input: {} },
        halves(JSON.stringify(block.input)).map((partial_json) => ({ type: "input_json_delta", partial_json }))
      ]
    default:
      return [block, []]
  }
}

const eventsOf = (blocks: ReadonlyArray<JsonObject>): ReadonlyArray<JsonObject> => [
  { type: "message_start", message: { usage: { input_tokens: 1, output_tokens: 1 } } },
  ...blocks.flatMap((block, index) => {
    const [content_block, deltas] = deltasOf(block)
    return [
      { type: "content_block_start", index, content_block },
      ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index }
    ]
  }),
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } },
  { type: "message_stop" }
]

type Asked = Parameters<typeof chat>[0]

const whole = (route: Route, blocks: ReadonlyArray<JsonObject>, fields: Asked = {}): JsonObject => {
  const body = { content: blocks, stop_reason: "end_turn", usage: { input_tokens: 1, output_tokens: 2 } }
  const answer = Result.getOrThrow(dialect(route).reply(body, route, chat(fields)))
  return objectOf(JSON.parse(JSON.stringify(renderCompletion(answer, heading).choices[0]?.message)))
}

const chunks = (route: Route, blocks: ReadonlyArray<JsonObject>, fields: Asked = {}): ReadonlyArray<string> => {
  const heard = Result.getOrThrow(hearStream(route, eventsOf(blocks), chat(fields)))
  return chunksOf(chunkWriter({ ...heading, includeUsage: true }), heard.pieces, heard.ending)
}

/** A message as our own client assembles it. */
const assembled = (texts: ReadonlyArray<string>): JsonObject => {
  const { add, final } = chatAccumulator()
  for (const data of texts) add(JSON.parse(data) as ChatCompletionChunk)
  return objectOf(JSON.parse(JSON.stringify(final()?.choices[0]?.message)))
}

/** What of these blocks the vendor takes back: it refuses blank texts, and a message that ends in thinking. */
const taken = (blocks: ReadonlyArray<JsonObject>): ReadonlyArray<JsonObject> => {
  const said = blocks.filter((block) => block.type !== "text" || /\S/.test(String(block.text)))
  const last = said.findLastIndex(({ type }) => type === "text" || type === "tool_use")
  return said.slice(0, last + 1)
}

/** The turn as it reaches the cloud, in the conversation that goes on. */
const echo = (route: Route, message: JsonObject) => {
  const results = arrayOf(message.tool_calls).map((call) => ({
    role: "tool",
    tool_call_id: objectOf(call).id,
    content: "done"
  }))
  return asked(route, { messages: [question, message, ...(results.length > 0 ? results : [question])] })
}
const echoed = (route: Route, message: JsonObject): ReadonlyArray<Json> =>
  arrayOf(echo(route, message).body.messages).filter((turn) => objectOf(turn).role === "assistant")

describe("a turn comes back as it was", () => {
  const word = Schema.String.check(Schema.isMaxLength(8))
  const block = Schema.Union([
    Schema.Struct({ type: Schema.Literal("thinking"), text: word }),
    Schema.Struct({ type: Schema.Literal("redacted"), text: word }),
    Schema.Struct({ type: Schema.Literal("text"), text: word }),
    Schema.Struct({ type: Schema.Literal("call"), text: word, direct: Schema.Boolean })
  ])
  const blocksOf = (given: ReadonlyArray<typeof block.Type>): ReadonlyArray<JsonObject> =>
    given.map((one, at) => {
      if (one.type === "thinking") return thought(one.text)
      if (one.type === "redacted") return redacted(one.text)
      if (one.type === "text") return text(one.text)
      const called = use(`toolu_${at}`, { [one.text]: one.text })
      return one.direct ? { ...called, caller: { type: "direct" } } : called
    })

  it.prop("whatever its blocks are, streamed or not", { given: Schema.Array(block) }, ({ given }) => {
    const blocks = blocksOf(given)
    const expected = taken(blocks)
    // The first block decides whether a model with a budget may think on.
    const route = opus
    for (const message of [whole(route, blocks), assembled(chunks(route, blocks))]) {
      expect(echoed(route, message)).toEqual(expected.length === 0 ? [] : [{ role: "assistant", content: expected }])
    }
  })

  it.prop(
    "a changed text is sent as it was changed, and no thinking or call is lost",
    { given: Schema.Array(block), content: word },
    ({ given, content }) => {
      const blocks = blocksOf(given)
      const said = blocks.map((block) => (block.type === "text" ? block.text : "")).join("")
      if (blocks.length === 0 || said === content) return
      const [turn] = echoed(opus, { ...whole(opus, blocks), content })
      const sent = arrayOf(objectOf(turn).content).map((block) => objectOf(block))
      const texts = sent.filter(({ type }) => type === "text").map((block) => String(block.text))
      const blank = !/\S/.test(content)
      const calls = blocks.filter(({ type }) => type === "tool_use")
      expect(sent.filter(({ type }) => type === "tool_use")).toEqual(calls)
      if (blank) return expect(texts).toEqual([])
      expect(content).toContain(texts.join(""))
      expect(sent.at(-1)?.type === "text" || sent.at(-1)?.type === "tool_use").toBe(true)
    }
  )
})

const A = thought("A")
const B = thought("B …")
const turns: ReadonlyArray<readonly [string, ReadonlyArray<JsonObject>]> = [
  ["thinking between a text and its call", [A, text("Let me see."), B, use("t1")]],
  ["thinking between calls", [A, use("t1"), B, use("t2")]],
  ["redacted thinking", [A, redacted("ZGF0YQ=="), text("x"), redacted("bW9yZQ=="), use("t1")]],
  ["several texts", [text("one"), text(" two"), use("t1"), text("three")]],
  ["thinking behind the last call", [A, use("t1"), B, text("Called.")]],
  ["thinking without calls", [A, text("Hello")]]
]

describe.each(turns)("%s", (_, blocks) => {
  /** OpenAI's own client before a gateway that answers this. */
  const client = (body: string, type: string) =>
    new OpenAI({
      apiKey: "unused",
      baseURL: "http://gateway.invalid/v1",
      maxRetries: 0,
      fetch: () => Promise.resolve(new Response(body, { headers: { "content-type": type } }))
    })
  const params = { model: "m:il2", messages: [{ role: "user", content: "hi" } as const] }
  const back = [{ role: "assistant", content: blocks }]

  it("by OpenAI's SDK", async () => {
    const completion = { ...heading, object: "chat.completion", choices: [{ index: 0, message: whole(opus, blocks) }] }
    const read = await client(JSON.stringify(completion), "application/json").chat.completions.create(params)
    expect(echoed(opus, objectOf(JSON.parse(JSON.stringify(read.choices[0]?.message))))).toEqual(back)
  })

  it("by OpenAI's SDK, streamed", async () => {
    const body = [...chunks(opus, blocks), "[DONE]"].map((data) => `data: ${data}\n\n`).join("")
    const read = await client(body, "text/event-stream").chat.completions.stream(params).finalChatCompletion()
    expect(echoed(opus, objectOf(JSON.parse(JSON.stringify(read.choices[0]?.message))))).toEqual(back)
  })

  it("says what is kept of it once, in the last delta", () => {
    const deltas = chunks(opus, blocks).map((data) => objectOf(objectOf(arrayOf(JSON.parse(data).choices)[0]).delta))
    const holders = deltas.flatMap((delta, at) => ("extra_content" in delta ? [at] : []))
    expect(holders).toEqual([deltas.length - 2])
    expect(Object.keys(deltas.at(-2) ?? {})).toEqual(["extra_content"])
  })
})

describe("what a client does to a message", () => {
  const message = whole(opus, [A, text("one"), B, text(" two"), use("t1"), thought("C"), use("t2")])
  const calls = arrayOf(message.tool_calls)
  const content = (changes: JsonObject) => objectOf(echoed(opus, { ...message, ...changes })[0]).content

  it("the text is changed: the new one stands where the first did", () => {
    expect(content({ content: "three" })).toEqual([A, text("three"), B, use("t1"), thought("C"), use("t2")])
  })
  it("the text behind a call is changed: the new one stands there, and thinking stays in its place", () => {
    const [turn] = echoed(opus, { ...whole(opus, [A, use("t1"), B, text("one"), use("t2")]), content: "three" })
    expect(objectOf(turn).content).toEqual([A, use("t1"), B, text("three"), use("t2")])
  })
  it("a text of the same length is cut in the same places", () => {
    expect(content({ content: "ONE TWO" })).toEqual([
      A,
      text("ONE"),
      B,
      text(" TWO"),
      use("t1"),
      thought("C"),
      use("t2")
    ])
  })
  it("the text is left out", () => {
    expect(content({ content: null })).toEqual([A, B, use("t1"), thought("C"), use("t2")])
  })
  it("the arguments are changed", () => {
    const [first, second] = calls.map((call) => objectOf(call))
    const changed = { ...first, function: { name: "f", arguments: '{"b":1}' } }
    expect(content({ tool_calls: [changed, second ?? null] })).toEqual([
      A,
      text("one"),
      B,
      text(" two"),
      use("t1", { b: 1 }),
      thought("C"),
      use("t2")
    ])
  })
  it("a call is left out: its thinking goes with it", () => {
    expect(content({ tool_calls: calls.slice(0, 1) })).toEqual([A, text("one"), B, text(" two"), use("t1")])
  })
  it("a call is added: it comes last", () => {
    const added = { id: "t3", type: "function", function: { name: "f", arguments: "{}" } }
    expect(content({ tool_calls: [...calls, added] })).toEqual([
      ...[A, text("one"), B, text(" two"), use("t1"), thought("C"), use("t2")],
      use("t3", {})
    ])
  })
  it("a block of thinking is left out: those of the calls are taken, or none", () => {
    const extra_content = {
      anthropic: { ...objectOf(objectOf(message.extra_content).anthropic), thinking_blocks: [A] }
    }
    expect(content({ extra_content })).toEqual([A, text("one"), B, text(" two"), use("t1"), thought("C"), use("t2")])
    const bare = calls.map((call) => ({ ...objectOf(call), extra_content: null }))
    expect(content({ extra_content, tool_calls: bare })).toEqual([text("one"), text(" two"), use("t1"), use("t2")])
    expect(echo(opus, { ...message, extra_content, tool_calls: bare }).adjusted).toContain(
      "messages.extra_content.anthropic.thinking_blocks:removed"
    )
  })
  it("`extra_content` is dropped on the message, or everywhere", () => {
    const bare = calls.map((call) => ({ ...objectOf(call), extra_content: null }))
    expect(content({ extra_content: null })).toEqual([A, B, text("one two"), use("t1"), thought("C"), use("t2")])
    expect(content({ extra_content: null, tool_calls: bare })).toEqual([text("one two"), use("t1"), use("t2")])
    expect(content({ tool_calls: bare })).toEqual([
      ...[A, text("one"), B, text(" two"), use("t1"), thought("C"), use("t2")]
    ])
  })
  it.each([
    ["no list", "x"],
    ["odd places", [1, null, { type: "other" }, { type: "text" }, { type: "tool_use", id: 1 }]],
    [
      "a call twice",
      [
        { type: "tool_use", id: "t1" },
        { type: "tool_use", id: "t1" }
      ]
    ],
    [
      "lengths that are none",
      [
        { type: "text", length: -1 },
        { type: "text", length: 1e300 },
        { type: "text", length: 0.5 }
      ]
    ]
  ])("the order is %s: everything is said, once", (_, order) => {
    const blocks = arrayOf(content({ extra_content: { anthropic: { order } } })).map((block) => objectOf(block))
    expect(blocks.filter(({ type }) => type === "text")).toEqual([text("one two")])
    expect(blocks.filter(({ type }) => type === "tool_use")).toEqual([use("t1"), use("t2")])
  })
  it.each([
    ["the whole message", message],
    ["no order", { ...message, extra_content: { anthropic: { model: "claude-opus-4-7", thinking_blocks: [A] } } }],
    ["its calls alone", { ...message, extra_content: null }]
  ])("the model is another one: its thinking, which only it can read, goes and is named (%s)", (_, message) => {
    const result = (id: string) => ({ role: "tool", tool_call_id: id, content: "x" })
    const messages = [question, message, result("t1"), result("t2")]
    const [, turn] = arrayOf(asked(sonnet, { messages }).body.messages)
    expect(arrayOf(objectOf(turn).content).map((block) => objectOf(block).type)).not.toContain("thinking")
    expect(adjusted(sonnet, { messages })).toEqual(
      expect.arrayContaining([
        "messages.extra_content.anthropic.thinking_blocks:removed",
        "reasoning_effort:unset->none"
      ])
    )
    expect(asked(opusBedrock, { messages }).body.messages).toEqual(asked(opus, { messages }).body.messages)
  })
  it("the same turn stands twice in the history: each is whole", () => {
    const results = calls.map((call) => ({ role: "tool", tool_call_id: objectOf(call).id, content: "x" }))
    const messages = [question, message, ...results, message, ...results]
    const [one, two] = arrayOf(asked(opus, { messages }).body.messages).filter(
      (turn) => objectOf(turn).role === "assistant"
    )
    const shape = (turn: Json | undefined) =>
      arrayOf(objectOf(turn).content).map((block) => [objectOf(block).type, objectOf(block).thinking])
    expect(shape(two)).toEqual(shape(one))
  })
})

describe("limits", () => {
  const long = thought("x".repeat(1024 * 1024))
  const blocks = [long, text("one"), B, use("t1")]
  it.each([
    ["whole", () => whole(opus, blocks)],
    ["streamed", () => assembled(chunks(opus, blocks))]
  ])("an order of more than 1 MiB does not travel, %s; the best one is sent and named", (_, message) => {
    expect(objectOf(message().extra_content)).toEqual({ anthropic: { order: "omitted" } })
    expect(objectOf(echoed(opus, message())[0]).content).toEqual([long, B, text("one"), use("t1")])
    const result = { role: "tool", tool_call_id: "t1", content: "x" }
    expect(adjusted(opus, { messages: [question, message(), result] })).toContain(
      "messages.extra_content.anthropic.order:over-1-MiB->best-order"
    )
  })

  it("thinking at the end, which the vendor refuses, goes and is named", () => {
    const message = whole(opus, [A, use("t1"), B])
    const result = { role: "tool", tool_call_id: "t1", content: "x" }
    const { adjusted, body } = asked(opus, { messages: [question, message, result] })
    expect(objectOf(arrayOf(body.messages)[1]).content).toEqual([A, use("t1")])
    expect(adjusted).toContain("messages.extra_content.anthropic.thinking_blocks:removed")
  })

  it.each([
    ["an order", { order: [{ type: "thinking" }], thinking_blocks: [A] }],
    ["none", { thinking_blocks: [A] }]
  ])("thinking with nothing behind it goes and is named, with %s", (_, anthropic) => {
    const silent = { role: "assistant", content: "", extra_content: { anthropic } }
    const { adjusted, body } = asked(opus, { messages: [question, silent, question] })
    expect(JSON.stringify(body.messages)).not.toContain("thinking")
    expect(adjusted).toContain("messages.extra_content.anthropic.thinking_blocks:removed")
  })

  it("a turn that the message alone says needs nothing", () => {
    for (const blocks of [[text("a")], [text("a"), use("t1"), use("t2")], [use("t1")], [], [text(""), use("t1")]]) {
      expect(whole(opus, blocks)).not.toHaveProperty("extra_content")
      expect(chunks(opus, blocks).join("")).not.toContain("extra_content")
    }
  })

  it("texts are measured as they are shown", () => {
    const fields = { response_format: { type: "json_object" } }
    const blocks = [A, text("```json\n"), text('{"a":'), B, text("1}\n```"), use("t1")]
    for (const message of [whole(sonnet, blocks, fields), assembled(chunks(sonnet, blocks, fields))]) {
      expect(message.content).toBe('{"a":1}')
      expect(objectOf(echoed(sonnet, message)[0]).content).toEqual([A, text('{"a":'), B, text("1}"), use("t1")])
    }
  })

  it("older messages, with `thinking_blocks` alone, are still read", () => {
    const old = { ...whole(opus, [A, text("one"), use("t1")]), extra_content: { anthropic: { thinking_blocks: [A] } } }
    expect(objectOf(echoed(opus, old)[0]).content).toEqual([A, text("one"), use("t1")])
  })
})

it("an answer of thinking alone has empty content, and the order last", () => {
  expect(hear(opus, { content: [A], stop_reason: "max_tokens", usage: {} }).message.content).toBe("")
  const deltas = chunks(opus, [A]).map((data) => objectOf(objectOf(arrayOf(JSON.parse(data).choices)[0]).delta))
  expect(deltas).toEqual([{ role: "assistant" }, { extra_content: expect.anything() }, {}])
})
