/** What a cloud is: four values, from which `makeProvider` makes its provider, and where a call to it goes. */
import { type Cloud as CloudName, cloudFacts } from "../catalog/clouds.ts"
import type { Operation } from "../catalog/names.ts"
import { isHostOf } from "../catalog/Partition.ts"
import type { Route } from "../catalog/Route.ts"
import type { CallSpanOptions, ResponseNames } from "../telemetry/spans.ts"
import type { Decoder } from "../wire/Event.ts"
import { type JsonObject, objectOf, textOf } from "../wire/json.ts"
import type { Credential } from "./credentials.ts"
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

// Where a call goes.

export interface Target {
  readonly url: URL
  /** The host's name, and the port also where the scheme says it. */
  readonly address: string
  readonly port: number
  /** Cloud and region, whose calls share a circuit breaker. */
  readonly circuit: string
}

/**
 * Refuses an address that leads elsewhere than its parts say: another host than the operator's or the partition table's, or
 * another path. Settings and catalog are checked when they are read, so none should come this far.
 */
export const targetOf = (
  { endpoint: { baseUrl, host, path }, name }: Pick<Cloud, "endpoint" | "name">,
  kind: CallKind,
  region: string
): Target => {
  const asked = path(kind, region)
  const written = (baseUrl ?? host(region)) + asked
  const url = new URL(written)
  const rightHost =
    baseUrl !== undefined || (url.protocol === "https:" && url.port === "" && isHostOf(name, region, url.hostname))
  // An address that the parser would write otherwise is not what its parts say.
  if (!rightHost || !asked.startsWith("/") || url.href !== written || url.username !== "" || url.password !== "") {
    throw new Error(`${name}/${region}: an upstream address leads out of the boundary`)
  }
  return {
    url,
    address: url.hostname,
    port: Number(url.port) || (url.protocol === "https:" ? 443 : 80),
    circuit: `${name}/${region}`
  }
}

// What the spans and metrics of upstream calls say, in the words of the OpenTelemetry GenAI conventions.

/** What is known of a call from its start. `sandbox`: its cloud is simulated. */
export const spanOf = ({ operation, route, stream }: CallKind, target: Target, sandbox: boolean): CallSpanOptions => ({
  operation,
  provider: cloudFacts[route.deployment.cloud].provider,
  model: route.model.id,
  address: target.address,
  port: target.port,
  sandbox,
  level: route.level,
  deployment: route.deployment.model,
  stream
})

const shown = (value: unknown): string | undefined => textOf(value)?.slice(0, 100) || undefined

/**
 * `gen_ai.response.*` of a whole reply or of a stream's first event, in the words of any of the vendors. Only these fields of
 * the vendors' own: nothing of what a model said.
 */
export const responseNames = (body: JsonObject): ResponseNames => {
  const inner = objectOf(body.message ?? body.response ?? body)
  return {
    model: shown(inner.model) ?? shown(inner.modelVersion),
    id: shown(inner.id) ?? shown(inner.responseId)
  }
}
