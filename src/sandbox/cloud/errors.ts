/** The error formats of the clouds. */
import { jsonReply, type Reply } from "../http.ts"
import type { JsonObject } from "../json.ts"

/** The names of a status at Google, Amazon and Anthropic; a missing one is the default of its class. */
const names: Readonly<Record<number, readonly [google: string, amazon?: string | undefined, anthropic?: string]>> = {
  400: ["INVALID_ARGUMENT", "ValidationException"],
  401: ["UNAUTHENTICATED", undefined, "authentication_error"],
  403: ["PERMISSION_DENIED", "AccessDeniedException", "permission_error"],
  404: ["NOT_FOUND", "ResourceNotFoundException", "not_found_error"],
  408: ["DEADLINE_EXCEEDED", "ModelTimeoutException"],
  409: ["ABORTED"],
  413: ["UNKNOWN", undefined, "request_too_large"],
  424: ["INTERNAL", "ModelErrorException"],
  429: ["RESOURCE_EXHAUSTED", "ThrottlingException", "rate_limit_error"],
  499: ["CANCELLED"],
  500: ["INTERNAL"],
  501: ["UNIMPLEMENTED"],
  503: ["UNAVAILABLE", "ServiceUnavailableException"],
  504: ["DEADLINE_EXCEEDED", undefined, "timeout_error"],
  529: ["UNKNOWN", undefined, "overloaded_error"]
}

export const googleError = (status: number, message: string): { readonly error: JsonObject } => ({
  error: { code: status, message, status: names[status]?.[0] ?? "UNKNOWN" }
})

/** A Google API error as a reply; `retryAfter` in seconds becomes the header and a `RetryInfo`. */
export const googleReply = (status: number, message: string, retryAfter?: string): Reply => {
  const { error } = googleError(status, message)
  if (retryAfter === undefined) return jsonReply(status, { error })
  const info = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: `${retryAfter}s` }
  return jsonReply(status, { error: { ...error, details: [info] } }, { "retry-after": retryAfter })
}

export const awsReply = (status: number, message: string, retryAfter?: string, code = names[status]?.[1]): Reply => {
  const type = `${code ?? "InternalServerException"}:http://internal.amazon.com/coral/com.amazon.bedrock/`
  const headers = { "x-amzn-errortype": type, ...(retryAfter !== undefined && { "retry-after": retryAfter }) }
  return jsonReply(status, { message }, headers)
}

export const claudeError = (status: number, message: string): JsonObject => {
  const type = names[status]?.[2] ?? (status < 500 ? "invalid_request_error" : "api_error")
  return { type: "error", error: { type, message } }
}
