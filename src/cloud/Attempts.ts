/**
 * How often a call is tried, and where: once more where the connection failed before anything was sent, once more with new credentials,
 * and once more in another region of the same deployment where one is at its limit. It is never tried in another deployment. Each attempt
 * has its own span.
 */
import { Context, Effect, Layer, type Scope } from "effect"
import type { HttpClientRequest, HttpClientResponse } from "effect/http"
import type { Deployment } from "../catalog/Catalog.ts"
import { cloudFacts } from "../catalog/clouds.ts"
import type { Code, GatewayError } from "../catalog/GatewayError.ts"
import { Clouds } from "../Settings.ts"
import { ceilingError } from "../stream/deadlines.ts"
import { type CallSpan, makeCallSpans } from "../telemetry/spans.ts"
import { beginningOf } from "../wire/print.ts"
import { makeBreaker } from "./breaker.ts"
import { CurrentCall, makeClient, postJson, requestIdHeaders } from "./client.ts"
import { connections } from "./connections.ts"
import type { AuthHeaders, Credential } from "./credentials.ts"
import { clientError, credentialsUnavailable, errorOf, faultError, isUnsent, statusFault, unexpected } from "./fault.ts"
import type { Attempt, CallKind, CallRecord, Cloud, Provider, UpstreamCall } from "./Provider.ts"
import type { CallContext } from "./Response.ts"
import { addressOf, makeRegions } from "./regions.ts"

/** A reply whose head says success; its reader ends the span of the attempt. */
export interface OpenReply {
  readonly response: HttpClientResponse.HttpClientResponse
  readonly attempt: Attempt
}

/** How long the body of a refusal may take. */
const refusalTime = "5 seconds"

/** Statuses of a region at its limit. */
const limited: ReadonlySet<number | undefined> = new Set([429, 503, 529])
/** Failures after which another region is tried, because nothing has reached the first. */
const unreachable: ReadonlySet<Code | undefined> = new Set<Code>(["connect", "connect-timeout", "circuit-open"])
const unauthorized: ReadonlySet<number | undefined> = new Set([401, 403])

/** Not inlined, so that it holds nothing else of the call: it lives as long as the reply. */
const contextOf = (attempt: Attempt, record: CallRecord, deadline: number | undefined): CallContext => ({
  deadline,
  sent: () => {
    attempt.sent = true
  },
  takeMemory: (bytes) => record.takeMemory(bytes),
  received: (bytes) => {
    record.received += bytes
  }
})

/** Ends the span of a call that fails or is given up. */
export const endOnFailure =
  (span: CallSpan) =>
  <A, R>(effect: Effect.Effect<A, GatewayError, R>): Effect.Effect<A, GatewayError, R> =>
    Effect.onError(effect, (cause) =>
      Effect.sync(() => {
        const error = errorOf(cause)
        if (error === undefined) span.cancelled()
        else span.fail(error)
        span.end()
      })
    )

/** The type that a reply to this call must have. */
const typeOf = (cloud: Cloud, call: CallKind): string =>
  call.stream ? cloud.framing(call).contentType : "application/json"

/** Refuses a redirect, and a 200 that is not of the promised type. */
const refuseHead = (contentType: string, { headers, status }: HttpClientResponse.HttpClientResponse) => {
  if (status >= 300 && status < 400) return unexpected("a redirect, which is not followed", "redirect", status)
  const encoding = headers["content-encoding"] ?? "identity"
  const promised = (headers["content-type"] ?? "").toLowerCase().startsWith(contentType) && encoding === "identity"
  return status !== 200 || promised
    ? undefined
    : unexpected("a reply that is not what its API promises", "content-type")
}

const requestIdOf = ({ headers }: HttpClientResponse.HttpClientResponse) =>
  requestIdHeaders.flatMap((name) => beginningOf(headers[name] ?? "", 200) || [])[0]

/** A call as it is sent to any region; the headers are those of the cloud's `message`. */
interface Printed {
  readonly call: UpstreamCall & CallKind
  readonly body: Uint8Array
  readonly headers: Readonly<Record<string, string>>
}

