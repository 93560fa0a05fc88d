import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import { invalidBody } from "../../../src/catalog/UpstreamFault.ts"
import { chat, dialect, failureOf, flash, hear, hearStream, sonnet } from "../support.ts"

const text = (text: string) => ({ type: "text", text })
/** Nested too deep for a recursive printer. */
const deep = `{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`

describe("replies", () => {
  it("count cached input as input, and no reasoning", () => {
    const usage = {
      input_tokens: 10,
      cache_read_input_tokens: 3,
      cache_creation_input_tokens: 4,
      output_tokens: 5,
      output_tokens_details: { thinking_tokens: 2 }
    }
    expect(hear(sonnet, { content: [], usage }).usage).toEqual({ input: 17, output: 5, cached: 3, cacheWrites: 4 })
  })

  it("skip unknown blocks, and have empty content where nothing is said", () => {
    expect(
      hear(sonnet, { content: [{ type: "server_tool_use", id: "s" }, text("a")], usage: {} }).message.content
    ).toBe("a")
    expect(hear(sonnet, { content: [], stop_reason: "refusal", usage: {} }).message.content).toBe("")
    expect(hear(sonnet, { content: [], stop_reason: "end_turn", usage: {} }).message.content).toBe("")
  })

  it.each([[{}], [{ content: null }], [{ content: "<html>" }], [{ Output: { __type: "UnknownOperationException" } }]])(
    "%j is no answer",
    (body) => {
      expect(failureOf(dialect(sonnet).reply(body, sonnet))).toEqual(invalidBody)
    }
  )
})

it("refuses an answer nested too deep to print", () => {
  const content = [{ type: "tool_use", id: "x", name: "f", input: JSON.parse(deep) }]
  expect(failureOf(dialect(sonnet).reply({ content, usage: {} }, sonnet))).toEqual(invalidBody)
  const parts = [{ functionCall: { name: "f", args: JSON.parse(deep) } }]
  expect(failureOf(dialect(flash).reply({ candidates: [{ content: { parts } }] }, flash))).toEqual(invalidBody)
})

describe("a JSON answer that was asked for in words", () => {
  const asked = chat({ response_format: { type: "json_object" } })
  it.each([
    ['{"a":1}', '{"a":1}'],
    ['```json\n{"a":1}\n```', '{"a":1}'],
    ['```\n{"a":"```"}\n```\n', '{"a":"```"}'],
    ["\n```JSON \n\n[1]```", "\n[1]"],
    ["``` is no JSON", "``` is no JSON"],
    ["```json", "```json"],
    [" \n", " \n"],
    ["", ""]
  ])("%j reads %j, streamed and not", (said, expected) => {
    const reply = dialect(sonnet).reply({ content: [text(said)], stop_reason: "end_turn", usage: {} }, sonnet, asked)
    expect(Result.getOrThrow(reply).message.content).toBe(expected)
    const events = [
      ...[...said].map((text) => ({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } })),
      { type: "message_stop" }
    ]
    const { pieces } = Result.getOrThrow(hearStream(sonnet, events, asked))
    expect(pieces.map((piece) => (piece.type === "text" ? piece.text : "")).join("")).toBe(expected)
  })

  it("keeps its fences where text was asked for", () => {
    expect(hear(sonnet, { content: [text("```json\n1\n```")], usage: {} }).message.content).toBe("```json\n1\n```")
  })
})
