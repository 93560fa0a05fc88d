/** The parameters of a request to Claude: what each may be on a platform and for a model, and what they rule out. */
import type { Tool, Turn } from "../answer.ts"
import { check } from "../http.ts"
import { type JsonObject, listOf, objectOf, objectsOf, stringOf } from "../json.ts"
import type { ClaudeModel } from "../models.ts"
import { all, anything, type Fields, free, type Shape } from "../shape.ts"
import { type ClaudeContext, checkBetas, INTERLEAVED } from "./context.ts"
import { enforced } from "./enforced.ts"
import { cache, filled } from "./messages.ts"
import { closed, dictionary, holds, list, matching, oneOf, refusal, rule, variant, whole } from "./shape.ts"

const versions = { vertex: ["vertex-2023-10-16", "2026-10-21"], bedrock: ["bedrock-2023-05-31", "2026-10-21"] }

const serverTool = /^(?:web_search|bash|text_editor|computer|tool_search_tool|memory)_/
const isCustom = (tool: JsonObject): boolean => ["", "custom"].includes(stringOf(tool.type))

const toolOf = ({ platform, model, betas: asked }: ClaudeContext): Shape => {
  const custom = closed({
    ...free("type", "description"),
    ...(asked.includes("tool-search-tool-2025-10-19") && free("defer_loading")),
    ...((platform === "vertex" || model.version < 4.7) && free("strict")),
    "name!": matching(/^[a-zA-Z0-9_-]{1,128}$/),
    "input_schema!": all(dictionary, (schema, path) => oneOf(["object"])(objectOf(schema).type, `${path}.type`)),
    cache_control: cache
  })
  return all(dictionary, (value, path) => {
    const tool = objectOf(value)
    if (isCustom(tool)) {
      custom(tool, `${path}.custom`)
      if (tool.strict === true) enforced(tool.input_schema, `${path}.custom.input_schema`)
      return
    }
    if (tool.cache_control !== undefined) cache(tool.cache_control, `${path}.custom.cache_control`)
    const type = stringOf(tool.type)
    const known = serverTool.test(type) && !(platform === "bedrock" && type.startsWith("web_search"))
    if (!known) throw refusal("", `tool type '${type}' is not supported for this model`)
  })
}

const thinkingOf = ({ model }: ClaudeContext): Shape =>
  variant("type", {
    adaptive: all(
      closed(free("type", "display")),
      rule(() => model.adaptive, "adaptive thinking is not supported on this model")
    ),
    disabled: closed(free("type")),
    enabled: all(
      rule(
        () => model.budgeted,
        `"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`
      ),
      closed({ ...free("type", "display"), "budget_tokens!": whole(1024) })
    )
  })

/** Sources: AWS's and Google's pages on structured outputs of Claude. */
const outputOf = ({ platform, model }: ClaudeContext): Fields => {
  const native = platform === "bedrock" ? model.version >= 4.5 && model.version < 4.7 : model.version >= 4.6
  const known: Fields = {
    ...(model.efforts.length > 0 && { effort: oneOf(model.efforts) }),
    ...(native && { format: (value, path) => enforced(objectOf(value).schema, `${path}.schema`) })
  }
  return Object.keys(known).length === 0 ? {} : { output_config: closed(known) }
}

const share: Shape = all(
  holds((value) => typeof value === "number", "Input should be a valid number"),
  holds((value) => Number(value) >= 0 && Number(value) <= 1, "range: 0..1")
)

const system = list(closed({ ...free("type", "citations"), "text!": filled("system"), cache_control: cache }))

const choice = closed(free("type", "disable_parallel_tool_use"))

const requestOf = (context: ClaudeContext): Shape => {
  const { platform, model, betas: asked, counting } = context
  const counted: Fields = {
    "anthropic_version!": (value, path) => {
      const current = value === "2026-10-21" && platform === "bedrock" && model.version < 4.7
      const known = versions[platform].includes(stringOf(value)) && !current
      if (!known) throw refusal(path, `"${String(value)}" is not a valid version for this model`)
    },
    "messages!": list(anything),
    system: (value, path) => (typeof value === "string" ? undefined : system(value, path)),
    thinking: all(dictionary, thinkingOf(context)),
    tools: list(toolOf(context)),
    tool_choice: all(
      dictionary,
      variant("type", {
        auto: choice,
        any: choice,
        tool: closed(free("type", "name", "disable_parallel_tool_use")),
        none: closed(free("type"))
      })
    )
  }
  if (counting && platform === "vertex") return closed({ ...counted, model: anything })
  return closed({
    ...counted,
    "max_tokens!": all(whole(1), (value, path) => {
      const words = `which is the maximum allowed number of output tokens for ${model.base}`
      if (Number(value) > model.maxOutput) throw refusal(path, `${value} > ${model.maxOutput}, ${words}`)
    }),
    temperature: share,
    top_p: share,
    top_k: anything,
    stop_sequences: (value, path) => {
      const filled = listOf(value).every((stop) => typeof stop !== "string" || /\S/.test(stop))
      if (!filled) throw refusal(path, "each stop sequence must contain non-whitespace")
    },
    metadata: closed(free("user_id")),
    ...outputOf(context),
    ...free(platform === "vertex" ? "stream" : "anthropic_beta"),
    ...(asked.some((beta) => /^(?:context-management|compact)-/.test(beta)) && free("context_management"))
  })
}

