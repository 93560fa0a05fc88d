/** What an error inside of a reply that began as a success stands for, in the formats of all vendors; Google's is in the catalog's folder. */
import { errorStatusOf, googleFault, type Refused, refused, statusOfWord, topicOf } from "../catalog/UpstreamFault.ts"
import { isObject, type JsonObject, textOf } from "../wire/json.ts"

/** Of the `error` of an event: Anthropic's has a type, Google's has none. */
export const claudeFault = (error: JsonObject): Refused =>
  error.type === undefined ? googleFault(error) : refused(statusOfWord(error.type), textOf(error.message))

/** Of the `error` of a chunk of chat completions. A status may be given, or only a kind, in words that differ by the cloud. */
export const gptFault = (error: JsonObject): Refused => {
  const kind = `${textOf(error.type) ?? ""} ${textOf(error.code) ?? ""}`
  const status = errorStatusOf(error.status) ?? errorStatusOf(error.code) ?? statusOf(kind)
  return refused(status, textOf(error.message), undefined, topicOf(error))
}

const statusOf = (kind: string): number => {
  if (/rate_limit|RateLimit|throttl|\b429\b/i.test(kind)) return 429
  if (/timeout|deadline/i.test(kind)) return 504
  return /invalid_request|validation|content_filter|context_length|\b400\b/i.test(kind) ? 400 : 500
}

/** Of an `error` event, or of a response that failed: an event may have the fields of its error itself. */
export const responsesFault = (holder: JsonObject): Refused => {
  const error = isObject(holder.error) ? holder.error : holder
  const status = errorStatusOf(error.code) ?? statusOfWord(error.code, error.type)
  return refused(status, textOf(error.message) ?? "the model failed", undefined, topicOf(error))
}
