/** What Anthropic's Messages API counts (docs/decisions.md#usage-counts). */
import type { Route } from "../../catalog/Route.ts"
import { countOf, fillUsage, type Tokens } from "../../catalog/Tokens.ts"
import { arrayOf, type Json, type JsonObject, objectOf, omitNull } from "../../wire/json.ts"

/** The counts that are read of a usage; nothing else is kept. */
const readCounts = new Set([
  ...["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "cache_creation"],
  ...["output_tokens", "output_tokens_details", "iterations"]
])

/** Counts of a stream so far. Later ones are totals and replace earlier ones; a null is no count. */
export const overlayUsage = (before: JsonObject, after: Json | undefined): JsonObject => ({
  ...before,
  ...omitNull(objectOf(after), (name) => readCounts.has(name))
})

/**
 * The totals of a stream that has ended, with the cloud's own of its last event where they did not come before. The output count of
 * `message_start` (`start`) is not the total.
 */
export const totalsAtEnd = (start: JsonObject, totals: JsonObject, last: JsonObject): JsonObject => {
  const { output_tokens: _, ...counted } = start
  return fillUsage({ ...counted, ...totals }, last)
}

/** Cached and newly cached input is input too; the vendor counts them apart. What a compaction takes is counted in its own pass only. */
export const tokensOf = (usage: JsonObject): Tokens => {
  const further = arrayOf(usage.iterations).map(objectOf)
  const passes = [usage, ...further.filter(({ type }) => type === "compaction")]
  const sum = (count: (pass: JsonObject) => Json | undefined): number =>
    passes.reduce((total, pass) => total + (countOf(count(pass)) ?? 0), 0)
  const cached = sum((pass) => pass.cache_read_input_tokens)
  const written = sum((pass) => pass.cache_creation_input_tokens)
  const hourly = sum((pass) => objectOf(pass.cache_creation).ephemeral_1h_input_tokens)
  return {
    input: sum((pass) => pass.input_tokens) + cached + written,
    output: sum((pass) => pass.output_tokens),
    ...(cached > 0 ? { cached } : {}),
    ...(written > 0 ? { cacheWrites: written } : {}),
    ...(hourly > 0 ? { cacheWrites1h: hourly } : {})
  }
}

/** Undefined where neither input nor output was counted. */
export const readUsage = (usage: JsonObject, { model }: Route): Tokens | undefined => {
  if (countOf(usage.input_tokens) === undefined && countOf(usage.output_tokens) === undefined) return undefined
  return {
    ...tokensOf(usage),
    // The chat format says a count of none, too.
    cached: countOf(usage.cache_read_input_tokens),
    reasoning: model.thinking.counted ? countOf(objectOf(usage.output_tokens_details).thinking_tokens) : undefined
  }
}
