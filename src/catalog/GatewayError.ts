/** The one domain error. Each surface turns it into its own wire format in one place. */
import { Data } from "effect"

/** Why a request cannot be served: the status and the `error.type` that say so (docs/api.md#errors), and the outcome in records. */
export const reasons = {
  invalid: [400, "invalid_request_error", "invalid"],
  // 401 on the messages endpoints.
  unauthenticated: [403, "authentication_error", "unauthenticated"],
  forbidden: [403, "permission_error", "forbidden"],
  "not-found": [404, "not_found_error", "invalid"],
  method: [405, "invalid_request_error", "invalid"],
  "timeout-caller": [408, "invalid_request_error", "caller_timeout"],
  "too-large": [413, "invalid_request_error", "invalid"],
  "media-type": [415, "invalid_request_error", "invalid"],
  expectation: [417, "invalid_request_error", "invalid"],
  "rate-limit": [429, "rate_limit_error", "rate_limited"],
  quota: [429, "rate_limit_error", "quota"],
  internal: [500, "api_error", "internal"],
  upstream: [502, "api_error", "upstream_error"],
  overloaded: [503, "api_error", "shed"],
  timeout: [504, "api_error", "timeout"]
} as const
export type Reason = keyof typeof reasons

/** What exactly happened, for records and spans, and for code that decides by it. A request's code is that of its first failure. */
export type Code =
  | "screen" // a tool that names a destination
  | "guard" // a guard of the operator's blocked the request
  | "guard-unavailable" // one that has to see it did not answer, or may not see this level
  | "ceiling" // the deadlines of a request and of a stream's silence
  | "idle"
  | "revoked" // why a running stream was ended
  | "drained"
  | "quota-store" // the store of quotas is lost
  | "cloud-quota" // the operator's quota with a cloud is used up
  | "cancelled" // a call that was given up
  // Of reaching a cloud; the first two before anything was sent.
  | "connect"
  | "connect-timeout"
  | "connection"
  | "certificate"
  | "credentials"
  | "circuit-open"
  | "redirect"
  | "content-type"
  | "too-large"
  | "invalid-utf8"
  | "bad-frame"
  // Of a cloud's answer.
  | "content-filter" // its safety system refused the prompt
  | "context-length" // the prompt is too long for the model
  | "upstream-invalid"
  | "upstream-refused"
  | "upstream-rate-limit"
  | "upstream-timeout"
  | "upstream-error"
  // As in `UpstreamFault`.
  | "cut"
  | "shape"
  | "event"
  | "finish"

/** Why a caller is refused, for audit events: who tries keys learns no more than that none of them is good. */
export type Refusal =
  | "missing"
  | "unknown"
  | "revoked"
  | "disabled"
  | "expired"
  | "rotated"
  | "token"
  | "issuer"
  | "certificate"
  | "certificate-revoked"
  | "no-rule"
  | "no-team"

/** `message` is for the caller: what is wrong, where, and what would work; never a credential, an upstream ID or a stack. */
export class GatewayError extends Data.TaggedError("GatewayError")<{
  readonly reason: Reason
  readonly message: string
  /** Whole seconds after which a retry makes sense. */
  readonly retryAfter?: number | undefined
  /** Extra headers of the reply, lower case: `allow`, rate-limit headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** What a client library reads of an error beside its message; sent as `error.details` on the messages surface. */
  readonly details?: Readonly<Record<string, unknown>> | undefined
  /** The upstream's status, for records and spans. */
  readonly upstreamStatus?: number | undefined
  readonly code?: Code | undefined
  /** Of a refused caller, for records and audit events: why, and the ID of the key where it is known. */
  readonly refused?: { readonly why: Refusal; readonly id?: string | undefined } | undefined
  /** For the log only: what an operator needs to know and the caller must not. Holds no secret. */
  readonly detail?: string | undefined
}> {}

/** Another request, or its reply, would take more memory than there is (`MemoryBudget`). */
export const noRoom = new GatewayError({
  reason: "overloaded",
  message: "the requests in flight take all the memory that the gateway may use; try again in a moment",
  retryAfter: 1
})

export const invalid = (message: string): GatewayError => new GatewayError({ reason: "invalid", message })
export const internal: GatewayError = new GatewayError({ reason: "internal", message: "internal error" })
