/** What is read of the frames of a streamed reply, and what is put in their place. */
import { assert, describe, it } from "@effect/vitest"
import { reportedError } from "../../src/guards/frames.ts"
import type { Frame } from "../../src/stream/Frame.ts"
import { begins, ends, eventOf, goesOn, guardedAlone } from "../support/heldAlone.ts"
import { parsed } from "../support/http.ts"

describe("a text that comes in pieces is known by its key", () => {
  const text = { type: "text", text: "a" }
  const part = { type: "output_text", text: "a" }
  const tool = (index: number | undefined) => ({ tool_calls: [{ index, function: { arguments: "a" } }] })
  it.each([
    ["chat", undefined, { choices: [{ delta: { content: "a" } }] }, ["content"]],
    ["chat", undefined, { choices: [{ delta: { refusal: "a" } }] }, ["refusal"]],
    ["chat", undefined, { choices: [{ delta: tool(2) }] }, ["call 2"]],
    ["chat", undefined, { choices: [{ delta: tool(undefined) }] }, ["call 0"]],
    ["chat", undefined, { choices: [{ delta: { annotations: [{ title: "a" }] } }] }, [undefined]],
    ["messages", "message_start", { message: { content: [text, text] } }, ["0", "1"]],
    ["messages", "content_block_start", { index: 2, content_block: { ...text, other: "b" } }, ["2", undefined]],
    ["messages", "content_block_delta", { index: 2, delta: text }, ["2"]],
    ["messages", "content_block_delta", { delta: text }, ["-1"]],
    ["responses", "response.output_text.delta", { output_index: 1, content_index: 2, delta: "a" }, ["1 2"]],
    ["responses", "response.reasoning_summary_text.delta", { output_index: 1, summary_index: 2, delta: "a" }, ["1  2"]],
    ["responses", "response.audio.transcript.delta", { delta: "a" }, ["response.audio.transcript"]],
    ["responses", "response.output_text.done", { output_index: 1, content_index: 2, text: "a" }, [undefined]],
    ["responses", "response.output_item.added", { output_index: 1, item: { content: [part, part] } }, ["1 0", "1 1"]],
    ["responses", "response.something_new", { output_index: 1, text: "a" }, [undefined]]
  ] as const)("%s, %s: %j", (surface, event, fields, keys) => {
    const { texts } = guardedAlone(surface).reader.read({ event, data: JSON.stringify(fields) })
    assert.deepStrictEqual(
      texts.map(({ key }) => key),
      [...keys]
    )
  })
})

describe("a frame", () => {
  const choice = (fields: object) => ({ choices: [{ index: 0, delta: {}, ...fields }] })
  const place = { output_index: 1, content_index: 2 }
  const call = { output_index: 1, item: { type: "function_call" } }
  it.each([
    ["chat", undefined, choice({ finish_reason: "stop" }), { last: true }],
    [
      "chat",
      undefined,
      choice({ delta: { tool_calls: [{ index: 2, function: { name: "f" } }] } }),
      { begins: "call 2" }
    ],
    ["messages", "content_block_start", { index: 2, content_block: { type: "tool_use" } }, { begins: "2" }],
    ["messages", "content_block_start", { index: 2, content_block: { type: "text" } }, { begins: undefined }],
    ["messages", "content_block_delta", { index: 2, delta: { type: "signature_delta" } }, { signs: "2" }],
    ["messages", "content_block_stop", { index: 2 }, { ends: ["2"] }],
    ["messages", "message_stop", {}, { last: true }],
    ["responses", "response.in_progress", { response: {} }, { last: false }],
    ["responses", "response.failed", { response: {} }, { last: true }],
    ["responses", "response.output_item.added", call, { begins: "1" }],
    ["responses", "response.output_item.done", call, { ends: ["1"], repeats: undefined }],
    ["responses", "response.content_part.done", { ...place, part: {} }, { ends: ["1 2"], repeats: undefined }],
    ["responses", "response.output_text.done", { ...place, text: "a" }, { ends: ["1 2"], repeats: "1 2" }]
  ] as const)("of %s, %s: %j means %j", (surface, event, fields, marks) => {
    assert.deepInclude(guardedAlone(surface).reader.read({ event, data: JSON.stringify(fields) }), marks)
  })

  it("of responses has the number after that of the one before", () => {
    const { emit } = guardedAlone("responses").reader
    const frames = ['{"sequence_number":4}', '{"sequence_number":5}', "{}", '{"sequence_number":9}']
    const out = frames.map((data) => emit({ data }).data)
    assert.deepStrictEqual(out, ['{"sequence_number":4}', '{"sequence_number":5}', "{}", '{"sequence_number":6}'])
  })
})

describe("what guards did", () => {
  const actions = [{ guard: "g", action: "redact", categories: ["x"] }] as const
  const last: Frame = { event: "response.completed", data: '{"response":{"id":"r"}}' }
  it("is in the response of the last event", () => {
    const [before, reported] = guardedAlone("responses").reader.report([ends, last], actions)
    assert.strictEqual(before, ends)
    assert.deepStrictEqual(parsed(reported?.data ?? ""), { response: { id: "r", x_gateway_guards: actions } })
  })

  it.each([
    ["chat", 1],
    ["messages", 2],
    ["responses", 1]
  ] as const)("is with an error that ends a stream of %s, if they did anything", (surface, count) => {
    const error: Frame = { data: '{"error":{}}' }
    assert.deepStrictEqual(reportedError(surface, [error], []), [error])
    const frames = reportedError(surface, [error], actions)
    assert.lengthOf(frames, count)
    assert.deepStrictEqual(parsed(frames[0].data).x_gateway_guards, actions)
  })
})

