/** The one place where a domain error becomes a wire error: status, `error.type`, body and headers (spec: Errors). */
import { HttpServerResponse } from "effect/http"
import type { ErrorType } from "../api/Errors.ts"
import type { GatewayError, Reason } from "../model/GatewayError.ts"

/** The messages endpoints have a body of their own; everything else shares one. */
export type ErrorShape = "messages" | "general"

export const shapeOf = (path: string): ErrorShape => (/^\/v1\/messages(\/|$)/.test(path) ? "messages" : "general")

const table: Readonly<Record<Reason, readonly [status: number, type: ErrorType]>> = {
  invalid: [400, "invalid_request_error"],
  unauthenticated: [403, "authentication_error"],
  forbidden: [403, "permission_error"],
  "not-found": [404, "not_found_error"],
  method: [405, "invalid_request_error"],
  "timeout-caller": [408, "invalid_request_error"],
  "too-large": [413, "invalid_request_error"],
  "media-type": [415, "invalid_request_error"],
  "rate-limit": [429, "rate_limit_error"],
  quota: [429, "rate_limit_error"],
  internal: [500, "api_error"],
  upstream: [502, "api_error"],
  overloaded: [503, "api_error"],
  timeout: [504, "api_error"]
}

/** The detail of an error body; in a stream it is sent in-band. */
export const errorDetail = (error: GatewayError): { readonly type: ErrorType; readonly message: string } => ({
  type: table[error.reason][1],
  message: error.message
})

export const errorBody = (shape: ErrorShape, error: GatewayError) => {
  if (shape === "general") return { error: errorDetail(error) }
  const { details } = error
  return { type: "error", error: { ...errorDetail(error), ...(details === undefined ? {} : { details }) } }
}

export const statusOf = (shape: ErrorShape, error: GatewayError): number =>
  shape === "messages" && error.reason === "unauthenticated" ? 401 : table[error.reason][0]

export const errorReply = (shape: ErrorShape, error: GatewayError): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe(errorBody(shape, error), {
    status: statusOf(shape, error),
    headers: {
      ...error.headers,
      // The rest of a body that took too long is not waited for.
      ...(error.reason === "timeout-caller" ? { connection: "close" } : {}),
      ...(error.retryAfter === undefined ? {} : { "retry-after": String(Math.max(0, Math.ceil(error.retryAfter))) })
    }
  })
