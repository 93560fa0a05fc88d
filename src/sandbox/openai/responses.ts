/** The Responses API: the items of GPT's reply, whole and streamed. */
import { Record } from "effect"
import { argumentsOf, opened, type Plan, planOf } from "../answer.ts"
import type { Answer, Failure } from "../faults.ts"
import { eventStream, jsonReply, sse } from "../http.ts"
import { arrayOf, type Json, type JsonObject, objectOf } from "../json.ts"
import { digest, signThinking } from "../signature.ts"
import { fragments, words } from "../tokens.ts"
import { ENCRYPTED, kinds, type Read, readResponses } from "./responsesRequest.ts"
import { filterResults, type GptRequest, logprobsOf, paddingOf } from "./shared.ts"

type Event = JsonObject & { readonly type: string }

/** An output item, and the events that bring it: their types without `response.`. */
interface Output {
  readonly item: JsonObject & { readonly id: string }
  readonly events: ReadonlyArray<Event>
}

const summary = { shape: { type: "summary_text" }, part: "reasoning_summary_part", text: "reasoning_summary_text" }
const message = { shape: { type: "output_text", annotations: [] }, part: "content_part", text: "output_text" }

/** The only part of an item, and the events that bring it. `beside`: fields of each piece of text. */
const partOf = (
  { shape, part: name, text: piece }: typeof summary,
  text: string,
  beside: (text: string) => JsonObject = () => ({})
) => {
  const part = (text: string) => ({ ...shape, ...beside(text), text })
  const events: ReadonlyArray<Event> = [
    { type: `${name}.added`, part: part("") },
    ...words(text).map((delta) => ({ type: `${piece}.delta`, delta, ...beside(delta) })),
    { type: `${piece}.done`, ...beside(text), text },
    { type: `${name}.done`, part: part(text) }
  ]
  return { part: part(text), events }
}

/** The fields of an item before its events. */
const opening: JsonObject = { status: "in_progress", summary: [], content: [], arguments: "", input: "" }

/** The fields that a response repeats from its request, with their defaults. */
const echoed: JsonObject = {
  ...{ instructions: null, max_output_tokens: null, max_tool_calls: null, metadata: {}, parallel_tool_calls: true },
  ...{ prompt_cache_key: null, prompt_cache_retention: null, safety_identifier: null, service_tier: "auto" },
  ...{ store: true, temperature: 1, tool_choice: "auto", top_logprobs: 0, top_p: 1, truncation: "disabled", user: null }
}
/** What the clouds never set here. */
const constant = {
  ...{ background: false, error: null, incomplete_details: null, previous_response_id: null },
  ...{ frequency_penalty: 0, presence_penalty: 0 }
}

/** A tool is repeated with all of its fields. */
const echoedTool = (tool: Json): JsonObject => {
  const given = objectOf(tool)
  switch (given.type) {
    case "function":
      return { description: null, parameters: null, strict: true, ...given }
    case "custom":
      return { format: { type: "text" }, ...given }
    case "namespace":
      return { ...given, tools: arrayOf(given.tools).map(echoedTool) }
    default:
      return given
  }
}

/** And so is the schema of an answer. */
const echoedFormat = (format: JsonObject): JsonObject =>
  format.type === "json_schema" ? { description: null, strict: false, ...format } : { type: "text", ...format }

const echoOf = (body: JsonObject): JsonObject => ({
  ...constant,
  ...Record.map(echoed, (otherwise, field) => body[field] ?? otherwise),
  text: { verbosity: "medium", ...objectOf(body.text), format: echoedFormat(objectOf(objectOf(body.text).format)) },
  tools: arrayOf(body.tools).map(echoedTool)
})

const reasons = { end: null, sequence: null, tool: null, length: "max_output_tokens", refusal: "content_filter" }

