/** How OpenAI's APIs fail inside a stream that began well. */
import { type Refused, refused } from "../../model/UpstreamFault.ts"
import { type JsonObject, numberOf, textOf } from "../../wire/json.ts"

/** Of the `error` of a chunk of chat completions. A status may be given, or only a kind, in words that differ by the cloud. */
export const gptFault = (error: JsonObject): Refused => {
  const kind = `${textOf(error.type) ?? ""} ${textOf(error.code) ?? ""}`
  return refused(numberOf(error.status) ?? numberOf(error.code) ?? statusOf(kind), textOf(error.message))
}

const statusOf = (kind: string): number => {
  if (/rate_limit|RateLimit|throttl|\b429\b/i.test(kind)) return 429
  return /invalid_request|validation|content_filter|\b400\b/i.test(kind) ? 400 : 500
}

/** The codes of the responses API, as the statuses that they have before the first byte. */
const responsesStatuses: ReadonlyMap<string, number> = new Map([
  ["rate_limit_exceeded", 429],
  ["too_many_requests", 429],
  ["invalid_prompt", 400]
])

/** Of an `error` event of the responses API. */
export const responsesFault = (detail: JsonObject): Refused =>
  refused(responsesStatuses.get(textOf(detail.code) ?? "") ?? 500, textOf(detail.message) ?? "the model failed")
