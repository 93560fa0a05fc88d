/** How Anthropic's API fails inside a reply or a stream that began well. */
import { type Refused, refused } from "../../catalog/UpstreamFault.ts"
import { type JsonObject, textOf } from "../../wire/json.ts"

/** The error types, as the statuses that they have before the first byte. */
const statuses: ReadonlyMap<string, number> = new Map([
  ["invalid_request_error", 400],
  ["authentication_error", 401],
  ["permission_error", 403],
  ["not_found_error", 404],
  ["request_too_large", 413],
  ["rate_limit_error", 429],
  ["timeout_error", 504],
  ["overloaded_error", 529]
])

/** Of the `error` of an event. */
export const claudeFault = (error: JsonObject): Refused =>
  refused(statuses.get(textOf(error.type) ?? "") ?? 500, textOf(error.message))
