/** Claude's Messages API: the checks of a request to a model on a platform, and the reply before a platform frames it. */
import { planOf } from "../answer.ts"
import { arrayOf, isObject, type Json, type JsonObject, objectOf, printed, stringOf } from "../json.ts"
import type { ClaudeModel } from "../models.ts"
import { anything, type Shape } from "../shape.ts"
import { readTurn, type Tool, type Turn } from "../turn.ts"
import { checkMessages } from "./conversation.ts"
import * as messages from "./messages.ts"
import { replyOf } from "./reply.ts"
import { checkCompiled, enforced, isCurrent } from "./schemas.ts"

const { cache, closed, dictionary, insist, list } = messages
const { matching, messagesOf, oneOf, typed, userId, variant, where, whole, words } = messages

/** The platform of a request, and what came beside its body. */
interface ClaudeContext {
  readonly platform: "vertex" | "bedrock"
  readonly model: ClaudeModel
  readonly betas: ReadonlyArray<string>
  readonly counting: boolean
}

/** Thinking between tool calls, with a budget that may be over the limit of the output. */
const INTERLEAVED = "interleaved-thinking-2025-05-14"

/** The betas that both platforms know, and those of each. */
const commonBetas =
  "compact-2026-01-12 computer-use-2025-01-24 computer-use-2025-11-24 context-1m-2025-08-07 context-management-2025-06-27 " +
  "dangerous-tool-use-2026-09-03 thinking-binding-controls-2026-08-01 thinking-display-updates-2026-08-18 " +
  "tool-search-tool-2025-10-19"
const knownBetas = {
  vertex: `${commonBetas} compact-2026-09-04 per-turn-control-2026-07-01 web-search-2025-03-05`,
  bedrock:
    `${commonBetas} effort-2025-11-24 fine-grained-tool-streaming-2025-05-14 ` +
    "mid-conversation-output-config-2026-07-01 mid-conversation-tool-changes-2026-07-01"
}

/** The strictest API version: no sampling, no documents of the assistant. */
const NEWEST = "2026-10-21"
const versions = { vertex: "vertex-2023-10-16", bedrock: "bedrock-2023-05-31" }

/** Prompt tokens that tools add, by the choice, and that thinking with a budget adds. */
const TOOLS = { free: 346, forced: 313 }
const BUDGET = 29

const TOOL_SEARCH = "tool-search-tool-2025-10-19"
const CONTEXT_MANAGEMENT = "context-management-2025-06-27"
/** How the types of tools begin that are known with a beta only. */
const toolBetas = [
  ["tool_search_tool_", TOOL_SEARCH],
  ["memory_", CONTEXT_MANAGEMENT],
  ["computer_20250124", "computer-use-2025-01-24"],
  ["computer_20251124", "computer-use-2025-11-24"]
] as const
/** Edits of the context, with their betas. */
const EDITS = {
  clear_tool_uses_20250919: CONTEXT_MANAGEMENT,
  clear_thinking_20251015: CONTEXT_MANAGEMENT,
  compact_20260112: "compact-2026-01-12"
}
const UPDATES = "thinking-display-updates-2026-08-18"

const serverTool = /^(?:web_search|bash|browser|text_editor|computer|tool_search_tool|memory)_/

type ClaudeTool = Tool & { readonly strict?: boolean }

