/** How Google's API fails inside a stream that began well. */
import { isTimeout, type Refused, refused, retryDelayOf } from "../../catalog/UpstreamFault.ts"
import { type JsonObject, numberOf, textOf } from "../../wire/json.ts"

/** The statuses of google.rpc, as those of HTTP. */
const statuses: ReadonlyMap<string, number> = new Map([
  ["INVALID_ARGUMENT", 400],
  ["FAILED_PRECONDITION", 400],
  ["OUT_OF_RANGE", 400],
  ["UNAUTHENTICATED", 401],
  ["PERMISSION_DENIED", 403],
  ["NOT_FOUND", 404],
  ["RESOURCE_EXHAUSTED", 429],
  ["UNAVAILABLE", 503],
  ["DEADLINE_EXCEEDED", 504]
])

/** Of the `error` of an event. Its `code`, which is HTTP's, may be missing in a stream. */
export const geminiFault = (error: JsonObject): Refused => {
  const status = isTimeout(error) ? 504 : (numberOf(error.code) ?? statuses.get(textOf(error.status) ?? "") ?? 500)
  return refused(status, textOf(error.message), retryDelayOf(error))
}
