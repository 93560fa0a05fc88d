/** The same answer in the words and frames of every kind of upstream that serves chat completions. */
import { readWrittenObject } from "../../src/wire/parse.ts"
import { jsonText } from "../../src/wire/print.ts"
import { chunkFrame, exceptionFrame } from "../stream/frames.ts"
import { frameHead, type Handler, reply, sseHead, streaming } from "./fakeUpstream.ts"
import { frameOf, functionCall, numbered, opening, responseOf, textEvents, textItem } from "./responses.ts"

export interface SaidCall {
  readonly id: string
  readonly name: string
  /** The JSON of the arguments, in the pieces in which it streams; Gemini sends it whole. */
  readonly pieces: ReadonlyArray<string>
}

/** An answer, in no one's words. */
export interface Said {
  readonly texts?: ReadonlyArray<string>
  readonly calls?: ReadonlyArray<SaidCall>
  readonly finish?: "stop" | "length" | "tool_calls" | "content_filter"
}

type Json = Readonly<Record<string, unknown>>

/** A kind of upstream. Events are JSON objects; the terminal one is the last, and for the GPTs `[DONE]`. */
export interface Kind {
  readonly name: string
  readonly model: string
  readonly whole: (said: Said) => Json
  readonly events: (said: Said) => ReadonlyArray<Json | string>
  readonly frame: (event: Json | string) => string | Uint8Array
  readonly head: string
  /** An error in a stream, with the HTTP status that it stands for. */
  readonly inBand: (status: 429 | 500) => string | Uint8Array
}

/** With its numbers as they are written. */
const inputOf = (pieces: ReadonlyArray<string>) => readWrittenObject(pieces.join("") || "{}")

const finishIn = (said: Said): NonNullable<Said["finish"]> =>
  said.finish ?? ((said.calls ?? []).length > 0 ? "tool_calls" : "stop")

// Claude

const claudeStops = { stop: "end_turn", length: "max_tokens", tool_calls: "tool_use", content_filter: "refusal" }
const claudeUsage = { input_tokens: 5, cache_read_input_tokens: 4, cache_creation_input_tokens: 1 }
const claudeWhole = (said: Said): Json => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "upstream-model-id",
  content: [
    ...(said.texts === undefined ? [] : [{ type: "text", text: said.texts.join("") }]),
    ...(said.calls ?? []).map(({ id, name, pieces }) => ({
      type: "tool_use",
      id,
      name,
      input: inputOf(pieces)
    }))
  ],
  stop_reason: claudeStops[finishIn(said)],
  stop_sequence: null,
  usage: { ...claudeUsage, output_tokens: 7 }
})
const claudeEvents = (said: Said): ReadonlyArray<Json> => {
  const blocks = [
    ...(said.texts === undefined
      ? []
      : [
          { start: { type: "text", text: "" }, deltas: said.texts.map((text): Json => ({ type: "text_delta", text })) }
        ]),
    ...(said.calls ?? []).map(({ id, name, pieces }) => ({
      start: { type: "tool_use", id, name, input: {} },
      deltas: pieces.map((partial_json): Json => ({ type: "input_json_delta", partial_json }))
    }))
  ]
  return [
    {
      type: "message_start",
      message: { ...claudeWhole({}), stop_reason: null, usage: { ...claudeUsage, output_tokens: 1 } }
    },
    ...blocks.flatMap(({ start, deltas }, index) => [
      { type: "content_block_start", index, content_block: start },
      ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index }
    ]),
    { type: "message_delta", delta: { stop_reason: claudeStops[finishIn(said)] }, usage: { output_tokens: 7 } },
    { type: "message_stop" }
  ]
}

// Gemini

const geminiStops = { stop: "STOP", length: "MAX_TOKENS", tool_calls: "STOP", content_filter: "SAFETY" }
const geminiUsage = { promptTokenCount: 10, cachedContentTokenCount: 4, candidatesTokenCount: 5, thoughtsTokenCount: 2 }
const geminiCall = ({ name, pieces }: SaidCall): Json => ({
  functionCall: { name, args: inputOf(pieces) }
})
const geminiBody = (parts: ReadonlyArray<Json>, more: Json = {}, usage?: Json): Json => ({
  candidates: [{ index: 0, content: { role: "model", parts }, ...more }],
  ...(usage === undefined ? {} : { usageMetadata: usage })
})

