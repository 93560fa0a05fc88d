import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import {
  call,
  chat,
  dialect,
  failureOf,
  flash,
  folded,
  hear,
  hearStream,
  opus,
  opusBedrock,
  refusal,
  say,
  sonnet,
  sonnetBedrock,
  tool
} from "./support.ts"

const user = (content: string) => ({ role: "user", content })
const text = (text: string) => ({ type: "text", text })
const result = (tool_call_id: string, content: string) => ({ role: "tool", tool_call_id, content })
const thinking = { type: "thinking", thinking: 'hm\u2028 "x"', signature: "c2ln+/==" }
const redacted = { type: "redacted_thinking", data: "ZGF0YQ==" }
/** Nested too deep for a recursive printer. */
const deep = `{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`
const messages = (...messages: ReadonlyArray<object>) => say(sonnet, { messages }).messages

describe("turns", () => {
  it("join instructions, merge roles and drop empty texts", () => {
    const body = say(sonnet, {
      messages: [
        { role: "system", content: "one" },
        user("a"),
        { role: "developer", content: "two" },
        user("b"),
        user(" \n"),
        { role: "assistant", content: "", tool_calls: null },
        { role: "assistant", content: "c" },
        { role: "system", content: "" },
        user("d")
      ]
    })
    expect(body.system).toBe("one\n\ntwo")
    expect(body.messages).toEqual([
      { role: "user", content: [text("a"), text("b")] },
      { role: "assistant", content: [text("c")] },
      { role: "user", content: [text("d")] }
    ])
  })

  it("say instructions as the user where there is nothing else", () => {
    const body = say(sonnet, { messages: [{ role: "system", content: "go" }] })
    expect(body).not.toHaveProperty("system")
    expect(body.messages).toEqual([{ role: "user", content: [text("go")] }])
    expect(refusal(sonnet, { messages: [user(" ")] }).message).toBe("messages: at least one message must have content")
  })

  it("put the results of a turn first, in order", () => {
    expect(
      messages(
        user("a"),
        { role: "assistant", content: "c", tool_calls: [call("x", "f", '{"n":1}'), call("y", "g", "")] },
        user("and"),
        result("x", "1"),
        result("y", "")
      )
    ).toEqual([
      { role: "user", content: [text("a")] },
      {
        role: "assistant",
        content: [
          text("c"),
          { type: "tool_use", id: "x", name: "f", input: { n: 1 } },
          { type: "tool_use", id: "y", name: "g", input: {} }
        ]
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "x", content: "1" },
          { type: "tool_result", tool_use_id: "y" },
          text("and")
        ]
      }
    ])
  })

  it("rewrite IDs that the vendor refuses, the same way everywhere", () => {
    const said = JSON.stringify(
      messages(
        user("a"),
        { role: "assistant", tool_calls: [call("a.b:1", "f", "{}"), call("a_b:1", "f", "{}"), call("", "f", "{}")] },
        result("a.b:1", "1"),
        result("a_b:1", "2"),
        result("", "3")
      )
    )
    const ids = (field: string) => [...said.matchAll(new RegExp(`"${field}":"([^"]*)"`, "g"))].map((match) => match[1])
    expect(ids("tool_use_id")).toEqual(ids("id"))
    expect(new Set(ids("id")).size).toBe(3)
    for (const id of ids("id")) expect(id).toMatch(/^[a-zA-Z0-9_-]+$/)
  })

  it.each(["{", "[]", "1", "null", '"x"', deep])("refuse the arguments %s", (args) => {
    const calls = { role: "assistant", tool_calls: [call("x", "f", "{}"), call("y", "f", args)] }
    expect(refusal(sonnet, { messages: [user("a"), calls] }).message).toBe(
      "messages[1].tool_calls[1].function.arguments: must be a JSON object, at most 500 levels deep"
    )
  })

  it("end a prefill without whitespace and without thinking", () => {
    const body = say(sonnet, { messages: [user("a"), { role: "assistant", content: "b \n" }] })
    expect(body.messages).toEqual([
      { role: "user", content: [text("a")] },
      { role: "assistant", content: [text("b")] }
    ])
    expect(body).not.toHaveProperty("thinking")
  })
})

