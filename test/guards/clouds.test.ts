/** What clouds may send in streams that the sandbox does not, as guards see it, over real sockets. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { chat } from "../support/chat.ts"
import * as claude from "../support/claude.ts"
import { guardsFile } from "../support/detector.ts"
import { answering, reply, streaming } from "../support/fakeUpstream.ts"
import { post } from "../support/http.ts"
import { ask, ending, frames, opening, textEvents, textItem, type UpstreamEvent } from "../support/responses.ts"
import { sharedDetector, sharedUpstream } from "../support/shared.ts"

const detector = sharedDetector()
const file = guardsFile([])
beforeAll(() => {
  const guard = { name: "pii", url: detector.url, when: "after", action: "redact" }
  file.write(JSON.stringify({ version: 1, guards: [guard] }))
})
afterAll(file.remove)
const { gateway, upstream } = sharedUpstream({ GATEWAY_GUARDS_FILE: file.path })

/** What a caller gets of this stream of a cloud, with a guard that redacts. */
const redacted = async (path: string, body: object, pieces: ReadonlyArray<string>): Promise<string> => {
  upstream.use(streaming(pieces, { pause: 10 }))
  return (await post(gateway.url + path, { ...body, stream: true })).text
}

const number = "123-45-6789"
const isRedacted = (text: string) => {
  assert.include(text, "[ssn]")
  for (const part of ["123-", "6789"]) assert.notInclude(text, part)
}
const place = { item_id: "i", output_index: 0 }
const responses = (...events: ReadonlyArray<UpstreamEvent>) =>
  redacted("/v1/responses", ask(), frames([opening, ...events, ending([])]))
const claudeModel = "claude-sonnet-4-5:fedramp-high"
const messages = (...events: ReadonlyArray<UpstreamEvent>) =>
  redacted("/v1/messages", claude.message(claudeModel), events.map(claude.sseFrame))
const message = (...blocks: ReadonlyArray<UpstreamEvent>) =>
  messages(claude.messageStart(), ...blocks, claude.messageDelta(), claude.messageStop)

describe("a text is seen", () => {
  it.each([
    { type: "response.code_interpreter_call_code.done", ...place, code: `n = "${number}"` },
    { type: "response.something_new", ...place, note: [{ said: number }] },
    { type: "response.something_new.delta", ...place, delta: "a", note: number }
  ])("in any field of an event of responses: $type", async (event) => isRedacted(await responses(event)))

  it.each([
    { type: "something_new", note: [{ said: number }] },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "a", note: number } },
    { type: "content_block_stop", index: 0, note: number }
  ])("in any field of an event of messages: $type", async (event) => {
    const block = claude.blockStart(0, { type: "text", text: "" })
    isRedacted(await message(block, event, claude.blockStop(0)))
  })

  const refused = { stop_reason: "refusal", stop_details: { type: "refusal", explanation: `says ${number}` } }
  it("in what explains why a streamed message was refused", async () => {
    const delta = { ...claude.messageDelta(), delta: { ...refused, stop_sequence: null } }
    const text = await messages(claude.messageStart(), delta, claude.messageStop)
    isRedacted(text)
    assert.include(text, '"stop_reason":"refusal"')
  })
  it("in what explains why a whole message was refused", async () => {
    upstream.use(answering(reply("200 OK", JSON.stringify(claude.wholeMessage([], refused)))))
    isRedacted((await post(`${gateway.url}/v1/messages`, claude.message(claudeModel))).text)
    const blocked = { ...refused, stop_details: { type: "refusal", explanation: "BLOCKME today" } }
    upstream.use(answering(reply("200 OK", JSON.stringify(claude.wholeMessage([], blocked)))))
    assert.notInclude((await post(`${gateway.url}/v1/messages`, claude.message(claudeModel))).text, "today")
  })

  it("again where an item that is done repeats what was redacted", async () => {
    const code = `n = "${number}"`
    const item = { id: "i", type: "code_interpreter_call", code }
    isRedacted(
      await responses(
        { type: "response.code_interpreter_call_code.done", ...place, code },
        { type: "response.output_item.done", ...place, item }
      )
    )
  })

  it("whole where a source is named in the middle of it", async () => {
    const events = textEvents(0, ["It is 123-45-", "6789 here"])
    const at = events.findLastIndex(({ type }) => type.endsWith(".delta"))
    const annotation = { type: "url_citation", title: "A source", url: "https://x.example" }
    const added = {
      type: "response.output_text.annotation.added",
      ...place,
      content_index: 0,
      annotation_index: 0,
      annotation
    }
    const text = await redacted(
      "/v1/responses",
      ask(),
      frames([
        opening,
        ...events.slice(0, at),
        added,
        ...events.slice(at),
        ending([textItem("It is 123-45-6789 here")])
      ])
    )
    assert.include(text, "It is [ssn] here")
    isRedacted(text)
  })
})

const [before, after] = ["It is 123-45-", "6789 here"]

