/** What a Responses request may be, and what it asks. */
import type { Tool, Turn } from "../answer.ts"
import { noDirectives, readDirectives } from "../directives.ts"
import { type JsonObject, listOf, objectOf, objectsOf, stringOf } from "../json.ts"
import { describe, resultText } from "../media.ts"
import type { GptModel } from "../models.ts"
import { countTokens } from "../tokens.ts"
import { checkInput, isCall, isOutput, itemTokens, partsOf, textIn, typeOf } from "./responsesInput.ts"
import { anything, closed, free, list, type Shape, text, variant } from "./shape.ts"
import { checkSampling, effortOf, imageOf, insist, OpenAiRefusal, toolOf } from "./shared.ts"

/** A checked Responses request. */
export interface ResponsesRequest {
  readonly turn: Turn
  readonly inputTokens: number
  readonly stream: boolean
  readonly effort: string
  readonly summary: boolean
  readonly encrypted: boolean
  readonly logprobs: boolean
  /** What calls of a tool are like, by its name. */
  readonly kinds: ReadonlyMap<string, ToolKind>
}

/** The type of a tool; those without a name go by it. */
export interface ToolKind {
  readonly type: string
  readonly namespace: string | undefined
}

/** Tools without a name. */
const unnamed: ReadonlySet<string> = new Set(["local_shell", "apply_patch", "shell"])

const choiceOf = (body: JsonObject, tools: ReadonlyArray<Tool>): Turn["choice"] => {
  const choice = body.tool_choice
  if (choice === undefined || choice === null) return "auto"
  if (choice === "auto" || choice === "none" || choice === "required") {
    insist(
      choice !== "required" || tools.length > 0,
      "Tool choice 'required' must be specified with 'tools' parameter.",
      "tool_choice"
    )
    return choice
  }
  const { type, name: named, mode } = objectOf(choice)
  if (type === "allowed_tools") return mode === "required" ? "required" : "auto"
  const name = unnamed.has(stringOf(type)) ? stringOf(type) : stringOf(named)
  insist(
    tools.some((tool) => tool.name === name),
    `Tool choice '${name}' not found in 'tools' parameter.`,
    "tool_choice"
  )
  return { name }
}

const formatOf = (body: JsonObject): Turn["format"] => {
  const format = objectOf(objectOf(body.text).format)
  if (format.type === "json_object") return "json"
  return format.type === "json_schema" ? objectOf(format.schema) : undefined
}

const callable = {
  function: closed(free("type", "name", "description", "parameters", "strict", "defer_loading")),
  custom: closed(free("type", "name", "description", "format", "defer_loading"))
}
/** Tools that the caller executes; the clouds are not asked for others. */
const toolShapes: Readonly<Record<string, Shape>> = {
  ...callable,
  namespace: closed({ ...free("type", "name", "description"), tools: list(variant("type", callable)) }),
  local_shell: closed(free("type")),
  apply_patch: closed(free("type")),
  shell: closed({
    type: anything,
    "environment!": (value, path) =>
      insist(
        objectOf(value).type === "local",
        "This model does not support hosted shells.",
        path,
        "unsupported_parameter"
      )
  })
}
const parameters = closed({
  ...free("model", "input", "instructions", "tool_choice", "max_output_tokens", "temperature", "top_p", "top_logprobs"),
  ...free("parallel_tool_calls", "metadata", "stream", "stream_options", "store", "include", "truncation", "user"),
  ...free("safety_identifier", "prompt_cache_key", "prompt_cache_retention", "max_tool_calls", "service_tier"),
  // Codex sends it to every provider, and Azure takes it.
  ...free("client_metadata"),
  previous_response_id: (id) => {
    const message = `Previous response with id '${String(id)}' not found.`
    throw new OpenAiRefusal(message, "previous_response_id", "previous_response_not_found")
  },
  background: (value) =>
    insist(value === false, "Background mode is not available.", "background", "unsupported_parameter"),
  reasoning: closed(free("effort", "summary", "generate_summary")),
  text: closed({
    verbosity: anything,
    format: variant("type", {
      text: anything,
      json_object: anything,
      json_schema: closed({ "name!": text, ...free("type", "description", "schema", "strict") })
    })
  }),
  tools: list(variant("type", toolShapes))
})

