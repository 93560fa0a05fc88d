/** How GPT answers by the Responses API: items, whole and streamed. */
import { argumentsOf, opened, type Plan, planOf } from "../answer.ts"
import type { Answer, Failure } from "../faults.ts"
import { type Frame, jsonReply } from "../http.ts"
import { type JsonObject, objectOf } from "../json.ts"
import { digest, signThinking } from "../signature.ts"
import { fragments, words } from "../tokens.ts"
import { ENCRYPTED, kinds, type ResponsesRequest, readResponses } from "./responsesRequest.ts"
import { type Asked, eventStream, filterResults, logprob } from "./serve.ts"

type Event = JsonObject & { readonly type: string }

/** An item, and the events that bring it: their types without `response.`. */
interface Spoken {
  readonly item: JsonObject & { readonly id: string }
  readonly events: ReadonlyArray<Event>
}

const incompleteReason = ({ stop }: Plan): string | undefined =>
  stop === "length" ? "max_output_tokens" : stop === "refusal" ? "content_filter" : undefined

const reasoning = ({ thinking: text }: Plan, request: ResponsesRequest, id: string, seed: string): Spoken => {
  const part = (text: string) => ({ type: "summary_text", text })
  const events: ReadonlyArray<Event> = [
    { type: "reasoning_summary_part.added", part: part("") },
    ...words(text).map((delta) => ({ type: "reasoning_summary_text.delta", delta })),
    { type: "reasoning_summary_text.done", text },
    { type: "reasoning_summary_part.done", part: part(text) }
  ]
  const encrypted = request.encrypted && { encrypted_content: signThinking(ENCRYPTED, seed) }
  return {
    item: { id, type: "reasoning", summary: request.summary ? [part(text)] : [], ...encrypted },
    events: request.summary ? events.map((event) => ({ ...event, summary_index: 0 })) : []
  }
}

const message = ({ text }: Plan, likely: boolean, id: string, status: string): Spoken => {
  const said = (text: string) => ({ logprobs: likely ? words(text).map(logprob) : [], text })
  const part = (text: string) => ({ type: "output_text", annotations: [], ...said(text) })
  const events: ReadonlyArray<Event> = [
    { type: "content_part.added", part: part("") },
    ...words(text).map((delta) => ({ type: "output_text.delta", delta, logprobs: said(delta).logprobs })),
    { type: "output_text.done", ...said(text) },
    { type: "content_part.done", part: part(text) }
  ]
  const item = { id, type: "message", status, role: "assistant", content: [part(text)] }
  return { item, events: events.map((event) => ({ ...event, content_index: 0 })) }
}

/** What the fields of an item are before its events come. */
const opening: JsonObject = { status: "in_progress", summary: [], content: [], arguments: "", input: "" }

const itemsOf = (plan: Plan, request: ResponsesRequest, seed: string): ReadonlyArray<Spoken> => {
  const id = (prefix: string, index: number) => `${prefix}_${digest(seed, prefix, String(index)).slice(0, 48)}`
  const status = incompleteReason(plan) === undefined ? "completed" : "incomplete"
  const calls = plan.calls.map(({ name, json }, index): Spoken => {
    const { type: kind, namespace } = request.kinds.get(name) ?? { type: "function", namespace: undefined }
    const { call: type, prefix, field, named } = kinds[kind]
    const call_id = `call_${digest(seed, "call", String(index)).slice(0, 24)}`
    const item = { id: id(prefix, index), type, status, call_id }
    if (!named) return { item: { ...item, [field]: argumentsOf(json) }, events: [] }
    const event = type === "function_call" ? "function_call_arguments" : "custom_tool_call_input"
    const deltas = fragments(json).map((delta) => ({ type: `${event}.delta`, delta }))
    const done = { type: `${event}.done`, ...(kind === "function" && { name }), [field]: json }
    const space = namespace === undefined ? {} : { namespace }
    return { item: { ...item, name, ...space, [field]: json }, events: [...deltas, done] }
  })
  return [
    ...(plan.thinking !== "" ? [reasoning(plan, request, id("rs", 0), seed)] : []),
    ...(plan.text !== "" ? [message(plan, request.logprobs, id("msg", 0), status)] : []),
    ...calls
  ]
}

/** What a response repeats of its request, and what it has where that says nothing. */
const echoed: JsonObject = {
  ...{ instructions: null, max_output_tokens: null, metadata: {}, parallel_tool_calls: true, store: true },
  ...{
    temperature: 1,
    text: { format: { type: "text" } },
    tool_choice: "auto",
    tools: [],
    top_p: 1,
    truncation: "disabled"
  }
}
const unsaid = { background: false, error: null, incomplete_details: null, previous_response_id: null, user: null }

const begun = ({ effort }: ResponsesRequest, { body, name, seed }: Asked): JsonObject => ({
  ...Object.fromEntries(Object.entries(echoed).map(([field, otherwise]) => [field, body[field] ?? otherwise])),
  ...unsaid,
  id: `resp_${seed.slice(0, 48)}`,
  object: "response",
  created_at: Math.floor(Date.now() / 1000),
  status: "in_progress",
  model: name,
  output: [],
  reasoning: { effort, summary: objectOf(body.reasoning).summary ?? null },
  usage: null
})

const sse = (data: Event): string => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`

/** Answers a Responses request. */
export const playResponses = (asked: Asked): Answer => {
  const read = readResponses(asked.body, asked.model)
  const plan = planOf(read.turn)
  const { promptTokens, cached } = read
  const start = begun(read, asked)
  const spoken = itemsOf(plan, read, asked.seed)
  const reason = incompleteReason(plan)
  const blocked = reason === "content_filter"
  const filter = { blocked, source_type: "completion", content_filter_results: filterResults }
  const response = {
    ...start,
    output: spoken.map(({ item }) => item),
    status: reason === undefined ? "completed" : "incomplete",
    incomplete_details: reason === undefined ? null : { reason },
    ...(asked.azure && { content_filters: [filter] }),
    usage: {
      input_tokens: promptTokens,
      input_tokens_details: { cached_tokens: cached, cache_write_tokens: 0 },
      output_tokens: plan.outputTokens,
      output_tokens_details: { reasoning_tokens: plan.thinkingTokens },
      total_tokens: promptTokens + plan.outputTokens
    }
  }
  const events = () => [
    { type: "created", response: start },
    { type: "in_progress", response: start },
    ...spoken.flatMap(({ item, events }, output_index) => [
      { type: "output_item.added", output_index, item: opened(item, opening) },
      ...events.map((event) => ({ ...event, item_id: item.id, output_index })),
      { type: "output_item.done", output_index, item }
    ]),
    { type: response.status, response }
  ]
  const frameOf = (data: Event, index: number): Frame => ({
    bytes: sse({ ...data, type: `response.${data.type}`, sequence_number: index }),
    word: data.type.endsWith(".delta"),
    terminal: data.type === response.status
  })
  const error = ({ name, status, message }: Failure, sequence_number: number) => {
    const code = status === 429 ? "rate_limit_exceeded" : "server_error"
    const failed = { ...start, status: "failed", error: { code, message } }
    return name === "failed"
      ? sse({ type: "response.failed", sequence_number, response: failed })
      : sse({ type: "error", sequence_number, code, message, param: null })
  }
  const garbage = "event: response.output_text.delta\ndata: {not json\n\n"
  const stream = () => ({ headers: eventStream, frames: events().map(frameOf), garbage, error })
  const whole = () => jsonReply(200, response)
  return { directives: read.turn.directives, whole, stream: asked.body.stream === true && stream }
}
