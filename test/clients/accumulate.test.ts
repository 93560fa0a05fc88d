/** What the events of a stream come to, piece by piece. */
import { assert, describe, it } from "@effect/vitest"
import { chatAccumulator, messagesAccumulator, responsesAccumulator } from "../../src/client/accumulate.ts"
import type { ChatCompletionChunk } from "../../src/client/contract.ts"
import type { MessageStreamEvent, ResponseStreamEvent } from "../../src/client/events.ts"

const chunk = (delta: object, more: object = {}) =>
  ({
    id: "c",
    object: "chat.completion.chunk",
    created: 1,
    model: "m:il2",
    choices: [{ index: 0, delta, finish_reason: null, ...more }]
  }) as unknown as ChatCompletionChunk

describe("a chat reply", () => {
  it("grows by texts and lists; what comes whole is kept, and null takes nothing away", () => {
    const { add, final } = chatAccumulator()
    const extra = { google: { thought_signature: "s" } }
    add(chunk({ role: "assistant", content: "", refusal: null, extra_content: extra }))
    add(chunk({ role: "assistant", content: "He" }, { logprobs: { content: [{ token: "He" }] } }))
    add(chunk({ content: "y", annotations: [1], extra_content: extra }, { logprobs: { content: [{ token: "y" }] } }))
    add(chunk({ content: null, annotations: [2] }, { finish_reason: "length" }))
    assert.deepEqual(final()?.choices as unknown, [
      {
        index: 0,
        message: { role: "assistant", content: "Hey", refusal: null, extra_content: extra, annotations: [1, 2] },
        logprobs: { content: [{ token: "He" }, { token: "y" }] },
        finish_reason: "length"
      }
    ])
  })

  it("joins the pieces of each call by its index", () => {
    const { add, final, toolCalls } = chatAccumulator()
    const call = (index: number, fields: object) => chunk({ tool_calls: [{ index, ...fields }] })
    add(call(1, { id: "b", type: "function", function: { name: "g", arguments: "" } }))
    add(call(3, { id: "a", type: "function", function: { name: "f", arguments: '{"x"' } }))
    add(call(1, { id: "", function: { arguments: "{}" } }))
    add(call(3, { function: { arguments: ":1}" }, extra_content: { a: 1 } }))
    assert.deepEqual(toolCalls(), [
      { id: "b", name: "g", arguments: "{}" },
      { id: "a", name: "f", arguments: '{"x":1}' }
    ])
    const { message } = final()?.choices[0] ?? {}
    assert.isNull(message?.content)
    assert.deepEqual(message?.tool_calls?.[1] as unknown, {
      id: "a",
      type: "function",
      function: { name: "f", arguments: '{"x":1}' },
      extra_content: { a: 1 }
    })
  })
})

it("a count that an event gave is kept where a later one has null", () => {
  const chat = chatAccumulator()
  const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 }
  const counts = [
    { usage: null, service_tier: null },
    { usage, service_tier: "default" }
  ]
  for (const fields of [...counts, ...counts.slice(0, 1)])
    chat.add({ ...chunk({ content: "a" }), ...fields } as ChatCompletionChunk)
  assert.deepInclude(chat.final(), { usage, service_tier: "default" })
  const message = messagesAccumulator()
  const add = (event: object) => message.add(event as MessageStreamEvent)
  const started = { input_tokens: 9, cache_read_input_tokens: 4, cache_creation_input_tokens: null, output_tokens: 1 }
  add({ type: "message_start", message: { id: "m", content: [], stop_reason: null, usage: started } })
  const nulls = { input_tokens: null, cache_read_input_tokens: null, server_tool_use: null }
  add({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { ...nulls, output_tokens: 7 } })
  add({ type: "message_delta", delta: { stop_reason: null, stop_sequence: null }, usage: nulls })
  assert.deepInclude(message.final(), { stop_reason: "end_turn", stop_sequence: null })
  assert.deepEqual(message.final()?.usage as unknown, { ...started, server_tool_use: null, output_tokens: 7 })
})

