/** How OpenAI's responses API fails inside a reply that began well. */
import { isFiltered, type Refused, refused } from "../../catalog/UpstreamFault.ts"
import { type JsonObject, textOf } from "../../wire/json.ts"

/** Its codes, as the statuses that they have before the first byte. */
const statuses: ReadonlyMap<string, number> = new Map([
  ["rate_limit_exceeded", 429],
  ["too_many_requests", 429],
  ["timeout", 504],
  ["timeout_error", 504],
  ["invalid_prompt", 400],
  ["content_filter", 400]
])

/** Of an `error` event, or of the `error` of a response that failed. */
export const responsesFault = (detail: JsonObject): Refused => {
  const status = statuses.get(textOf(detail.code) ?? "") ?? 500
  return refused(status, textOf(detail.message) ?? "the model failed", undefined, isFiltered(detail))
}
