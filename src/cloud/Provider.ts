/**
 * A provider makes calls to one cloud; their bodies are made by surfaces and dialects. `makeProvider` makes it from a `Cloud`: endpoint,
 * credentials, framing, and names that no error message shows.
 */
import { Context, type Effect, type Option, type Stream, type Tracer } from "effect"
import type { Cloud as CloudName } from "../catalog/clouds.ts"
import type { GatewayError } from "../catalog/GatewayError.ts"
import type { Operation } from "../catalog/names.ts"
import type { Route } from "../catalog/Route.ts"
import type { Decoder } from "../stream/framing.ts"
import type { CallSpan } from "../telemetry/spans.ts"
import type { JsonObject } from "../wire/json.ts"
import type { Event } from "../wire/sse.ts"
import type { Auth } from "./credentials.ts"
import type { Scrub } from "./fault.ts"

/** One attempt to call a cloud, as the request's record knows it. */
export interface Attempt {
  readonly region: string
  /** Open while the attempt may still be answered; the reader of the reply ends it. */
  readonly span: CallSpan
  /** Whether the request has been sent, so that the cloud may be working on it. */
  sent: boolean
  /** The cloud's own ID of the call. */
  requestId: string | undefined
  /** Remembers that the region is at its limit where that is what `status` says: of the reply, or of an error inside it. */
  readonly noteLimit: (status: number | undefined, seconds?: number) => void
  /** When bytes of a streamed reply came last, in milliseconds of `performance.now()`. */
  lastBytesAt: number
}

/** The part of the request's record that a call reads and writes. */
export interface CallRecord {
  readonly bytesIn: number
  /** The caller's key, which decides the order of regions. */
  readonly keyId: string | undefined
  readonly span: Tracer.AnySpan | undefined
  /** Every attempt is added to it. */
  readonly attempts: Array<Attempt>
  /** Bytes of whole replies that began as a success. */
  received: number
  /** Takes memory for bytes of the reply; false where there is none left. A negative number gives memory back. */
  readonly takeMemory: (bytes: number) => boolean
}

/** What the address, the framing and the body of a call depend on. */
export interface CallKind {
  readonly route: Route
  readonly operation: Operation
  readonly stream: boolean
}

/** A call, of which the provider's function says whether it streams. */
export interface UpstreamCall extends Omit<CallKind, "stream"> {
  /** Read once, when the call is made. */
  readonly body: () => JsonObject
  readonly record: CallRecord
  /** When a whole reply must have ended, in milliseconds of `performance.now()`; streams have `stream/deadlines.ts`. */
  readonly deadline?: number | undefined
}

export interface Reply extends Pick<Attempt, "noteLimit"> {
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
    /** Fails for a reply that is cut, and for a bad frame or an exception frame. */
    readonly stream: (call: UpstreamCall) => Stream.Stream<Event, GatewayError>
    readonly scrub: (route: Route) => Scrub
  }
>()("gateway/cloud/Provider") {}

/** What is sent: the body, and headers beside those of the credentials. */
export interface Message {
  readonly body: JsonObject
  readonly headers?: Readonly<Record<string, string>>
  /** What is sent instead, made of the printed body. */
  readonly wrap?: (json: string | Uint8Array) => JsonObject
}

export interface Cloud {
  readonly name: CloudName
  readonly endpoint: {
    /** The operator's own address, without a trailing slash. */
    readonly baseUrl: string | undefined
    /** All that may serve the call, inside one boundary. */
    readonly regions: (call: CallKind) => ReadonlyArray<string>
    /** Scheme and host of a region. */
    readonly host: (region: string) => string
    /** Path and query. */
    readonly path: (call: CallKind, region: string) => string
    readonly message: (call: CallKind, body: JsonObject) => Message
    /** The body of a whole reply in the format of the vendor's own API; undefined where it is not one. */
    readonly reply?: (call: CallKind, body: JsonObject) => JsonObject | undefined
  }
  readonly region: string
  /** The setting that holds the credential, or what gets it. */
  readonly credential: string
  /** The file of a certificate that is part of it. */
  readonly certificate?: Option.Option<string>
  readonly auth: Auth
  readonly framing: (call: CallKind) => { readonly contentType: string; readonly decoder: () => Decoder }
  /** What else of the operator's may be in an error message, with what is shown in its place. */
  readonly names?: ReadonlyArray<readonly [name: string, shown: string]>
}