const toolOf = ({ platform, model: { version }, betas }: ClaudeContext): Shape<ClaudeTool> => {
  const fields = {
    "name!": matching(/^[a-zA-Z0-9_-]{1,128}$/),
    "input_schema!": dictionary,
    cache_control: cache,
    defer_loading: betas.includes(TOOL_SEARCH) && anything,
    strict: (platform === "vertex" || version < 4.7) && anything
  }
  const custom = closed("type description", fields, ({ name, description, input_schema: schema, strict }, path) => {
    insist({ "Field required": schema.type !== undefined }, `${path}.input_schema.type`)
    oneOf(["object"])(schema.type, `${path}.input_schema.type`)
    const keys = Object.keys(objectOf(schema.properties))
    const named = keys.every((key) => /^[a-zA-Z0-9_.-]{1,64}$/.test(key))
    insist({ "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'": named }, `${path}.input_schema.properties`)
    const combined = "oneOf" in schema || "allOf" in schema || "anyOf" in schema
    const rules = {
      "input_schema does not support oneOf, allOf, or anyOf at the top level": !combined,
      "JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12). Learn more about tool use at https://docs.claude.com/en/docs/tool-use.":
        isCurrent(schema)
    }
    insist(rules, `${path}.input_schema`)
    if (strict === true) enforced(schema, path)
    return { name, description: stringOf(description), schema, strict: strict === true }
  })
  return (value, path) => {
    const { type, name, cache_control: marker } = dictionary(value, path)
    const kind = stringOf(type)
    if (kind === "" || kind === "custom") return custom(value, `${path}.custom`)
    if (marker !== undefined) cache(marker, `${path}.custom.cache_control`)
    const [, fixed] = /^(bash|computer|memory|web_search)_\d/.exec(kind) ?? []
    if (fixed !== undefined) oneOf([fixed])(name, `${path}.${kind}.name`)
    const known = serverTool.test(kind) && !(platform === "bedrock" && kind.startsWith("web_search"))
    insist({ [`tool type '${kind}' is not supported for this model`]: known })
    const [, beta] = toolBetas.find(([start]) => kind.startsWith(start)) ?? []
    const unknown = `Input tag '${kind}' found using 'type' does not match any of the expected tags: 'bash_20250124', 'custom'`
    insist({ [unknown]: beta === undefined || betas.includes(beta) }, path)
    // A toolset has no name of its own: one of its tools stands for it.
    const member = kind.startsWith("browser") ? "read_page" : "screenshot"
    return { name: stringOf(name) || member, description: kind, schema: {} }
  }
}

type Thinking = { readonly type?: unknown; readonly display?: unknown; readonly budget_tokens?: number }
const thinkingOf = (betas: ReadonlyArray<string>) => {
  const display = oneOf(["summarized", "omitted", ...(betas.includes(UPDATES) ? ["updates"] : [])])
  return variant<Thinking>("type", {
    adaptive: closed("type", { display }),
    disabled: closed("type"),
    enabled: closed("type", { display, "budget_tokens!": whole(1024) })
  })
}
const choice = variant<Turn["choice"]>("type", {
  auto: closed("type disable_parallel_tool_use", {}, () => "auto"),
  any: closed("type disable_parallel_tool_use", {}, () => "required"),
  tool: closed("type name disable_parallel_tool_use", {}, ({ name }) => ({ name: stringOf(name) })),
  none: closed("type", {}, () => "none")
})
const number = typed((value) => typeof value === "number", "Input should be a valid number")
const share = where(number, (value) => value >= 0 && value <= 1, "range: 0..1")
const instructions = list(closed("type citations", { "text!": words("system"), cache_control: cache }))
const system: Shape<ReadonlyArray<{ readonly text: string }>> = (value, path) =>
  typeof value === "string" ? [{ text: value && words("system")(value, path) }] : instructions(value, path)
const stops: Shape<ReadonlyArray<string>> = (value) => arrayOf(value).filter((stop) => typeof stop === "string")
const format: Shape<JsonObject> = (value, path) => {
  const asked = objectOf(value)
  oneOf(["json_schema"])(asked.type, `${path}.type`)
  enforced(asked.schema, `${path}.schema`)
  return asked
}