const outputsOf = (plan: Plan, { tools, alternatives, encrypted, shown }: Read, seed: string, status: string) => {
  const idAt = (prefix: string, index = 0) => `${prefix}_${digest(seed, prefix, String(index)).slice(0, 48)}`
  const outputs: Array<Output> = []
  if (plan.thinking !== "") {
    const { part, events } = partOf(summary, plan.thinking)
    const secret = encrypted && { encrypted_content: signThinking(ENCRYPTED, seed) }
    const item = { id: idAt("rs"), type: "reasoning", summary: shown ? [part] : [], ...secret }
    outputs.push({ item, events: shown ? events.map((event) => ({ ...event, summary_index: 0 })) : [] })
  }
  if (plan.text !== "") {
    const likely = (text: string) => (alternatives === undefined ? [] : logprobsOf(words(text), alternatives))
    const logprobs = (text: string) => ({ logprobs: likely(text) })
    const { part, events } = partOf(message, plan.text, logprobs)
    const item = { id: idAt("msg"), type: "message", status, role: "assistant", content: [part] }
    outputs.push({ item, events: events.map((event) => ({ ...event, content_index: 0 })) })
  }
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  const callAt = ({ name, json }: Plan["calls"][number], index: number): Output => {
    const { type: kind, namespace } = byName.get(name) ?? { type: "function" as const, namespace: undefined }
    const { call: type, prefix, field, named } = kinds[kind]
    const call_id = `call_${digest(seed, "call", String(index)).slice(0, 24)}`
    const item = { id: idAt(prefix, index), type, status, call_id }
    if (!named) return { item: { ...item, [field]: argumentsOf(json) }, events: [] }
    const event = kind === "function" ? "function_call_arguments" : "custom_tool_call_input"
    const deltas = fragments(json).map((delta) => ({ type: `${event}.delta`, delta }))
    const done = { type: `${event}.done`, ...(kind === "function" && { name }), [field]: json }
    const space = namespace === undefined ? {} : { namespace }
    return { item: { ...item, name, ...space, [field]: json }, events: [...deltas, done] }
  }
  return [...outputs, ...plan.calls.map(callAt)]
}

/** What Azure's filter says of the prompt or of the answer, which ends at this character. */
const filterOf = (source_type: string, end_offset: number, blocked = false) => ({
  ...{ blocked, source_type, content_filter_raw: [], content_filter_results: filterResults },
  content_filter_offsets: { start_offset: 0, end_offset, check_offset: 0 }
})

const now = (): number => Math.floor(Date.now() / 1000)

/** Answers a Responses request. Throws a `Refusal` where the clouds refuse it. */
export const playResponses = (request: GptRequest): Answer => {
  const { body, hosted, seed } = request
  const read = readResponses(request)
  const { turn, effort, promptTokens, cached } = read
  const plan = planOf(turn)
  const begun = {
    id: `resp_${seed.slice(0, 48)}`,
    object: "response",
    created_at: now(),
    completed_at: null,
    status: "in_progress",
    model: request.name,
    output: [],
    reasoning: { effort, summary: objectOf(body.reasoning).summary ?? null },
    usage: null,
    ...(hosted && { content_filters: null }),
    ...echoOf(body)
  }
  const reason = reasons[plan.stop]
  const status = reason === null ? "completed" : "incomplete"
  const filters = [
    filterOf("prompt", 4 * promptTokens),
    filterOf("completion", plan.text.length, plan.stop === "refusal")
  ]
  const outputs = outputsOf(plan, read, seed, status)
  const response = {
    ...begun,
    status,
    output: outputs.map(({ item }) => item),
    incomplete_details: reason && { reason },
    completed_at: reason === null ? now() : null,
    // The tier that answered, where the events before have the one that was asked for.
    service_tier: "default",
    ...(hosted && { content_filters: filters }),
    usage: {
      input_tokens: promptTokens,
      input_tokens_details: { cached_tokens: cached, cache_write_tokens: 0 },
      output_tokens: plan.outputTokens,
      output_tokens_details: { reasoning_tokens: plan.thinkingTokens },
      total_tokens: promptTokens + plan.outputTokens
    }
  }
  const events = (): ReadonlyArray<Event> => [
    { type: "created", response: begun },
    { type: "in_progress", response: begun },
    ...outputs.flatMap(({ item, events }, output_index) => [
      { type: "output_item.added", output_index, item: opened(item, opening) },
      ...events.map((event) => ({ ...event, item_id: item.id, output_index })),
      { type: "output_item.done", output_index, item }
    ]),
    { type: status, response }
  ]
  const error = ({ name, status, message }: Failure, sequence_number: number) => {
    const code = status === 429 ? "rate_limit_exceeded" : "server_error"
    if (name !== "failed") return sse({ type: "error", sequence_number, code, message, param: null })
    const failed = { ...begun, status: "failed", error: { code, message } }
    return sse({ type: "response.failed", sequence_number, response: failed })
  }
  const stream = () => ({
    headers: eventStream,
    frames: events().map((data, sequence_number) => {
      const padding = typeof data.delta === "string" && paddingOf(body, data.delta, seed, String(sequence_number))
      return sse({ ...data, ...padding, type: `response.${data.type}`, sequence_number })
    }),
    garbage: "event: response.output_text.delta\ndata: {not json\n\n",
    error
  })
  return { directives: turn.directives, whole: () => jsonReply(200, response), stream: body.stream === true && stream }
}
