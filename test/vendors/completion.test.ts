import { describe, expect, it } from "@effect/vitest"
import { Option, Result, Schema } from "effect"
import { invalidBody } from "../../src/catalog/UpstreamFault.ts"
import { Completion, CompletionChunk } from "../../src/contract/ChatReply.ts"
import { type ChatAnswer, chunkWriter, readAnswer, renderCompletion } from "../../src/surfaces/chatReply.ts"
import type { Piece, ReplyReader } from "../../src/vendors/Dialect.ts"
import type { JsonObject } from "../../src/wire/json.ts"
import { runNow } from "../../src/wire/slices.ts"
import { azure, call, chunksOf, dialect, flash, sonnet, terra } from "./support.ts"

const heading = { id: "chatcmpl-1", created: 7, model: 'claude-"x":il2' }
const tokens = { input: 1, output: 2 }
const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 }
const governance = {
  flags: [{ tool_call_id: "x", tool_name: "f", destinations: ["https://a"], reason: "external_destination" as const }]
}

/** The chunks, checked against the contract; each is one line, as the `data` of an event is. */
const parse = (texts: ReadonlyArray<string>) => {
  for (const text of texts) expect(text).not.toMatch(/[\r\n]/)
  const chunks = texts.map((text) => JSON.parse(text))
  for (const chunk of chunks) Schema.decodeUnknownSync(CompletionChunk)(chunk)
  return chunks
}
const deltas = (texts: ReadonlyArray<string>) => parse(texts).map((chunk) => chunk.choices[0].delta)

describe("a completion", () => {
  const answer: ChatAnswer = {
    message: { role: "assistant", content: "a", refusal: null },
    finishReason: "stop",
    usage: tokens
  }
  it("says what there is, and nothing else", () => {
    const plain = renderCompletion(answer, heading)
    expect(JSON.parse(JSON.stringify(plain))).toStrictEqual({
      ...heading,
      object: "chat.completion",
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: "a", refusal: null },
          logprobs: null,
          finish_reason: "stop"
        }
      ],
      usage
    })
  })

  it("carries calls, what the vendor needs back, and the flag", () => {
    const extra = { anthropic: { thinking_blocks: [] } }
    const reader: ReplyReader = {
      *whole(_, out) {
        out.push({ type: "call", index: 0, id: "x", name: "f" })
        out.push({ type: "arguments", index: 0, text: "{}" })
        out.push({ type: "extra", extra })
        return undefined
      },
      step: () => undefined,
      end: () => Result.succeed({ finishReason: "tool_calls", usage: undefined }),
      ended: () => true,
      usage: () => undefined
    }
    const full = renderCompletion(Result.getOrThrow(runNow(readAnswer(reader, {}))), heading, governance)
    expect(full.choices[0]?.message).toEqual({
      role: "assistant",
      content: null,
      refusal: null,
      tool_calls: [call("x", "f", "{}")],
      extra_content: extra
    })
    expect(full.x_gateway_governance).toEqual(governance)
    Schema.decodeUnknownSync(Completion)(full)
  })
})

describe("a stream of chunks", () => {
  const ending = { finishReason: "tool_calls", usage: tokens } as const

  it("says the role once and first, then the pieces, then one final chunk", () => {
    const writer = chunkWriter({ ...heading, includeUsage: true })
    expect(writer.write({ type: "call-end", index: 0 })).toBeUndefined()
    const extra = { google: { thought_signature: "s" } }
    const pieces: ReadonlyArray<Piece> = [
      { type: "text", text: "a" },
      { type: "call", index: 0, id: "x", name: "f", extra },
      { type: "arguments", index: 0, text: '{"a":1}' },
      { type: "extra", extra }
    ]
    const texts = chunksOf(writer, [...pieces, { type: "refusal", text: "no" }], ending, governance)
    expect(deltas(texts)).toStrictEqual([
      { role: "assistant" },
      { content: "a" },
      {
        tool_calls: [
          { index: 0, id: "x", type: "function", function: { name: "f", arguments: "" }, extra_content: extra }
        ]
      },
      { tool_calls: [{ index: 0, function: { arguments: '{"a":1}' } }] },
      { extra_content: extra },
      { refusal: "no" },
      {}
    ])
    const chunks = parse(texts)
    expect(chunks.at(-1)).toStrictEqual({
      ...heading,
      object: "chat.completion.chunk",
      choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }],
      usage,
      x_gateway_governance: governance
    })
    for (const chunk of chunks) expect(chunk).toMatchObject({ ...heading, object: "chat.completion.chunk" })
    for (const chunk of chunks.slice(0, -1)) expect(chunk.choices[0].finish_reason).toBeNull()
  })

  it("has usage only when asked", () => {
    const plain = chunkWriter({ ...heading, includeUsage: false }).finish(ending, undefined)
    expect(parse([plain])[0]).not.toHaveProperty("usage")
    const uncounted = chunkWriter({ ...heading, includeUsage: true }).finish({ ...ending, usage: undefined }, undefined)
    expect(parse([uncounted])[0]).not.toHaveProperty("usage")
  })

  it.each(["\n\ndata: [DONE]\n\n", '"}]}', "\r\n", "\u2028", "\ud800", "\0", ""])(
    "keeps the text %j in its string",
    (content) => {
      const texts = chunksOf(chunkWriter({ ...heading, includeUsage: false }), [
        { type: "text", text: content },
        { type: "arguments", index: 0, text: content }
      ])
      expect(deltas(texts).slice(1)).toEqual([
        { content },
        { tool_calls: [{ index: 0, function: { arguments: content } }] }
      ])
    }
  )
})

it.each([
  [sonnet, (parts: ReadonlyArray<object>) => ({ content: parts, stop_reason: "end_turn" })],
  [flash, (parts: ReadonlyArray<object>) => ({ candidates: [{ content: { parts }, finishReason: "STOP" }] })],
  [azure, (parts: ReadonlyArray<object>) => ({ choices: [{ message: { tool_calls: parts }, finish_reason: "stop" }] })],
  [terra, (parts: ReadonlyArray<object>) => ({ object: "response", status: "completed", output: parts })]
] as const)("a whole reply of more parts than any model says cannot be read", (route, bodyOf) => {
  const reply = (count: number) =>
    dialect(route).reply(bodyOf(Array.from({ length: count }, () => ({ type: "text", text: "" }))) as JsonObject, route)
  expect(Result.isSuccess(reply(10_000))).toBe(true)
  expect(Result.getFailure(reply(10_001))).toEqual(Option.some(invalidBody))
})