describe("a text is seen as one where what begins it says some of it", () => {
  const delta = (type: string, text: string) => ({
    type: "content_block_delta",
    index: 0,
    delta: { type: `${type}_delta`, [type]: text }
  })
  it.each([
    ["text", { type: "text", text: before }],
    ["text", { type: "text", text: before, citations: [] }],
    ["thinking", { type: "thinking", thinking: before, signature: "" }],
    ["content", { type: "compaction", content: before }]
  ])("in a block of messages: %s", async (type, block) =>
    isRedacted(await message(claude.blockStart(0, block), delta(type, after), claude.blockStop(0)))
  )
  it("in the start of a message", async () => {
    const start = claude.messageStart({ content: [{ type: "text", text: before }] })
    isRedacted(
      await messages(start, delta("text", after), claude.blockStop(0), claude.messageDelta(), claude.messageStop)
    )
  })
  it("in a block that chat says", async () => {
    const events = [claude.messageStart(), claude.blockStart(0, { type: "text", text: before }), delta("text", after)]
    const rest = [claude.blockStop(0), claude.messageDelta(), claude.messageStop]
    isRedacted(await redacted("/v1/chat/completions", chat(claudeModel), [...events, ...rest].map(claude.sseFrame)))
  })

  const item = (fields: object) => ({ type: "response.output_item.added", item: { id: "i", ...fields } })
  const part = (kind: string, fields: object) => ({ type: `response.${kind}_part.added`, part: fields })
  const content = { content_index: 0 }
  const summary = { summary_index: 0 }
  const call = { call_id: "c", name: "f" }
  it.each([
    ["output_text", content, part("content", { ...content, type: "output_text", text: before })],
    ["refusal", content, part("content", { type: "refusal", refusal: before })],
    ["reasoning_summary_text", summary, part("reasoning_summary", { type: "summary_text", text: before })],
    [
      "output_text",
      content,
      item({ type: "message", role: "assistant", content: [{ type: "output_text", text: before }] })
    ],
    ["refusal", content, item({ type: "message", role: "assistant", content: [{ type: "refusal", refusal: before }] })],
    [
      "reasoning_text",
      content,
      item({ type: "reasoning", summary: [], content: [{ type: "reasoning_text", text: before }] })
    ],
    ["reasoning_summary_text", summary, item({ type: "reasoning", summary: [{ type: "summary_text", text: before }] })],
    ["function_call_arguments", {}, item({ type: "function_call", ...call, arguments: before })],
    ["custom_tool_call_input", {}, item({ type: "custom_tool_call", ...call, input: before })],
    ["code_interpreter_call_code", {}, item({ type: "code_interpreter_call", code: before })],
    ["shell_call_command", { command_index: 0 }, { type: "response.shell_call_command.added", command: before }]
  ])("in an item of responses: %s", async (name, at, start) => {
    const where = { ...place, ...at }
    isRedacted(await responses({ ...where, ...start }, { ...where, type: `response.${name}.delta`, delta: after }))
  })
})

describe("a text is seen as one where another goes on in the middle of it", () => {
  it("in messages: blocks at a time", async () => {
    const text = (index: number) => claude.blockStart(index, { type: "text", text: "" })
    isRedacted(
      await message(
        ...[text(0), text(1), claude.textDelta(0, before), claude.textDelta(1, "One sentence. ")],
        ...[claude.blockStop(1), claude.textDelta(0, after), claude.blockStop(0)]
      )
    )
  })
  it("in messages: several deltas of a compaction", async () => {
    const delta = (content: string) => ({
      type: "content_block_delta",
      index: 0,
      delta: { type: "compaction_delta", content }
    })
    const start = claude.blockStart(0, { type: "compaction", content: "" })
    isRedacted(await message(start, delta(before), delta(after), claude.blockStop(0)))
  })
  it("in responses: items at a time", async () => {
    const delta = (output_index: number, delta: string) => ({
      type: "response.output_text.delta",
      ...{ output_index, content_index: 0, delta }
    })
    const done = { type: "response.output_text.done", output_index: 1, content_index: 0, text: "One sentence. " }
    isRedacted(await responses(delta(0, before), delta(1, "One sentence. "), done, delta(0, after)))
  })
  const chunk = (delta: object, finish_reason: string | null = null) =>
    `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] })}\n\n`
  const call = (index: number, more: object) => chunk({ tool_calls: [{ index, ...more }] })
  const begins = (index: number) =>
    call(index, { id: `c${index}`, type: "function", function: { name: "f", arguments: "" } })
  const goesOn = (index: number, text: string) => call(index, { function: { arguments: text } })
  it.each([
    [
      "calls at a time",
      [begins(0), goesOn(0, '{"a":"123-45-'), begins(1), goesOn(1, "{}"), goesOn(0, '6789"}'), chunk({}, "tool_calls")]
    ],
    [
      "a call in a text",
      [chunk({ content: before }), begins(0), goesOn(0, "{}"), chunk({ content: after }), chunk({}, "tool_calls")]
    ]
  ])("in chat: %s", async (_, chunks) => {
    const body = { ...chat("gpt-5.1:il5"), tools: [{ type: "function", function: { name: "f" } }] }
    isRedacted(await redacted("/v1/chat/completions", body, [...chunks, "data: [DONE]\n\n"]))
  })
})
