/**
 * The one place where a call leaves the process: span, breaker, connect and header deadlines, retry of connections that
 * failed before anything was sent, cancellation with the caller, bounded replies. What is said and to whom is the
 * provider's business.
 */
import { isUtf8 } from "node:buffer"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Cause, Context, Duration, Effect, Exit, Layer, Option, type Scope } from "effect"
import { CircuitBreaker } from "effect/persistence"
import type { Cloud } from "../model/Catalog.ts"
import { GatewayError } from "../model/GatewayError.ts"
import { Settings } from "../Settings.ts"
import { type CallSpan, type CallSpanOptions, openCallSpan } from "../telemetry/callSpan.ts"
import { makeBreaker } from "./breaker.ts"
import type { CredentialError } from "./credentials/CredentialError.ts"
import { type Body, dispatch, Stopper } from "./replyBody.ts"
import { type ReplyHeaders, replyHeaders } from "./replyHeaders.ts"
import { isUnreachable } from "./transport.ts"

export type { UpstreamSpan } from "../telemetry/callSpan.ts"
export { Stopper } from "./replyBody.ts"

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
      const guarded = yield* makeBreaker

      /** Deadlines are ours; trace headers are not sent to clouds. */
      const request = ({ url, headers }: Wire, body: string, stopper: Stopper) =>
        dispatch(
          dispatcher,
          {
            origin: url.origin,
            path: url.pathname + url.search,
            method: "POST",
            headers: { "content-type": "application/json", ...headers },
            body,
            headersTimeout: 0,
            bodyTimeout: 0
          },
          stopper
        )

      const attempt = (call: Call, region: string, stopper: Stopper): Effect.Effect<Attempt, GatewayError> =>
        Effect.flatMap(Effect.mapError(call.prepare(region), credentialsUnavailable), (wire) =>
          Effect.map(
            guarded(`${call.cloud}/${region}`, request(wire, call.body, stopper)),
            ({ status, headers, body }) => ({ wire, region, status, headers: replyHeaders(headers), body })
          )
        )

      /** A connection that failed before the request was sent is tried once more, elsewhere if there is an elsewhere. */
      const reach = (call: Call, stopper: Stopper) => {
        const [first = "", second = first] = call.regions
        return attempt(call, first, stopper).pipe(
          Effect.catchIf(isUnreachable, (error) =>
            error.code === "connect-timeout" && second === first ? Effect.fail(error) : attempt(call, second, stopper)
          )
        )
      }

      /** With new credentials, where the cloud refused the ones it was sent. */
      const renewed = (call: Call, stopper: Stopper, first: Attempt): Effect.Effect<Attempt, GatewayError> =>
        call.refresh === undefined || (first.status !== 401 && first.status !== 403)
          ? Effect.succeed(first)
          : readUpTo(first.body, maxErrorBytes).pipe(
              Effect.ignore,
              Effect.andThen(Effect.mapError(call.refresh(first.wire), credentialsUnavailable)),
              Effect.andThen(attempt(call, first.region, stopper))
            )

      const open = Effect.fnUntraced(function* (call: Call, stopper: Stopper) {
        const span = yield* openCallSpan(call.span)
        span.set({ "gateway.region": call.regions[0] })
        const answer = reach(call, stopper).pipe(
          Effect.flatMap((first) => renewed(call, stopper, first)),
          Effect.flatMap((last) => {
            span.set({
              "gateway.region": last.region,
              "server.address": last.wire.url.hostname,
              "http.response.status_code": last.status
            })
            return accepted(call, last)
          })
        )
        const { region, headers, body } = yield* told(span, answer)
        // A body that has not ended takes its connection with it.
        yield* Effect.addFinalizer(() => {
          body.close()
          return Effect.void
        })
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
        return { region, headers, span, next }
      })

      const text = (call: Call) =>
        Effect.suspend(() => {
          const stopper = new Stopper()
          const timer = setTimeout(stopper.stop, ceiling, ceilingError)
          return open(call, stopper).pipe(
            Effect.flatMap(({ next, ...answered }) => {
              const read = Effect.flatMap(collect(next, maxReplyBytes), validText)
              return Effect.map(told(answered.span, read), (body) => ({ ...answered, body }))
            }),
            Effect.onExit(() => {
              clearTimeout(timer)
              return Effect.void
            })
          )
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

/** One answered request, whatever its status. */
interface Attempt {
  readonly wire: Wire
  readonly region: string
  readonly status: number
  readonly headers: ReplyHeaders
  readonly body: Body
}

/** The span hears how it failed; what leaves no error is an interruption. */
const told = <A, R>(span: CallSpan, effect: Effect.Effect<A, GatewayError, R>): Effect.Effect<A, GatewayError, R> =>
  Effect.onExit(effect, (exit) => {
    if (Exit.isFailure(exit)) {
      const error = Cause.findErrorOption(exit.cause)
      if (Option.isSome(error)) span.fail(error.value)
      else if (Cause.hasInterruptsOnly(exit.cause)) span.cancelled()
    }
    return Effect.void
  })

/** The whole of a request took too long. */
export const ceilingError = new GatewayError({
  reason: "timeout",
  message: "the reply took longer than a request may take",
  code: "ceiling"
})

const credentialsUnavailable = (error: CredentialError) =>
  new GatewayError({
    reason: "upstream",
    message: "the gateway could not get credentials for the cloud that serves this model",
    code: "credentials",
    detail: error.message
  })

/** Fails for anything but a 200 of the promised type; redirects are not followed. */
const accepted = (call: Call, attempt: Attempt): Effect.Effect<Attempt, GatewayError> => {
  const { status, headers, body } = attempt
  if (status === 200) {
    const encoding = headers["content-encoding"] ?? "identity"
    const type = (headers["content-type"] ?? "").toLowerCase()
    if (type.startsWith(call.contentType) && encoding === "identity") return Effect.succeed(attempt)
    body.close()
    return Effect.fail(unexpected("a reply that is not what its API promises", "content-type"))
  }
  if (status >= 300 && status < 400) {
    body.close()
    return Effect.fail(unexpected("a redirect, which is not followed", "redirect", status))
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
    if (chunk === undefined) return Buffer.concat(chunks, size)
    size += chunk.length
    if (size > limit) return yield* unexpected("a reply that is too large", "too-large")
    chunks.push(chunk)
  }
})

/** An error body, or none where it cannot be had. */
const readUpTo = (body: Body, limit: number) =>
  Effect.map(collect(body.next, limit), (bytes) => bytes.toString("utf8")).pipe(
    Effect.orElseSucceed(() => ""),
    Effect.ensuring(Effect.sync(body.close))
  )
