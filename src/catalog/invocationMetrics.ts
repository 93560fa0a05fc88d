/** What Bedrock counts beside a message of Claude's, in the words of the messages format (docs/upstreams.md#amazon-bedrock). */
import { compact, type JsonObject, numberOf, objectOf } from "../wire/json.ts"

const field = "amazon-bedrock-invocationMetrics"

/** The usage with the cloud's own counts in the places of those that the message does not give. */
export const fillUsage = (usage: JsonObject, holder: JsonObject): JsonObject => {
  const metrics = objectOf(holder[field])
  const given = Object.entries(usage).filter(([, value]) => value !== null)
  return {
    ...compact({
      input_tokens: numberOf(metrics.inputTokenCount),
      output_tokens: numberOf(metrics.outputTokenCount),
      cache_read_input_tokens: numberOf(metrics.cacheReadInputTokenCount),
      cache_creation_input_tokens: numberOf(metrics.cacheWriteInputTokenCount)
    }),
    ...Object.fromEntries(given)
  }
}

/** The message without the cloud's field, and with its counts. */
export const withoutMetrics = (message: JsonObject): JsonObject => {
  if (!(field in message)) return message
  const { [field]: _, ...rest } = message
  return { ...rest, usage: fillUsage(objectOf(message.usage), message) }
}
