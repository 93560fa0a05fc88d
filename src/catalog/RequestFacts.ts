/**
 * What one request came to, for those who record it: usage records, spans, metrics, log lines; and how it ended, in one word of a
 * closed set. It holds no payload.
 */
import { Schema } from "effect"
import type { ServedCloud } from "./clouds.ts"
import type { Code, GatewayError, Reason } from "./GatewayError.ts"
import type { SurfaceName } from "./names.ts"
import type { Route } from "./Route.ts"
import type { Tokens } from "./Tokens.ts"

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

interface CallerFacts {
  readonly name: string
  readonly team?: { readonly name: string } | undefined
  readonly owner?: string | undefined
  readonly tags?: Readonly<Record<string, string>> | undefined
}

export interface RequestFacts {
  /** The gateway's own ID, a UUID. */
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  readonly method: string
  readonly path: string
  /** The caller's address. */
  readonly source: string | undefined
  /** Undefined for paths that no endpoint answers, and for `/health`. */
  readonly surface: SurfaceName | undefined
  /** Whose key it is, also of one that is refused. */
  readonly keyId: string | undefined
  /** Who calls, once the key is known to be good. `owner`: who answers for the key. */
  readonly caller: CallerFacts | undefined
  /** The ID that was asked for, as the caller wrote it. */
  readonly modelId: string | undefined
  readonly route: Route | undefined
  /** The cloud that was asked; undefined when none was. */
  readonly cloud: ServedCloud | undefined
  /** The region, location or resource that was asked last; undefined when no cloud was. */
  readonly region: string | undefined
  /** All the regions that were asked, where the deployment has several. */
  readonly tried: ReadonlyArray<string>
  readonly upstreamRequestId: string | undefined
  /** The status line; 0 until there is one. */
  readonly status: number
  /** What the request failed with, before or after its first byte; a low-cardinality code. */
  readonly failure: Code | Reason | undefined
  /** Undefined while nothing has failed. */
  readonly outcome: Outcome | undefined
  readonly stream: boolean
  readonly streamEnd: "complete" | "error" | "cancelled" | undefined
  /** What the request is charged; undefined where nothing is. */
  readonly charged: Tokens | undefined
  /** Millionths of the catalog's currency; undefined where nothing is charged or the deployment has no prices. */
  readonly cost: number | undefined
  readonly bytesIn: number
  readonly bytesOut: number
  readonly tools: number
  readonly images: number
  readonly files: number
  readonly flags: number
  /** How often each guard found something; undefined where none did. */
  readonly guardCounts: Readonly<Record<string, number>> | undefined
  /** How many things the gateway changed of the request, as `x-gateway-adjusted` names them. */
  readonly adjusted: number
  /** Milliseconds since the epoch of the first event that reached the caller. */
  readonly firstEventAt: number | undefined
  /** Milliseconds so far in which no cloud was at it; undefined where none was asked. */
  readonly overhead: number | undefined
  /** Tokens of the key's quota: held for the request, and charged so far; undefined for a key without one. */
  readonly quota: { readonly reserved: number; readonly charged: number } | undefined
}
