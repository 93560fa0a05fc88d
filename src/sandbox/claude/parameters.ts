import type { Tool, Turn } from "../answer.ts"
import { check, Refusal } from "../http.ts"
import { isObject, type JsonObject, objectOf, objectsOf, stringOf } from "../json.ts"
import type { ClaudeModel } from "../models.ts"
import { checkCache, onlyFields } from "./messages.ts"

/** Where a request came in, and what came beside its body. */
export interface ClaudeContext {
  readonly platform: "vertex" | "bedrock"
  readonly model: ClaudeModel
  readonly betas: ReadonlyArray<string>
  readonly counting: boolean
}

const INTERLEAVED = "interleaved-thinking-2025-05-14"

const shared = [
  "compact-2026-01-12",
  "computer-use-2025-01-24",
  "computer-use-2025-11-24",
  "context-1m-2025-08-07",
  "context-management-2025-06-27"
]
const recent = [
  "dangerous-tool-use-2026-09-03",
  "thinking-binding-controls-2026-08-01",
  "tool-search-tool-2025-10-19",
  "thinking-display-updates-2026-08-18"
]
const betas = {
  vertex: [...shared, ...recent, "compact-2026-09-04", "per-turn-control-2026-07-01", "web-search-2025-03-05"],
  bedrock: [
    ...shared,
    ...recent,
    "effort-2025-11-24",
    "fine-grained-tool-streaming-2025-05-14",
    "mid-conversation-output-config-2026-07-01",
    "mid-conversation-tool-changes-2026-07-01"
  ]
}

/** The API versions that each platform takes. */
export const versions = { vertex: ["vertex-2023-10-16", "2026-10-21"], bedrock: ["bedrock-2023-05-31", "2026-10-21"] }

/** Refuses betas that the platform or the model does not know. */
export const checkBetas = ({ platform, model, betas: asked, counting }: ClaudeContext): void => {
  for (const beta of asked) {
    const known = beta === INTERLEAVED ? model.interleaves : !counting && betas[platform].includes(beta)
    if (known) continue
    if (platform === "bedrock") throw new Refusal(400, "invalid beta flag")
    throw new Refusal(
      400,
      `Unexpected value(s) \`${beta}\` for the \`anthropic-beta\` header. Please consult our documentation.`
    )
  }
}

/** The fields that a request may have at its top level. */
export const topFields = ({ platform, model, betas: asked, counting }: ClaudeContext): ReadonlyArray<string> => {
  const counted = ["anthropic_version", "messages", "system", "tools", "tool_choice", "thinking"]
  if (counting && platform === "vertex") return [...counted, "model"]
  return [
    ...counted,
    ...["max_tokens", "temperature", "top_p", "top_k", "stop_sequences", "metadata"],
    platform === "vertex" ? "stream" : "anthropic_beta",
    ...(outputFields({ platform, model }).length > 0 ? ["output_config"] : []),
    ...(asked.some((beta) => /^(?:context-management|compact)-/.test(beta)) ? ["context_management"] : [])
  ]
}

/** Reads a required integer. */
export const integer = (body: JsonObject, name: string): number => {
  const value = body[name]
  check(value !== undefined, `${name}: Field required`)
  if (typeof value !== "number" || !Number.isInteger(value))
    throw new Refusal(400, `${name}: Input should be a valid integer`)
  return value
}

