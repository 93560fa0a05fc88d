/**
 * A provider reaches one cloud: its addresses, credentials, framing and words for refusals. What is said there is the
 * surface's or the dialect's business.
 */
import { Context, type Effect, type Scope, type Tracer } from "effect"
import type { GatewayError } from "../model/GatewayError.ts"
import type { Operation, Route } from "../model/Route.ts"
import type { UpstreamFault } from "../model/UpstreamFault.ts"
import type { CallSpan } from "../telemetry/callSpan.ts"
import type { JsonObject } from "../wire/json.ts"
import type { Arrived, Source } from "../wire/Source.ts"
import type { Stopper } from "./Stopper.ts"

/** A body as JSON values; numbers may be raw text where JavaScript's cannot hold them. */
export type Body = JsonObject

/** On whose behalf a cloud is asked. */
export interface Asked {
  readonly keyId: string | undefined
  /** Told which region is asked, so that the last one told is the one that may have seen the text. */
  region: string | undefined
  /** Told every region that is asked, where there is a choice. */
  tried: ReadonlyArray<string>
  /** Takes room in memory for bytes of the reply, and says whether there was any; less than 0 gives it back. */
  readonly take: (bytes: number) => boolean
  /** Told how many bytes came of whole replies that began as a success. */
  received: number
}

/** What is asked of a cloud. */
export interface Ask {
  readonly route: Route
  readonly operation: Operation
  readonly body: Body
  /** Whether printing it at once would hold up other requests. */
  readonly large: boolean
  readonly asked: Asked
  /** Ends the call from outside, with the failure that its reader will see. */
  readonly stopper: Stopper
  /** The span of the request that asks. */
  readonly parent: Tracer.AnySpan | undefined
}

interface Answered {
  /** The region, location or resource that answered. */
  readonly region: string
  /** The cloud's own ID for the call, for the usage record. */
  readonly requestId: string | undefined
  /** Open: whoever made the call ends it, when it has been told what the call came to. */
  readonly span: CallSpan
}

/** A whole reply: a JSON object. */
export interface Reply extends Answered {
  /** The body as it came; the bytes of a large one, whose text would take long to make. */
  readonly raw: string | Buffer
  /** The same, parsed once and exactly. */
  readonly body: JsonObject
}

/** A reply that is a stream. */
export interface Streamed extends Answered {
  /** A cut, a bad frame or an exception frame is a failure. */
  readonly events: Source<Arrived<GatewayError>>
  /** The reply has said its last word; its connection may be used again. */
  readonly release: () => void
  /** Nothing more of the reply is wanted: the call is ended. */
  readonly close: () => void
}

export class Provider extends Context.Service<
  Provider,
  {
    readonly send: (ask: Ask) => Effect.Effect<Reply, GatewayError>
    /** The scope ends the call. */
    readonly stream: (ask: Ask) => Effect.Effect<Streamed, GatewayError, Scope.Scope>
    /** What a failure inside a reply of the route means to the caller. */
    readonly faultError: (route: Route, fault: UpstreamFault) => GatewayError
  }
>()("gateway/provider/Provider") {}
