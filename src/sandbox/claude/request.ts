/** A request to Claude: what each parameter may be on a platform and for a model, what they rule out, and what they ask. */
import { invalid } from "../http.ts"
import { arrayOf, type JsonObject, objectOf, stringOf } from "../json.ts"
import type { ClaudeModel } from "../models.ts"
import { anything, reads, type Shape } from "../shape.ts"
import { readTurn, type Tool, type Turn } from "../turn.ts"
import { cache, checkMessages, filled, messagesOf } from "./messages.ts"
import { closed, dictionary, enforced, insist, list, matching, number, oneOf, variant, where, whole } from "./shape.ts"

/** Where a request came in, and what came beside its body. */
export interface ClaudeContext {
  readonly platform: "vertex" | "bedrock"
  readonly model: ClaudeModel
  readonly betas: ReadonlyArray<string>
  readonly counting: boolean
}

/** Thinking between tool calls, with a budget that may be over the limit of the output. */
const INTERLEAVED = "interleaved-thinking-2025-05-14"

const shared = [
  ...["compact-2026-01-12", "computer-use-2025-01-24", "computer-use-2025-11-24", "context-1m-2025-08-07"],
  ...["context-management-2025-06-27", "dangerous-tool-use-2026-09-03", "thinking-binding-controls-2026-08-01"],
  ...["tool-search-tool-2025-10-19", "thinking-display-updates-2026-08-18"]
]
const knownBetas = {
  vertex: [...shared, "compact-2026-09-04", "per-turn-control-2026-07-01", "web-search-2025-03-05"],
  bedrock: [
    ...[...shared, "effort-2025-11-24", "fine-grained-tool-streaming-2025-05-14"],
    ...["mid-conversation-output-config-2026-07-01", "mid-conversation-tool-changes-2026-07-01"]
  ]
}

/** Refuses betas that the platform or the model does not know. */
const checkBetas = ({ platform, model, betas: asked, counting }: ClaudeContext): void => {
  const unknown = asked.find((beta) =>
    beta === INTERLEAVED ? !model.interleaves : counting || !knownBetas[platform].includes(beta)
  )
  if (unknown === undefined) return
  const words = `Unexpected value(s) \`${unknown}\` for the \`anthropic-beta\` header. Please consult our documentation.`
  throw invalid(platform === "bedrock" ? "invalid beta flag" : words)
}

/** The API version that takes less: no sampling, no documents of the assistant. */
const NEWEST = "2026-10-21"
const versions = { vertex: "vertex-2023-10-16", bedrock: "bedrock-2023-05-31" }

/** Prompt tokens that thinking with a budget adds. */
const BUDGET_OVERHEAD = 29

const serverTool = /^(?:web_search|bash|text_editor|computer|tool_search_tool|memory)_/

const toolOf = (platform: string, version: number, betas: ReadonlyArray<string>): Shape<Tool> => {
  const custom = closed("type description", {
    "name!": matching(/^[a-zA-Z0-9_-]{1,128}$/),
    "input_schema!": reads(dictionary, (schema, path) => {
      oneOf(["object"])(schema.type, `${path}.type`)
      return schema
    }),
    cache_control: cache,
    defer_loading: betas.includes("tool-search-tool-2025-10-19") && anything,
    strict: (platform === "vertex" || version < 4.7) && anything
  })
  return reads(dictionary, (tool, path) => {
    const type = stringOf(tool.type)
    if (type === "" || type === "custom") {
      const { name, description, input_schema: schema, strict } = custom(tool, `${path}.custom`)
      if (strict === true) enforced(schema, `${path}.custom.input_schema`)
      return { name, description: stringOf(description), schema }
    }
    if (tool.cache_control !== undefined) cache(tool.cache_control, `${path}.custom.cache_control`)
    const known = serverTool.test(type) && !(platform === "bedrock" && type.startsWith("web_search"))
    insist({ [`tool type '${type}' is not supported for this model`]: known })
    return { name: stringOf(tool.name), description: type, schema: {} }
  })
}