describe("a reply of which nothing more may pass ends", () => {
  const jsonOf = (frames: ReadonlyArray<Frame>) => frames.map(({ data }) => parsed(data))
  it("with what its first chunk said (chat)", () => {
    const { read, withheld } = guardedAlone("chat").reader
    const heading = { id: "c", object: "chat.completion.chunk", created: 7, model: "m" }
    read({ data: JSON.stringify({ ...heading, choices: [{ index: 0, delta: { role: "assistant" } }] }) })
    const [text, end] = jsonOf(withheld({ total_tokens: 1 }))
    assert.deepInclude(text, { ...heading, choices: [{ index: 0, delta: { content: "" }, finish_reason: null }] })
    assert.deepInclude(end, { choices: [{ index: 0, delta: {}, finish_reason: "content_filter" }] })
    assert.deepStrictEqual([text.usage, end.usage], [undefined, { total_tokens: 1 }])
  })

  it("with the ends of blocks that the caller has seen begin, and an estimate (messages)", () => {
    const { emit, read, withheld } = guardedAlone("messages").reader
    const second = eventOf("content_block_start", { index: 1, content_block: { type: "text", text: "" } })
    const more = eventOf("content_block_delta", { index: 1, delta: { type: "text_delta", text: "9" } })
    for (const frame of [begins(""), goesOn("12345678"), ends, second, more]) emit(frame)
    for (const frame of [begins(""), goesOn("12345678"), goesOn("9")]) read(frame)
    const [stop, delta, ...rest] = jsonOf(withheld(undefined))
    assert.deepStrictEqual([stop.type, stop.index, rest.length], ["content_block_stop", 1, 1])
    assert.deepStrictEqual(delta.usage, { output_tokens: 3 })
  })

  it.each([
    [[], 0],
    [[0, 1, 7], 3],
    [[4, 5, 6], 7]
  ])("with the number after those that went out (responses): %j", (numbers, next) => {
    const { emit, withheld } = guardedAlone("responses").reader
    for (const sequence_number of numbers) emit({ data: JSON.stringify({ sequence_number }) })
    assert.strictEqual(jsonOf(withheld(undefined))[0].sequence_number, next)
  })
})

it.each([
  ["response.function_call_arguments", "arguments"],
  ["response.custom_tool_call_input", "input"],
  ["response.shell_call_command", "command"],
  ["response.apply_patch_call_operation_diff", "diff"]
])("a call's text is read as such in pieces and whole: %s", (name, field) => {
  const read = (type: string, fields: object) =>
    guardedAlone("responses").reader.read({
      event: type,
      data: JSON.stringify({ type, output_index: 0, ...fields })
    })
  const { texts } = read(`${name}.delta`, { delta: "a" })
  assert.deepStrictEqual(texts, [{ key: "0", place: "arguments", text: "a" }])
  assert.deepStrictEqual(read(`${name}.done`, { [field]: "a" }).texts, [{ place: "arguments", text: "a" }])
})

it.each([
  ["chat", undefined, { choices: [{ delta: { tool_calls: [{ index: 0, function: { arguments: "a" } }] } }] }],
  ["chat", undefined, { choices: [{ delta: {}, finish_reason: "stop" }] }],
  ["messages", "content_block_delta", { index: 0, delta: { type: "input_json_delta", partial_json: "a" } }],
  ["messages", "content_block_start", { index: 0, content_block: { type: "tool_use", name: "f", input: { a: "b" } } }],
  ["responses", "response.function_call_arguments.delta", { delta: "a", output_index: 0 }],
  ["responses", "response.completed", { response: { output: [{ type: "message", content: [{ text: "a" }] }] } }]
] as const)(
  "what is read of a frame is plain data, so that nothing that was parsed waits with it: %s %s",
  (...given) => {
    const [surface, event, fields] = given
    const { read } = guardedAlone(surface).reader
    const part = read({ data: JSON.stringify(fields), ...(event === undefined ? {} : { event }) })
    // Functions cannot be cloned; what they hold would stay in memory.
    assert.deepStrictEqual(structuredClone(part), part)
  }
)

describe("beside another text in a frame that says it whole there is", () => {
  it.each([
    ["no log probability", "responses", { type: "response.output_text.done", text: "a", logprobs: [{ token: "a" }] }],
    [
      "no signature",
      "messages",
      { type: "content_block_start", content_block: { type: "thinking", thinking: "a", signature: "s" } }
    ]
  ] as const)("%s (%s)", (_, surface, fields) => {
    const { rewrite } = guardedAlone(surface).reader
    const { data } = rewrite({ event: fields.type, data: JSON.stringify(fields) }, ["b"])
    assert.include(data, '"b"')
    assert.notInclude(data, '"a"')
    assert.notInclude(data, '"s"')
  })
})

describe("a source that a frame names", () => {
  const frames = [
    [
      "messages",
      "content_block_delta",
      { delta: { type: "citations_delta", citation: { type: "char_location", cited_text: "quoted" } } },
      []
    ],
    [
      "responses",
      "response.output_text.annotation.added",
      { annotation: { type: "url_citation", title: "quoted", url: "https://x.example/quoted" } },
      ["https://x.example/quoted"]
    ]
  ] as const
  it.each(frames)("is a text of the reply (%s)", (surface, event, fields, addresses) => {
    const { read, rewrite } = guardedAlone(surface).reader
    const frame = { event, data: JSON.stringify({ type: event, index: 0, ...fields }) }
    assert.deepStrictEqual(
      read(frame).texts,
      ["quoted", ...addresses].map((text) => ({ place: "assistant", text }))
    )
    const { data } = rewrite(frame, ["other", ...addresses.map(() => "other")])
    assert.include(data, '"other"')
    assert.notInclude(data, "quoted")
  })
})
