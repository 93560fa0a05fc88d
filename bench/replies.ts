/** The replies of the fake clouds. A stream is a list of buffers, one for each event. */
import { crc32 } from "node:zlib"
import { stampOf } from "./soak/stamp.ts"

/** Occurs exactly once in every text event, and nowhere else, so that events can be counted without parsing. */
export const MARKER = "zqx"

export interface Reply {
  readonly type: string
  readonly events: ReadonlyArray<Buffer>
}

const words = ["the", "river", "reports", "a", "steady", "level", "under", "review", "boundary", "window"]
const word = (i: number) => ` ${words[i % words.length]}`
const texts = (n: number) => Array.from({ length: n }, (_, i) => ` ${MARKER}${word(i)}`)
const prose = (n: number) => Array.from({ length: n }, (_, i) => word(i)).join("")
const json = (value: unknown): Reply => ({ type: "application/json", events: [Buffer.from(JSON.stringify(value))] })
const sse = (events: ReadonlyArray<string>): Reply => ({
  type: "text/event-stream",
  events: events.map((event) => Buffer.from(event))
})
const named = (event: { readonly type: string }) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`

const claudeMessage = {
  id: "msg_vrtx_01Bench",
  type: "message",
  role: "assistant",
  model: "claude-sonnet-4-5-20250929"
}

const claudeEvents = (n: number) => [
  {
    type: "message_start",
    message: {
      ...claudeMessage,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 312, output_tokens: 1 }
    }
  },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  ...texts(n).map((text) => ({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } })),
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: n } },
  { type: "message_stop" }
]

const header = (name: string, value: string) => {
  const bytes = Buffer.alloc(4 + name.length + value.length)
  bytes.writeUInt8(name.length, 0)
  bytes.write(name, 1, "latin1")
  bytes.writeUInt8(7, 1 + name.length)
  bytes.writeUInt16BE(value.length, 2 + name.length)
  bytes.write(value, 4 + name.length, "latin1")
  return bytes
}

const frameHeaders = Buffer.concat([
  header(":event-type", "chunk"),
  header(":content-type", "application/json"),
  header(":message-type", "event")
])

/** One `application/vnd.amazon.eventstream` frame. The marker is repeated in the padding, because base64 hides it. */
const frame = (event: object): Buffer => {
  const inner = JSON.stringify(event)
  const padding = inner.includes(MARKER) ? `abcdef${MARKER}` : "abcdef"
  const payload = Buffer.from(JSON.stringify({ bytes: Buffer.from(inner).toString("base64"), p: padding }))
  const bytes = Buffer.alloc(16 + frameHeaders.length + payload.length)
  bytes.writeUInt32BE(bytes.length, 0)
  bytes.writeUInt32BE(frameHeaders.length, 4)
  bytes.writeUInt32BE(crc32(bytes.subarray(0, 8)), 8)
  frameHeaders.copy(bytes, 12)
  payload.copy(bytes, 12 + frameHeaders.length)
  bytes.writeUInt32BE(crc32(bytes.subarray(0, bytes.length - 4)), bytes.length - 4)
  return bytes
}

const geminiChunk = (parts: ReadonlyArray<object>, rest: object, usage: object) => ({
  candidates: [{ content: { role: "model", parts }, ...rest }],
  usageMetadata: { trafficType: "ON_DEMAND", ...usage },
  modelVersion: "gemini-3-flash",
  createTime: "2026-11-20T12:00:00.000000Z",
  responseId: "benchbenchbench"
})
const geminiUsage = (n: number) => ({ promptTokenCount: 312, candidatesTokenCount: n, totalTokenCount: 312 + n })

const completion = {
  id: "chatcmpl-Bench",
  created: 1795000000,
  model: "gpt-5.1-2025-11-13",
  system_fingerprint: "fp_bench"
}
/** OpenAI pads its deltas, so that their lengths on the wire do not reveal the text (docs/upstreams.md#openai-formats). */
const obfuscation = (i: number) => "dKf0Wq3uZp8x".slice(0, (i * 7) % 13)
const chatUsage = (n: number) => ({
  prompt_tokens: 312,
  completion_tokens: n,
  total_tokens: 312 + n,
  completion_tokens_details: { reasoning_tokens: 0 }
})
const chatChunk = (delta: object, finish_reason: string | null, i = 0) =>
  `data: ${JSON.stringify({ ...completion, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }], usage: null, obfuscation: obfuscation(i) })}\n\n`

const responseItem = (n: number, status: string) => ({
  id: "msg_bench",
  type: "message",
  status,
  role: "assistant",
  content: n === 0 ? [] : [{ type: "output_text", text: prose(n), annotations: [] }]
})
const response = (n: number, status: string) => ({
  id: "resp_bench",
  object: "response",
  created_at: 1795000000,
  status,
  model: "gpt-5.1",
  output: n === 0 ? [] : [responseItem(n, "completed")],
  usage: n === 0 ? null : { input_tokens: 312, output_tokens: n, total_tokens: 312 + n },
  store: false
})
const responseEvents = (n: number) => {
  const at = { item_id: "msg_bench", output_index: 0, content_index: 0 }
  return [
    { type: "response.created", response: response(0, "in_progress") },
    { type: "response.in_progress", response: response(0, "in_progress") },
    { type: "response.output_item.added", output_index: 0, item: responseItem(0, "in_progress") },
    { type: "response.content_part.added", ...at, part: { type: "output_text", text: "", annotations: [] } },
    ...texts(n).map((delta, i) => ({
      type: "response.output_text.delta",
      ...at,
      delta,
      logprobs: [],
      obfuscation: obfuscation(i)
    })),
    { type: "response.output_text.done", ...at, text: prose(n) },
    { type: "response.content_part.done", ...at, part: { type: "output_text", text: prose(n), annotations: [] } },
    { type: "response.output_item.done", output_index: 0, item: responseItem(n, "completed") },
    { type: "response.completed", response: response(n, "completed") }
  ].map((event, sequence_number) => ({ ...event, sequence_number }))
}

/** Every reply the fake clouds know, for streams of `n` text events. */
export const replies = (n: number) => ({
  claude: json({
    ...claudeMessage,
    content: [{ type: "text", text: prose(n) }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 312, output_tokens: n }
  }),
  claudeStream: sse(claudeEvents(n).map(named)),
  claudeFrames: { type: "application/vnd.amazon.eventstream", events: claudeEvents(n).map(frame) },
  gemini: json(geminiChunk([{ text: prose(n) }], { index: 0, finishReason: "STOP" }, geminiUsage(n))),
  geminiStream: sse(
    texts(n)
      .map((text, i) =>
        geminiChunk([{ text }], i === n - 1 ? { finishReason: "STOP" } : {}, i === n - 1 ? geminiUsage(n) : {})
      )
      .map((chunk) => `data: ${JSON.stringify(chunk)}\r\n\r\n`)
  ),
  chat: json({
    ...completion,
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", content: prose(n) }, finish_reason: "stop" }],
    usage: chatUsage(n)
  }),
  chatStream: sse([
    chatChunk({ role: "assistant", content: "" }, null),
    ...texts(n).map((content, i) => chatChunk({ content }, null, i)),
    chatChunk({}, "stop"),
    `data: ${JSON.stringify({ ...completion, object: "chat.completion.chunk", choices: [], usage: chatUsage(n) })}\n\n`,
    "data: [DONE]\n\n"
  ]),
  responses: json(response(n, "completed")),
  responsesStream: sse(responseEvents(n).map(named))
})

const [opening = "", closing = ""] = [claudeEvents(0).slice(0, 2), claudeEvents(0).slice(2)].map((events) =>
  events.map(named).join("")
)

/** A stream of Claude whose events are made when they are sent, with stamps beside so many characters of text. */
export function* stampedEvents(count: number, characters: number): Iterable<string> {
  const text = "x".repeat(characters)
  for (let n = 0; n < count; n++) {
    const delta = { type: "text_delta", text: text + stampOf(n) }
    const event = named({ type: "content_block_delta", index: 0, delta } as { readonly type: string })
    yield `${n === 0 ? opening : ""}${event}${n === count - 1 ? closing : ""}`
  }
}