/** Checks sampling parameters, which newer models and thinking rule out. */
export const checkSampling = (body: JsonObject, model: ClaudeModel, thinks: boolean): void => {
  const { temperature, top_p: topP, top_k: topK } = body
  for (const [name, value] of Object.entries({ temperature, top_p: topP })) {
    if (value === undefined) continue
    check(typeof value === "number", `${name}: Input should be a valid number`)
    check(typeof value !== "number" || (value >= 0 && value <= 1), `${name}: range: 0..1`)
  }
  const given = Object.entries({ temperature, top_p: topP, top_k: topK }).find(([, value]) => value !== undefined)
  if (body.anthropic_version === "2026-10-21")
    check(given === undefined, `${given?.[0]}: Extra inputs are not permitted`)
  if (!model.sampling) check(given === undefined, `\`${given?.[0]}\` is deprecated for this model.`)
  check(
    model.version < 4.5 || temperature === undefined || topP === undefined,
    "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
  )
  if (!thinks) return
  check(temperature === undefined || temperature === 1, "`temperature` may only be set to 1 when thinking is enabled.")
  check(topK === undefined, "`top_k` must be unset when thinking is enabled.")
  check(
    typeof topP !== "number" || topP >= 0.95,
    "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled."
  )
}

/** Reads and checks `thinking`. */
export const thinkingOf = (
  body: JsonObject,
  { model, betas: asked, counting }: ClaudeContext
): "off" | "budgeted" | "adaptive" => {
  const thinking = body.thinking
  if (thinking === undefined) return model.thinksUnasked ? "adaptive" : "off"
  if (!isObject(thinking)) throw new Refusal(400, "thinking: Input should be a valid dictionary")
  const effort = stringOf(objectOf(body.output_config).effort)
  switch (thinking.type) {
    case "disabled":
      onlyFields(thinking, ["type"], "thinking.disabled")
      check(
        model.version < 5 || !model.adaptive || !["xhigh", "max"].includes(effort),
        `"thinking.type.disabled" is not supported for this model with effort ${effort}.`
      )
      check(model.optional, `"thinking.type.disabled" is not supported for this model.`)
      return "off"
    case "adaptive":
      onlyFields(thinking, ["type", "display"], "thinking.adaptive")
      check(model.adaptive, "adaptive thinking is not supported on this model")
      return "adaptive"
    case "enabled": {
      onlyFields(thinking, ["type", "budget_tokens", "display"], "thinking.enabled")
      check(
        model.budgeted,
        `"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`
      )
      const budget = integer(thinking, "budget_tokens")
      check(budget >= 1024, "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
      check(
        counting || budget < integer(body, "max_tokens") || (asked.includes(INTERLEAVED) && model.interleaves),
        "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation."
      )
      return "budgeted"
    }
    default:
      throw new Refusal(
        400,
        `thinking: Input tag '${String(thinking.type)}' found using 'type' does not match any of the expected tags: 'adaptive', 'disabled', 'enabled'`
      )
  }
}

const serverTool = /^(?:web_search|bash|text_editor|computer|tool_search_tool|memory)_/

/** Reads and checks the tools. */
export const toolsOf = (body: JsonObject, { platform, model, betas: asked }: ClaudeContext): ReadonlyArray<Tool> => {
  const listed = body.tools
  check(listed === undefined || Array.isArray(listed), "tools: Input should be a valid list")
  const tools = objectsOf(listed).map((tool, index): Tool => {
    const path = `tools.${index}.custom`
    const type = stringOf(tool.type)
    checkCache(tool, path)
    if (type !== "" && type !== "custom") {
      check(
        serverTool.test(type) && !(platform === "bedrock" && type.startsWith("web_search")),
        `tool type '${type}' is not supported for this model`
      )
      return { name: stringOf(tool.name), description: type, schema: {} }
    }
    const optional = [
      ...(asked.includes("tool-search-tool-2025-10-19") ? ["defer_loading"] : []),
      ...(platform === "vertex" || model.version < 4.7 ? ["strict"] : [])
    ]
    onlyFields(tool, ["type", "name", "description", "input_schema", "cache_control", ...optional], path)
    check(
      /^[a-zA-Z0-9_-]{1,128}$/.test(stringOf(tool.name)),
      `${path}.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`
    )
    check(isObject(tool.input_schema), `${path}.input_schema: Field required`)
    const schema = objectOf(tool.input_schema)
    check(schema.type === "object", `${path}.input_schema.type: Input should be 'object'`)
    if (tool.strict === true) checkEnforced(schema, `${path}.input_schema`)
    return { name: stringOf(tool.name), description: stringOf(tool.description), schema }
  })
  check(new Set(tools.map((tool) => tool.name)).size === tools.length, "tools: Tool names must be unique.")
  return tools
}

/** Reads and checks `tool_choice`. */
export const choiceOf = (
  body: JsonObject,
  tools: ReadonlyArray<Tool>,
  thinks: boolean,
  context: ClaudeContext
): Turn["choice"] => {
  const choice = body.tool_choice
  if (choice === undefined) return "auto"
  if (!isObject(choice)) throw new Refusal(400, "tool_choice: Input should be a valid dictionary")
  const type = stringOf(choice.type)
  check(tools.length > 0, "tool_choice: tool_choice may only be specified while providing tools.")
  const parallel = type === "none" ? [] : ["disable_parallel_tool_use"]
  onlyFields(choice, ["type", ...(type === "tool" ? ["name"] : []), ...parallel], `tool_choice.${type}`)
  check(
    ["auto", "any", "tool", "none"].includes(type),
    `tool_choice: Input tag '${type}' found using 'type' does not match any of the expected tags: 'auto', 'any', 'tool', 'none'`
  )
  if (type === "auto" || type === "none") return type
  check(!thinks, "Thinking may not be enabled when tool_choice forces tool use.")
  check(context.model.forcedToolChoice, "tool_choice forces tool use is not supported for this model.")
  if (type === "any") return "required"
  const name = stringOf(choice.name)
  check(
    tools.some((tool) => tool.name === name),
    `Tool '${name}' not found in provided tools`
  )
  return { name }
}

/** What `output_config` may hold. Sources: AWS's and Google's pages on structured outputs of Claude. */
const outputFields = ({ platform, model }: Pick<ClaudeContext, "platform" | "model">): ReadonlyArray<string> => {
  const native = platform === "bedrock" ? model.version >= 4.5 && model.version < 4.7 : model.version >= 4.6
  return [...(model.efforts.length > 0 ? ["effort"] : []), ...(native ? ["format"] : [])]
}

/** Checks `output_config`; its JSON Schema, where it has one. */
export const checkOutput = (body: JsonObject, { platform, model }: ClaudeContext): JsonObject | undefined => {
  const config = objectOf(body.output_config)
  onlyFields(config, outputFields({ platform, model }), "output_config")
  const effort = config.effort
  check(
    effort === undefined || model.efforts.includes(stringOf(effort)),
    `output_config.effort: Input should be ${model.efforts.map((one) => `'${one}'`).join(", ")}`
  )
  if (config.format === undefined) return undefined
  const schema = objectOf(objectOf(config.format).schema)
  checkEnforced(schema, "output_config.format.schema")
  return schema
}

/** Keywords that no schema may have which the model is held to. */
const unenforced =
  /^(?:minimum|maximum|exclusive\w+|multipleOf|minLength|maxLength|pattern|maxItems|uniqueItems|oneOf|not|if|patternProperties)$/

/** Checks a schema that the model is held to: closed objects, and only what can be enforced. */
const checkEnforced = (schema: JsonObject, path: string): void => {
  check(
    schema.type !== "object" || schema.additionalProperties === false,
    `${path}: For 'object' type, 'additionalProperties' must be explicitly set to false`
  )
  for (const [keyword, value] of Object.entries(schema)) {
    check(
      !unenforced.test(keyword),
      `${path}: For '${stringOf(schema.type)}' type, property '${keyword}' is not supported`
    )
    if (keyword === "items" && isObject(value)) checkEnforced(value, `${path}.items`)
    if (keyword === "properties" || keyword === "$defs") {
      for (const [name, inner] of Object.entries(objectOf(value))) {
        if (isObject(inner)) checkEnforced(inner, `${path}.${keyword}.${name}`)
      }
    }
  }
}