const requestOf = (context: ClaudeContext, strict: boolean) => {
  const { platform, betas, counting } = context
  const { version, efforts, thinksUnasked } = context.model
  // What Vertex AI counts has none of the parameters of an answer.
  const answers = !counting || platform === "bedrock"
  // Sources: AWS's and Google's pages on structured outputs of Claude.
  const native = platform === "bedrock" ? version >= 4.5 && version < 4.7 : version >= 4.6
  const edits = Object.entries(EDITS).filter(([, beta]) => betas.includes(beta))
  const edit = variant("type", Object.fromEntries(edits.map(([type]) => [type, anything])))
  const output = { effort: efforts.length > 0 && oneOf(efforts), format: native && format }
  const fields = {
    "messages!": messagesOf(strict, platform === "vertex" && version >= 4.8, betas),
    "max_tokens!": answers && whole(1),
    model: !answers && anything,
    system,
    thinking: thinkingOf(betas),
    tools: list(toolOf(context)),
    tool_choice: choice,
    temperature: answers && share,
    top_p: answers && share,
    top_k: answers && whole(0),
    stop_sequences: answers && stops,
    metadata: answers && closed("", { user_id: userId(platform) }),
    output_config: answers && (efforts.length > 0 || native) && closed("", output),
    stream: answers && platform === "vertex" && anything,
    anthropic_beta: answers && platform === "bedrock" && anything,
    context_management: answers && edits.length > 0 && closed("", { edits: list(edit) })
  }
  return closed("anthropic_version!", fields, (asked) => {
    const { thinking, tool_choice: choice } = asked
    const forced = choice === "required" || typeof choice === "object"
    const unasked = thinking === undefined && thinksUnasked && !forced
    return { ...asked, forced, thinks: unasked || thinking?.type === "enabled" || thinking?.type === "adaptive" }
  })
}

type Request = ReturnType<ReturnType<typeof requestOf>>

/** Tools, messages or blocks, and the blocks within them. */
const holdersIn = (given: Json | undefined): ReadonlyArray<JsonObject> =>
  arrayOf(given)
    .map(objectOf)
    .flatMap((holder) => [holder, ...holdersIn(holder.content)])

/** Checks the betas, that no field is null on Bedrock, and how many marks of the prompt cache there are. */
const checkAround = (body: JsonObject, { platform, model, betas, counting }: ClaudeContext): void => {
  const known = knownBetas[platform].split(" ")
  const unknownBeta = betas.find((beta) =>
    beta === INTERLEAVED ? !model.interleaves : counting || !known.includes(beta)
  )
  const unexpected = `Unexpected value(s) \`${unknownBeta}\` for the \`anthropic-beta\` header. Please consult our documentation.`
  const nullField = platform === "bedrock" ? Object.keys(body).find((name) => body[name] === null) : undefined
  const holders = [body.tools, body.system, body.messages].flatMap(holdersIn)
  const lifetimes = holders.flatMap(({ cache_control: mark }) => (isObject(mark) ? [mark.ttl ?? "5m"] : []))
  const marks = lifetimes.length
  insist({
    [`A maximum of 4 blocks with cache_control may be provided. Found ${marks}.`]: marks <= 4,
    "cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.":
      !lifetimes.includes("5m") || lifetimes.lastIndexOf("1h") < lifetimes.indexOf("5m"),
    [platform === "bedrock" ? "invalid beta flag" : unexpected]: unknownBeta === undefined,
    [`Malformed input request: #/${nullField}: expected type: Object, found: Null, please reformat your input and try again.`]:
      nullField === undefined
  })
}

const checkParameters = (asked: Request, context: ClaudeContext, strict: boolean): void => {
  const { platform, model, betas, counting } = context
  const { version, maxOutputTokens: most } = model
  const { tools = [], tool_choice: choice, stop_sequences = [], forced, thinks, temperature, top_p, top_k } = asked
  const { type, budget_tokens: budget = 0 } = asked.thinking ?? {}
  const limit = asked.max_tokens ?? 0
  const validVersion = strict ? platform === "vertex" || version >= 4.7 : asked.anthropic_version === versions[platform]
  const effort = asked.output_config?.effort ?? ""
  const deepEffort = version >= 5 && model.adaptive && (effort === "xhigh" || effort === "max")
  const unbounded = counting || (betas.includes(INTERLEAVED) && model.interleaves)
  const disabled = `"thinking.type.disabled" is not supported for this model`
  const names = new Set(tools.map(({ name }) => name))
  const named = typeof choice === "object" ? choice.name : undefined
  const [sampling] = Object.entries({ temperature, top_p, top_k }).find(([, value]) => value !== undefined) ?? []
  insist({
    [`anthropic_version: "${printed(asked.anthropic_version)}" is not a valid version for this model`]: validVersion,
    [`max_tokens: ${limit} > ${most}, which is the maximum allowed number of output tokens for ${model.id}`]:
      limit <= most,
    "stop_sequences: each stop sequence must contain non-whitespace": stop_sequences.every((stop) => /\S/.test(stop)),
    "adaptive thinking is not supported on this model": type !== "adaptive" || model.adaptive,
    '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.':
      type !== "enabled" || model.budgeted,
    [`${disabled} with effort ${effort}.`]: type !== "disabled" || !deepEffort,
    [`${disabled}.`]: type !== "disabled" || model.thinking.optional,
    "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation.":
      type !== "enabled" || budget < limit || unbounded,
    "tools: Tool names must be unique.": names.size === tools.length,
    "tool_choice: tool_choice may only be specified while providing tools.": choice === undefined || tools.length > 0,
    "Thinking may not be enabled when tool_choice forces tool use.": !forced || type !== "enabled",
    "tool_choice forces tool use is not supported for this model.": !forced || model.forcedToolChoice !== "never",
    [`Tool '${named}' not found in provided tools`]: named === undefined || names.has(named),
    [`${sampling}: Extra inputs are not permitted`]: !strict || sampling === undefined,
    [`\`${sampling}\` is deprecated for this model.`]: model.sampling !== "never" || sampling === undefined,
    "`temperature` and `top_p` cannot both be specified for this model. Please use only one.":
      version < 4.5 || temperature === undefined || top_p === undefined,
    "`temperature` may only be set to 1 when thinking is enabled.": !thinks || (temperature ?? 1) === 1,
    "`top_k` must be unset when thinking is enabled.": !thinks || top_k === undefined,
    "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.": !thinks || (top_p ?? 1) >= 0.95
  })
}