type Listed = readonly [tool: Tool, kind: ToolKind]

const listed = (given: JsonObject["tools"], path: string, namespace: string | undefined): ReadonlyArray<Listed> =>
  objectsOf(given).flatMap((tool, index): ReadonlyArray<Listed> => {
    const type = stringOf(tool.type)
    const at = `${path}[${index}]`
    if (type === "namespace") return listed(tool.tools, `${at}.tools`, stringOf(tool.name))
    if (!unnamed.has(type)) return [[toolOf(tool, at), { type, namespace }]]
    return [
      [
        { name: type, description: "", schema: {} },
        { type, namespace }
      ]
    ]
  })

const toolsOf = (body: JsonObject) => {
  const all = listed(body.tools, "tools", undefined)
  return { tools: all.map(([tool]) => tool), kinds: new Map(all.map(([{ name }, kind]) => [name, kind])) }
}

const limitOf = (body: JsonObject, model: GptModel): number | undefined => {
  const limit = body.max_output_tokens
  if (limit === undefined || limit === null) return undefined
  if (typeof limit !== "number" || !Number.isInteger(limit) || limit < 16) {
    throw new OpenAiRefusal(
      "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16.",
      "max_output_tokens",
      "integer_below_min_value"
    )
  }
  insist(
    limit <= model.maxOutput,
    `Invalid 'max_output_tokens': integer above maximum value. Expected a value <= ${model.maxOutput}.`,
    "max_output_tokens",
    "integer_above_max_value"
  )
  return limit
}

/** Checks a Responses request as the clouds do, and reads what it asks. Throws an `OpenAiRefusal`. */
export const readResponses = (body: JsonObject, model: GptModel): ResponsesRequest => {
  parameters(body, "")
  insist(
    typeof body.input === "string" || Array.isArray(body.input),
    "Missing required parameter: 'input'.",
    "input",
    "missing_required_parameter"
  )
  const items = typeof body.input === "string" ? [{ role: "user", content: body.input }] : objectsOf(body.input)
  checkInput(items, model)
  const reasoning = objectOf(body.reasoning)
  const effort = effortOf(reasoning.effort, "reasoning.effort", model)
  checkSampling(body, ["temperature", "top_p", "top_logprobs"], model, effort)
  const { tools, kinds } = toolsOf(body)

  const messages = items.filter((item) => typeOf(item) === "message")
  const users = messages.filter((item) => item.role === "user")
  const last = items.at(-1)
  const speaks = last !== undefined && typeOf(last) === "message" && last.role === "user"
  const names = new Map(items.filter(isCall).map((item) => [stringOf(item.call_id), stringOf(item.name)]))
  const answered = items.findLastIndex((item) => !isOutput(item))
  const systems = messages.filter((item) => item.role === "system" || item.role === "developer").map(textIn)
  const instructions = [stringOf(body.instructions), ...systems].filter((text) => text !== "").join("\n")
  return {
    stream: body.stream === true,
    effort,
    summary: (reasoning.summary ?? reasoning.generate_summary ?? null) !== null,
    encrypted: listOf(body.include).includes("reasoning.encrypted_content"),
    logprobs: listOf(body.include).includes("message.output_text.logprobs"),
    kinds,
    inputTokens:
      countTokens(stringOf(body.instructions)) +
      items.reduce((sum, item) => sum + itemTokens(item), 3) +
      (tools.length === 0 ? 0 : countTokens(JSON.stringify(body.tools))),
    turn: {
      model: model.base,
      prompt: readDirectives(textIn(users.at(-1))).rest,
      instructions,
      turns: users.length,
      media: (speaks ? partsOf(last.content) : [])
        .filter((part) => part.type === "input_image")
        .map((part) => imageOf(stringOf(part.image_url), "input", model))
        .map(({ type, bytes }) => describe(type, bytes)),
      results: items
        .slice(answered + 1)
        .map((item) => ({ name: names.get(stringOf(item.call_id)) ?? "", content: resultText(item.output) })),
      tools,
      choice: choiceOf(body, tools),
      format: formatOf(body),
      thinks: effort !== "none",
      limit: limitOf(body, model),
      stops: [],
      directives: speaks ? readDirectives(textIn(last)) : noDirectives
    }
  }
}
