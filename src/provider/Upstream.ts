/**
 * The one place where a call leaves the process: span, breaker, connect and header deadlines, retry of connections that
 * failed before anything was sent, cancellation with the caller, bounded replies. What is said and to whom is the
 * provider's business.
 */
import { isUtf8 } from "node:buffer"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import type { Dispatcher } from "@effect/platform-node/Undici"
import { Cause, Context, Duration, Effect, Exit, Layer, Metric, Option, type Scope, Stream } from "effect"
import { CircuitBreaker } from "effect/persistence"
import type { Cloud } from "../model/Catalog.ts"
import { GatewayError } from "../model/GatewayError.ts"
import { Settings } from "../Settings.ts"
import { type CallSpan, type CallSpanOptions, openCallSpan } from "../telemetry/callSpan.ts"
import type { CredentialError } from "./credentials/CredentialError.ts"
import { type Body, openBody } from "./replyBody.ts"
import { type ReplyHeaders, replyHeaders } from "./replyHeaders.ts"
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
  readonly refusal: (status: number, headers: ReplyHeaders, body: string) => GatewayError
  readonly span: CallSpanOptions
}

/** A call that has been answered: its span is open until the scope closes. */
export interface Answered {
  readonly region: string
  readonly headers: ReplyHeaders
  readonly span: CallSpan
  /** The next chunk; undefined at the end. Failing, it has told the span. */
  readonly next: Effect.Effect<Uint8Array | undefined, GatewayError>
}

/** A whole reply as text. */
export type Whole = Omit<Answered, "next"> & { readonly body: string }

/** Ends a call at any moment, with the failure that whoever reads it will see. */
export class Stopper {
  private stopped: GatewayError | undefined
  private readonly controller = new AbortController()
  get signal(): AbortSignal {
    return this.controller.signal
  }
  get error(): GatewayError | undefined {
    return this.stopped
  }
  /** The first reason counts. */
  readonly stop = (error: GatewayError): void => {
    this.stopped ??= error
    this.controller.abort(this.stopped)
  }
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
    /** Opens a call; fails with a refusal, a failed connection or credentials that cannot be had. The stopper ends it. */
    readonly open: (call: Call, stopper: Stopper) => Effect.Effect<Answered, GatewayError, Scope.Scope>
    /** Opens a call and reads its whole body as text, under the ceiling of unstreamed requests. */
    readonly text: (call: Call) => Effect.Effect<Whole, GatewayError, Scope.Scope>
  }
>()("gateway/provider/Upstream") {
  static readonly layer = Layer.effect(
    Upstream,
    Effect.gen(function* () {
      const dispatcher = yield* NodeHttpClient.Dispatcher
      const ceiling = Duration.toMillis((yield* Settings).requestCeiling)
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

      /** Deadlines are ours; trace headers are not sent to clouds. */
      const request = ({ url, headers }: Wire, body: string, stopper: Stopper) =>
        Effect.callback<Dispatcher.ResponseData, GatewayError>((resume) => {
          dispatcher
            .request({
              origin: url.origin,
              path: url.pathname + url.search,
              method: "POST",
              headers: { "content-type": "application/json", ...headers },
              body,
              signal: stopper.signal,
              headersTimeout: 0,
              bodyTimeout: 0
            })
            .then(
              (response) => resume(Effect.succeed(response)),
              (cause) => resume(Effect.fail(stopper.error ?? transportError(cause)))
            )
          return Effect.sync(() => stopper.stop(abandoned))
        })

      const attempt = Effect.fnUntraced(function* (call: Call, region: string, stopper: Stopper) {
        const wire = yield* Effect.mapError(call.prepare(region), credentialsUnavailable)
        const {
          statusCode: status,
          headers,
          body
        } = yield* request(wire, call.body, stopper).pipe(
          breaker.execute({ key: `${call.cloud}/${region}`, classify }),
          Effect.mapError((error) => (error._tag === "CircuitBreakerError" ? circuitOpen(error) : error))
        )
        const response: Response = { status, headers: replyHeaders(headers), body: openBody(body, () => stopper.error) }
        return { wire, response, region }
      })

      /** A connection that failed before the request was sent is tried once more, elsewhere if there is an elsewhere. */
      const reach = (call: Call, stopper: Stopper) => {
        const [first = "", second = first] = call.regions
        return attempt(call, first, stopper).pipe(
          Effect.catchIf(isUnreachable, (error) =>
            error.code === "connect-timeout" && second === first ? Effect.fail(error) : attempt(call, second, stopper)
          )
        )
      }

      const open = Effect.fnUntraced(function* (call: Call, stopper: Stopper) {
        const span = yield* openCallSpan(call.span)
        span.set({ "gateway.region": call.regions[0] })
        const { response, region } = yield* reach(call, stopper).pipe(
          Effect.flatMap((answered) => {
            const { refresh } = call
            return refresh !== undefined && isCredentialRefusal(answered.response.status)
              ? readUpTo(answered.response.body, maxErrorBytes).pipe(
                  Effect.ignore,
                  Effect.andThen(Effect.mapError(refresh(answered.wire), credentialsUnavailable)),
                  Effect.andThen(attempt(call, answered.region, stopper))
                )
              : Effect.succeed(answered)
          }),
          Effect.tap(({ wire, response, region }) => {
            span.set({
              "gateway.region": region,
              "server.address": wire.url.hostname,
              "http.response.status_code": response.status
            })
            return refused(call, response)
          }),
          Effect.tapError((error) => Effect.sync(() => span.fail(error))),
          Effect.onInterrupt(() => Effect.sync(span.cancelled))
        )
        const { body } = response
        // A body that has not ended takes its connection with it.
        yield* Effect.addFinalizer(() => Effect.sync(body.close))
        const next = Effect.matchEffect(body.next, {
          onSuccess: (chunk) => {
            if (chunk === undefined) span.received()
            else span.chunk()
            return Effect.succeed(chunk)
          },
          onFailure: (error) => {
            span.fail(error)
            return Effect.fail(error)
          }
        })
        return { region, headers: response.headers, span, next }
      })

      const text = Effect.fnUntraced(function* (call: Call) {
        const stopper = new Stopper()
        const timer = setTimeout(stopper.stop, ceiling, ceilingError)
        yield* Effect.addFinalizer(() => Effect.sync(() => clearTimeout(timer)))
        const { next, ...answered } = yield* open(call, stopper)
        const body = yield* Effect.flatMap(collect(next, maxReplyBytes), validText).pipe(
          Effect.tapError((error) => Effect.sync(() => answered.span.fail(error))),
          Effect.onInterrupt(() => Effect.sync(answered.span.cancelled))
        )
        return { ...answered, body }
      })

      return Upstream.of({ open, text })
    })
  )

  /**
   * With connections of its own: five seconds to connect, no response of more than 32 KiB of headers. HTTP/1.1 only: where
   * HTTP/2 is allowed, undici lets all requests wait for the first handshake, so that one that hangs holds up the rest.
   */
  static readonly live = Upstream.layer.pipe(
    Layer.provide(
      NodeHttpClient.layerDispatcherOptions({
        connections: 1024,
        pipelining: 1,
        allowH2: false,
        keepAliveTimeout: 30_000,
        maxHeaderSize: 32 * 1024,
        connect: { timeout: 5_000 }
      })
    ),
    Layer.provide(CircuitBreaker.layerStoreMemory())
  )
}

