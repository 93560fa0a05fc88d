/**
 * What a model said comes back to it as it was: answered over real sockets, assembled by OpenAI's own client, and given back with the
 * results of its calls (docs/decisions.md#tool-loops-that-survive-thinking). The turns are made from a fixed seed.
 */
import { assert, describe, it } from "@effect/vitest"
import OpenAI from "openai"
import { type Json, type JsonObject, objectOf } from "../../../src/wire/json.ts"
import { readWrittenObject } from "../../../src/wire/parse.ts"
import { jsonText } from "../../../src/wire/print.ts"
import { kinds, saying } from "../../support/chatKinds.ts"
import {
  blockStart,
  blockStop,
  claudeClouds,
  jsonDelta,
  messageDelta,
  messageStart,
  messageStop,
  textDelta,
  type UpstreamEvent,
  wholeMessage
} from "../../support/claude.ts"
import { type Handler, reply, streaming } from "../../support/fakeUpstream.ts"
import { makeRandom } from "../../support/generate.ts"
import { sharedUpstream } from "../../support/shared.ts"

const { gateway, upstream } = sharedUpstream()

/** Turns of each kind, streamed and not. */
const turns = 10

/** Arguments as models write them, none as JavaScript would print it. */
const written = [
  '{"a": 1.0, "b": 1e3}',
  '{"a": {"10": 1, "2": [{"b": 1, "0": 2}]}, "1": 3}',
  '{ "id" : 9007199254740993 }',
  '{"x":0.1234567890123456789,"y":-0.0}',
  '{"text":"caf\\u00e9 \\/ 🌍"}',
  '{\n  "list": [1, 2.50, {"deep": null}],\n  "b": true\n}',
  '{"b":1,"a":2,"__proto__":3}',
  '{"a":"\\u2028\\ud83c\\udf0d"}',
  "{ }"
]
const words = ["Let me see.", " and\n", "é", "🌍 ", "x", "```json\n{}\n```"]

const pieces = (text: string, random: () => number): ReadonlyArray<string> => {
  const at = Math.floor(random() * text.length)
  return [text.slice(0, at), text.slice(at)].filter((piece) => piece !== "")
}
const pick = <A>(values: readonly [A, ...ReadonlyArray<A>] | ReadonlyArray<A>, random: () => number): A =>
  values[Math.floor(random() * values.length)] as A

/** The object that a text is, printed with its numbers and keys as they were. */
const compacted = (text: string): string => jsonText(readWrittenObject(text))

/** What a client sends next: the message as it got it, and a result for each of its calls. */
const echo = async (model: string, stream: boolean, handler: Handler) => {
  const client = new OpenAI({
    baseURL: `${gateway.url}/v1`,
    apiKey: "unused",
    maxRetries: 0,
    defaultHeaders: { "x-api-key": "sandbox-key" }
  })
  const messages: Array<OpenAI.ChatCompletionMessageParam> = [{ role: "user", content: "hi" }]
  upstream.use(handler)
  const completion = stream
    ? await client.chat.completions.stream({ model, messages }).finalChatCompletion()
    : await client.chat.completions.create({ model, messages })
  const message = completion.choices[0]?.message
  assert(message !== undefined)
  const results = (message.tool_calls ?? []).map(({ id }) => ({
    role: "tool" as const,
    tool_call_id: id,
    content: "done"
  }))
  await client.chat.completions.create({
    model,
    messages: [...messages, message, ...(results.length > 0 ? results : messages)]
  })
  return { calls: message.tool_calls ?? [], sent: upstream.received.at(-1)?.body ?? "" }
}

const argumentsIn = (calls: ReadonlyArray<OpenAI.ChatCompletionMessageToolCall>) =>
  calls.map((call) => (call.type === "function" ? call.function.arguments : undefined))

interface Block {
  readonly block: JsonObject
  /** Arguments of a call, as they stream. */
  readonly text?: string
}

const makeBlock = (at: number, random: () => number): Block => {
  const word = pick(words, random)
  switch (Math.floor(random() * 4)) {
    case 0:
      return { block: { type: "thinking", thinking: word, signature: `c2ln${at}+/==` } }
    case 1:
      return { block: { type: "redacted_thinking", data: "ZGF0YQ==" } }
    case 2:
      return { block: { type: "text", text: word } }
    default: {
      const text = pick(written, random)
      return { block: { type: "tool_use", id: `toolu_${at}`, name: "f", input: readWrittenObject(text) ?? {} }, text }
    }
  }
}

