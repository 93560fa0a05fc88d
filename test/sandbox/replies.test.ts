/** One answer in each API, whole and streamed, as complete values: what a client may rely on, field for field. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { body, SONNET, thinking, user } from "./claudeRequests.ts"
import { claude, dataIn, gemini, openai, post, type Target } from "./support.ts"

const calls = '[sandbox: tool=f args={"a":"0123456789"}] [sandbox: tool=g]'
const asked = `Hello [sandbox: text=Hi there] ${calls} [sandbox: cached=2]`
const thought = 'The question is about "Hello". I will answer in a few plain sentences.'
const input = { a: "0123456789" }
const json = JSON.stringify(input)
const fragments = ['{"a":"012345', '6789"}']
const pieces = (text: string) => text.split(/(?<= )/)
/** Tokens of the prompt, of the thinking and of the rest of the answer. */
const [prompt, thinks, says] = [51, 18, 18]

const isNow = (time: unknown) =>
  Math.abs((typeof time === "number" ? time * 1000 : Date.parse(String(time))) - Date.now()) < 60_000

/** A reply with its identifiers numbered as they first come, and without its times and signatures; padding by its length. */
const plain = (reply: unknown): unknown => {
  const ids: Array<string> = []
  const number = (id: string) => (ids.includes(id) ? ids.indexOf(id) : ids.push(id) - 1)
  return JSON.parse(JSON.stringify(reply), (name, value) => {
    if (/^(?:create|completed_at)/.test(name) && isNow(value)) return "now"
    if (typeof value !== "string") return value
    if (name === "obfuscation") return value.length
    return /^(?:[\w+/]{64}|[\w+/]{107}=)$/.test(value)
      ? "signed"
      : value.replace(/[0-9a-f]{20,}/, (id) => String(number(id)))
  })
}

interface Event {
  readonly type: string
  readonly [field: string]: unknown
}

interface Row {
  readonly whole: readonly [Target, object]
  readonly reply: object
  readonly streamed: readonly [Target, object]
  readonly type: string
  readonly events: ReadonlyArray<object>
  readonly framing: RegExp
}

/** Events that have their name beside their data too. */
const named = /^(?:event: (\S+)\ndata: \{"type":"\1".+\n\n)+$/

const messages = (): Row => {
  const sent = body({ thinking, messages: [user(asked)] })
  const shell = { id: "msg_vrtx_0", type: "message", role: "assistant", model: "claude-sonnet-4-5" }
  const cached = { cache_creation_input_tokens: 0, cache_read_input_tokens: 2 }
  // A thinking budget costs 29 tokens.
  const usage = { input_tokens: prompt + 29 - 2, ...cached, output_tokens: thinks + says }
  const ended = { stop_reason: "tool_use", stop_sequence: null }
  const call = (at: number, name: string, input: object) => ({ type: "tool_use", id: `toolu_vrtx_${at}`, name, input })
  const block = (index: number, content_block: object, deltas: ReadonlyArray<object>) => [
    { type: "content_block_start", index, content_block },
    ...(index === 0 ? [{ type: "ping" }] : []),
    ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index }
  ]
  const inputs = (...pieces: ReadonlyArray<string>) =>
    pieces.map((partial_json) => ({ type: "input_json_delta", partial_json }))
  const thoughts = pieces(thought).map((thinking) => ({ type: "thinking_delta", thinking }))
  const texts = pieces("Hi there").map((text) => ({ type: "text_delta", text }))
  const shown = { type: "thinking", thinking: thought, signature: "signed" }
  const said = (text: string) => ({ type: "text", text })
  const begun = { content: [], stop_reason: null, stop_sequence: null, usage: { ...usage, output_tokens: 1 } }
  return {
    whole: [claude(SONNET), sent],
    reply: { ...shell, content: [shown, said("Hi there"), call(1, "f", input), call(2, "g", {})], ...ended, usage },
    streamed: [claude(SONNET, "streamRawPredict"), { ...sent, stream: true }],
    type: "text/event-stream; charset=utf-8",
    events: [
      { type: "message_start", message: { ...shell, ...begun } },
      ...block(0, { type: "thinking", thinking: "", signature: "" }, [
        ...thoughts,
        { type: "signature_delta", signature: "signed" }
      ]),
      ...block(1, said(""), texts),
      ...block(2, call(1, "f", {}), inputs("", ...fragments)),
      ...block(3, call(2, "g", {}), inputs("")),
      { type: "message_delta", delta: ended, usage },
      { type: "message_stop" }
    ],
    framing: named
  }
}