const thinking = variant<{ readonly type?: unknown; readonly display?: unknown; readonly budget_tokens?: number }>(
  "type",
  {
    adaptive: closed("type display"),
    disabled: closed("type"),
    enabled: closed("type display", { "budget_tokens!": whole(1024) })
  }
)
const isBlank = (stop: unknown): boolean => typeof stop === "string" && stop.trim() === ""
const share = where(number, (value) => ({ "range: 0..1": value >= 0 && value <= 1 }))
const system = list(closed("type citations", { "text!": filled("system"), cache_control: cache }))
const choice = variant<Turn["choice"]>("type", {
  auto: reads(closed("type disable_parallel_tool_use"), () => "auto"),
  any: reads(closed("type disable_parallel_tool_use"), () => "required"),
  tool: reads(closed("type name disable_parallel_tool_use"), ({ name }) => ({ name: stringOf(name) })),
  none: reads(closed("type"), () => "none")
})
const format: Shape<JsonObject> = (value, path) => {
  enforced(objectOf(value).schema, `${path}.schema`)
  return objectOf(value)
}

const requestOf = ({ platform, model, betas, counting }: ClaudeContext, strict: boolean) => {
  const { version, efforts } = model
  // What Vertex AI counts has none of the parameters of an answer.
  const answers = !counting || platform === "bedrock"
  // Sources: AWS's and Google's pages on structured outputs of Claude.
  const native = platform === "bedrock" ? version >= 4.5 && version < 4.7 : version >= 4.6
  const output = { effort: efforts.length > 0 && oneOf(efforts), format: native && format }
  return closed("anthropic_version!", {
    "messages!": messagesOf(strict, platform === "vertex" && version >= 4.8),
    "max_tokens!": answers && whole(1),
    model: !answers && anything,
    system: (value, path) => (typeof value === "string" ? [{ text: value }] : system(value, path)),
    thinking,
    tools: list(toolOf(platform, version, betas)),
    tool_choice: choice,
    temperature: answers && share,
    top_p: answers && share,
    top_k: answers && anything,
    stop_sequences: answers && anything,
    metadata: answers && closed("user_id"),
    output_config: answers && (efforts.length > 0 || native) && closed("", output),
    stream: answers && platform === "vertex" && anything,
    anthropic_beta: answers && platform === "bedrock" && anything,
    context_management: answers && betas.some((beta) => /^(?:context-management|compact)-/.test(beta)) && anything
  })
}

type Asked = ReturnType<ReturnType<typeof requestOf>>

/** Whether the model is made to call a tool. */
const isForced = (choice: Turn["choice"] | undefined): boolean => choice === "required" || typeof choice === "object"

/** How the model thinks: as it is asked to, or unasked. */
const modeOf = ({ thinking, tool_choice: choice }: Asked, { thinksUnasked }: ClaudeModel) => {
  const { type = thinksUnasked && !isForced(choice) ? "adaptive" : "disabled" } = thinking ?? {}
  return type === "enabled" ? "budgeted" : type === "adaptive" ? "adaptive" : "off"
}

