/**
 * How often a call is tried, and where: once more when the connection failed before anything was sent, once more with new credentials,
 * and once more in another region of the same deployment when one is at its limit. Never in another deployment. Each attempt has its
 * own span.
 */
import { Cause, Context, Effect, Exit, Layer, Option, type Scope } from "effect"
import type { HttpClientResponse } from "effect/http"
import { cloudFacts } from "../catalog/clouds.ts"
import { GatewayError } from "../catalog/GatewayError.ts"
import { isHostOf } from "../catalog/Partition.ts"
import { Clouds } from "../Settings.ts"
import { type CallSpan, type CallSpanOptions, makeCallSpans } from "../telemetry/spans.ts"
import { type CallContext, CurrentCall, makeClient, postJson } from "./client.ts"
import { connections } from "./connections.ts"
import type { AuthHeaders, CredentialError } from "./credentials.ts"
import { faultError, retryAfterOf, statusFault, unexpected } from "./fault.ts"
import type { Asker, Attempt, CallKind, Cloud, UpstreamCall } from "./Provider.ts"
import { makeBreaker, makeRegions } from "./regions.ts"
import { clientError, isUnreachable, isUnsent } from "./transport.ts"

/** An attempt that was answered with success; the reader of the reply ends its span. */
export interface Answer {
  readonly response: HttpClientResponse.HttpClientResponse
  readonly attempt: Attempt
}

