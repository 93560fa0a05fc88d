/** The Responses API: the checks of a request. */
import { Refusal } from "../http.ts"
import { arrayOf, type Json, type JsonObject, objectOf, printed, stringOf } from "../json.ts"
import type { GptModel } from "../models.ts"
import { anything, type Shape } from "../shape.ts"
import { isSigned } from "../signature.ts"
import { type Message, type Part, readTurn, type Tool, type Turn, textIn } from "../turn.ts"
import { checkStrict } from "./schemas.ts"
import * as shared from "./shared.ts"

const { closed, filled, insist, list, never, text, variant, where, word } = shared

/** The text that `encrypted_content` signs. */
export const ENCRYPTED = "responses reasoning"

/** The kinds of tools that the caller executes: the type of their calls, the prefix of IDs, the field of the arguments. */
export const kinds = {
  function: { call: "function_call", prefix: "fc", field: "arguments", named: true },
  custom: { call: "custom_tool_call", prefix: "ctc", field: "input", named: true },
  local_shell: { call: "local_shell_call", prefix: "lsh", field: "action", named: false },
  shell: { call: "shell_call", prefix: "sh", field: "action", named: false },
  apply_patch: { call: "apply_patch_call", prefix: "apc", field: "operation", named: false }
}
type Kind = keyof typeof kinds

/** No item was ever stored here: IDs are taken only beside reasoning that carries its own content. */
const checkStored = (items: ReadonlyArray<Json>): void => {
  const carried = items.some((item) => (objectOf(item).encrypted_content ?? null) !== null)
  for (const { encrypted_content, id = "", type } of items.map(objectOf)) {
    const message = `Item with id '${stringOf(id)}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`
    const lost = type === "reasoning" ? (encrypted_content ?? null) === null : id !== "" && !carried
    if (lost) throw new Refusal({ status: 404, message, param: "input" })
  }
}

/** The API does not take an item's ID for its `call_id`, nor the reverse. */
const idOf = (prefix: string): Shape => {
  const wrong = (id: unknown) => `Invalid '{path}': '${stringOf(id)}'. Expected an ID that begins with '${prefix}'.`
  return where(anything, (id) => stringOf(id).startsWith(prefix), wrong)
}

const callId = shared.textUpTo(64)

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