const google = (): Row => {
  const sent = {
    contents: [{ role: "user", parts: [{ text: asked }] }],
    generationConfig: { thinkingConfig: { includeThoughts: true } }
  }
  const shell = { modelVersion: "gemini-3-flash-preview", createTime: "now", responseId: "0" }
  const trafficType = "ON_DEMAND"
  const usageMetadata = {
    ...{ promptTokenCount: prompt, cachedContentTokenCount: 2, thoughtsTokenCount: thinks },
    ...{ candidatesTokenCount: says, totalTokenCount: prompt + thinks + says, trafficType }
  }
  const f = { functionCall: { name: "f", args: input }, thoughtSignature: "signed" }
  const g = { functionCall: { name: "g" } }
  const event = (usageMetadata: object, parts: ReadonlyArray<object>, more: object = {}) => ({
    ...{ candidates: [{ index: 0, content: { role: "model", parts }, ...more }], usageMetadata, ...shell }
  })
  const thoughts = pieces(thought).map((text) => ({ text, thought: true }))
  const streamed = [...thoughts, { text: "Hi " }, { text: "there" }, f, g]
  const stop = { finishReason: "STOP" }
  return {
    whole: [gemini(), sent],
    reply: event(usageMetadata, [{ text: thought, thought: true }, { text: "Hi there" }, f, g], stop),
    streamed: [gemini("streamGenerateContent?alt=sse"), sent],
    type: "text/event-stream",
    events: [...streamed.map((part) => event({ trafficType }, [part])), event(usageMetadata, [{ text: "" }], stop)],
    framing: /^(?:data: .+\r\n\r\n)+$/
  }
}

const safe = { filtered: false, severity: "safe" }
const content_filter_results = { hate: safe, self_harm: safe, sexual: safe, violence: safe }

