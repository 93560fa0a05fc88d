/** A provider reaches one cloud. What is asked of it is the surface's or the dialect's business. */
import { Context, type Effect, type Stream, type Tracer } from "effect"
import type { GatewayError } from "../catalog/GatewayError.ts"
import type { Operation } from "../catalog/names.ts"
import type { Route } from "../catalog/Route.ts"
import type { UpstreamFault } from "../catalog/UpstreamFault.ts"
import type { CallSpan } from "../telemetry/spans.ts"
import type { JsonObject } from "../wire/json.ts"
import type { Event } from "../wire/sse.ts"

/** A body as JSON values; numbers may be raw text where JavaScript's cannot hold them. */
export type Body = JsonObject

/** One attempt to call a cloud, as the request's record knows it. */
export interface Attempt {
  readonly region: string
  /** Open while the attempt may still be answered; the reader of the reply ends it. */
  readonly span: CallSpan
  /** Whether the request has been sent, so that the cloud may be working on it. */
  sent: boolean
  /** The cloud's own ID of the call. */
  requestId: string | undefined
  /** When bytes of a streamed reply came last, in milliseconds of the process's clock. */
  lastBytesAt: number
}

/** What is asked of a cloud. */
export interface UpstreamCall {
  readonly route: Route
  readonly operation: Operation
  /** Asked for once, when the call is made. */
  readonly body: () => Body
  /** About how many bytes the body will have. */
  readonly size: number
  /** Whose key it is: each has a region that it is at home in. */
  readonly keyId: string | undefined
  /** The span of the request that asks. */
  readonly parent: Tracer.AnySpan | undefined
  /** Every attempt is added to it. */
  readonly attempts: Array<Attempt>
  /** When a whole reply must have ended, in milliseconds of the process's clock; a stream has its own deadlines. */
  readonly until?: number | undefined
  /** Takes memory for bytes of the reply, and says whether there was any; less than 0 gives it back. */
  readonly takeMemory: (bytes: number) => boolean
  /** So many bytes have come of a whole reply that began as a success. */
  readonly received: (bytes: number) => void
}

/** A whole reply: a JSON object. */
export interface Reply {
  /** The body as it came. */
  readonly bytes: Buffer
  /** The same, parsed once. */
  readonly body: JsonObject
  /** Open: the caller of the provider ends it, with the tokens and the finish reason. */
  readonly span: CallSpan
}

export class Provider extends Context.Service<
  Provider,
  {
    readonly send: (call: UpstreamCall) => Effect.Effect<Reply, GatewayError>
    /** A cut, a bad frame or an exception frame is a failure. */
    readonly stream: (call: UpstreamCall) => Stream.Stream<Event, GatewayError>
    /** What a failure inside a reply of the route means to the caller. */
    readonly faultError: (route: Route, fault: UpstreamFault) => GatewayError
  }
>()("gateway/cloud/Provider") {}