/** Where a call goes. */
interface Target {
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

/** What the span and metrics of a call say from its start. `sandbox`: its cloud is simulated. */
const spanOf = (
  { operation, route, stream }: CallKind,
  target: Target,
  region: string,
  sandbox: boolean
): CallSpanOptions => ({
  operation,
  provider: cloudFacts[route.deployment.cloud].provider,
  model: route.model.id,
  address: target.address,
  port: target.port,
  sandbox,
  level: route.level,
  deployment: route.deployment.model,
  region,
  stream
})

type Answering = Effect.Effect<Answer, GatewayError, Scope.Scope>

/** A region at its limit, or one that has no room for more. */
const full: ReadonlySet<number | undefined> = new Set([429, 503, 529])
const unauthorized: ReadonlySet<number | undefined> = new Set([401, 403])

const credentialsUnavailable = (error: CredentialError, upstreamStatus?: number) =>
  new GatewayError({
    reason: "upstream",
    message: "the gateway could not get credentials for the cloud that serves this model",
    code: "credentials",
    headers: error.refused === true ? { "x-should-retry": "false" } : undefined,
    detail: error.message,
    upstreamStatus
  })

/** Apart, because it lives as long as the reply. */
const contextOf = (attempt: Attempt, record: Asker, until: number | undefined): CallContext => ({
  until,
  sent: () => {
    attempt.sent = true
  },
  take: (bytes) => record.take(bytes),
  received: (bytes) => {
    record.received += bytes
  }
})

/** Ends the span of a call that fails or is given up. */
export const endOnFailure =
  (span: CallSpan) =>
  <A, R>(effect: Effect.Effect<A, GatewayError, R>): Effect.Effect<A, GatewayError, R> =>
    Effect.onExit(effect, (exit) =>
      Effect.sync(() => {
        if (Exit.isSuccess(exit)) return
        const error = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
        if (error === undefined) span.cancelled()
        else span.fail(error)
        span.end()
      })
    )

/** Why a 200 cannot be what was asked for, by its headers; and redirects, which are not followed. */
const refuseHead = (contentType: string, { headers, status }: HttpClientResponse.HttpClientResponse) => {
  if (status >= 300 && status < 400) return unexpected("a redirect, which is not followed", "redirect", status)
  const encoding = headers["content-encoding"] ?? "identity"
  const promised = (headers["content-type"] ?? "").toLowerCase().startsWith(contentType) && encoding === "identity"
  return status !== 200 || promised
    ? undefined
    : unexpected("a reply that is not what its API promises", "content-type")
}

const requestIdHeaders = ["x-amzn-requestid", "request-id", "apim-request-id", "x-request-id"]
const requestIdOf = ({ headers }: HttpClientResponse.HttpClientResponse) =>
  requestIdHeaders.flatMap((name) => headers[name]?.slice(0, 200) ?? [])[0]

/** A call as it is sent, wherever it is. */
export interface Printed {
  readonly call: UpstreamCall
  readonly kind: CallKind
  readonly body: Uint8Array
  /** Beside those of the credentials. */
  readonly headers: Readonly<Record<string, string>>
}

/** Makes the calls of one cloud; connections, breakers and what regions said of their limits are shared by all. */
const makeAttempts = Effect.gen(function* () {
  const { simulated } = yield* Clouds
  const client = yield* makeClient
  const guarded = yield* makeBreaker
  const openSpan = yield* makeCallSpans
  const places = makeRegions()

  return (cloud: Cloud) => {
    const { auth, endpoint } = cloud

    const ask = Effect.fnUntraced(function* (
      { body, call, headers, kind }: Printed,
      target: Target,
      attempt: Attempt,
      signedWith: (headers: AuthHeaders) => void
    ) {
      const { region, span } = attempt
      const contentType = kind.stream ? cloud.framing(kind).contentType : "application/json"
      const given = { "content-type": "application/json", accept: contentType, ...headers }
      const signed = yield* Effect.mapError(auth.headers({ url: target.url, region, headers: given, body }), (error) =>
        credentialsUnavailable(error)
      )
      signedWith(signed)
      const context = contextOf(attempt, call.record, call.until)
      const sent = Effect.provideService(client.execute(postJson(target.url, signed, body)), CurrentCall, context)
      const response = yield* guarded(target.circuit, Effect.mapError(sent, clientError))
      attempt.requestId = requestIdOf(response)
      span.answered(response.status)
      if (full.has(response.status)) places.full(call.route.deployment, region, retryAfterOf(response.headers))
      const refused = refuseHead(contentType, response)
      if (refused !== undefined) return yield* refused
      if (response.status === 200) return { response, attempt }
      // A refusal is one also when its words cannot be had.
      const text = yield* Effect.orElseSucceed(response.text, () => "")
      return yield* faultError(statusFault(response.status, response.headers, text), cloud.scrub(call.route))
    })

    /** Fails for any reply but a 200 of the promised type. */
    return (printed: Printed): Answering => {
      const { call, kind } = printed
      let refused: AuthHeaders = {}
      const signedWith = (headers: AuthHeaders) => {
        refused = headers
      }

      const attempt = (region: string): Answering =>
        Effect.suspend(() => {
          const target = targetOf(cloud, kind, region)
          const span = openSpan(spanOf(kind, target, region, simulated), call.record.span)
          const noted: Attempt = { region, span, sent: false, requestId: undefined, lastBytesAt: 0 }
          call.record.attempts.push(noted)
          return endOnFailure(span)(ask(printed, target, noted, signedWith))
        })

      const renewed = (region: string): Answering =>
        Effect.catch(attempt(region), (error) => {
          if (auth.refresh === undefined || !unauthorized.has(error.upstreamStatus)) return Effect.fail(error)
          const refreshed = Effect.mapError(auth.refresh(refused), (failure) =>
            credentialsUnavailable(failure, error.upstreamStatus)
          )
          return Effect.andThen(refreshed, attempt(region))
        })

      const [first = "", second] = places.order(call.route.deployment, endpoint.regions(kind), call.record.keyId ?? "")
      return Effect.catch(renewed(first), (error) => {
        if (second !== undefined && (isUnreachable(error) || error.code === "circuit-open")) return renewed(second)
        if (error.code === "connect") return renewed(first)
        if (second === undefined || !full.has(error.upstreamStatus)) return Effect.fail(error)
        // Where nothing comes of the other region, what the first one said stands.
        return Effect.catchIf(renewed(second), isUnsent, () => Effect.fail(error))
      })
    }
  }
})

export class Attempts extends Context.Service<Attempts, Effect.Success<typeof makeAttempts>>()(
  "gateway/cloud/Attempts"
) {
  static readonly layer = Layer.effect(Attempts, makeAttempts)
  /** With connections of its own. */
  static readonly live = Attempts.layer.pipe(Layer.provide(connections))
}
