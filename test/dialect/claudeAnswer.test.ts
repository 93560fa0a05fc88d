import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import { chat, dialect, failureOf, flash, folded, hear, hearStream, sonnet } from "./support.ts"

const text = (text: string) => ({ type: "text", text })
const thinking = { type: "thinking", thinking: 'hm\u2028 "x"', signature: "c2ln+/==" }
const redacted = { type: "redacted_thinking", data: "ZGF0YQ==" }
/** Nested too deep for a recursive printer. */
const deep = `{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`

describe("replies", () => {
  it.each([
    ["end_turn", "stop"],
    ["stop_sequence", "stop"],
    ["pause_turn", "stop"],
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["refusal", "content_filter"],
    ["unheard_of", "stop"],
    ["constructor", "stop"],
    [null, "stop"]
  ])("stop reason %s is %s", (stop_reason, expected) => {
    expect(hear(sonnet, { content: [text("a")], stop_reason, usage: {} }).finishReason).toBe(expected)
  })

  it("count cached input as input, and no reasoning", () => {
    const usage = {
      input_tokens: 10,
      cache_read_input_tokens: 3,
      cache_creation_input_tokens: 4,
      output_tokens: 5,
      output_tokens_details: { thinking_tokens: 2 }
    }
    expect(hear(sonnet, { content: [], usage }).usage).toEqual({
      prompt_tokens: 17,
      completion_tokens: 5,
      total_tokens: 22,
      prompt_tokens_details: { cached_tokens: 3 }
    })
  })

  it("skip unknown blocks, and have null content beside calls or a refusal", () => {
    expect(hear(sonnet, { content: [{ type: "server_tool_use", id: "s" }, text("a")], usage: {} }).content).toBe("a")
    expect(hear(sonnet, { content: [], stop_reason: "refusal", usage: {} }).content).toBeNull()
    expect(hear(sonnet, { content: [], stop_reason: "end_turn", usage: {} }).content).toBe("")
  })

  it.each([[null], ["<html>"], [{}], [{ Output: { __type: "UnknownOperationException" } }]])(
    "%j is no answer",
    (body) => {
      const error = failureOf(dialect(sonnet).reply(body, sonnet))
      expect(error).toMatchObject({ reason: "upstream", code: "shape" })
    }
  )
})

it("refuses an answer nested too deep to print", () => {
  const content = [{ type: "tool_use", id: "x", name: "f", input: JSON.parse(deep) }]
  expect(failureOf(dialect(sonnet).reply({ content, usage: {} }, sonnet)).code).toBe("shape")
  const parts = [{ functionCall: { name: "f", args: JSON.parse(deep) } }]
  expect(failureOf(dialect(flash).reply({ candidates: [{ content: { parts } }] }, flash)).code).toBe("shape")
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
    const reply = dialect(sonnet).reply({ content: [text(said)], usage: {} }, sonnet, asked)
    expect(Result.getOrThrow(reply).content).toBe(expected)
    const reader = dialect(sonnet).stream(sonnet, asked)
    const shown = [
      ...[...said].map((text) => ({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } })),
      { type: "message_stop" }
    ].flatMap((event) => Result.getOrThrow(reader.step({ data: JSON.stringify(event) })))
    const pieces = [...shown, ...Result.getOrThrow(reader.end()).pieces]
    expect(pieces.map((piece) => (piece.type === "text" ? piece.text : "")).join("")).toBe(expected)
  })

  it("keeps its fences where text was asked for", () => {
    expect(hear(sonnet, { content: [text("```json\n1\n```")], usage: {} }).content).toBe("```json\n1\n```")
  })
})