describe("signed blocks", () => {
  const extra = { anthropic: { thinking_blocks: [thinking, redacted] } }
  const turn = (message: object) => [user("a"), message, result("x", "1")]
  const use = { type: "tool_use", id: "x", name: "f", input: {} }

  it.each([
    ["the message", { role: "assistant", content: "c", tool_calls: [call("x", "f", "{}")], extra_content: extra }],
    ["its first call", { role: "assistant", content: "c", tool_calls: [call("x", "f", "{}", extra)] }],
    ["both", { role: "assistant", content: "c", tool_calls: [call("x", "f", "{}", extra)], extra_content: extra }]
  ])("come back from %s, exactly", (_, message) => {
    const body = say(sonnet, { messages: turn(message) })
    expect(JSON.stringify(body.messages)).toBe(
      JSON.stringify([
        { role: "user", content: [text("a")] },
        { role: "assistant", content: [thinking, redacted, text("c"), use] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "x", content: "1" }] }
      ])
    )
    expect(body.thinking).toEqual({ type: "enabled", budget_tokens: 8192 })
  })

  it("come back before the call that they came with", () => {
    const later = { anthropic: { thinking_blocks: [{ ...thinking, thinking: "2" }] } }
    const message = { role: "assistant", tool_calls: [call("x", "f", "{}", extra), call("y", "f", "{}", later)] }
    expect(say(sonnet, { messages: turn(message) }).messages).toMatchObject([
      {},
      { content: [thinking, redacted, use, { ...thinking, thinking: "2" }, { ...use, id: "y" }] },
      {}
    ])
  })

  it("are left out where the request does not think", () => {
    const message = { role: "assistant", tool_calls: [call("x", "f", "{}", extra)] }
    const body = say(sonnet, { messages: turn(message), reasoning_effort: "none" })
    expect(body.messages).toMatchObject([{}, { content: [use] }, {}])
  })

  it("matter for the turn that goes on only", () => {
    const message = { role: "assistant", tool_calls: [call("x", "f", "{}")] }
    const done = [...turn(message), { role: "assistant", content: "done" }, user("next")]
    expect(say(sonnet, { messages: done }).thinking).toBeDefined()
    expect(say(sonnet, { messages: [...turn(message), user("next")] }).thinking).toBeUndefined()
  })

  it.each([
    [null],
    ["x"],
    [{ anthropic: null }],
    [{ anthropic: { thinking_blocks: "x" } }],
    [{ anthropic: { thinking_blocks: [1, { type: "text" }] } }]
  ])("that are none (%j) are none", (extra_content) => {
    const message = { role: "assistant", tool_calls: [call("x", "f", "{}")], extra_content }
    expect(say(sonnet, { messages: turn(message) }).thinking).toBeUndefined()
  })

  it("go out with tool calls only, each before its call, streamed and not", () => {
    const content = [thinking, redacted, text("t"), use, { ...thinking, thinking: "2" }, { ...use, id: "y" }]
    const answer = hear(sonnet, { content, stop_reason: "tool_use", usage: {} })
    const second = { anthropic: { thinking_blocks: [{ ...thinking, thinking: "2" }] } }
    expect(answer.extra).toEqual(extra)
    expect(answer.toolCalls.map((call) => call.extra_content)).toEqual([extra, second])
    expect(hear(sonnet, { content: [thinking, text("t")], usage: {} }).extra).toBeUndefined()
  })
})

