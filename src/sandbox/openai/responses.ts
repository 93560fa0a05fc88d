/** The Responses API: what a request may be, and how GPT answers it in items, whole and streamed. */
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
const { checkSampling, chosen, contentOf, effortOf, formatOf, imageOf, sampling, textPart, tokens, toolOf } = shared

/** What `encrypted_content` is made over. */
const ENCRYPTED = "responses reasoning"

/** The kinds of tools that the caller executes: how calls of each are named, and where they say what is asked. */
const kinds = {
  function: { call: "function_call", prefix: "fc", field: "arguments", named: true },
  custom: { call: "custom_tool_call", prefix: "ctc", field: "input", named: true },
  local_shell: { call: "local_shell_call", prefix: "lsh", field: "action", named: false },
  shell: { call: "shell_call", prefix: "sh", field: "action", named: false },
  apply_patch: { call: "apply_patch_call", prefix: "apc", field: "operation", named: false }
}
type Kind = keyof typeof kinds

/** Many take an item's ID for its `call_id`; the API tells them apart. */
const idOf = (prefix: string) => {
  const said = (id: unknown) => `Invalid '{path}': '${stringOf(id)}'. Expected an ID that begins with '${prefix}'.`
  return where(anything, (id) => stringOf(id).startsWith(prefix), said)
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
  const { id, encrypted_content: secret } = item
  const lost = `Item with id '${stringOf(id)}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`
  if (secret === undefined) throw new Refusal({ status: 404, message: lost, param: "input" })
  const valid = isSigned(ENCRYPTED, stringOf(secret))
  insist({ [`The encrypted content for item ${stringOf(id)} could not be verified.`]: valid }, "input")
  return { role: "assistant", parts: [{ thought: true }] }
})

