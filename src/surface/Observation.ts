/**
 * What one request came to. Whoever learns something writes it here; the usage record, the log line and the metrics are
 * made from it once, when the request is over. It holds no payload.
 */
import { Context } from "effect"
import type { Key } from "../access/Keys.ts"
import type { Reservation } from "../access/Quota.ts"
import { type Outcome, outcomeOf, type UsageRecord } from "../access/UsageRecord.ts"
import type { GatewayError } from "../model/GatewayError.ts"
import type { Route } from "../model/Route.ts"

/** Tokens as the upstream counted them; cached input is part of `input`, reasoning part of `output`. */
export interface Tokens {
  readonly input: number
  readonly output: number
  readonly reasoning?: number | undefined
  readonly cached?: number | undefined
}

export class Observation {
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  readonly method: string
  readonly path: string
  /** The peer's address. */
  readonly source: string | undefined
  /** Whose key it is, once it is known to be good. */
  key: Key | undefined
  /** Undefined for paths that serve no model. */
  readonly surface: UsageRecord["surface"] | undefined
  modelId: string | undefined
  route: Route | undefined
  region: string | undefined
  upstreamRequestId: string | undefined
  status = 0
  /** What the request failed with, before or after its first byte; a low-cardinality code. */
  failure: string | undefined
  /** Undefined while nothing has failed. */
  outcome: Outcome | undefined
  /** What is held of the key's quota. */
  reservation: Reservation | undefined
  /** Headers that the reply gets whatever it becomes: rate limits. */
  replyHeaders: Readonly<Record<string, string>> = {}
  stream = false
  streamEnd: "complete" | "error" | "cancelled" | undefined
  tokens: Tokens | undefined
  finishReason: string | undefined
  bytesIn = 0
  bytesOut = 0
  tools = 0
  images = 0
  files = 0
  flags = 0
  /** Upstream events so far: about as many output tokens. */
  events = 0
  /** Milliseconds since the epoch of the first event that reached the caller. */
  firstEventAt: number | undefined

  constructor(fields: Pick<Observation, "id" | "startedAt" | "method" | "path" | "source" | "surface">) {
    this.id = fields.id
    this.startedAt = fields.startedAt
    this.method = fields.method
    this.path = fields.path
    this.source = fields.source
    this.surface = fields.surface
  }

  /** The first failure counts. */
  fail(error: GatewayError): void {
    this.failure ??= error.code ?? error.reason
    this.outcome ??= outcomeOf(error)
  }
}

/** The request's own; set at the front door. */
export const CurrentObservation = Context.Reference<Observation>("gateway/surface/CurrentObservation", {
  defaultValue: () =>
    new Observation({ id: "", startedAt: 0, method: "", path: "", source: undefined, surface: undefined })
})