/** Checks a Messages request as the platform does. Throws a `Refusal`. */
const readClaude = (body: JsonObject, context: ClaudeContext) => {
  const { model } = context
  const strict = body.anthropic_version === NEWEST
  checkAround(body, context)
  const asked = requestOf(context, strict)(body, "")
  checkParameters(asked, context, strict)
  const { messages, tools = [], tool_choice: choice = "auto", system = [], forced, thinks } = asked
  const { format } = asked.output_config ?? {}
  // The words are the sandbox's.
  const begun = "output_config.format: Prefilling an assistant message is not supported with structured outputs."
  insist({ [begun]: format === undefined || messages.at(-1)?.role !== "assistant" })
  const strictTools = tools.filter((tool) => tool.strict === true)
  const compiled = strictTools.map(({ schema }) => objectOf(schema))
  checkCompiled(format === undefined ? compiled : [objectOf(format.schema), ...compiled], compiled.length)
  const budgeted = asked.thinking?.type === "enabled"
  checkMessages(messages, { prefill: !thinks && model.version < 4.6, thinks, budgeted })
  const { turn, promptTokens } = readTurn(messages, {
    model: model.id,
    instructions: system.map(({ text }) => text).join("\n"),
    tools,
    choice,
    continues: true,
    format: format && objectOf(format.schema),
    thinks,
    limit: asked.max_tokens,
    stops: asked.stop_sequences ?? []
  })
  const offered = tools.length > 0 && choice !== "none" ? TOOLS[forced ? "forced" : "free"] : 0
  const inputTokens = promptTokens + offered + (budgeted ? BUDGET : 0)
  const most = model.contextWindow(context.betas)
  const tooLong =
    context.platform === "bedrock"
      ? "Input is too long for requested model."
      : `prompt is too long: ${inputTokens} tokens > ${most} maximum`
  insist({ [tooLong]: inputTokens <= most || context.counting })
  const shown = asked.thinking?.display ?? (model.hidesThinking ? "omitted" : "summarized")
  return { turn, inputTokens, showsThinking: shown === "summarized" }
}

/** Answers a Messages request, or counts its tokens. Throws a `Refusal`. */
export const playClaude = (body: JsonObject, context: ClaudeContext, seed: string) => {
  const request = readClaude(body, context)
  const { turn, inputTokens: input } = request
  const vertex = context.platform === "vertex"
  if (context.counting) {
    const message: JsonObject = vertex ? { input_tokens: input } : { inputTokens: input }
    return { directives: { ...turn.directives, exception: undefined }, message }
  }
  const plan = planOf(turn)
  const identity = { tag: vertex ? "vrtx" : "bdrk", model: context.model.id, seed }
  const { message, events } = replyOf(plan, { ...request, ...identity })
  return { directives: turn.directives, message, events }
}
