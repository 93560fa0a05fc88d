/** The Responses API: the checks of a request, and the items of GPT's reply, whole and streamed. */
import { argumentsOf, opened, type Plan, planOf } from "../answer.ts"
import type { Answer, Failure } from "../faults.ts"
import { eventStream, jsonReply, Refusal, sse } from "../http.ts"
import { arrayOf, type JsonObject, objectOf, printed, stringOf } from "../json.ts"
import type { GptModel } from "../models.ts"
import { anything, type Shape } from "../shape.ts"
import { digest, isSigned, signThinking } from "../signature.ts"
import { fragments, words } from "../tokens.ts"
import { type Message, type Part, readTurn, type Tool, type Turn } from "../turn.ts"
import * as shared from "./shared.ts"

const { closed, filled, insist, list, never, text, variant, where } = shared
const { filterResults, logprob } = shared
const { checkSampling, chosen, contentOf, effortOf, formatOf, imageOf, sampling, tokens, toolOf } = shared

/** The text that `encrypted_content` signs. */
const ENCRYPTED = "responses reasoning"

/** The kinds of tools that the caller executes: the type of their calls, the prefix of IDs, the field of the arguments. */
const kinds = {
  function: { call: "function_call", prefix: "fc", field: "arguments", named: true },
  custom: { call: "custom_tool_call", prefix: "ctc", field: "input", named: true },
  local_shell: { call: "local_shell_call", prefix: "lsh", field: "action", named: false },
  shell: { call: "shell_call", prefix: "sh", field: "action", named: false },
  apply_patch: { call: "apply_patch_call", prefix: "apc", field: "operation", named: false }
}
type Kind = keyof typeof kinds

const refuseLost = (id: unknown): never => {
  const message = `Item with id '${stringOf(id)}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`
  throw new Refusal({ status: 404, message, param: "input" })
}

/** The API does not take an item's ID for its `call_id`, nor the reverse; and here no item was ever stored. */
const idOf = (prefix: string): Shape => {
  const wrong = (id: unknown) => `Invalid '{path}': '${stringOf(id)}'. Expected an ID that begins with '${prefix}'.`
  const known = where(anything, (id) => stringOf(id).startsWith(prefix), wrong)
  return (value, path) => refuseLost(known(value, path))
}

const tooLong = ({ length }: string) =>
  `Invalid '{path}': string too long. Expected a string with maximum length 64, but got a string with length ${length} instead.`
const callId = where(stringOf, ({ length }) => length <= 64, tooLong)

const callOf = ({ call, prefix, field, named }: (typeof kinds)[Kind]): Shape<Message> => {
  const fields = { id: idOf(prefix), call_id: callId, [`${field}!`]: named ? text : anything }
  const shape: Shape<Readonly<Record<string, unknown>>> = closed(`type status ${named ? "name namespace" : ""}`, fields)
  return (value, path) => {
    const { call_id: id, name = call.replace("_call", ""), [field]: asked } = shape(value, path)
    const json = typeof asked === "string" ? asked : JSON.stringify(asked)
    return { role: "assistant", parts: [{ call: { id: stringOf(id), name: stringOf(name), json } }] }
  }
}

const outputOf = ({ prefix, named }: (typeof kinds)[Kind]): Shape<Message> => {
  const fields = { id: idOf(named ? prefix : ""), call_id: callId }
  return closed("type status output max_output_length", fields, ({ call_id: id = "", output: content }) => ({
    role: "user",
    parts: [{ result: { id, content } }]
  }))
}

const reasoned = { id: idOf("rs") }
const reasoning = closed("type status summary content encrypted_content", reasoned, (item): Message => {
  const { encrypted_content: secret } = item
  if (secret === undefined) refuseLost("")
  insist({ "The encrypted content could not be verified.": isSigned(ENCRYPTED, stringOf(secret)) }, "input")
  return { role: "assistant", parts: [{ thought: true }] }
})

const calls = Object.fromEntries(
  Object.values(kinds).flatMap((kind) => [
    [kind.call, callOf(kind)],
    [`${kind.call}_output`, outputOf(kind)]
  ])
)

