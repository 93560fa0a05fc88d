/** How Google's APIs write errors. */
import { jsonReply, type Reply } from "../http.ts"
import type { JsonObject } from "../json.ts"

const statuses: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  408: "DEADLINE_EXCEEDED",
  409: "ABORTED",
  424: "INTERNAL",
  429: "RESOURCE_EXHAUSTED",
  499: "CANCELLED",
  500: "INTERNAL",
  501: "UNIMPLEMENTED",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED"
}

/** The body of a Google API error. */
export const googleError = (status: number, message: string, details?: ReadonlyArray<JsonObject>): JsonObject => ({
  error: { code: status, message, status: statuses[status] ?? "UNKNOWN", ...(details === undefined ? {} : { details }) }
})

/** A Google API error as a reply; `retryAfter` in seconds becomes the header and a `RetryInfo`. */
export const googleReply = (status: number, message: string, retryAfter?: string): Reply => {
  const details =
    retryAfter === undefined
      ? undefined
      : [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: `${retryAfter}s` }]
  return jsonReply(
    status,
    googleError(status, message, details),
    retryAfter === undefined ? {} : { "retry-after": retryAfter }
  )
}