// GPT

const gptUsage = (counted: boolean) => ({
  prompt_tokens: 10,
  completion_tokens: 7,
  total_tokens: 17,
  prompt_tokens_details: { cached_tokens: 4 },
  ...(counted ? { completion_tokens_details: { reasoning_tokens: 2 } } : {})
})
const gptCall = ({ id, name, pieces }: SaidCall) => ({
  id,
  type: "function",
  function: { name, arguments: pieces.join("") }
})
const gptWhole =
  (counted: boolean) =>
  (said: Said): Json => ({
    id: "chatcmpl-theirs",
    object: "chat.completion",
    created: 1,
    model: "upstream-model-id",
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: said.texts?.join("") ?? null,
          refusal: null,
          ...(said.calls === undefined ? {} : { tool_calls: said.calls.map(gptCall) })
        },
        finish_reason: finishIn(said)
      }
    ],
    usage: gptUsage(counted)
  })
const gptEvents =
  (counted: boolean, azure: boolean) =>
  (said: Said): ReadonlyArray<Json | string> => {
    const shell = { id: "chatcmpl-theirs", object: "chat.completion.chunk", created: 1, model: "upstream-model-id" }
    const chunk = (delta: Json, finish_reason: string | null = null) => ({
      ...shell,
      choices: [{ index: 0, delta, finish_reason }]
    })
    const empty = { id: "", object: "", created: 0, model: "" }
    return [
      ...(azure ? [{ ...empty, choices: [], prompt_filter_results: [] }] : []),
      chunk({ role: "assistant", content: "", refusal: null }),
      ...(said.texts ?? []).map((content) => chunk({ content })),
      ...(said.calls ?? []).flatMap((call, index) => [
        chunk({ tool_calls: [{ index, ...gptCall({ ...call, pieces: [] }) }] }),
        ...call.pieces.map((piece) => chunk({ tool_calls: [{ index, function: { arguments: piece } }] }))
      ]),
      chunk({}, finishIn(said)),
      ...(azure ? [{ ...empty, choices: [{ index: 0, finish_reason: null, content_filter_results: {} }] }] : []),
      { ...shell, choices: [], usage: gptUsage(counted) },
      "[DONE]"
    ]
  }
// GPT by the responses API

const responsesItems = (said: Said): ReadonlyArray<Json> => [
  ...(said.texts === undefined ? [] : [textItem(said.texts.join(""))]),
  ...(said.calls ?? []).map(({ id, name, pieces }, index) => ({
    ...functionCall(index, pieces.join(""), name),
    call_id: id
  }))
]
const responsesWhole = (said: Said): Json & { readonly status: string } => {
  const finish = finishIn(said)
  const status = finish === "length" || finish === "content_filter" ? "incomplete" : "completed"
  const reason = finish === "length" ? "max_output_tokens" : "content_filter"
  return {
    ...responseOf(responsesItems(said)),
    model: "upstream-model-id",
    status,
    incomplete_details: status === "incomplete" ? { reason } : null,
    usage: {
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 4 },
      output_tokens: 7,
      output_tokens_details: { reasoning_tokens: 2 },
      total_tokens: 17
    }
  }
}
const responsesEvents = (said: Said): ReadonlyArray<Json> => {
  const whole = responsesWhole(said)
  const at = said.texts === undefined ? 0 : 1
  const items = responsesItems(said)
  return numbered([
    opening,
    ...(said.texts === undefined ? [] : textEvents(0, said.texts)),
    ...(said.calls ?? []).flatMap(({ id, name, pieces }, index) => {
      const place = { output_index: at + index, item_id: `fc_${index}` }
      const item = { ...functionCall(index, "", name), call_id: id, status: "in_progress" }
      return [
        { type: "response.output_item.added", output_index: at + index, item },
        ...pieces.map((delta) => ({ type: "response.function_call_arguments.delta", ...place, delta })),
        { type: "response.function_call_arguments.done", ...place, arguments: pieces.join("") },
        { type: "response.output_item.done", output_index: at + index, item: items[at + index] }
      ]
    }),
    { type: `response.${whole.status}`, response: whole }
  ])
}