describe("parameters", () => {
  it.each([
    [{ temperature: 1.5, top_p: 0.5 }, { temperature: 1 }],
    [{ top_p: 0.5 }, { top_p: 0.5 }],
    [{ stop: "x" }, { stop_sequences: ["x"] }],
    [{ stop: ["x", "", " ", "y"] }, { stop_sequences: ["x", "y"] }],
    [{ stop: [] }, {}],
    [{ tools: [], tool_choice: "auto" }, {}],
    [{ user: "u" }, { metadata: { user_id: "u" } }],
    [{ seed: 1, n: 1, store: true, stream: true, logit_bias: {}, stream_options: { include_usage: true } }, {}]
  ])("%j", (fields, expected) => {
    expect(say(sonnet, { ...fields, reasoning_effort: "none" })).toEqual({
      max_tokens: 4096,
      messages: [{ role: "user", content: [text("hi")] }],
      ...expected
    })
  })

  it("leave the user out on cloud B", () => expect(say(sonnetBedrock, { user: "u" })).not.toHaveProperty("metadata"))

  it.each([
    [undefined, undefined, undefined],
    ["auto", undefined, { type: "auto" }],
    ["none", false, { type: "none" }],
    ["required", undefined, { type: "any" }],
    [{ type: "function", function: { name: "f" } }, undefined, { type: "tool", name: "f" }],
    [undefined, false, { type: "auto", disable_parallel_tool_use: true }],
    ["required", false, { type: "any", disable_parallel_tool_use: true }],
    ["auto", true, { type: "auto" }]
  ])("tool choice %j with parallel calls %j", (tool_choice, parallel_tool_calls, expected) => {
    const fields = { tool_choice: tool_choice ?? null, parallel_tool_calls: parallel_tool_calls ?? null }
    expect(say(sonnet, { tools: [tool("f")], reasoning_effort: "none", ...fields }).tool_choice).toEqual(expected)
  })

  it.each([
    [undefined, { type: "object", properties: {} }],
    [{}, { type: "object", properties: {} }],
    [{ type: "object" }, { type: "object", properties: {} }],
    [{ properties: { a: {} } }, { type: "object", properties: { a: {} } }]
  ])("a tool of parameters %j", (parameters, input_schema) => {
    expect(say(sonnet, { tools: [tool("f", parameters)] }).tools).toEqual([{ name: "f", input_schema }])
  })
})

it("defines the tools of a history that has none any more, without letting them be called", () => {
  const calls = [call("x", "f", "{}"), call("y", "f", "{}"), call("z", "g", "{}")]
  const body = say(sonnet, { messages: [user("a"), { role: "assistant", tool_calls: calls }], tool_choice: "auto" })
  const input_schema = { type: "object", properties: {} }
  expect(body.tools).toEqual([
    { name: "f", input_schema },
    { name: "g", input_schema }
  ])
  expect(body.tool_choice).toEqual({ type: "none" })
})

it("takes messages of any number of parts", () => {
  const content = Array.from({ length: 200_000 }, () => ({ type: "text", text: "a" }))
  for (const route of [sonnet, flash]) {
    const body = say(route, { messages: [user("a"), { role: "user", content }] })
    expect(JSON.stringify(body).length).toBeGreaterThan(200_000)
  }
})

describe("JSON answers", () => {
  const schema = { type: "object", properties: { a: { type: "string" } }, required: ["a"], additionalProperties: false }
  const format = (strict: boolean) => ({
    response_format: { type: "json_schema", json_schema: { name: "x", strict, schema } }
  })

  it("are the vendor's own where the catalog leaves them and the schema is strict", () => {
    const body = say(opus, format(true))
    expect(body.output_config).toEqual({ effort: "medium", format: { type: "json_schema", schema } })
    expect(body).not.toHaveProperty("system")
  })

  it("are an instruction elsewhere", () => {
    for (const body of [say(opus, format(false)), say(opusBedrock, format(true)), say(sonnet, format(true))]) {
      expect(body.system).toContain(JSON.stringify(schema))
      expect(JSON.stringify(body.output_config ?? {})).not.toContain("format")
    }
    expect(say(sonnet, { response_format: { type: "json_object" } }).system).toContain("one JSON object")
    expect(say(sonnet, { response_format: { type: "text" } })).not.toHaveProperty("system")
  })
})

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
    const event = { type: "error", error: { type, message: "no arn:aws-us-gov:bedrock:x:1:y/z at projects/p/q" } }
    const error = failureOf(hearStream(sonnet, [start, event]))
    expect(error).toMatchObject({ reason, upstreamStatus, code: "in-band" })
    expect(error.message).not.toMatch(/arn:aws|projects\/p/)
  })

  it.each(["<html>", "null", "[]", '"x"', ""])("an event %j is the upstream's fault", (data) => {
    expect(failureOf(hearStream(sonnet, [data]))).toMatchObject({
      reason: "upstream",
      code: "event"
    })
  })
})

it("never changes the request", () => {
  const request = chat({ tools: [tool("f", { properties: {} })], messages: [user("a"), user("b")] })
  const before = structuredClone(request)
  dialect(sonnet).request(request, sonnet)
  expect(request).toEqual(before)
})
