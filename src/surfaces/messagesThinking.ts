/** Fits the thinking of a native messages body to its model, and what cannot be asked for beside it (docs/api.md#extended-thinking). */
import type { Deployment, Model } from "../catalog/Catalog.ts"
import { efforts } from "../catalog/names.ts"
import type { Adjusted } from "../vendors/adjustments.ts"
import { canThinkIn } from "../vendors/claude/turns.ts"
import { budgets, isSupported, minBudget, nearestEffort } from "../vendors/thinking.ts"
import { type JsonObject, numberOf, objectOf, without } from "../wire/json.ts"

const interleavedBeta = "interleaved-thinking-2025-05-14"
const samplingFields = ["temperature", "top_p", "top_k"]

interface ThinkingFacts {
  readonly model: Model
  readonly deployment: Deployment
  /** The betas that are sent. */
  readonly betas: ReadonlyArray<string>
  /** Whether tokens are only counted: then `max_tokens` is not read. */
  readonly counting: boolean
}

/**
 * Fits the `thinking` of a native messages body to the model (docs/api.md#extended-thinking, docs/decisions.md#messages-surface).
 * The input is never changed; where nothing is adjusted, an equal body comes back. A body whose `thinking` is no valid
 * block is left for the upstream to judge. `adjusted` takes what is changed, for `x-gateway-thinking-adjusted`.
 *
 * On models of the adaptive API adaptive thinking is forwarded untouched and a budget becomes the effort that is nearest to it; a
 * count is asked for without `thinking`, which adds no overhead there. No count carries `output_config`.
 */
export const adjustThinking = (body: JsonObject, facts: ThinkingFacts, adjusted: Adjusted): JsonObject => {
  const { model, counting } = facts
  if (model.thinking.api !== "budgeted") {
    const adapted = adaptiveThinking(body, model, adjusted)
    return counting ? without(adapted, ["thinking", "output_config"]) : adapted
  }
  const counted = counting ? without(body, ["output_config"]) : body
  const asked = budgetAsked(body, model)
  if (asked === undefined) return counted

  const budget = canThinkIn(body) ? fitBudget(asked, body, facts) : undefined
  if (budget === undefined) {
    adjusted.add("thinking:dropped")
    return without(counted, ["thinking"])
  }
  const thinking = objectOf(body.thinking)
  if (thinking.type === "adaptive") adjusted.changed("thinking", "adaptive", "enabled")
  if (budget !== asked) adjusted.changed("budget_tokens", asked, budget)
  const refused = isSupported(model.sampling, true) ? [] : samplingFields.filter((name) => name in body)
  for (const name of refused) adjusted.removed(name)
  const chosen = unforced(without(counted, refused), model, adjusted)
  return { ...chosen, thinking: { ...thinking, type: "enabled", budget_tokens: budget } }
}

/** A forced choice of a tool that the model does not take beside thinking becomes `auto`. */
const unforced = (body: JsonObject, model: Model, adjusted: Adjusted): JsonObject => {
  const choice = objectOf(body.tool_choice)
  if ((choice.type !== "any" && choice.type !== "tool") || isSupported(model.forcedToolChoice, true)) return body
  adjusted.changed("tool_choice", choice.type, "auto")
  return { ...body, tool_choice: { ...without(choice, ["name"]), type: "auto" } }
}

/** A block with a budget as the adaptive API takes it; everything else as it came. */
const adaptiveThinking = (body: JsonObject, model: Model, adjusted: Adjusted): JsonObject => {
  const { budget_tokens, ...thinking } = objectOf(body.thinking)
  const budget = numberOf(budget_tokens)
  const isEnabled = model.thinking.api === "adaptive" && thinking.type === "enabled" && Number.isSafeInteger(budget)
  if (!isEnabled || budget === undefined) return body
  adjusted.changed("thinking", "enabled", "adaptive")
  const adaptive: JsonObject = { ...body, thinking: { ...thinking, type: "adaptive" } }
  const config = objectOf(body.output_config)
  if ((config.effort ?? undefined) !== undefined) return unforced(adaptive, model, adjusted)
  const affordable = efforts.findLast((effort) => effort !== "none" && budgets[effort] <= budget)
  const effort = nearestEffort(affordable ?? "low", model)
  adjusted.changed("budget_tokens", budget, effort)
  return unforced({ ...adaptive, output_config: { ...config, effort } }, model, adjusted)
}

/** Sampling of a native body, where the model never takes it. `adjusted` takes what goes. */
export const withoutSampling = (body: JsonObject, { sampling }: Model, adjusted: Adjusted): JsonObject => {
  if (sampling !== "never") return body
  const given = samplingFields.filter((name) => name in body)
  for (const name of given) if (body[name] !== null) adjusted.removed(name)
  return without(body, given)
}

/** The budget that a block asks for; an adaptive one asks by `output_config.effort` or the model's default. */
const budgetAsked = ({ thinking, output_config }: JsonObject, model: Model): number | undefined => {
  const { type, budget_tokens } = objectOf(thinking)
  if (type === "adaptive") {
    const named = efforts.find((effort) => effort !== "none" && effort === objectOf(output_config).effort)
    return Math.max(minBudget, budgets[nearestEffort(named ?? model.thinking.default, model)])
  }
  const budget = type === "enabled" ? numberOf(budget_tokens) : undefined
  return Number.isSafeInteger(budget) ? budget : undefined
}

/** A budget that the upstream takes, or `undefined` where `max_tokens` cannot hold one. */
const fitBudget = (
  asked: number,
  body: JsonObject,
  { betas, counting, deployment, model }: ThinkingFacts
): number | undefined => {
  const budget = Math.max(minBudget, asked)
  // A count on Bedrock needs a `max_tokens` above the budget, which may not be more than the model's largest output.
  if (counting) return Math.min(budget, model.maxOutputTokens - 1)
  const maxTokens = numberOf(body.max_tokens)
  const interleaved = deployment.interleavedBudget === true && betas.includes(interleavedBeta)
  if (interleaved || maxTokens === undefined || budget < maxTokens) return budget
  const clamped = maxTokens - minBudget
  return clamped < minBudget ? undefined : clamped
}