const completions = (): Row => {
  const sent = { model: "gpt-5.1", reasoning_effort: "low", messages: [user(asked)] }
  const shell = {
    ...{ id: "chatcmpl-0", model: "gpt-5.1-2025-11-13", created: "now" },
    ...{ service_tier: "default", system_fingerprint: "fp_sandbox" }
  }
  const usage = {
    ...{ prompt_tokens: prompt, completion_tokens: thinks + says, total_tokens: prompt + thinks + says },
    ...{ prompt_tokens_details: { cached_tokens: 2 }, completion_tokens_details: { reasoning_tokens: thinks } }
  }
  const call = (at: number, name: string, json: string) => ({
    ...{ id: `call_${at}`, type: "function", function: { name, arguments: json } }
  })
  const message = { role: "assistant", content: "Hi there", refusal: null, annotations: [] }
  const choice = { index: 0, logprobs: null }
  const event = { ...shell, object: "chat.completion.chunk", usage: null }
  const chunk = (delta: object, finish_reason: string | null = null, piece = "") => ({
    ...{ ...event, choices: [{ ...choice, delta, finish_reason }], obfuscation: 16 - piece.length }
  })
  const calling = (call: object, piece?: string) => chunk({ tool_calls: [call] }, null, piece)
  const pieceOf = (index: number, piece: string) => calling({ index, function: { arguments: piece } }, piece)
  const prompted = { prompt_filter_results: [{ prompt_index: 0, content_filter_results }] }
  const unnamed = { id: "", object: "", created: 0, model: "" }
  const done = { finish_reason: "tool_calls", content_filter_results }
  return {
    whole: [openai("chat/completions"), sent],
    reply: {
      ...{ ...shell, object: "chat.completion", ...prompted, usage },
      choices: [{ ...choice, message: { ...message, tool_calls: [call(1, "f", json), call(2, "g", "{}")] }, ...done }]
    },
    streamed: [openai("chat/completions"), { ...sent, stream: true, stream_options: { include_usage: true } }],
    type: "text/event-stream; charset=utf-8",
    events: [
      { ...unnamed, choices: [], ...prompted },
      chunk({ role: "assistant", content: "" }),
      ...pieces("Hi there").map((content) => chunk({ content }, null, content)),
      calling({ index: 0, ...call(1, "f", "") }),
      ...fragments.map((piece) => pieceOf(0, piece)),
      calling({ index: 1, ...call(2, "g", "") }),
      pieceOf(1, "{}"),
      chunk({}, "tool_calls"),
      { ...unnamed, choices: [{ index: 0, finish_reason: null, content_filter_results }] },
      { ...event, choices: [], usage }
    ],
    framing: /^(?:data: \{.+\n\n)+data: \[DONE\]\n\n$/
  }
}

const responses = (): Row => {
  const include = ["reasoning.encrypted_content"]
  const sent = { model: "gpt-5.1", reasoning: { effort: "low", summary: "auto" }, include, input: asked }
  const begun = {
    ...{ id: "resp_0", object: "response", created_at: "now", status: "in_progress", model: "gpt-5.1-2025-11-13" },
    ...{ output: [], usage: null, reasoning: sent.reasoning, background: false, error: null, user: null },
    ...{ incomplete_details: null, previous_response_id: null, instructions: null, max_output_tokens: null },
    ...{ metadata: {}, parallel_tool_calls: true, store: true, tools: [], temperature: 1, top_p: 1 },
    ...{ text: { format: { type: "text" }, verbosity: "medium" }, tool_choice: "auto", truncation: "disabled" },
    ...{ completed_at: null, frequency_penalty: 0, max_tool_calls: null, presence_penalty: 0, prompt_cache_key: null },
    ...{ prompt_cache_retention: null, safety_identifier: null, service_tier: "auto", top_logprobs: 0 },
    content_filters: null
  }
  const part = (text: string) => ({ type: "output_text", annotations: [], logprobs: [], text })
  const summary = (text: string) => ({ type: "summary_text", text })
  const call = { type: "function_call", status: "completed" }
  const output = [
    { id: "rs_1", type: "reasoning", summary: [summary(thought)], encrypted_content: "signed" },
    { id: "msg_2", type: "message", status: "completed", role: "assistant", content: [part("Hi there")] },
    { id: "fc_3", ...call, call_id: "call_4", name: "f", arguments: json },
    { id: "fc_5", ...call, call_id: "call_6", name: "g", arguments: "{}" }
  ]
  const usage = {
    ...{ input_tokens: prompt, input_tokens_details: { cached_tokens: 2, cache_write_tokens: 0 } },
    ...{ output_tokens: thinks + says, output_tokens_details: { reasoning_tokens: thinks } },
    total_tokens: prompt + thinks + says
  }
  const filter = (source_type: string, end_offset: number) => ({
    ...{ blocked: false, source_type, content_filter_raw: [], content_filter_results },
    content_filter_offsets: { start_offset: 0, end_offset, check_offset: 0 }
  })
  const content_filters = [filter("prompt", 4 * prompt), filter("completion", "Hi there".length)]
  const ended = { status: "completed", completed_at: "now", service_tier: "default" }
  const response = { ...begun, ...ended, output, content_filters, usage }
  /** The events of an item, between the one that opens it and the one that has it whole. */
  const brings = (output_index: number, opening: object, place: object, events: ReadonlyArray<Event>) => [
    { type: "output_item.added", output_index, item: { ...output[output_index], ...opening } },
    ...events.map((event) => ({ item_id: output[output_index]?.id, output_index, ...place, ...event })),
    { type: "output_item.done", output_index, item: output[output_index] }
  ]
  const padded = (delta: string) => ({ delta, obfuscation: 16 - delta.length })
  const calls = (index: number, name: string, ...pieces: ReadonlyArray<string>) =>
    brings(index, { status: "in_progress", arguments: "" }, {}, [
      ...pieces.map((piece) => ({ type: "function_call_arguments.delta", ...padded(piece) })),
      { type: "function_call_arguments.done", name, arguments: pieces.join("") }
    ])
  const events = [
    { type: "created", response: begun },
    { type: "in_progress", response: begun },
    ...brings(0, { summary: [] }, { summary_index: 0 }, [
      { type: "reasoning_summary_part.added", part: summary("") },
      ...pieces(thought).map((piece) => ({ type: "reasoning_summary_text.delta", ...padded(piece) })),
      { type: "reasoning_summary_text.done", text: thought },
      { type: "reasoning_summary_part.done", part: summary(thought) }
    ]),
    ...brings(1, { status: "in_progress", content: [] }, { content_index: 0 }, [
      { type: "content_part.added", part: part("") },
      ...pieces("Hi there").map((piece) => ({ type: "output_text.delta", ...padded(piece), logprobs: [] })),
      { type: "output_text.done", text: "Hi there", logprobs: [] },
      { type: "content_part.done", part: part("Hi there") }
    ]),
    ...calls(2, "f", ...fragments),
    ...calls(3, "g", "{}"),
    { type: "completed", response }
  ]
  return {
    whole: [openai("responses"), sent],
    reply: response,
    streamed: [openai("responses"), { ...sent, stream: true }],
    type: "text/event-stream; charset=utf-8",
    events: events.map((data, sequence_number) => ({ ...data, type: `response.${data.type}`, sequence_number })),
    framing: named
  }
}

layer(Sandbox.layer({ pace: 0 }))("an answer", (it) => {
  const apis = { Messages: messages(), Gemini: google(), "chat completions": completions(), Responses: responses() }
  for (const [api, { whole, reply, streamed, type, events, framing }] of Object.entries(apis)) {
    it.effect(`of ${api}`, () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(plain((yield* post(...whole)).json), reply)
        const { headers, text } = yield* post(...streamed)
        assert.deepStrictEqual(plain(dataIn(text)), events)
        assert.strictEqual(headers.get("content-type"), type)
        assert.match(text, framing)
      })
    )
  }
})