const inputOf = (model: GptModel): Shape<ReadonlyArray<Message>> => {
  const message = (role: Message["role"], types: Readonly<Record<string, Shape<Part>>>): Shape<Message> => {
    const fields = { id: idOf("msg"), "content!": contentOf(types) }
    return closed("type status role phase", fields, ({ content: parts }) => ({ role, parts }))
  }
  const given = {
    input_text: closed("type prompt_cache_breakpoint", { "text!": text }, ({ text }): Part => ({ text })),
    input_image: closed("type image_url detail file_id prompt_cache_breakpoint", {}, ({ image_url: url }, path) =>
      imageOf(model, url, `${path}.image_url`)
    ),
    input_file: never("This model does not support file content types.")
  }
  const roles = {
    user: message("user", given),
    assistant: message("assistant", {
      output_text: closed("type annotations logprobs", { "text!": text }, ({ text }): Part => ({ text })),
      refusal: closed("type refusal", {}, (): Part => ({}))
    }),
    system: message("system", given),
    developer: message("system", given)
  }
  const types = { message: variant("role", roles), reasoning, ...calls }
  const items = filled(variant<Message>("type", types, "message"))
  return (value, path) =>
    typeof value === "string" ? [{ role: "user", parts: [{ text: value }] }] : items(value, path)
}

type Listed = Tool & { readonly type: Kind; readonly namespace?: string }

const isLocal = (environment: unknown) => objectOf(environment).type === "local"
const local = where(anything, isLocal, "This model does not support hosted shells.")

const callable = (names: string, more: Partial<Listed> & Pick<Listed, "type">): Shape<Listed> =>
  closed(`type name description defer_loading ${names}`, {}, (tool, path) => ({ ...toolOf(tool, path), ...more }))
const callables = {
  function: callable("parameters strict", { type: "function" }),
  custom: callable("format", { type: "custom", schema: undefined })
}
const nameless = (type: Kind) => (): Listed => ({ name: type, description: "", schema: {}, type })
const inner = { tools: list(variant("type", callables)) }
/** Tools that the caller executes; other tools are refused. */
const tools = list(
  variant<Listed | ReadonlyArray<Listed>>("type", {
    ...callables,
    namespace: closed("type name description", inner, ({ name, tools = [] }) =>
      tools.map((tool) => ({ ...tool, namespace: stringOf(name) }))
    ),
    local_shell: closed("type", {}, nameless("local_shell")),
    apply_patch: closed("type", {}, nameless("apply_patch")),
    shell: closed("type", { "environment!": local }, nameless("shell"))
  })
)

const schema = closed("type description schema strict", { "name!": text }, ({ schema }) => objectOf(schema))

const requestOf = (model: GptModel) => {
  const { maxOutputTokens: most } = model
  const tooMany = `Invalid '{path}': integer above maximum value. Expected a value <= ${most}.`
  return closed(
    "model instructions tool_choice top_logprobs parallel_tool_calls metadata stream stream_options store include user " +
      "truncation safety_identifier prompt_cache_key prompt_cache_retention max_tool_calls service_tier " +
      // Codex sends it to every provider, and Azure takes it.
      "client_metadata",
    {
      "input!": inputOf(model),
      max_output_tokens: where(tokens(16), (limit) => limit <= most, tooMany),
      ...sampling,
      previous_response_id: never((id) => `Previous response with id '${printed(id)}' not found.`),
      background: where(anything, (value) => value === false, "Background mode is not available."),
      reasoning: closed("summary generate_summary", { effort: effortOf(model) }),
      text: closed("verbosity", { format: formatOf(schema) }),
      tools
    }
  )
}

const choiceOf = (choice: unknown, tools: ReadonlyArray<Tool>): Turn["choice"] => {
  const { type, name, mode } = objectOf(choice)
  if (choice === "required")
    insist({ "Tool choice 'required' must be specified with 'tools' parameter.": tools.length > 0 }, "tool_choice")
  if (choice === "auto" || choice === "none" || choice === "required") return choice
  if (type === "allowed_tools") return mode === "required" ? "required" : "auto"
  const unnamed = Object.entries(kinds).some(([kind, { named }]) => kind === type && !named)
  return chosen(stringOf(unnamed ? type : name), tools)
}

const allowedOf = (choice: unknown, tools: ReadonlyArray<Tool>): ReadonlyArray<Tool> => {
  const { type, tools: allowed } = objectOf(choice)
  if (type !== "allowed_tools") return tools
  const names = new Set(arrayOf(allowed).map((one) => objectOf(one).name ?? objectOf(one).type))
  return tools.filter(({ name }) => names.has(name))
}

