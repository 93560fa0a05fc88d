/** What a cloud is: four values, from which `makeProvider` makes its provider. */
import type { Cloud as CloudName } from "../catalog/clouds.ts"
import type { Operation, Route } from "../catalog/Route.ts"
import type { Decoder } from "../wire/Event.ts"
import type { JsonObject } from "../wire/json.ts"
import type { Credential } from "./credentials/Credential.ts"
import type { Scrub } from "./fault.ts"
import type { Body } from "./Provider.ts"

/** A call, as far as its address and its words depend on it. */
export interface CallKind {
  readonly route: Route
  readonly operation: Operation
  readonly stream: boolean
}

/** What is sent: the body, and headers beside those of the credentials. */
export interface Message {
  readonly body: Body
  readonly headers?: Readonly<Record<string, string>>
}

export interface Cloud {
  readonly name: CloudName
  readonly endpoint: {
    /** The operator's own address, without a trailing slash. */
    readonly baseUrl: string | undefined
    /** All that may answer, inside one boundary; the first is asked first. */
    readonly regions: (call: CallKind) => ReadonlyArray<string>
    /** Scheme and host of a region. */
    readonly host: (region: string) => string
    /** Path and query. */
    readonly path: (call: CallKind, region: string) => string
    /** The body as this cloud takes it. */
    readonly message: (call: CallKind, body: Body) => Message
    /** The body of a whole reply, in the words of the vendor's own API. */
    readonly reply?: (call: CallKind, body: JsonObject) => JsonObject | undefined
  }
  readonly auth: Credential
  /** How a streamed reply is framed. */
  readonly framing: (call: CallKind) => { readonly contentType: string; readonly decoder: () => Decoder }
  /** Takes out of the cloud's words what is the operator's. */
  readonly scrub: (route: Route) => Scrub
}