const eventsOf = ({ block, text = "" }: Block, index: number, random: () => number): ReadonlyArray<UpstreamEvent> => {
  const delta = (fields: Json) => ({ type: "content_block_delta", index, delta: fields })
  switch (block.type) {
    case "thinking":
      return [
        blockStart(index, { ...block, thinking: "", signature: "" }),
        ...pieces(String(block.thinking), random).map((thinking) => delta({ type: "thinking_delta", thinking })),
        delta({ type: "signature_delta", signature: block.signature ?? null }),
        blockStop(index)
      ]
    case "text":
      return [
        blockStart(index, { ...block, text: "" }),
        ...pieces(String(block.text), random).map((piece) => textDelta(index, piece)),
        blockStop(index)
      ]
    case "tool_use":
      // Some clouds say the whole input at once.
      return random() < 0.3
        ? [blockStart(index, block), blockStop(index)]
        : [
            blockStart(index, { ...block, input: {} }),
            ...pieces(text, random).map((piece) => jsonDelta(index, piece)),
            blockStop(index)
          ]
    default:
      return [blockStart(index, block), blockStop(index)]
  }
}

describe.each(claudeClouds)("any sequence of Claude's blocks, $model", ({ frame, head, model: budgeted }) => {
  const model = budgeted.replace("sonnet-4-5", "opus-4-7")
  for (const stream of [false, true]) {
    it(stream ? "streamed" : "unstreamed", async () => {
      const random = makeRandom(42)
      for (let turn = 0; turn < turns; turn++) {
        const blocks = Array.from({ length: 1 + Math.floor(random() * 6) }, (_, at) => makeBlock(at, random))
        const events = [
          messageStart(),
          ...blocks.flatMap((block, index) => eventsOf(block, index, random)),
          messageDelta("tool_use"),
          messageStop
        ]
        const { calls, sent } = await echo(
          model,
          stream,
          stream
            ? (socket, request) =>
                request.path.includes("tream")
                  ? streaming(events.map(frame), { head })(socket, request)
                  : socket.write(reply("200 OK", JSON.stringify(wholeMessage())))
            : (socket) => socket.write(reply("200 OK", jsonText(wholeMessage(blocks.map(({ block }) => block)))))
        )
        // The vendor refuses a message that ends in thinking, which only an answer that was cut does.
        const last = blocks.findLastIndex(({ block }) => !String(block.type).endsWith("thinking"))
        const expected = blocks.slice(0, last + 1).map(({ block }) => block)
        if (expected.length > 0) assert.include(sent, `{"role":"assistant","content":${jsonText(expected)}}`)
        const said = blocks.flatMap(({ text }) => text ?? [])
        assert.deepStrictEqual(
          argumentsIn(calls).map((text) => compacted(text ?? "")),
          said.map(compacted)
        )
      }
    })
  }
})

/** Where each kind's next request has the arguments of a call. */
const placed = (name: string, text: string): string =>
  name === "Gemini"
    ? `"args":${compacted(text)}`
    : name.startsWith("Claude")
      ? `"input":${compacted(text)}`
      : `"arguments":${JSON.stringify(text)}`

/** Whether the vendor says arguments as a text, which the caller gets as it is. */
const saysText = (name: string, stream: boolean): boolean => /^gpt/i.test(name) || (stream && name !== "Gemini")

describe.each(kinds)("arguments of calls, $name", (kind) => {
  for (const stream of [false, true]) {
    it(stream ? "streamed" : "unstreamed", async () => {
      const random = makeRandom(43)
      for (const [at, text] of written.entries()) {
        const said = {
          texts: pieces(pick(words, random), random),
          calls: [{ id: `call_abc${at}x`, name: "f", pieces: pieces(text, random) }]
        }
        const { calls, sent } = await echo(kind.model, stream, (socket, request) =>
          saying(
            kind,
            said,
            /tream/.test(request.path) || objectOf(JSON.parse(request.body)).stream === true
          )(socket, request)
        )
        const [got = ""] = argumentsIn(calls)
        assert.strictEqual(got, saysText(kind.name, stream) ? text : compacted(text))
        assert.include(sent, placed(kind.name, text))
      }
    })
  }
})
