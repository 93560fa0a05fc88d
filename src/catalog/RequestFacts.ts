/**
 * What one request came to, for those who record it: usage records, spans, metrics, log lines; and how it ended, in one word of a
 * closed set. It holds no payload.
 */
import { Schema } from "effect"
import type { ServedCloud } from "./clouds.ts"
import { type Code, type GatewayError, type Reason, reasons } from "./GatewayError.ts"
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

/** The outcome of a request that failed with `error`. */
export const outcomeOf = ({ code, reason, upstreamStatus }: GatewayError): Outcome => {
  if (code === "content-filter" || code === "guard") return "filtered"
  if (code === "cut" || code === "idle" || code === "revoked" || code === "drained") return code
  return upstreamStatus === undefined ? reasons[reason][2] : "upstream_error"
}

interface CallerFacts {
  readonly name: string
  readonly team?: { readonly name: string } | undefined
  readonly owner?: string | undefined
  readonly tags?: Readonly<Record<string, string>> | undefined
}

/** `http/RequestRecord.ts` writes it, and works out what is abstract here. */
export abstract class RequestFacts {
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
  abstract readonly keyId: string | undefined
  /** Who calls, once the key is known to be good. `owner`: who answers for the key. */
  caller: CallerFacts | undefined
  /** The ID that was asked for, as the caller wrote it. */
  modelId: string | undefined
  route: Route | undefined
  /** The cloud that was asked; undefined when none was. */
  cloud: ServedCloud | undefined
  /** The region, location or resource that was asked last; undefined when no cloud was. */
  abstract readonly region: string | undefined
  /** All the regions that were asked, where the deployment has several. */
  abstract readonly tried: ReadonlyArray<string>
  abstract readonly upstreamRequestId: string | undefined
  /** The status line; 0 until there is one. */
  status = 0
  /** What the request failed with, before or after its first byte; a low-cardinality code. */
  failure: Code | Reason | undefined
  /** Undefined while nothing has failed. */
  outcome: Outcome | undefined
  stream = false
  streamEnd: "complete" | "error" | "cancelled" | undefined
  /** What the request is charged; undefined where nothing is. */
  abstract readonly charged: Tokens | undefined
  /** Millionths of the catalog's currency; undefined where nothing is charged or the deployment has no prices. */
  abstract readonly cost: number | undefined
  bytesIn = 0
  bytesOut = 0
  tools = 0
  images = 0
  files = 0
  flags = 0
  /** How often each guard found something; undefined where none did. */
  guardCounts: Readonly<Record<string, number>> | undefined
  /** How many things the gateway changed of the request, as `x-gateway-adjusted` names them. */
  adjusted = 0
  /** Milliseconds since the epoch of the first event that reached the caller. */
  firstEventAt: number | undefined
  /** Milliseconds so far in which no cloud was at it; undefined where none was asked. */
  abstract readonly overhead: number | undefined
  /** Tokens of the key's quota: held for the request, and charged so far; undefined for a key without one. */
  abstract readonly quota: { readonly reserved: number; readonly charged: number } | undefined

  constructor(given: Pick<RequestFacts, "id" | "startedAt" | "method" | "path" | "source" | "surface">) {
    this.id = given.id
    this.startedAt = given.startedAt
    this.method = given.method
    this.path = given.path
    this.source = given.source
    this.surface = given.surface
  }
}
