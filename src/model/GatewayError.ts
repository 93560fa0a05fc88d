/** The one domain error. Each surface turns it into its own wire format in one place. */
import { Data } from "effect"

/**
 * Why a request cannot be served. `message` is for the caller: what is wrong, where, and what would work; never a
 * credential, an upstream ID or a stack.
 *
 * - `invalid` 400, `unauthenticated` 401/403 by surface, `forbidden` 403, `not-found` 404, `method` 405, `timeout-caller` 408,
 *   `too-large` 413, `media-type` 415, `rate-limit` 429, `quota` 429, `internal` 500, `upstream` 502,
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
  | "rate-limit"
  | "quota"
  | "internal"
  | "upstream"
  | "overloaded"
  | "timeout"

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
  /** A low-cardinality code for records and spans, such as `cut`, `idle`, `connect`. */
  readonly code?: string | undefined
  /** For the log only: what an operator needs to know and the caller must not. Holds no secret. */
  readonly detail?: string | undefined
}> {}

export const invalid = (message: string): GatewayError => new GatewayError({ reason: "invalid", message })
export const internal: GatewayError = new GatewayError({ reason: "internal", message: "internal error" })