describe("streams", () => {
  const start = {
    type: "message_start",
    message: { usage: { input_tokens: 7, cache_read_input_tokens: 2, output_tokens: 1 } }
  }
  const stop = [
    { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { input_tokens: null, output_tokens: 9 } },
    { type: "message_stop" }
  ]
  const use = (index: number) => ({
    type: "content_block_start",
    index,
    content_block: { type: "tool_use", id: `t${index}`, name: "f", input: {} }
  })
  const piece = (index: number, partial_json: string) => ({
    type: "content_block_delta",
    index,
    delta: { type: "input_json_delta", partial_json }
  })
  const close = (index: number) => ({ type: "content_block_stop", index })

  it("overlay usage, and count calls alone", () => {
    const heard = Result.getOrThrow(
      hearStream(sonnet, [
        start,
        { type: "ping" },
        { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
        { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "a" } },
        { type: "content_block_delta", index: 0, delta: { type: "citations_delta", citation: {} } },
        close(0),
        use(1),
        piece(1, ""),
        piece(1, '{"a" :'),
        piece(1, "1}"),
        close(1),
        { type: "content_block_start", index: 2, content_block: { type: "server_tool_use", id: "s", name: "w" } },
        piece(2, "{}"),
        close(2),
        use(3),
        close(3),
        { type: "unheard_of" },
        ...stop,
        { type: "message_stop" }
      ])
    )
    expect(heard.pieces).toEqual([
      { type: "text", text: "a" },
      { type: "call", index: 0, id: "t1", name: "f" },
      { type: "arguments", index: 0, text: '{"a" :' },
      { type: "arguments", index: 0, text: "1}" },
      { type: "call-end", index: 0 },
      { type: "call", index: 1, id: "t3", name: "f" },
      { type: "arguments", index: 1, text: "{}" },
      { type: "call-end", index: 1 }
    ])
    expect(heard.ending).toEqual({
      finishReason: "tool_calls",
      usage: {
        prompt_tokens: 9,
        completion_tokens: 9,
        total_tokens: 18,
        prompt_tokens_details: { cached_tokens: 2 }
      }
    })
  })

  it("end a call that was never closed", () => {
    const heard = Result.getOrThrow(hearStream(sonnet, [start, use(0), piece(0, '{"a":1'), ...stop]))
    expect(heard.pieces.at(-1)).toEqual({ type: "call-end", index: 0 })
    expect(folded(heard).calls).toEqual([{ name: "f", extra: undefined, arguments: '{"a":1' }])
  })

  it("gather thinking for the first call", () => {
    const delta = (change: object) => ({ type: "content_block_delta", index: 0, delta: change })
    const heard = Result.getOrThrow(
      hearStream(sonnet, [
        start,
        { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
        delta({ type: "thinking_delta", thinking: thinking.thinking.slice(0, 2) }),
        delta({ type: "thinking_delta", thinking: thinking.thinking.slice(2) }),
        delta({ type: "signature_delta", signature: thinking.signature }),
        close(0),
        { type: "content_block_start", index: 1, content_block: redacted },
        close(1),
        use(2),
        close(2),
        ...stop
      ])
    )
    const extra = { anthropic: { thinking_blocks: [thinking, redacted] } }
    expect(heard.pieces[0]).toEqual({ type: "call", index: 0, id: "t2", name: "f", extra, messageExtra: extra })
    expect(JSON.stringify(heard.pieces)).not.toContain('"text":"hm')
  })

  it("that are cut are failures, with what was counted", () => {
    const reader = dialect(sonnet).stream(sonnet)
    reader.step({ data: JSON.stringify(start) })
    expect(reader.ended()).toBe(false)
    expect(reader.usage()?.prompt_tokens).toBe(9)
    expect(failureOf(reader.end())).toMatchObject({ reason: "upstream", code: "cut" })
  })

  it.each([
    ["overloaded_error", "upstream", 529],
    ["rate_limit_error", "rate-limit", 429],
    ["invalid_request_error", "invalid", 400],
    ["timeout_error", "timeout", 504],
    ["authentication_error", "upstream", 502],
    ["unheard_of", "upstream", 502]
  ])("%s is %s", (type, reason, upstreamStatus) => {
    const event = {
      type: "error",
      error: {
        type,
        message: "no arn:aws-us-gov:bedrock:x:1:y/z at projects/p/q, https://h/x, claude-sonnet-4-5@20250929"
      }
    }
    const error = failureOf(hearStream(sonnet, [start, event]))
    expect(error).toMatchObject({ reason, upstreamStatus, code: "in-band" })
    expect(error.message).not.toMatch(/arn:aws|projects\/p|https:|@2025/)
  })

  it.each(["<html>", "null", "[]", '"x"', ""])("an event %j is the upstream's fault", (data) => {
    expect(failureOf(hearStream(sonnet, [data]))).toMatchObject({
      reason: "upstream",
      code: "event"
    })
  })
})
