/**
 * The one place where a call leaves the process: span, breaker, connect and header deadlines, retry of connections that
 * failed before anything was sent, cancellation with the caller, bounded replies. What is said and to whom is the
 * provider's business.
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Cause, Context, Effect, Exit, Layer, Metric, Option, type Scope, Stream } from "effect"
import {
  Headers,
  HttpBody,
  HttpClient,
  type HttpClientError,
  HttpClientRequest,
  type HttpClientResponse
} from "effect/http"
import { CircuitBreaker } from "effect/persistence"
import type { Cloud } from "../model/Catalog.ts"
import { GatewayError } from "../model/GatewayError.ts"
import { type CallSpan, type CallSpanOptions, openCallSpan } from "../telemetry/callSpan.ts"
import type { CredentialError } from "./credentials/CredentialError.ts"
import { isUnreachable, transportError } from "./transport.ts"

export type { UpstreamSpan } from "../telemetry/callSpan.ts"

/** Largest JSON reply that is read, in bytes. */
const maxReplyBytes = 32 * 1024 * 1024
/** Longest error reply that is read, in bytes; the rest is thrown away with its connection. */
const maxErrorBytes = 64 * 1024

/** A request as it is sent: everything but the deadline. */
export interface Wire {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
}

/** One call, with all that a provider knows of it. */
export interface Call {
  readonly cloud: Cloud
  /** In order of preference, all inside one boundary. */
  readonly regions: ReadonlyArray<string>
  /** Address and headers with credentials, for one attempt. */
  readonly prepare: (region: string) => Effect.Effect<Wire, CredentialError>
  /** Gets new credentials after a refusal; absent when they are fixed. */
  readonly refresh?: ((sent: Wire) => Effect.Effect<void, CredentialError>) | undefined
  readonly body: string
  /** What the reply must say it is, lower case. */
  readonly contentType: string
  /** The cloud's words for a refusal, in ours. */
  readonly refusal: (status: number, headers: Headers.Headers, body: string) => GatewayError
  readonly span: CallSpanOptions
}

/** A call that has been answered: its span is open until the scope closes. */
export interface Answered {
  readonly region: string
  readonly headers: Headers.Headers
  readonly span: CallSpan
  /** The body; interrupting it aborts the call. */
  readonly bytes: Stream.Stream<Uint8Array, GatewayError>
}

const breakerTransitions = Metric.counter("gateway_breaker_transitions_total", {
  description: "Transitions of the circuit breakers, by cloud, region and new state",
  incremental: true
})
const breakerOpen = Metric.gauge("gateway_breaker_open", {
  description: "1 while a circuit breaker keeps calls from a cloud's region, or tries it with one"
})

export class Upstream extends Context.Service<
  Upstream,
  {
    /** Opens a call; fails with a refusal, a failed connection or credentials that cannot be had. */
    readonly open: (call: Call) => Effect.Effect<Answered, GatewayError, Scope.Scope>
    /** Opens a call and reads its whole body as text. */
    readonly text: (call: Call) => Effect.Effect<Answered & { readonly body: string }, GatewayError, Scope.Scope>
  }
>()("gateway/provider/Upstream") {
  static readonly layer = Layer.effect(
    Upstream,
    Effect.gen(function* () {
      // Tied to the scope: closing it aborts the call, at any moment.
      const client = HttpClient.withScope(yield* HttpClient.HttpClient)
      const breaker = yield* CircuitBreaker.make({
        tripPolicy: CircuitBreaker.consecutive(10),
        openDuration: "5 seconds"
      })
      yield* breaker.transitions.pipe(
        Stream.runForEach((transition) =>
          Effect.andThen(
            Effect.logWarning(`circuit ${transition.key} is ${transition.to.toLowerCase()}`),
            Effect.andThen(
              Metric.update(
                Metric.withAttributes(breakerTransitions, { circuit: transition.key, state: transition.to }),
                1
              ),
              Metric.update(
                Metric.withAttributes(breakerOpen, { circuit: transition.key }),
                transition.to === "Closed" ? 0 : 1
              )
            )
          )
        ),
        Effect.forkScoped
      )

      const attempt = Effect.fnUntraced(function* (call: Call, region: string) {
        const wire = yield* Effect.mapError(call.prepare(region), credentialsUnavailable)
        const request = HttpClientRequest.post(wire.url, {
          headers: Headers.fromInput(wire.headers),
          body: HttpBody.text(call.body, "application/json")
        })
        const response = yield* client.execute(request).pipe(
          breaker.execute({ key: `${call.cloud}/${region}`, classify }),
          Effect.mapError((error) =>
            error._tag === "CircuitBreakerError" ? circuitOpen(error) : transportError(error)
          )
        )
        return { wire, response, region }
      })

      /** A connection that failed before the request was sent is tried once more, elsewhere if there is an elsewhere. */
      const reach = (call: Call) => {
        const [first = "", second = first] = call.regions
        return attempt(call, first).pipe(
          Effect.catchIf(isUnreachable, (error) =>
            error.code === "connect-timeout" && second === first ? Effect.fail(error) : attempt(call, second)
          )
        )
      }

      const open = Effect.fnUntraced(function* (call: Call) {
        const span = yield* openCallSpan(call.span)
        span.set({ "gateway.region": call.regions[0] })
        const answered = yield* span.within(reach(call)).pipe(
          Effect.flatMap((answered) => {
            const { refresh } = call
            return refresh !== undefined && isCredentialRefusal(answered.response.status)
              ? drain(answered.response).pipe(
                  Effect.andThen(Effect.mapError(refresh(answered.wire), credentialsUnavailable)),
                  Effect.andThen(attempt(call, answered.region)),
                  span.within
                )
              : Effect.succeed(answered)
          }),
          Effect.tap(({ wire, response, region }) =>
            Effect.sync(() =>
              span.set({
                "gateway.region": region,
                "server.address": wire.url.hostname,
                "http.response.status_code": response.status
              })
            )
          ),
          Effect.tap(({ response }) => refused(call, response)),
          Effect.tapError((error) => Effect.sync(() => span.fail(error))),
          Effect.onInterrupt(() => Effect.sync(span.cancelled))
        )
        const { response, region } = answered
        const bytes = response.stream.pipe(
          Stream.mapArray((chunks) => {
            span.chunk()
            return chunks
          }),
          Stream.mapError((error) => {
            const failed = transportError(error)
            span.fail(failed)
            return failed
          }),
          Stream.onEnd(Effect.sync(span.received))
        )
        return { region, headers: response.headers, span, bytes }
      })

      const text = Effect.fnUntraced(function* (call: Call) {
        const answered = yield* open(call)
        const body = yield* bounded(answered.bytes, maxReplyBytes).pipe(
          Effect.tapError((error) => Effect.sync(() => answered.span.fail(error))),
          Effect.onInterrupt(() => Effect.sync(answered.span.cancelled))
        )
        return { ...answered, body }
      })

      return Upstream.of({ open, text })
    }).pipe(
      // Our own span is the client span; trace headers are not sent to clouds.
      Effect.map((service) => ({ open: quiet(service.open), text: quiet(service.text) }))
    )
  )

  /** With connections of its own: five seconds to connect, no response of more than 32 KiB of headers. */
  static readonly live = Upstream.layer.pipe(
    Layer.provide(NodeHttpClient.layerUndiciNoDispatcher),
    Layer.provide(
      NodeHttpClient.layerDispatcherOptions({
        connections: 1024,
        pipelining: 1,
        keepAliveTimeout: 30_000,
        maxHeaderSize: 32 * 1024,
        connect: { timeout: 5_000 }
      })
    ),
    Layer.provide(CircuitBreaker.layerStoreMemory())
  )
}

