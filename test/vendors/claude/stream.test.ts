import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import { cut, refused, unreadable } from "../../../src/catalog/UpstreamFault.ts"
import { dialect, eventOf, failureOf, folded, hearStream, sonnet } from "../support.ts"

const thinking = { type: "thinking", thinking: 'hm\u2028 "x"', signature: "c2ln+/==" }
const redacted = { type: "redacted_thinking", data: "ZGF0YQ==" }

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

  it("skip blocks of unknown kinds, and what comes for them", () => {
    const heard = Result.getOrThrow(
      hearStream(sonnet, [
        start,
        { type: "content_block_start", index: 0, content_block: { type: "novel", text: "x" } },
        { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "y" } },
        close(0),
        { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
        { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "a" } },
        ...stop
      ])
    )
    expect(folded(heard).text).toBe("a")
  })

  it.each([
    ["before its call", [piece(0, "{}"), use(0), close(0)]],
    ["after its call", [use(0), close(0), piece(0, "{}")]]
  ])("fail where arguments come %s", (_, events) => {
    expect(failureOf(hearStream(sonnet, [start, ...events, ...stop]))).toEqual(unreadable)
  })

  it("complete a call whose place another takes", () => {
    const heard = hearStream(sonnet, [start, use(0), use(0), piece(0, '{"a":1}'), close(0), ...stop])
    const calls = folded(Result.getOrThrow(heard)).calls.map((call) => call.arguments)
    expect(calls).toEqual(["{}", '{"a":1}'])
  })

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
      usage: { input: 9, output: 9, cached: 2 }
    })
  })

  it("end a call that was never closed", () => {
    const heard = Result.getOrThrow(hearStream(sonnet, [start, use(0), piece(0, '{"a":1'), ...stop]))
    expect(heard.pieces.at(-1)).toEqual({ type: "call-end", index: 0 })
    expect(folded(heard).calls).toEqual([{ name: "f", extra: undefined, arguments: '{"a":1' }])
  })

  it("gather thinking for the call behind it, and for the message", () => {
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
    const extra = { anthropic: { model: "claude-sonnet-4-5", thinking_blocks: [thinking, redacted] } }
    expect(heard.pieces[0]).toEqual({ type: "call", index: 0, id: "t2", name: "f", extra })
    const order = [{ type: "thinking" }, { type: "redacted_thinking" }, { type: "tool_use", id: "t2" }]
    expect(heard.pieces.at(-1)).toEqual({
      type: "extra",
      extra: { anthropic: { ...extra.anthropic, order } }
    })
    expect(JSON.stringify(heard.pieces)).not.toContain('"text":"hm')
  })

  it("that are cut are failures, with what was counted", () => {
    const reader = dialect(sonnet).stream(sonnet)
    reader.step(eventOf(start), [])
    expect(reader.ended()).toBe(false)
    expect(reader.usage()?.input).toBe(9)
    expect(failureOf(reader.end([]))).toEqual(cut)
  })

  it.each([
    ["overloaded_error", 529],
    ["rate_limit_error", 429],
    ["invalid_request_error", 400],
    ["request_too_large", 413],
    ["timeout_error", 504],
    ["authentication_error", 401],
    ["permission_error", 403],
    ["not_found_error", 404],
    ["api_error", 500],
    ["unheard_of", 500],
    ["constructor", 500],
    [null, 500]
  ])("%s stands for %i, in the vendor's own words", (type, status) => {
    const message = "no arn:aws-us-gov:bedrock:x:1:y/z at projects/p/q, https://h/x, claude-sonnet-4-5@20250929"
    const fault = failureOf(hearStream(sonnet, [start, { type: "error", error: { type, message } }]))
    expect(fault).toEqual(refused(status, message))
  })

  it.each([[{ type: "error" }], [{ type: "error", error: "x" }], [{ type: "error", error: { message: 1 } }]])(
    "%j says nothing more",
    (event) => expect(failureOf(hearStream(sonnet, [start, event]))).toEqual(refused(500, undefined))
  )

  it.each(["<html>", "null", "[]", '"x"', ""])("an event %j is the upstream's fault", (data) => {
    expect(failureOf(hearStream(sonnet, [data]))).toEqual(unreadable)
  })
})