/** Each call needs an output, and each output a call before it. */
const checkPairs = (parts: ReadonlyArray<Part>): void => {
  const called = new Set<string>()
  const stray = parts.find(({ call, result }) => {
    if (call !== undefined) called.add(call.id)
    return result !== undefined && !called.has(result.id)
  })
  const answered = new Set(parts.map(({ result }) => result?.id))
  const missing = [...called].find((id) => !answered.has(id))
  const rules = {
    [`No tool call found for function call output with call_id ${stray?.result?.id}.`]: stray === undefined,
    [`No tool output found for function call ${missing}.`]: missing === undefined
  }
  insist(rules, "input")
}

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
  ...{ instructions: null, max_output_tokens: null, metadata: {}, parallel_tool_calls: true, store: true, tools: [] },
  ...{ temperature: 1, text: { format: { type: "text" } }, tool_choice: "auto", top_p: 1, truncation: "disabled" }
}
const absent = { background: false, error: null, incomplete_details: null, previous_response_id: null, user: null }

const reasons = { end: null, sequence: null, tool: null, length: "max_output_tokens", refusal: "content_filter" }

/** Checks a Responses request as the clouds do. Throws a `Refusal`. */
const readResponses = ({ body, model }: shared.GptRequest) => {
  const asked = requestOf(model)(body, "")
  const { effort = model.defaultEffort, summary, generate_summary } = asked.reasoning ?? {}
  const tools = (asked.tools ?? []).flat()
  const included = arrayOf(asked.include)
  checkPairs(asked.input.flatMap(({ parts }) => parts))
  checkSampling(body, "temperature top_p top_logprobs", model, effort)
  const read = readTurn(asked.input, {
    model: model.id,
    instructions: stringOf(asked.instructions),
    tools,
    choice: choiceOf(asked.tool_choice ?? "auto", tools),
    format: asked.text?.format,
    thinks: effort !== "none",
    limit: asked.max_output_tokens,
    stops: []
  })
  const likely = included.includes("message.output_text.logprobs")
  const encrypted = included.includes("reasoning.encrypted_content")
  const turn = { ...read.turn, tools: allowedOf(asked.tool_choice, tools) }
  return { ...read, turn, tools, effort, likely, encrypted, shown: (summary ?? generate_summary) !== undefined }
}
type Read = ReturnType<typeof readResponses>

const outputsOf = (plan: Plan, { tools, likely, encrypted, shown }: Read, seed: string, status: string) => {
  const idAt = (prefix: string, index = 0) => `${prefix}_${digest(seed, prefix, String(index)).slice(0, 48)}`
  const outputs: Array<Output> = []
  if (plan.thinking !== "") {
    const { part, events } = partOf(summary, plan.thinking)
    const secret = encrypted && { encrypted_content: signThinking(ENCRYPTED, seed) }
    const item = { id: idAt("rs"), type: "reasoning", summary: shown ? [part] : [], ...secret }
    outputs.push({ item, events: shown ? events.map((event) => ({ ...event, summary_index: 0 })) : [] })
  }
  if (plan.text !== "") {
    const logprobs = (text: string) => ({ logprobs: likely ? words(text).map(logprob) : [] })
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

/** Answers a Responses request. Throws a `Refusal` where the clouds refuse it. */
export const playResponses = (request: shared.GptRequest): Answer => {
  const { body, azure, seed } = request
  const read = readResponses(request)
  const { turn, effort, promptTokens, cached } = read
  const plan = planOf(turn)
  const begun = {
    id: `resp_${seed.slice(0, 48)}`,
    object: "response",
    created_at: Math.floor(Date.now() / 1000),
    status: "in_progress",
    model: request.name,
    output: [],
    reasoning: { effort, summary: objectOf(body.reasoning).summary ?? null },
    usage: null,
    ...absent,
    ...Object.fromEntries(Object.entries(echoed).map(([field, otherwise]) => [field, body[field] ?? otherwise]))
  }
  const reason = reasons[plan.stop]
  const status = reason === null ? "completed" : "incomplete"
  const filter = { blocked: plan.stop === "refusal", source_type: "completion", content_filter_results: filterResults }
  const outputs = outputsOf(plan, read, seed, status)
  const response = {
    ...{ ...begun, status, output: outputs.map(({ item }) => item), incomplete_details: reason && { reason } },
    ...(azure && { content_filters: [filter] }),
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
    frames: events().map((data, sequence_number) => sse({ ...data, type: `response.${data.type}`, sequence_number })),
    garbage: "event: response.output_text.delta\ndata: {not json\n\n",
    error
  })
  return { directives: turn.directives, whole: () => jsonReply(200, response), stream: body.stream === true && stream }
}