/** What a request may not ask together, of this model and on this platform. */
const check = (asked: Asked, { platform, model, betas, counting }: ClaudeContext, strict: boolean): void => {
  const { thinking: { type, budget_tokens: budget } = {}, tools = [], temperature, top_p, top_k } = asked
  const mode = modeOf(asked, model)
  const forced = isForced(asked.tool_choice)
  const { version, maxOutputTokens: most } = model
  const limit = Number(asked.max_tokens ?? 0)
  const effort = asked.output_config?.effort ?? ""
  const tired = version >= 5 && model.adaptive && (effort === "xhigh" || effort === "max")
  const wide = counting || (betas.includes(INTERLEAVED) && model.interleaves)
  const name = typeof asked.tool_choice === "object" ? asked.tool_choice.name : undefined
  const names = tools.map((tool) => tool.name)
  const [sampling] = Object.entries({ temperature, top_p, top_k }).find(([, value]) => value !== undefined) ?? []
  const current = platform === "vertex" || version >= 4.7
  const known = strict ? current : asked.anthropic_version === versions[platform]
  const disabled = `"thinking.type.disabled" is not supported for this model`
  insist({
    [`anthropic_version: "${asked.anthropic_version}" is not a valid version for this model`]: known,
    [`max_tokens: ${limit} > ${most}, which is the maximum allowed number of output tokens for ${model.id}`]:
      limit <= most,
    "stop_sequences: each stop sequence must contain non-whitespace": !arrayOf(asked.stop_sequences).some(isBlank),
    "adaptive thinking is not supported on this model": type !== "adaptive" || model.adaptive,
    '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.':
      type !== "enabled" || model.budgeted,
    [`${disabled} with effort ${effort}.`]: type !== "disabled" || !tired,
    [`${disabled}.`]: type !== "disabled" || model.thinking.optional,
    "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation.":
      budget === undefined || budget < limit || wide,
    "tools: Tool names must be unique.": new Set(names).size === names.length,
    "tool_choice: tool_choice may only be specified while providing tools.":
      asked.tool_choice === undefined || names.length > 0,
    "Thinking may not be enabled when tool_choice forces tool use.": !forced || mode === "off",
    "tool_choice forces tool use is not supported for this model.": !forced || model.forcedToolChoice !== "never",
    [`Tool '${name}' not found in provided tools`]: name === undefined || names.includes(name),
    [`${sampling}: Extra inputs are not permitted`]: !strict || sampling === undefined,
    [`\`${sampling}\` is deprecated for this model.`]: model.sampling !== "never" || sampling === undefined,
    "`temperature` and `top_p` cannot both be specified for this model. Please use only one.":
      version < 4.5 || temperature === undefined || top_p === undefined,
    "`temperature` may only be set to 1 when thinking is enabled.": mode === "off" || (temperature ?? 1) === 1,
    "`top_k` must be unset when thinking is enabled.": mode === "off" || top_k === undefined,
    "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.":
      mode === "off" || (top_p ?? 1) >= 0.95
  })
  checkMessages(asked.messages, mode === "off" && version < 4.6, mode === "budgeted")
}

/** Checks a Messages request as the platform does, and reads what it asks. Throws a `Refusal`. */
export const readClaude = (body: JsonObject, context: ClaudeContext) => {
  const { platform, model } = context
  checkBetas(context)
  const empty = platform === "bedrock" ? Object.keys(body).find((name) => body[name] === null) : undefined
  insist({
    [`Malformed input request: #/${empty}: expected type: Object, found: Null, please reformat your input and try again.`]:
      empty === undefined
  })
  const strict = body.anthropic_version === NEWEST
  const asked = requestOf(context, strict)(body, "")
  check(asked, context, strict)
  const { tools = [], tool_choice: choice = "auto", system = [], output_config: output } = asked
  const mode = modeOf(asked, model)
  const { turn, promptTokens } = readTurn(asked.messages, {
    model: model.id,
    instructions: system.map(({ text }) => text).join("\n"),
    tools,
    choice,
    format: output?.format && objectOf(output.format.schema),
    thinks: mode !== "off",
    limit: asked.max_tokens,
    stops: arrayOf(asked.stop_sequences).filter((stop) => typeof stop === "string")
  })
  const overhead =
    tools.length === 0 || choice === "none" ? 0 : model.toolOverhead[isForced(choice) ? "forced" : "free"]
  const budget = mode === "budgeted" ? BUDGET_OVERHEAD : 0
  const display = asked.thinking?.display ?? (model.hidesThinking ? "omitted" : "summarized")
  return {
    turn,
    inputTokens: Math.ceil(promptTokens * model.tokenFactor) + overhead + budget,
    showsThinking: display === "summarized"
  }
}

/** A checked request: what it asks, what its prompt costs, and whether its thinking is shown. */
export type ClaudeRequest = ReturnType<typeof readClaude>
