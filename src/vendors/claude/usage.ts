/** What Claude counts. */
import { fillUsage } from "../../catalog/invocationMetrics.ts"
import type { Route } from "../../catalog/Route.ts"
import type { Tokens } from "../../catalog/Tokens.ts"
import { type Json, type JsonObject, numberOf, objectOf, saying } from "../../wire/json.ts"

/**
 * Counts of a stream so far. Later ones are totals and replace earlier ones; a null says nothing
 * (docs/decisions.md#usage-counts).
 */
export const overlayUsage = (before: JsonObject, after: Json | undefined): JsonObject => ({
  ...before,
  ...saying(objectOf(after))
})

/**
 * The totals of a stream that has ended, with the cloud's own of its last event where they did not come before. What the beginning
 * (`start`) says of output is not what was said, and is no total.
 */
export const totalsAtEnd = (start: JsonObject, totals: JsonObject, last: JsonObject): JsonObject => {
  const { output_tokens: _, ...counted } = start
  return fillUsage({ ...counted, ...totals }, last)
}

/** Cached and newly cached input is input too; the vendor counts them apart (docs/decisions.md#usage-counts). */
export const tokensOf = (usage: JsonObject): Tokens => {
  const cached = numberOf(usage.cache_read_input_tokens) ?? 0
  const written = numberOf(usage.cache_creation_input_tokens) ?? 0
  const hourly = numberOf(objectOf(usage.cache_creation).ephemeral_1h_input_tokens) ?? 0
  return {
    input: (numberOf(usage.input_tokens) ?? 0) + cached + written,
    output: numberOf(usage.output_tokens) ?? 0,
    ...(cached > 0 ? { cached } : {}),
    ...(written > 0 ? { cacheWrites: written } : {}),
    ...(hourly > 0 ? { cacheWrites1h: hourly } : {})
  }
}

/** Undefined where neither input nor output was counted. */
export const readUsage = (usage: JsonObject, { model }: Route): Tokens | undefined => {
  if (numberOf(usage.input_tokens) === undefined && numberOf(usage.output_tokens) === undefined) return undefined
  return {
    ...tokensOf(usage),
    // The chat format says a count of none, too.
    cached: numberOf(usage.cache_read_input_tokens),
    reasoning: model.thinking.counted ? numberOf(objectOf(usage.output_tokens_details).thinking_tokens) : undefined
  }
}