/** Makes the calls of a cloud. All clouds share the connections, the circuit breakers and the limits of regions. */
const makeAttempts = Effect.gen(function* () {
  const { simulated } = yield* Clouds
  const client = yield* makeClient
  const withBreaker = yield* makeBreaker
  const openSpan = yield* makeCallSpans
  const regions = makeRegions()
  /** Not inlined, like `contextOf`. */
  const limitOf =
    (deployment: Deployment, region: string): Attempt["noteLimit"] =>
    (status, seconds) => {
      if (limited.has(status)) regions.markLimited(deployment, region, seconds)
    }

  return (cloud: Cloud, auth: Credential, scrub: Provider["Service"]["scrub"]) => {
    /** Fails for any reply but a 200 of the promised type. */
    const send = Effect.fnUntraced(function* (
      call: Printed["call"],
      request: HttpClientRequest.HttpClientRequest,
      circuit: string,
      attempt: Attempt
    ) {
      const { span } = attempt
      const context = contextOf(attempt, call.record, call.deadline)
      const sent = Effect.provideService(client.execute(request), CurrentCall, context)
      const response = yield* withBreaker(circuit, Effect.mapError(sent, clientError))
      attempt.requestId = requestIdOf(response)
      span.answered(response.status)
      const refused = refuseHead(typeOf(cloud, call), response)
      if (refused !== undefined) return yield* refused
      if (response.status === 200) return { response, attempt }
      // The status is enough where the body cannot be read, or does not come.
      const text = yield* Effect.orElseSucceed(Effect.timeout(response.text, refusalTime), () => "")
      const fault = statusFault(response.status, response.headers, text)
      attempt.noteLimit(fault.status, fault.retryAfter)
      return yield* faultError(fault, scrub(call.route))
    })

    return ({ body, call, headers }: Printed) => {
      const { operation, record, route, stream } = call
      const { deployment, level, model } = route
      const given = { "content-type": "application/json", accept: typeOf(cloud, call), ...headers }
      /** Credentials are waited for no longer than the reply. */
      const inTime = <A>(credentials: Effect.Effect<A, GatewayError>) =>
        Effect.suspend(() =>
          call.deadline === undefined
            ? credentials
            : Effect.timeoutOrElse(credentials, {
                duration: Math.max(0, call.deadline - performance.now()),
                orElse: () => Effect.fail(ceilingError)
              })
        )
      /** The headers of the last attempt, with its credentials. */
      let signed: AuthHeaders = {}

      const tryOnce = (region: string): Effect.Effect<OpenReply, GatewayError, Scope.Scope> =>
        Effect.suspend(() => {
          const { circuit, host, port, url } = addressOf(cloud, call, region)
          const span = openSpan(
            {
              operation,
              stream,
              sandbox: simulated,
              provider: cloudFacts[deployment.cloud].provider,
              model: model.id,
              level,
              deployment: deployment.model,
              address: host,
              port,
              region
            },
            record.span
          )
          const noteLimit = limitOf(deployment, region)
          const attempt: Attempt = { region, span, sent: false, requestId: undefined, noteLimit, lastBytesAt: 0 }
          record.attempts.push(attempt)
          const sign = inTime(
            Effect.mapError(auth.headers({ url, region, headers: given, body }), credentialsUnavailable)
          )
          return endOnFailure(span)(
            Effect.flatMap(sign, (own) => {
              signed = own
              return send(call, postJson(url, own, body), circuit, attempt)
            })
          )
        })

      /** Once more with new credentials where the cloud refused these. */
      const tryRegion = (region: string) =>
        Effect.catch(tryOnce(region), (error) => {
          if (auth.refresh === undefined || !unauthorized.has(error.upstreamStatus)) return Effect.fail(error)
          const refreshed = inTime(
            Effect.mapError(auth.refresh(signed), (failure) => credentialsUnavailable(failure, error.upstreamStatus))
          )
          return Effect.andThen(refreshed, tryOnce(region))
        })

      const [first = "", second] = regions.order(deployment, cloud.endpoint.regions(call), record.keyId ?? "")
      return Effect.catch(tryRegion(first), (error) => {
        if (second !== undefined && unreachable.has(error.code)) return tryRegion(second)
        if (error.code === "connect") return tryRegion(first)
        if (second === undefined || !limited.has(error.upstreamStatus)) return Effect.fail(error)
        // Where the other region cannot be reached, the error is that of the first.
        return Effect.catchIf(tryRegion(second), isUnsent, () => Effect.fail(error))
      })
    }
  }
})

export class Attempts extends Context.Service<Attempts, Effect.Success<typeof makeAttempts>>()(
  "gateway/cloud/Attempts"
) {
  static readonly layer = Layer.effect(Attempts, makeAttempts).pipe(Layer.provide(connections))
}
