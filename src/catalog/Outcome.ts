/** How a request ended, in one word of a closed set. */
import { Schema } from "effect"
import type { GatewayError, Reason } from "./GatewayError.ts"

export const Outcome = Schema.Literals([
  "ok",
  /** The caller's request was wrong: 400, 404, 405, 413, 415, 417. */
  "invalid",
  /** The cloud's safety system, or a guard of the operator's, refused the prompt (400) or the answer. */
  "filtered",
  "unauthenticated",
  "forbidden",
  "rate_limited",
  "quota",
  /** The cloud refused or failed, its own rate limit included. */
  "upstream_error",
  /** The ceiling, or no answer of the cloud in time. */
  "timeout",
  /** The caller was too slow with its headers or body: 408. */
  "caller_timeout",
  /** The caller left. */
  "cancelled",
  /** The cloud's stream broke off. */
  "cut",
  /** The cloud's stream was silent for too long. */
  "idle",
  /** Too much in flight, or the quota could not be checked: 503. */
  "shed",
  /** Ended by the shutdown of the gateway. */
  "drained",
  /** The key was revoked or expired during the stream. */
  "revoked",
  "internal"
])
export type Outcome = typeof Outcome.Type

const reasons = {
  invalid: "invalid",
  "not-found": "invalid",
  method: "invalid",
  "too-large": "invalid",
  "media-type": "invalid",
  expectation: "invalid",
  unauthenticated: "unauthenticated",
  forbidden: "forbidden",
  "rate-limit": "rate_limited",
  quota: "quota",
  "timeout-caller": "caller_timeout",
  overloaded: "shed",
  timeout: "timeout",
  upstream: "upstream_error",
  internal: "internal"
} as const satisfies Record<Reason, Outcome>

/** The outcome of a request that failed with `error`. */
export const outcomeOf = ({ code, reason, upstreamStatus }: GatewayError): Outcome => {
  if (code === "content-filter" || code === "guard") return "filtered"
  if (code === "cut" || code === "idle" || code === "revoked" || code === "drained") return code
  return upstreamStatus === undefined ? reasons[reason] : "upstream_error"
}

/** The outcome of a request that is over. `left`: the caller left before the end. */
export const finalOutcome = (
  { filtered, outcome }: { readonly filtered: boolean; readonly outcome: Outcome | undefined },
  left: boolean
): Outcome => outcome ?? (left ? "cancelled" : filtered ? "filtered" : "ok")
