/**
 * Which effort and which budget a chat request has (docs/api.md#reasoning), by the catalog's facts alone; native bodies follow the same
 * table (`surfaces/messagesThinking.ts`).
 */
import type { Effort, Model } from "../catalog/Catalog.ts"
import { efforts } from "../catalog/names.ts"
import type { ChatRequest } from "../contract/Chat.ts"
import type { Adjusted } from "./adjustments.ts"

/** The API's smallest thinking budget, and the room for output that a clamped budget leaves, in tokens. */
export const minBudget = 1024
/** Output tokens beside the budget when the caller sets no `max_tokens` (docs/api.md#reasoning, rule 3). */
const outputRoom = 4096

/** Thinking tokens of an effort (docs/api.md#reasoning). The two highest are OpenAI's and double it twice. */
export const budgets: Readonly<Record<Effort, number>> = {
  none: 0,
  minimal: 1024,
  low: 1024,
  medium: 8192,
  high: 16_384,
  xhigh: 32_768,
  max: 65_536
}

/** Whether a model supports something `when` it thinks, or does not. */
export const isSupported = (when: Model["sampling"], thinks: boolean): boolean =>
  when === "always" || (when === "without-thinking" && !thinks)

/**
 * The effort that a model has and that is nearest to the one wanted; of two as near, the higher. Only `none` becomes
 * `none`; where a model cannot do without thinking, it becomes the lowest.
 */
export const nearestEffort = (wanted: Effort, model: Model): Effort => {
  const has = model.thinking.efforts
  if (wanted === "none") return has[0] ?? "none"
  const distance = (effort: Effort) => Math.abs(efforts.indexOf(effort) - efforts.indexOf(wanted))
  return has.reduce<Effort>(
    (best, effort) => (best === "none" || distance(effort) <= distance(best) ? effort : best),
    "none"
  )
}

/** The effort of a chat request: the caller's, or the catalog's default. */
export const chatEffort = (chat: ChatRequest, model: Model): Effort =>
  nearestEffort(chat.reasoning_effort ?? model.thinking.default, model)

/** An effort that was asked for and is not the one that is sent. */
export const reportEffort = (chat: ChatRequest, effort: Effort, adjusted: Adjusted): void => {
  const asked = chat.reasoning_effort
  if (typeof asked === "string" && asked !== effort) adjusted.changed("reasoning_effort", asked, effort)
}

/** The name under which the caller limits output tokens: the new one wins. */
export const limitName = (chat: ChatRequest) =>
  chat.max_completion_tokens == null ? "max_tokens" : "max_completion_tokens"

/** The caller's limit on output tokens. */
export const chatMaxTokens = (chat: ChatRequest): number | undefined => chat[limitName(chat)] ?? undefined

/**
 * How a messages-format model thinks in one chat request (docs/api.md#reasoning, rule 3); `wanted` is the effort before what a budget
 * needs. A budget needs more than 1,024 tokens in `max_tokens`, and is refused where the turn that goes on lacks its thinking (`mayThink`
 * is false): there a budgeted model does not think. Adaptive ones have no budget and take such turns
 * (docs/upstreams.md#anthropic-messages).
 */
export const chatThinking = (chat: ChatRequest, model: Model, mayThink: boolean) => {
  const { api, optional } = model.thinking
  const wanted = chatEffort(chat, model)
  const asked = chatMaxTokens(chat)
  const fits = mayThink && (asked === undefined || asked > minBudget)
  const off = api === "none" || (api === "budgeted" && !fits)
  const effort: Effort = off && optional ? "none" : wanted
  // A turn that lacks its thinking has as much room as the others of its loop.
  const maxTokens = asked ?? Math.min(budgets[wanted] + outputRoom, model.maxOutputTokens)
  const budget = Math.max(minBudget, Math.min(budgets[effort], maxTokens - minBudget))
  return { effort, wanted, budget, maxTokens }
}