const quiet =
  <A, E, R>(f: (call: Call) => Effect.Effect<A, E, R>) =>
  (call: Call): Effect.Effect<A, E, R> =>
    f(call).pipe(
      Effect.provideService(HttpClient.TracerDisabledWhen, () => true),
      Effect.provideService(HttpClient.TracerPropagationEnabled, false)
    )

/** Only what says that the cloud cannot be reached or is down opens a circuit; refusals do not. */
const classify = (exit: Exit.Exit<HttpClientResponse.HttpClientResponse, HttpClientError.HttpClientError>) => {
  if (Exit.isSuccess(exit)) {
    return exit.value.status === 502 || exit.value.status === 503 || exit.value.status === 504
      ? CircuitBreaker.failure()
      : CircuitBreaker.success
  }
  return Option.isSome(Cause.findErrorOption(exit.cause)) ? CircuitBreaker.failure() : CircuitBreaker.ignored
}

const circuitOpen = (error: CircuitBreaker.CircuitBreakerError) =>
  new GatewayError({
    reason: "upstream",
    message: "the cloud that serves this model has been failing; try again in a few seconds",
    code: "circuit-open",
    retryAfter: error.reason._tag === "CircuitOpen" ? 5 : 1
  })

const credentialsUnavailable = (error: CredentialError) =>
  new GatewayError({
    reason: "upstream",
    message: "the gateway could not get credentials for the cloud that serves this model",
    code: "credentials",
    detail: error.message
  })

const isCredentialRefusal = (status: number) => status === 401 || status === 403

const drain = (response: HttpClientResponse.HttpClientResponse) =>
  Effect.ignore(bounded(Stream.mapError(response.stream, transportError), maxErrorBytes))

/** Fails for anything but a 200 of the promised type; redirects are not followed. */
const refused = Effect.fnUntraced(function* (call: Call, response: HttpClientResponse.HttpClientResponse) {
  const { status, headers } = response
  if (status === 200) {
    const type = (headers["content-type"] ?? "").toLowerCase()
    const encoding = headers["content-encoding"]
    if (type.startsWith(call.contentType) && (encoding === undefined || encoding === "identity")) return
    yield* drain(response)
    return yield* unexpected("a reply that is not what its API promises", "content-type")
  }
  if (status >= 300 && status < 400) {
    yield* drain(response)
    return yield* unexpected("a redirect, which is not followed", "redirect", status)
  }
  const body = yield* Effect.orElseSucceed(
    bounded(Stream.mapError(response.stream, transportError), maxErrorBytes),
    () => ""
  )
  return yield* call.refusal(status, headers, body)
})

const unexpected = (what: string, code: string, upstreamStatus?: number) =>
  new GatewayError({
    reason: "upstream",
    message: `the cloud that serves this model sent ${what}`,
    code,
    upstreamStatus
  })

/** Reads UTF-8 text up to a limit; more is a failure, and the rest is not read. */
const bounded = (bytes: Stream.Stream<Uint8Array, GatewayError>, limit: number) =>
  Stream.runFoldEffect(
    bytes,
    () => ({ size: 0, chunks: [] as Uint8Array[] }),
    (state, chunk) => {
      state.size += chunk.length
      state.chunks.push(chunk)
      return state.size > limit
        ? Effect.fail(unexpected("a reply that is too large", "too-large"))
        : Effect.succeed(state)
    }
  ).pipe(Effect.map(({ chunks }) => Buffer.concat(chunks).toString("utf8")))
