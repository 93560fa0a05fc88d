/** What a Responses request may be, and what it asks. */
import { Refusal } from "../http.ts"
import { arrayOf, type JsonObject, objectOf, stringOf } from "../json.ts"
import type { GptModel } from "../models.ts"
import { anything, type Shape } from "../shape.ts"
import { isSigned } from "../signature.ts"
import { type Message, type Part, readTurn, type Tool, type Turn } from "../turn.ts"
import {
  checkSampling,
  chosen,
  closed,
  contentOf,
  effortOf,
  filled,
  formatOf,
  imageOf,
  insist,
  list,
  never,
  sampling,
  text,
  textPart,
  tokens,
  toolOf,
  typed,
  variant,
  where
} from "./shape.ts"

/** What `encrypted_content` is made over. */
export const ENCRYPTED = "responses reasoning"

/** The kinds of tools that the caller executes: how calls of each are named, and where they say what is asked. */
export const kinds = {
  function: { call: "function_call", prefix: "fc", field: "arguments", named: true },
  custom: { call: "custom_tool_call", prefix: "ctc", field: "input", named: true },
  local_shell: { call: "local_shell_call", prefix: "lsh", field: "action", named: false },
  shell: { call: "shell_call", prefix: "sh", field: "action", named: false },
  apply_patch: { call: "apply_patch_call", prefix: "apc", field: "operation", named: false }
}
type Kind = keyof typeof kinds

/** Many take an item's ID for its `call_id`; the API tells them apart. */
const idOf = (prefix: string) =>
  typed(
    (id): id is string => stringOf(id).startsWith(prefix),
    (id) => `Invalid '{path}': '${stringOf(id)}'. Expected an ID that begins with '${prefix}'.`
  )

const callId = where(stringOf, ({ length }) => ({
  [`Invalid '{path}': string too long. Expected a string with maximum length 64, but got a string with length ${length} instead.`]:
    length <= 64
}))

const callOf = ({ prefix, field, named }: (typeof kinds)[Kind]): Shape<Message> => {
  const fields = { id: idOf(prefix), call_id: callId, [`${field}!`]: named ? text : anything }
  const shape: Shape<Readonly<Record<string, unknown>>> = closed(`type status ${named ? "name namespace" : ""}`, fields)
  return (value, path) => {
    const { call_id: id, name, [field]: asked } = shape(value, path)
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

const rs = { id: idOf("rs") }
const reasoning = closed("type status summary content encrypted_content", rs, (item): Message => {
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
  return (value, path) => {
    if (typeof value === "string") return [{ role: "user", parts: [{ text: value }] }]
    insist({ "Missing required parameter: 'input'.": Array.isArray(value) })
    return items(value, path)
  }
}

/** A tool with its kind, and the namespace that it is in. */
interface Listed {
  readonly tool: Tool
  readonly type: Kind
  readonly namespace?: string
}

const toolsOf =
  (type: Kind, shape: Shape): Shape<ReadonlyArray<Listed>> =>
  (value, path) => {
    shape(value, path)
    return [{ tool: kinds[type].named ? toolOf(value, path) : { name: type, description: "", schema: {} }, type }]
  }

const local = where(anything, (environment) => ({
  "This model does not support hosted shells.": objectOf(environment).type === "local"
}))
const callable = {
  function: toolsOf("function", closed("type name description parameters strict defer_loading")),
  custom: toolsOf("custom", closed("type name description format defer_loading"))
}
const inner = { tools: list(variant("type", callable)) }
/** Tools that the caller executes; the clouds are not asked for others. */
const tools = list(
  variant<ReadonlyArray<Listed>>("type", {
    ...callable,
    namespace: closed("type name description", inner, ({ name, tools = [] }) =>
      tools.flat().map((tool) => ({ ...tool, namespace: stringOf(name) }))
    ),
    local_shell: toolsOf("local_shell", closed("type")),
    apply_patch: toolsOf("apply_patch", closed("type")),
    shell: toolsOf("shell", closed("type", { "environment!": local }))
  })
)

const schema = closed("type description schema strict", { "name!": text }, ({ schema }) => objectOf(schema))

const requestOf = (model: GptModel) =>
  closed(
    "model instructions tool_choice top_logprobs parallel_tool_calls metadata stream stream_options store include user " +
      "truncation safety_identifier prompt_cache_key prompt_cache_retention max_tool_calls service_tier " +
      // Codex sends it to every provider, and Azure takes it.
      "client_metadata",
    {
      "input!": inputOf(model),
      max_output_tokens: where(tokens(16), (limit) => ({
        [`Invalid '{path}': integer above maximum value. Expected a value <= ${model.maxOutputTokens}.`]:
          limit <= model.maxOutputTokens
      })),
      ...sampling,
      previous_response_id: where(anything, (id) => ({
        [`Previous response with id '${String(id)}' not found.`]: false
      })),
      background: where(anything, (value) => ({ "Background mode is not available.": value === false })),
      reasoning: closed("summary generate_summary", { effort: effortOf(model) }),
      text: closed("verbosity", { format: formatOf(schema) }),
      tools
    }
  )

const choiceOf = (choice: unknown, tools: ReadonlyArray<Tool>): Turn["choice"] => {
  const { type, name, mode } = objectOf(choice)
  if (choice === "required")
    insist({ "Tool choice 'required' must be specified with 'tools' parameter.": tools.length > 0 }, "tool_choice")
  if (choice === "auto" || choice === "none" || choice === "required") return choice
  if (type === "allowed_tools") return mode === "required" ? "required" : "auto"
  const unnamed = Object.entries(kinds).some(([kind, { named }]) => kind === type && !named)
  return chosen(stringOf(unnamed ? type : name), tools)
}

/** Checks a Responses request as the clouds do, and reads what it asks. Throws a `Refusal`. */
export const readResponses = (body: JsonObject, model: GptModel) => {
  const asked = requestOf(model)(body, "")
  const { input, reasoning, tools: given = [], tool_choice: choice = "auto" } = asked
  const parts = input.flatMap(({ parts }) => parts)
  const called = new Set<string>()
  const stray = parts.find(({ call, result }) => {
    if (call !== undefined) called.add(call.id)
    return result !== undefined && !called.has(result.id)
  })
  const answered = new Set(parts.map(({ result }) => result?.id))
  const missing = [...called].find((id) => !answered.has(id))
  const pairs = {
    [`No tool call found for function call output with call_id ${stray?.result?.id}.`]: stray === undefined,
    [`No tool output found for function call ${missing}.`]: missing === undefined
  }
  insist(pairs, "input")
  const effort = reasoning?.effort ?? model.defaultEffort
  checkSampling(body, "temperature top_p top_logprobs", model, effort)
  const listed = given.flat()
  const tools = listed.map(({ tool }) => tool)
  const included = arrayOf(body.include)
  return {
    ...readTurn(input, {
      model: model.id,
      instructions: stringOf(asked.instructions),
      tools,
      choice: choiceOf(choice, tools),
      format: asked.text?.format,
      thinks: effort !== "none",
      limit: asked.max_output_tokens,
      stops: []
    }),
    effort,
    summary: (reasoning?.summary ?? reasoning?.generate_summary) !== undefined,
    encrypted: included.includes("reasoning.encrypted_content"),
    logprobs: included.includes("message.output_text.logprobs"),
    /** What calls of a tool are like, by its name. */
    kinds: new Map(listed.map(({ tool, type, namespace }) => [tool.name, { type, namespace }]))
  }
}

/** A checked Responses request. */
export type ResponsesRequest = ReturnType<typeof readResponses>