const thoughts = "type status summary content encrypted_content"
const reasoning = closed(thoughts, { id: idOf("rs") }, ({ encrypted_content: secret }): Message => {
  const holds = secret === undefined || isSigned(ENCRYPTED, stringOf(secret))
  insist({ "The encrypted content could not be verified.": holds }, "input")
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
    const fields = { id: idOf("msg"), "content!": shared.contentOf(types) }
    return closed("type status role phase", fields, ({ content: parts }) => ({ role, parts }))
  }
  const given = {
    input_text: closed("type prompt_cache_breakpoint", { "text!": text }, ({ text }): Part => ({ text })),
    input_image: closed("type image_url detail file_id prompt_cache_breakpoint", {}, ({ image_url: url }, path) =>
      shared.imageOf(model, url, `${path}.image_url`)
    ),
    input_file: closed("type filename file_data detail prompt_cache_breakpoint", {}, ({ file_data: data }, path) =>
      shared.pdfOf(model, data, `${path}.file_data`)
    )
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
  const additional_tools = closed("type role id", { "tools!": toolsOf }, (): Message => ({ role: "system", parts: [] }))
  const types = { message: variant("role", roles), reasoning, additional_tools, ...calls }
  const items = filled(variant<Message>("type", types, "message"))
  return (value, path) =>
    typeof value === "string" ? [{ role: "user", parts: [{ text: value }] }] : items(value, path)
}

type Listed = Tool & { readonly type: Kind; readonly namespace?: string }

const local = where(anything, (place) => objectOf(place).type === "local", "This model does not support hosted shells.")

const callable = (names: string, more: Partial<Listed> & Pick<Listed, "type">): Shape<Listed> =>
  closed(`type name description defer_loading ${names}`, {}, (tool, path) => ({
    ...shared.toolOf(tool, path),
    ...more
  }))
const callables = {
  function: callable("parameters strict", { type: "function" }),
  custom: callable("format", { type: "custom", schema: undefined })
}
/** A call of the API's own tool has the API's form. This one does no harm where it is run. */
const nameless = (type: Kind, call: JsonObject) => (): Listed => ({
  name: type,
  description: "",
  schema: { const: call },
  type
})
/** Tools that the caller executes; other tools are refused. */
const toolsOf = list(
  variant<Listed | ReadonlyArray<Listed>>("type", {
    ...callables,
    namespace: closed("type name description", { tools: list(variant("type", callables)) }, ({ name, tools = [] }) =>
      tools.map((tool) => ({ ...tool, namespace: stringOf(name) }))
    ),
    local_shell: closed("type", {}, nameless("local_shell", { type: "exec", command: ["ls"], env: {} })),
    apply_patch: closed(
      "type",
      {},
      nameless("apply_patch", { type: "create_file", path: "sandbox.txt", diff: "+Hello" })
    ),
    shell: closed(
      "type",
      { "environment!": local },
      nameless("shell", { commands: ["ls"], max_output_length: null, timeout_ms: null })
    )
  })
)

const schema = closed("type description schema strict", { "name!": shared.name }, ({ schema }) => objectOf(schema))

const included = word(
  ...["file_search_call.results", "web_search_call.results", "web_search_call.action.sources"],
  ...["message.input_image.image_url", "computer_call_output.output.image_url", "code_interpreter_call.outputs"],
  ...["reasoning.encrypted_content", "message.output_text.logprobs"]
)
const TOO_MANY_NOTES = "Invalid 'metadata': too many properties. Expected an object with at most 16 properties."
const TOO_MANY_TOOLS = "Invalid 'tools': array too long. Expected an array with maximum length 128."
const summary = word("auto", "concise", "detailed")

const requestOf = (model: GptModel) => {
  const { maxOutputTokens: most } = model
  const tooMany = shared.outside(`integer above maximum value. Expected a value <= ${most}`)
  return closed(
    "model instructions tool_choice parallel_tool_calls stream stream_options store " +
      "prompt_cache_retention max_tool_calls " +
      // Codex sends it to every provider, and Azure takes it.
      "client_metadata",
    {
      "input!": inputOf(model),
      max_output_tokens: where(shared.tokens(16), (limit) => limit <= most, tooMany),
      include: list(included),
      service_tier: shared.tier,
      ...shared.sampling,
      ...shared.identifiers,
      previous_response_id: never((id) => `Previous response with id '${printed(id)}' not found.`),
      background: where(anything, (value) => value === false, "Background mode is not available."),
      reasoning: closed("", { effort: shared.effortOf(model), summary, generate_summary: summary }),
      text: closed("", { format: shared.formatOf(schema), verbosity: shared.verbosity }),
      truncation: word("auto", "disabled"),
      metadata: where(anything, (notes) => Object.keys(objectOf(notes)).length <= 16, TOO_MANY_NOTES),
      tools: where(toolsOf, ({ length }) => length <= 128, TOO_MANY_TOOLS)
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
  return shared.chosen(stringOf(unnamed ? type : name), tools)
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

/** Checks a Responses request as the clouds do. Throws a `Refusal`. */
export const readResponses = ({ body, model }: shared.GptRequest) => {
  const asked = requestOf(model)(body, "")
  const { effort = model.defaultEffort, summary, generate_summary } = asked.reasoning ?? {}
  const brought = arrayOf(body.input).map((item) => toolsOf(objectOf(item).tools ?? [], "input"))
  const tools = [asked.tools ?? [], ...brought].flat(2)
  const included = arrayOf(asked.include)
  checkStored(arrayOf(body.input))
  checkStrict(body.tools, objectOf(body.text).format, "text.format.schema")
  checkPairs(asked.input.flatMap(({ parts }) => parts))
  insist(
    {
      // Instructions are no message.
      "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'.":
        asked.text?.format !== "json" || asked.input.some(({ parts }) => /json/i.test(textIn(parts)))
    },
    "input"
  )
  shared.checkSampling(body, "temperature top_p top_logprobs", model, effort)
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
  const tooLong = "Your input exceeds the context window of this model. Please adjust your input and try again."
  if (asked.truncation !== "auto") shared.checkLength(read.promptTokens, model, tooLong, "input")
  const likely = included.includes("message.output_text.logprobs")
  const alternatives = likely ? Number(asked.top_logprobs ?? 0) : undefined
  const encrypted = included.includes("reasoning.encrypted_content")
  const turn = { ...read.turn, tools: allowedOf(asked.tool_choice, tools) }
  return { ...read, turn, tools, effort, alternatives, encrypted, shown: (summary ?? generate_summary) !== undefined }
}
export type Read = ReturnType<typeof readResponses>