const sse =
  (end: string) =>
  (event: Json | string): string =>
    `data: ${typeof event === "string" ? event : jsonText(event)}${end}`
/** With the event's name, also of one that is text already. */
const namedFrame = (event: Json | string): string => {
  const name = typeof event === "string" ? (/^\{"type":"([\w.]+)"/.exec(event)?.[1] ?? "x") : event.type
  return `event: ${name}\n${sse("\n\n")(event)}`
}
const gptError = (status: 429 | 500, end: string) =>
  `data: ${JSON.stringify({ error: { message: "upstream words", type: status === 429 ? "rate_limit_exceeded" : "server_error", code: status } })}${end}`

/** Every kind of upstream that serves chat completions. */
export const kinds: ReadonlyArray<Kind> = [
  {
    name: "Claude on Vertex",
    model: "claude-sonnet-4-5:il2",
    whole: claudeWhole,
    events: claudeEvents,
    frame: namedFrame,
    head: sseHead,
    inBand: (status) =>
      `event: error\ndata: ${JSON.stringify({
        type: "error",
        error: { type: status === 429 ? "rate_limit_error" : "overloaded_error", message: "upstream words" }
      })}\n\n`
  },
  {
    name: "Claude on Bedrock",
    model: "claude-sonnet-4-5:il5",
    whole: claudeWhole,
    events: claudeEvents,
    frame: (event) => chunkFrame(typeof event === "string" ? event : jsonText(event)),
    head: frameHead,
    inBand: (status) =>
      exceptionFrame(status === 429 ? "throttlingException" : "internalServerException", `{"message":"upstream words"}`)
  },
  {
    name: "Gemini",
    model: "gemini-3-flash:il2",
    whole: (said) =>
      geminiBody(
        [...(said.texts === undefined ? [] : [{ text: said.texts.join("") }]), ...(said.calls ?? []).map(geminiCall)],
        { finishReason: geminiStops[finishIn(said)] },
        geminiUsage
      ),
    events: (said) => [
      ...(said.texts ?? []).map((text) => geminiBody([{ text }], {}, { trafficType: "ON_DEMAND" })),
      ...(said.calls ?? []).map((call) => geminiBody([geminiCall(call)])),
      geminiBody([{ text: "" }], { finishReason: geminiStops[finishIn(said)] }, geminiUsage)
    ],
    frame: sse("\r\n\r\n"),
    head: sseHead,
    inBand: (status) =>
      `data: ${JSON.stringify({ error: { code: status, message: "upstream words", status: "RESOURCE_EXHAUSTED" } })}\r\n\r\n`
  },
  {
    name: "GPT on Azure",
    model: "gpt-5.1:il5",
    whole: gptWhole(true),
    events: gptEvents(true, true),
    frame: sse("\n\n"),
    head: sseHead,
    inBand: (status) => gptError(status, "\n\n")
  },
  {
    name: "GPT on Bedrock",
    model: "gpt-5.6-terra:il5",
    whole: responsesWhole,
    events: responsesEvents,
    frame: namedFrame,
    head: sseHead,
    inBand: (status) =>
      frameOf({
        type: "error",
        code: status === 429 ? "rate_limit_exceeded" : "server_error",
        message: "upstream words",
        param: null
      })
  },
  {
    name: "gpt-oss on Bedrock",
    model: "gpt-oss-120b:il5",
    whole: gptWhole(false),
    events: gptEvents(false, false),
    frame: sse("\r\n\r\n"),
    head: sseHead,
    inBand: (status) => gptError(status, "\r\n\r\n")
  }
]

export const sixModels: ReadonlyArray<string> = kinds.map(({ model }) => model)

/** Answers every request with this, streamed where the kind streams. */
export const saying = (kind: Kind, said: Said, stream: boolean, pause?: number): Handler =>
  stream
    ? streaming(kind.events(said).map(kind.frame), { head: kind.head, ...(pause === undefined ? {} : { pause }) })
    : (socket) => {
        socket.write(reply("200 OK", jsonText(kind.whole(said))))
      }
