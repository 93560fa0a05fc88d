/** Requests and upstream replies in the responses format. */

/** A valid request; `extra` goes over it. */
export const ask = (input: unknown = "hi", extra: Readonly<Record<string, unknown>> = {}) => ({
  model: "gpt-5.1:il5",
  input,
  ...extra
})

export const weather = {
  type: "function",
  name: "get_weather",
  description: "Weather of a city",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
}

/** A flat function tool with one parameter of this name. */
export const toolWith = (parameter: string) => ({
  type: "function",
  name: "probe",
  parameters: { type: "object", properties: { [parameter]: { type: "string" } } }
})

export type UpstreamEvent = Readonly<Record<string, unknown>> & { readonly type: string }

export const functionCall = (index: number, args: string, name = "fetch_page") => ({
  id: `fc_${index}`,
  type: "function_call",
  status: "completed",
  call_id: `call_${index}`,
  name,
  arguments: args
})

export const textItem = (text: string) => ({
  id: "msg_1",
  type: "message",
  status: "completed",
  role: "assistant",
  content: [{ type: "output_text", annotations: [], text }]
})

/** A whole reply of the upstream. */
export const responseOf = (
  output: ReadonlyArray<unknown>,
  extra: Readonly<Record<string, unknown>> = {}
): Readonly<Record<string, unknown>> => ({
  id: "resp_1",
  object: "response",
  created_at: 1_760_000_000,
  status: "completed",
  model: "gpt-5.1-2025-11-13",
  output,
  usage: {
    input_tokens: 11,
    input_tokens_details: { cached_tokens: 3 },
    output_tokens: 7,
    output_tokens_details: { reasoning_tokens: 2 },
    total_tokens: 18
  },
  ...extra
})

/** Gives every event its place in the sequence. */
export const numbered = (events: ReadonlyArray<UpstreamEvent>): ReadonlyArray<UpstreamEvent> =>
  events.map((event, index) => ({ ...event, sequence_number: index }))

export const opening: UpstreamEvent = {
  type: "response.created",
  response: responseOf([], { status: "in_progress", usage: null })
}

/** The events of a text item. */
export const textEvents = (index: number, words: ReadonlyArray<string>): ReadonlyArray<UpstreamEvent> => [
  { type: "response.output_item.added", output_index: index, item: { ...textItem(""), content: [] } },
  ...words.map((delta) => ({
    type: "response.output_text.delta",
    item_id: "msg_1",
    output_index: index,
    content_index: 0,
    delta
  })),
  { type: "response.output_item.done", output_index: index, item: textItem(words.join("")) }
]

/** The events of a function call whose arguments come in these pieces. */
export const callEvents = (index: number, pieces: ReadonlyArray<string>): ReadonlyArray<UpstreamEvent> => [
  {
    type: "response.output_item.added",
    output_index: index,
    item: { ...functionCall(index, ""), status: "in_progress" }
  },
  ...pieces.map((delta) => ({
    type: "response.function_call_arguments.delta",
    item_id: `fc_${index}`,
    output_index: index,
    delta
  })),
  {
    type: "response.function_call_arguments.done",
    item_id: `fc_${index}`,
    output_index: index,
    arguments: pieces.join("")
  },
  { type: "response.output_item.done", output_index: index, item: functionCall(index, pieces.join("")) }
]

/** The terminal event of a status. */
export const ending = (
  output: ReadonlyArray<unknown>,
  status: "completed" | "incomplete" | "failed" = "completed",
  extra: Readonly<Record<string, unknown>> = {}
): UpstreamEvent => ({ type: `response.${status}`, response: responseOf(output, { status, ...extra }) })

/** An event as Azure frames it. */
export const frameOf = (event: UpstreamEvent): string => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`

/** The frames of a stream, numbered. */
export const frames = (events: ReadonlyArray<UpstreamEvent>): ReadonlyArray<string> => numbered(events).map(frameOf)

/** Arguments that name two destinations, and the flag that call 1 gets for them. */
export const link = '{"url":"https://example.com/a","to":"10.0.0.1"}'

/** The flag of a call of `functionCall`. */
export const flag = (index: number, ...destinations: ReadonlyArray<string>) => ({
  tool_call_id: `call_${index}`,
  tool_name: "fetch_page",
  destinations,
  reason: "external_destination"
})
export const linkFlag = flag(1, "https://example.com/a", "10.0.0.1")

export const secret = { id: "rs_1", type: "reasoning", summary: [], encrypted_content: "gAAAA-secret" }
export const hello = textItem("hello")
