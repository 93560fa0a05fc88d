/** A request to Claude: what each parameter may be on a platform and for a model, what they rule out, and what they ask. */
import { type JsonObject, listOf, objectOf, stringOf } from "../json.ts"
import type { ClaudeModel } from "../models.ts"
import { anything, reads, type Shape } from "../shape.ts"
import { readTurn, type Tool, type Turn } from "../turn.ts"
import { type ClaudeContext, checkBetas, INTERLEAVED } from "./betas.ts"
import { cache, checkMessages, filled, messagesOf } from "./messages.ts"
import {
  closed,
  dictionary,
  enforced,
  insist,
  list,
  matching,
  number,
  oneOf,
  rule,
  variant,
  where,
  whole
} from "./shape.ts"

const versions = { vertex: ["vertex-2023-10-16", "2026-10-21"], bedrock: ["bedrock-2023-05-31", "2026-10-21"] }

const serverTool = /^(?:web_search|bash|text_editor|computer|tool_search_tool|memory)_/

const toolOf = ({ platform, model, betas: asked }: ClaudeContext): Shape<Tool> => {
  const custom = closed("type description", {
    "name!": matching(/^[a-zA-Z0-9_-]{1,128}$/),
    "input_schema!": reads(dictionary, (schema, path) => {
      oneOf(["object"])(schema.type, `${path}.type`)
      return schema
    }),
    cache_control: cache,
    defer_loading: asked.includes("tool-search-tool-2025-10-19") && anything,
    strict: (platform === "vertex" || model.version < 4.7) && anything
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

const thinkingOf = ({ adaptive, budgeted }: ClaudeModel) =>
  variant<{ readonly type?: unknown; readonly display?: unknown; readonly budget_tokens?: number }>("type", {
    adaptive: rule(closed("type display"), () => ({ "adaptive thinking is not supported on this model": adaptive })),
    disabled: closed("type"),
    enabled: reads(
      rule(anything, () => ({
        '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.':
          budgeted
      })),
      closed("type display", { "budget_tokens!": whole(1024) })
    )
  })

const share = where(number, (value) => ({ "range: 0..1": value >= 0 && value <= 1 }))
const system = list(closed("type citations", { "text!": filled("system"), cache_control: cache }))
const choice = closed("type disable_parallel_tool_use")
const format: Shape<JsonObject> = (value, path) => {
  enforced(objectOf(value).schema, `${path}.schema`)
  return objectOf(value)
}

const requestOf = (context: ClaudeContext, strict: boolean) => {
  const { platform, model, betas: asked, counting } = context
  const { version, efforts, maxOutput } = model
  // What Vertex AI counts has none of the parameters of an answer.
  const answers = !counting || platform === "bedrock"
  // Sources: AWS's and Google's pages on structured outputs of Claude.
  const native = platform === "bedrock" ? version >= 4.5 && version < 4.7 : version >= 4.6
  return closed("", {
    "anthropic_version!": where(anything, (value) => ({
      [`"${String(value)}" is not a valid version for this model`]:
        versions[platform].includes(stringOf(value)) && !(strict && platform === "bedrock" && version < 4.7)
    })),
    "messages!": messagesOf({ strict, systemTurns: platform === "vertex" && version >= 4.8 }),
    "max_tokens!":
      answers &&
      where(whole(1), (value) => ({
        [`${value} > ${maxOutput}, which is the maximum allowed number of output tokens for ${model.base}`]:
          value <= maxOutput
      })),
    model: !answers && anything,
    system: (value, path) => (typeof value === "string" ? [{ text: value }] : system(value, path)),
    thinking: thinkingOf(model),
    tools: list(toolOf(context)),
    tool_choice: variant("type", {
      auto: choice,
      any: choice,
      tool: closed("type name disable_parallel_tool_use"),
      none: closed("type")
    }),
    temperature: answers && share,
    top_p: answers && share,
    top_k: answers && anything,
    stop_sequences:
      answers &&
      where(anything, (stops) => ({
        "each stop sequence must contain non-whitespace": !listOf(stops).some(
          (stop) => typeof stop === "string" && stop.trim() === ""
        )
      })),
    metadata: answers && closed("user_id"),
    output_config:
      answers &&
      (efforts.length > 0 || native) &&
      closed("", { effort: efforts.length > 0 && oneOf(efforts), format: native && format }),
    stream: answers && platform === "vertex" && anything,
    anthropic_beta: answers && platform === "bedrock" && anything,
    context_management: answers && asked.some((beta) => /^(?:context-management|compact)-/.test(beta)) && anything
  })
}

type Asked = ReturnType<ReturnType<typeof requestOf>>

/** Sampling parameters, which newer models and thinking rule out. */
const checkSampling = (asked: Asked, model: ClaudeModel, thinks: boolean, strict: boolean): void => {
  const { temperature, top_p, top_k } = asked
  const given = Object.entries({ temperature, top_p, top_k }).find(([, value]) => value !== undefined)?.[0]
  insist({
    [`${given}: Extra inputs are not permitted`]: !strict || given === undefined,
    [`\`${given}\` is deprecated for this model.`]: model.sampling || given === undefined,
    "`temperature` and `top_p` cannot both be specified for this model. Please use only one.":
      model.version < 4.5 || temperature === undefined || top_p === undefined,
    "`temperature` may only be set to 1 when thinking is enabled.":
      !thinks || temperature === undefined || temperature === 1,
    "`top_k` must be unset when thinking is enabled.": !thinks || top_k === undefined,
    "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.":
      !thinks || top_p === undefined || top_p >= 0.95
  })
}

/** How the model thinks: what is asked of it, and what it does unasked. */
const modeOf = (asked: Asked, { model, betas, counting }: ClaudeContext): "off" | "budgeted" | "adaptive" => {
  const { type, budget_tokens: budget } = asked.thinking ?? {}
  const effort = asked.output_config?.effort ?? ""
  const words = `"thinking.type.disabled" is not supported for this model`
  const high = model.version >= 5 && model.adaptive && ["xhigh", "max"].includes(effort)
  insist({
    [`${words} with effort ${effort}.`]: type !== "disabled" || !high,
    [`${words}.`]: type !== "disabled" || model.optional,
    "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation.":
      budget === undefined ||
      counting ||
      budget < Number(asked.max_tokens) ||
      (betas.includes(INTERLEAVED) && model.interleaves)
  })
  if (type === "disabled") return "off"
  if (type === "enabled") return "budgeted"
  return type === "adaptive" || model.thinksUnasked ? "adaptive" : "off"
}

const choiceOf = (
  { tools = [], tool_choice: asked, thinking }: Asked,
  mode: string,
  model: ClaudeModel
): Turn["choice"] => {
  if (asked === undefined) return "auto"
  const type = stringOf(asked.type)
  const name = "name" in asked ? String(asked.name) : ""
  const forced = type === "any" || type === "tool"
  insist({
    "tool_choice: tool_choice may only be specified while providing tools.": tools.length > 0,
    "Thinking may not be enabled when tool_choice forces tool use.":
      !forced || mode === "off" || thinking === undefined,
    "tool_choice forces tool use is not supported for this model.": !forced || model.forcedToolChoice,
    [`Tool '${name}' not found in provided tools`]: type !== "tool" || tools.some((tool) => tool.name === name)
  })
  if (type === "tool") return { name }
  return type === "any" ? "required" : type === "none" ? "none" : "auto"
}

const THINKING_OVERHEAD = 29

/** Checks a Messages request as the platform does, and reads what it asks. Throws a `Refusal`. */
export const readClaude = (body: JsonObject, context: ClaudeContext) => {
  const { platform, model } = context
  checkBetas(context)
  const empty = Object.keys(body).find((name) => body[name] === null)
  insist({
    [`Malformed input request: #/${empty}: expected type: Object, found: Null, please reformat your input and try again.`]:
      platform !== "bedrock" || empty === undefined
  })
  const strict = body.anthropic_version === "2026-10-21"
  const asked = requestOf(context, strict)(body, "")
  const { messages, tools = [], system = [], stop_sequences: stops } = asked
  const wanted = modeOf(asked, context)
  insist({ "tools: Tool names must be unique.": new Set(tools.map(({ name }) => name)).size === tools.length })
  const choice = choiceOf(asked, wanted, model)
  const forced = choice !== "auto" && choice !== "none"
  const mode = forced && asked.thinking === undefined ? "off" : wanted
  checkSampling(asked, model, mode !== "off", strict)
  checkMessages(messages, mode === "off" && model.version < 4.6, mode === "budgeted")
  const { turn, promptTokens } = readTurn(messages, {
    model: model.base,
    instructions: system.map(({ text }) => text).join("\n"),
    tools,
    choice,
    format: asked.output_config?.format && objectOf(asked.output_config.format.schema),
    thinks: mode !== "off",
    limit: asked.max_tokens,
    stops: listOf(stops).filter((stop) => typeof stop === "string")
  })
  const overhead = tools.length === 0 || choice === "none" ? 0 : model.toolOverhead[forced ? "forced" : "free"]
  const inputTokens =
    Math.ceil(promptTokens * model.tokenFactor) + overhead + (mode === "budgeted" ? THINKING_OVERHEAD : 0)
  const showsThinking = (asked.thinking?.display ?? (model.hidesThinking ? "omitted" : "summarized")) === "summarized"
  return { turn, inputTokens, showsThinking }
}

/** A checked request: what it asks, what its prompt costs, and whether its thinking is shown. */
export type ClaudeRequest = ReturnType<typeof readClaude>