it("the calls of a response are those that the caller runs", () => {
  const { add, toolCalls } = responsesAccumulator()
  const action = { commands: ["ls"] }
  const output = [
    { type: "reasoning", summary: [] },
    { type: "function_call", call_id: "1", name: "f", arguments: "{}" },
    { type: "custom_tool_call", call_id: "2", name: "sql", input: "select 1" },
    { type: "local_shell_call", call_id: "3", action },
    { type: "shell_call", call_id: "4", action },
    { type: "apply_patch_call", call_id: "5", operation: { type: "delete_file", path: "a" } },
    { type: "of_a_later_kind", call_id: "6" }
  ]
  add({ type: "response.completed", response: { output } } as unknown as ResponseStreamEvent)
  assert.deepEqual(toolCalls(), [
    { id: "1", name: "f", arguments: "{}" },
    { id: "2", name: "sql", arguments: "select 1" },
    { id: "3", name: "local_shell", arguments: '{"commands":["ls"]}' },
    { id: "4", name: "shell", arguments: '{"commands":["ls"]}' },
    { id: "5", name: "apply_patch", arguments: '{"type":"delete_file","path":"a"}' }
  ])
})

it("a name of the prototype is a field like any other", () => {
  const { add, final } = chatAccumulator()
  const delta = JSON.parse('{"content":"a","__proto__":{"polluted":true},"constructor":"x"}')
  add(chunk(delta))
  add(chunk(delta))
  assert.strictEqual(final()?.choices[0]?.message.content, "aa")
  assert.isUndefined(({} as { polluted?: boolean }).polluted)
})

it("the events of a message are left as they came", () => {
  const { add, final } = messagesAccumulator()
  const events = [
    { type: "message_start", message: { id: "m", content: [], usage: { input_tokens: 1, output_tokens: 0 } } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "", citations: [] } },
    { type: "content_block_delta", index: 0, delta: { type: "citations_delta", citation: { cited_text: "a" } } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hi" } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } }
  ] as unknown as ReadonlyArray<MessageStreamEvent>
  const before = structuredClone(events)
  for (const event of events) add(event)
  assert.deepEqual(events, before)
  assert.deepEqual(final() as unknown, {
    id: "m",
    content: [{ type: "text", text: "Hi", citations: [{ cited_text: "a" }] }],
    stop_reason: "end_turn",
    usage: { input_tokens: 1, output_tokens: 2 }
  })
})

it("a call that was cut has an input that can be given back", () => {
  const input = (...pieces: ReadonlyArray<string>) => {
    const { add, final, toolCalls } = messagesAccumulator()
    const events = [
      { type: "message_start", message: { id: "m", content: [], usage: { input_tokens: 1, output_tokens: 0 } } },
      { type: "content_block_start", index: 0, content_block: { type: "tool_use", id: "t", name: "f", input: {} } },
      ...pieces.map((partial_json) => ({
        type: "content_block_delta",
        index: 0,
        delta: { type: "input_json_delta", partial_json }
      })),
      { type: "content_block_stop", index: 0 }
    ] as unknown as ReadonlyArray<MessageStreamEvent>
    for (const event of events) add(event)
    assert.strictEqual(toolCalls()[0]?.arguments, pieces.length === 0 ? "{}" : pieces.join(""))
    return final()?.content.flatMap((block) => ("input" in block ? [block.input] : []))[0]
  }
  assert.deepStrictEqual(input(), {})
  assert.deepStrictEqual(input(""), {})
  assert.deepStrictEqual(input('{"a":', "1}"), { a: 1 })
  for (const cut of ['{"a": "hel', "[]", "null", '"x"']) assert.deepStrictEqual(input(cut), { arguments: cut })
})

it("an index that a server made up is an index like any other, however large", () => {
  for (const index of [4_294_967_294, -1, 0.5, JSON.parse('"__proto__"')]) {
    const message = messagesAccumulator()
    const add = (event: object) => message.add(event as MessageStreamEvent)
    add({ type: "message_start", message: { content: [] } })
    add({ type: "content_block_start", index, content_block: { type: "tool_use", id: "t", name: "f", input: {} } })
    add({ type: "content_block_delta", index, delta: { type: "input_json_delta", partial_json: '{"a":1}' } })
    add({ type: "content_block_stop", index })
    assert.deepEqual(message.final()?.content as unknown, [{ type: "tool_use", id: "t", name: "f", input: { a: 1 } }])
    assert.deepEqual(message.toolCalls(), [{ id: "t", name: "f", arguments: '{"a":1}' }])
    const chat = chatAccumulator()
    chat.add(chunk({ tool_calls: [{ index, id: "t", function: { name: "f", arguments: "{}" } }] }))
    assert.deepEqual(chat.toolCalls(), [{ id: "t", name: "f", arguments: "{}" }])
    assert.strictEqual(chat.final()?.choices[0]?.message.tool_calls?.length, 1)
  }
})