interface Response {
  readonly status: number
  readonly headers: ReplyHeaders
  readonly body: Body
}

const abandoned = new GatewayError({ reason: "upstream", message: "the call was given up", code: "cancelled" })

/** The whole of a request took too long. */
export const ceilingError = new GatewayError({
  reason: "timeout",
  message: "the reply took longer than a request may take",
  code: "ceiling"
})

/** Only what says that the cloud cannot be reached or is down opens a circuit; refusals do not. */
const classify = (exit: Exit.Exit<Dispatcher.ResponseData, GatewayError>) => {
  if (Exit.isSuccess(exit)) return down.has(exit.value.statusCode) ? CircuitBreaker.failure() : CircuitBreaker.success
  const error = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
  return error === undefined || error.reason !== "upstream" ? CircuitBreaker.ignored : CircuitBreaker.failure()
}
const down: ReadonlySet<number> = new Set([502, 503, 504])

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

/** Fails for anything but a 200 of the promised type; redirects are not followed. */
const refused = (call: Call, { status, headers, body }: Response): Effect.Effect<void, GatewayError> => {
  if (status === 200) {
    const encoding = headers["content-encoding"]
    if (
      (headers["content-type"] ?? "").toLowerCase().startsWith(call.contentType) &&
      (encoding ?? "identity") === "identity"
    ) {
      return Effect.void
    }
    return Effect.andThen(
      Effect.sync(body.close),
      Effect.fail(unexpected("a reply that is not what its API promises", "content-type"))
    )
  }
  if (status >= 300 && status < 400) {
    return Effect.andThen(
      Effect.sync(body.close),
      Effect.fail(unexpected("a redirect, which is not followed", "redirect", status))
    )
  }
  return Effect.flatMap(readUpTo(body, maxErrorBytes), (text) => Effect.fail(call.refusal(status, headers, text)))
}

const unexpected = (what: string, code: string, upstreamStatus?: number) =>
  new GatewayError({
    reason: "upstream",
    message: `the cloud that serves this model sent ${what}`,
    code,
    upstreamStatus
  })

/** Text that is not UTF-8 is not repaired: the caller would take the repairs for the model's words. */
const validText = (bytes: Buffer): Effect.Effect<string, GatewayError> =>
  isUtf8(bytes)
    ? Effect.succeed(bytes.toString("utf8"))
    : Effect.fail(unexpected("a reply that is not valid UTF-8", "invalid-utf8"))

/** Collects bytes; more than the limit is a failure, and the rest is not read. */
const collect = Effect.fnUntraced(function* (next: Answered["next"], limit: number) {
  const chunks: Array<Uint8Array> = []
  let size = 0
  while (true) {
    const chunk = yield* next
    if (chunk === undefined) break
    size += chunk.length
    if (size > limit) return yield* unexpected("a reply that is too large", "too-large")
    chunks.push(chunk)
  }
  const [only] = chunks
  return chunks.length === 1 && only !== undefined
    ? Buffer.from(only.buffer, only.byteOffset, only.length)
    : Buffer.concat(chunks)
})

/** An error body, or none where it cannot be had. */
const readUpTo = (body: Body, limit: number) =>
  Effect.map(collect(body.next, limit), (bytes) => bytes.toString("utf8")).pipe(
    Effect.orElseSucceed(() => ""),
    Effect.ensuring(Effect.sync(body.close))
  )
