/** The one domain error. Each surface turns it into its own wire format in one place. */
import { Data } from "effect"

/**
 * Why a request cannot be served. `message` is for the caller: what is wrong, where, and what would work; never a
 * credential, an upstream ID or a stack.
 *
 * - `invalid` 400, `unauthenticated` 401/403 by surface, `forbidden` 403, `not-found` 404, `method` 405, `timeout-caller` 408,
 *   `too-large` 413, `media-type` 415, `expectation` 417, `rate-limit` 429, `quota` 429, `internal` 500, `upstream` 502,
 *   `overloaded` 503, `timeout` 504.
 */
export type Reason =
  | "invalid"
  | "unauthenticated"
  | "forbidden"
  | "not-found"
  | "method"
  | "timeout-caller"
  | "too-large"
  | "media-type"
  | "expectation"
  | "rate-limit"
  | "quota"
  | "internal"
  | "upstream"
  | "overloaded"
  | "timeout"

/**
 * What exactly happened, for records, spans and whoever decides by it. A request's code is that of its first failure.
 *
 * - Of ours: `screen` a tool that names a destination; `ceiling`, `idle` the deadlines; `revoked`, `drained` why a running stream
 *   was ended; `quota-store` the store of quotas is lost; `cloud-quota` the operator's quota with a cloud is used up; `cancelled` a call that was given up.
 * - Of reaching a cloud: `connect`, `connect-timeout` before anything was sent; `connection`, `certificate`, `credentials`,
 *   `circuit-open`, `redirect`, `content-type`, `too-large`, `invalid-utf8`, `bad-frame`.
 * - Of what a cloud said: `content-filter` its safety system refused the prompt; `upstream-invalid`, `upstream-refused`, `upstream-rate-limit`, `upstream-timeout`, `upstream-error`; and
 *   `cut`, `shape`, `event`, `finish` (see `UpstreamFault`).
 */
export type Code =
  | "screen"
  | "ceiling"
  | "idle"
  | "revoked"
  | "drained"
  | "quota-store"
  | "cloud-quota"
  | "cancelled"
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
  | "content-filter"
  | "upstream-invalid"
  | "upstream-refused"
  | "upstream-rate-limit"
  | "upstream-timeout"
  | "upstream-error"
  | "cut"
  | "shape"
  | "event"
  | "finish"

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
  /** For the log only: what an operator needs to know and the caller must not. Holds no secret. */
  readonly detail?: string | undefined
}> {}

/** Another request, or its reply, would take more memory than there is (`http/MemoryBudget.ts`). */
export const noRoom = new GatewayError({
  reason: "overloaded",
  message: "the gateway has as much in hand as its memory takes; try again in a moment",
  retryAfter: 1
})

export const invalid = (message: string): GatewayError => new GatewayError({ reason: "invalid", message })
export const internal: GatewayError = new GatewayError({ reason: "internal", message: "internal error" })