/** Calls and their outputs, by their types. */
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
    input_text: textPart,
    input_image: (part: unknown, path: string) => imageOf(model, objectOf(part).image_url, `${path}.image_url`),
    input_file: never("This model does not support file content types.")
  }
  const roles = {
    user: message("user", given),
    assistant: message("assistant", { output_text: textPart, refusal: () => ({}) }),
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

/** Tools that have a name; those of a kind of their own are called by it. */
const callable = {
  function: closed("type name description parameters strict defer_loading", {}, (tool, path): Listed => {
    return { ...toolOf(tool, path), type: "function" }
  }),
  custom: closed("type name description format defer_loading", {}, (tool, path): Listed => {
    return { ...toolOf(tool, path), schema: undefined, type: "custom" }
  })
}
const nameless = (type: Kind) => (): Listed => ({ name: type, description: "", schema: {}, type })
const inner = { tools: list(variant("type", callable)) }
/** Tools that the caller executes; the clouds are not asked for others. */
const tools = list(
  variant<Listed | ReadonlyArray<Listed>>("type", {
    ...callable,
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

/** The tools that a choice leaves to the model. */
const allowedOf = (choice: unknown, tools: ReadonlyArray<Tool>): ReadonlyArray<Tool> => {
  const { type, tools: allowed } = objectOf(choice)
  if (type !== "allowed_tools") return tools
  const names = new Set(arrayOf(allowed).map((one) => objectOf(one).name ?? objectOf(one).type))
  return tools.filter(({ name }) => names.has(name))
}

/** Calls need outputs, and outputs calls before them. */
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

/** An item, and the events that bring it: their types without `response.`. */
interface Spoken {
  readonly item: JsonObject & { readonly id: string }
  readonly events: ReadonlyArray<Event>
}

const reasoningOf = (text: string, shown: boolean, encrypted: JsonObject, id: string): Spoken => {
  const part = (text: string) => ({ type: "summary_text", text })
  const events: ReadonlyArray<Event> = [
    { type: "reasoning_summary_part.added", part: part("") },
    ...words(text).map((delta) => ({ type: "reasoning_summary_text.delta", delta })),
    { type: "reasoning_summary_text.done", text },
    { type: "reasoning_summary_part.done", part: part(text) }
  ]
  const item = { id, type: "reasoning", summary: shown ? [part(text)] : [], ...encrypted }
  return { item, events: shown ? events.map((event) => ({ ...event, summary_index: 0 })) : [] }
}

const messageOf = (text: string, likely: boolean, id: string, status: string): Spoken => {
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

/** What a response repeats of its request, and what it has where that says nothing. */
const echoed: JsonObject = {
  ...{ instructions: null, max_output_tokens: null, metadata: {}, parallel_tool_calls: true, store: true, tools: [] },
  ...{ temperature: 1, text: { format: { type: "text" } }, tool_choice: "auto", top_p: 1, truncation: "disabled" }
}
const unsaid = { background: false, error: null, incomplete_details: null, previous_response_id: null, user: null }

const reasons = { end: null, sequence: null, tool: null, length: "max_output_tokens", refusal: "content_filter" }

/** Checks a Responses request as the clouds do, and reads what it asks. Throws a `Refusal`. */
const readResponses = ({ body, model }: shared.Asked) => {
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

/** The items of a plan, in their order. */
const spokenOf = (plan: Plan, { tools, likely, encrypted, shown }: Read, seed: string, status: string) => {
  const idAt = (prefix: string, index = 0) => `${prefix}_${digest(seed, prefix, String(index)).slice(0, 48)}`
  const secret = encrypted ? { encrypted_content: signThinking(ENCRYPTED, seed) } : {}
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  const callAt = ({ name, json }: Plan["calls"][number], index: number): Spoken => {
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
  return [
    ...(plan.thinking === "" ? [] : [reasoningOf(plan.thinking, shown, secret, idAt("rs"))]),
    ...(plan.text === "" ? [] : [messageOf(plan.text, likely, idAt("msg"), status)]),
    ...plan.calls.map(callAt)
  ]
}

/** A response as it begins, and as it ends. */
const responseOf = (plan: Plan, { effort, promptTokens, cached }: Read, { body, name, azure, seed }: shared.Asked) => {
  const begun = {
    id: `resp_${seed.slice(0, 48)}`,
    object: "response",
    created_at: Math.floor(Date.now() / 1000),
    status: "in_progress",
    model: name,
    output: [],
    reasoning: { effort, summary: objectOf(body.reasoning).summary ?? null },
    usage: null,
    ...unsaid,
    ...Object.fromEntries(Object.entries(echoed).map(([field, otherwise]) => [field, body[field] ?? otherwise]))
  }
  const reason = reasons[plan.stop]
  const filter = { blocked: plan.stop === "refusal", source_type: "completion", content_filter_results: filterResults }
  const usage = {
    input_tokens: promptTokens,
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: 0 },
    output_tokens: plan.outputTokens,
    output_tokens_details: { reasoning_tokens: plan.thinkingTokens },
    total_tokens: promptTokens + plan.outputTokens
  }
  const status = reason === null ? "completed" : "incomplete"
  const ended = { status, incomplete_details: reason && { reason }, ...(azure && { content_filters: [filter] }), usage }
  return { begun, ended: { ...begun, ...ended } }
}

/** Answers a Responses request. Throws a `Refusal` where the clouds would refuse it. */
export const playResponses = (request: shared.Asked): Answer => {
  const asked = readResponses(request)
  const plan = planOf(asked.turn)
  const { begun, ended } = responseOf(plan, asked, request)
  const { status } = ended
  const spoken = spokenOf(plan, asked, request.seed, status)
  const response = { ...ended, output: spoken.map(({ item }) => item) }
  const events = () => [
    { type: "created", response: begun },
    { type: "in_progress", response: begun },
    ...spoken.flatMap(({ item, events }, output_index) => [
      { type: "output_item.added", output_index, item: opened(item, opening) },
      ...events.map((event) => ({ ...event, item_id: item.id, output_index })),
      { type: "output_item.done", output_index, item }
    ]),
    { type: status, response }
  ]
  const frameOf = (data: Event, sequence_number: number) =>
    sse({ ...data, type: `response.${data.type}`, sequence_number })
  const error = ({ name, status, message }: Failure, sequence_number: number) => {
    const code = status === 429 ? "rate_limit_exceeded" : "server_error"
    const failed = { ...begun, status: "failed", error: { code, message } }
    return name === "failed"
      ? sse({ type: "response.failed", sequence_number, response: failed })
      : sse({ type: "error", sequence_number, code, message, param: null })
  }
  const garbage = "event: response.output_text.delta\ndata: {not json\n\n"
  const stream = () => ({ headers: eventStream, frames: events().map(frameOf), garbage, error })
  const whole = () => jsonReply(200, response)
  return { directives: asked.turn.directives, whole, stream: request.body.stream === true && stream }
}