/** Sampling parameters, which newer models and thinking rule out. */
const checkSampling = (body: JsonObject, model: ClaudeModel, thinks: boolean): void => {
  const { temperature, top_p: topP, top_k: topK } = body
  const given = Object.entries({ temperature, top_p: topP, top_k: topK }).find(([, value]) => value !== undefined)?.[0]
  const strict = body.anthropic_version === "2026-10-21"
  check(!strict || given === undefined, `${given}: Extra inputs are not permitted`)
  check(model.sampling || given === undefined, `\`${given}\` is deprecated for this model.`)
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

/** How the model thinks: what is asked of it, and what it does unasked. */
const modeOf = (
  body: JsonObject,
  { model, betas: asked, counting }: ClaudeContext
): "off" | "budgeted" | "adaptive" => {
  const { type, budget_tokens: budget } = objectOf(body.thinking)
  if (type === "disabled") {
    const effort = stringOf(objectOf(body.output_config).effort)
    const words = `"thinking.type.disabled" is not supported for this model`
    const high = model.version >= 5 && model.adaptive && ["xhigh", "max"].includes(effort)
    check(!high, `${words} with effort ${effort}.`)
    check(model.optional, `${words}.`)
    return "off"
  }
  if (type !== "enabled") return type === "adaptive" || model.thinksUnasked ? "adaptive" : "off"
  check(
    counting || Number(budget) < Number(body.max_tokens) || (asked.includes(INTERLEAVED) && model.interleaves),
    "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation."
  )
  return "budgeted"
}

const choiceOf = (
  body: JsonObject,
  tools: ReadonlyArray<Tool>,
  thinks: boolean,
  model: ClaudeModel
): Turn["choice"] => {
  if (body.tool_choice === undefined) return "auto"
  check(tools.length > 0, "tool_choice: tool_choice may only be specified while providing tools.")
  const { type, name } = objectOf(body.tool_choice)
  if (type === "auto" || type === "none") return type
  check(!thinks, "Thinking may not be enabled when tool_choice forces tool use.")
  check(model.forcedToolChoice, "tool_choice forces tool use is not supported for this model.")
  if (type === "any") return "required"
  const known = tools.some((tool) => tool.name === name)
  check(known, `Tool '${stringOf(name)}' not found in provided tools`)
  return { name: stringOf(name) }
}

/** What the parameters of a request ask for. */
export interface Asked {
  readonly tools: ReadonlyArray<Tool>
  readonly choice: Turn["choice"]
  readonly thinking: "off" | "budgeted" | "adaptive"
}

/** Checks everything of a request but its messages. Throws a `Refusal`. */
export const checkParameters = (body: JsonObject, context: ClaudeContext): Asked => {
  const { platform, model } = context
  checkBetas(context)
  const empty = platform === "bedrock" ? Object.keys(body).find((name) => body[name] === null) : undefined
  check(
    empty === undefined,
    `Malformed input request: #/${empty}: expected type: Object, found: Null, please reformat your input and try again.`
  )
  requestOf(context)(body, "")
  const wanted = modeOf(body, context)
  const tools = objectsOf(body.tools).map((tool) => ({
    name: stringOf(tool.name),
    description: stringOf(isCustom(tool) ? tool.description : tool.type),
    schema: isCustom(tool) ? objectOf(tool.input_schema) : {}
  }))
  check(new Set(tools.map((tool) => tool.name)).size === tools.length, "tools: Tool names must be unique.")
  const choice = choiceOf(body, tools, wanted !== "off" && body.thinking !== undefined, model)
  const forced = choice !== "auto" && choice !== "none"
  const thinking = forced && body.thinking === undefined ? "off" : wanted
  checkSampling(body, model, thinking !== "off")
  return { tools, choice, thinking }
}
