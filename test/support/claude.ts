/** Requests and upstream replies in the messages format. */
import { jsonText } from "../../src/wire/print.ts"
import { chunkFrame } from "../stream/frames.ts"
import { frameHead, sseHead } from "./fakeUpstream.ts"

export { exceptionFrame } from "../stream/frames.ts"

/** A valid request; `extra` goes over it. */
export const message = (model: string, content: unknown = "hi", extra: Readonly<Record<string, unknown>> = {}) => ({
  model,
  max_tokens: 2000,
  messages: [{ role: "user", content }],
  ...extra
})

export type UpstreamEvent = Readonly<Record<string, unknown>> & { readonly type: string }

export const messageStart = (extra: Readonly<Record<string, unknown>> = {}): UpstreamEvent => ({
  type: "message_start",
  message: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "upstream-model-id",
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 10, output_tokens: 1 },
    ...extra
  }
})
export const blockStart = (index: number, content_block: unknown): UpstreamEvent => ({
  type: "content_block_start",
  index,
  content_block
})
export const textDelta = (index: number, text: string): UpstreamEvent => ({
  type: "content_block_delta",
  index,
  delta: { type: "text_delta", text }
})
export const jsonDelta = (index: number, partial_json: string): UpstreamEvent => ({
  type: "content_block_delta",
  index,
  delta: { type: "input_json_delta", partial_json }
})
export const blockStop = (index: number): UpstreamEvent => ({ type: "content_block_stop", index })
export const messageDelta = (stop_reason = "end_turn"): UpstreamEvent => ({
  type: "message_delta",
  delta: { stop_reason, stop_sequence: null },
  usage: { output_tokens: 7 }
})
export const messageStop: UpstreamEvent = { type: "message_stop" }

/** A whole reply, of these blocks. */
export const wholeMessage = (content: ReadonlyArray<unknown> = [], extra: Readonly<Record<string, unknown>> = {}) => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "upstream-model-id",
  content,
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 1 },
  ...extra
})
export const emptyMessage = JSON.stringify(wholeMessage())

/** The events of a reply that says this text. */
export const saying = (...texts: ReadonlyArray<string>): ReadonlyArray<UpstreamEvent> => [
  messageStart(),
  blockStart(0, { type: "text", text: "" }),
  ...texts.map((text) => textDelta(0, text)),
  blockStop(0),
  messageDelta(),
  messageStop
]

/** The events of one tool call whose arguments come in these pieces. */
export const toolCall = (index: number, id: string, name: string, pieces: ReadonlyArray<string>) => [
  blockStart(index, { type: "tool_use", id, name, input: {} }),
  ...pieces.map((piece) => jsonDelta(index, piece)),
  blockStop(index)
]

/** An event as Vertex frames it. */
export const sseFrame = (event: UpstreamEvent): string => `event: ${event.type}\ndata: ${jsonText(event)}\n\n`
/** An event as Bedrock frames it. */
export const bedrockFrame = (event: UpstreamEvent): Buffer => chunkFrame(jsonText(event))

/** The clouds that stream Claude: a model of each, the head of its stream and its framing. */
export const claudeClouds: ReadonlyArray<{
  readonly model: string
  readonly head: string
  readonly frame: (event: UpstreamEvent) => string | Buffer
}> = [
  { model: "claude-sonnet-4-5:il2", head: sseHead, frame: sseFrame },
  { model: "claude-sonnet-4-5:il5", head: frameHead, frame: bedrockFrame }
]
