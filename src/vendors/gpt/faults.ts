/** How OpenAI's chat completions fail inside a stream that began well. */
import { isFiltered, type Refused, refused } from "../../catalog/UpstreamFault.ts"
import { type JsonObject, numberOf, textOf } from "../../wire/json.ts"

/** Of the `error` of a chunk of chat completions. A status may be given, or only a kind, in words that differ by the cloud. */
export const gptFault = (error: JsonObject): Refused => {
  const kind = `${textOf(error.type) ?? ""} ${textOf(error.code) ?? ""}`
  const status = numberOf(error.status) ?? numberOf(error.code) ?? statusOf(kind)
  return refused(status, textOf(error.message), undefined, isFiltered(error))
}

const statusOf = (kind: string): number => {
  if (/rate_limit|RateLimit|throttl|\b429\b/i.test(kind)) return 429
  if (/timeout|deadline/i.test(kind)) return 504
  return /invalid_request|validation|content_filter|\b400\b/i.test(kind) ? 400 : 500
}
