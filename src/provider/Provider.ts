/**
 * A provider reaches one cloud: its addresses, credentials, framing and words for refusals. What is said there is the
 * surface's or the dialect's business.
 */
import { Context, type Effect, type Schema, type Scope, type Stream } from "effect"
import type { GatewayError } from "../model/GatewayError.ts"
import type { Route } from "../model/Route.ts"
import type { Event } from "./framing/Event.ts"
import type { Stopper, UpstreamSpan } from "./Upstream.ts"

/** Which of a cloud's APIs a body is for. */
export type Operation = "messages" | "count" | "content" | "chat" | "responses" | "embeddings"

/** A body as JSON values; numbers may be raw text where JavaScript's cannot hold them. */
export type Body = Readonly<Record<string, unknown>>

interface Answered {
  /** The region, location or resource that answered. */
  readonly region: string
  /** The cloud's own ID for the call, for the usage record. */
  readonly requestId: string | undefined
  readonly span: UpstreamSpan
}

export interface Reply extends Answered {
  readonly body: Schema.Json
  /** The body as it came. */
  readonly text: string
}

export interface Streamed extends Answered {
  /** One array of events, maybe none, for each network chunk; a cut, a bad frame or an exception frame is a failure. */
  readonly events: Stream.Stream<ReadonlyArray<Event>, GatewayError>
}

export class Provider extends Context.Service<
  Provider,
  {
    /** What `x-gateway-served-by` calls the place where a route is served. */
    readonly region: (route: Route, operation: Operation) => string
    readonly send: (route: Route, operation: Operation, body: Body) => Effect.Effect<Reply, GatewayError, Scope.Scope>
    readonly stream: (
      route: Route,
      operation: Operation,
      body: Body,
      /** Ends the call from outside, with the failure that its reader will see. */
      stopper: Stopper
    ) => Effect.Effect<Streamed, GatewayError, Scope.Scope>
  }
>()("gateway/provider/Provider") {}
