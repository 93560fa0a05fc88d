/**
 * The provider of a cloud: it prints a call, makes it as often as it must, and reads the reply, whole or event by event.
 *
 * A call is tried once more when the connection failed before anything was sent, once more with new credentials, and once more in another
 * region of the same deployment when one is at its limit. Never in another deployment. Each attempt has its own span.
 */
import { isUtf8 } from "node:buffer"
import { Cause, Context, Effect, Exit, Layer, Option, Scope, Stream } from "effect"
import type { HttpClientResponse } from "effect/http"
import { cloudFacts } from "../catalog/clouds.ts"
import { GatewayError, noRoom } from "../catalog/GatewayError.ts"
import { Clouds } from "../Settings.ts"
import { decode } from "../stream/reply.ts"
import { type CallSpan, makeCallSpans, type ResponseNames } from "../telemetry/spans.ts"
import { isObject, type JsonObject, objectOf, readObject, textOf } from "../wire/json.ts"
import { type Numbers, parseReply } from "../wire/parse.ts"
import { print } from "../wire/print.ts"
import type { Event } from "../wire/sse.ts"
import { CurrentCall, makeClient, postJson } from "./client.ts"
import { connections } from "./connections.ts"
import type { AuthHeaders, CredentialError } from "./credentials.ts"
import {
  clientError,
  faultError,
  framingError,
  isUnreachable,
  isUnsent,
  malformed,
  retryAfterOf,
  statusFault,
  unexpected
} from "./fault.ts"
import { type Attempt, type CallKind, type CallRecord, type Cloud, Provider, type UpstreamCall } from "./Provider.ts"
import type { CallContext } from "./Response.ts"
import { makeBreaker, makeRegions, type Target, targetOf } from "./regions.ts"

// Attempts

/** An attempt that was answered with success; the reader of the reply ends its span. */
interface Answer {
  readonly response: HttpClientResponse.HttpClientResponse
  readonly attempt: Attempt
}

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
const contextOf = (attempt: Attempt, record: CallRecord, until: number | undefined): CallContext => ({
  until,
  sent: () => {
    attempt.sent = true
  },
  takeMemory: (bytes) => record.takeMemory(bytes),
  received: (bytes) => {
    record.received += bytes
  }
})

/** Ends the span of a call that fails or is given up. */
const endOnFailure =
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
interface Printed {
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
          const { deployment, level, model } = call.route
          const { provider } = cloudFacts[deployment.cloud]
          const { address, port } = target
          const named = { provider, model: model.id, level, deployment: deployment.model, address, port, region }
          const span = openSpan(
            { operation: kind.operation, stream: kind.stream, sandbox: simulated, ...named },
            call.record.span
          )
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
  static readonly layer = Layer.effect(Attempts, makeAttempts).pipe(Layer.provide(connections))
}

// Replies

/** Longest first event that is looked into for names, in characters; a response event may repeat the whole request. */
const maxFirstEvent = 64 * 1024

/** Names in replies that call tools with JSON values, which are printed again as they were written. */
const numbersOf = (bytes: Buffer): Numbers =>
  bytes.includes('"input"') || bytes.includes('"functionCall"') ? "written" : "exact"

const shown = (value: unknown): string | undefined => textOf(value)?.slice(0, 100) || undefined

/**
 * `gen_ai.response.*` of a whole reply or of a stream's first event, in the words of any of the vendors. Only these fields of
 * the vendors' own: nothing of what a model said.
 */
const responseNames = (body: JsonObject): ResponseNames => {
  const inner = objectOf(body.message ?? body.response ?? body)
  return {
    model: shown(inner.model) ?? shown(inner.modelVersion),
    id: shown(inner.id) ?? shown(inner.responseId)
  }
}

/** The time of a call is over when its stream has come to its end. */
const receivedAtEnd = ({ attempt: { span } }: Answer) =>
  Effect.flatMap(Effect.scope, (scope) =>
    Scope.addFinalizerExit(scope, (exit) => Effect.sync(() => (Exit.isSuccess(exit) ? span.received() : undefined)))
  )

export const makeProvider = (cloud: Cloud) =>
  Effect.map(Attempts, (attempts) => {
    const answered = attempts(cloud)

    /** Opens a call; fails for any reply but a 200 of the promised type. */
    const open = (call: UpstreamCall, kind: CallKind) =>
      Effect.suspend(() => {
        const { body, headers = {} } = cloud.endpoint.message(kind, call.body())
        return Effect.flatMap(print(body, call.record.bytesIn), (text) =>
          answered({ call, kind, body: typeof text === "string" ? Buffer.from(text) : text, headers })
        )
      })

    const read = Effect.fnUntraced(function* ({ response }: Answer, kind: CallKind) {
      const bytes = Buffer.from(yield* Effect.mapError(response.arrayBuffer, clientError))
      // Text that is not UTF-8 is not repaired: the caller would take the repairs for the model's words.
      if (!isUtf8(bytes)) return yield* unexpected("a reply that is not valid UTF-8", "invalid-utf8")
      const parsed = yield* Effect.mapError(parseReply(bytes, numbersOf(bytes)), () => malformed)
      const object = isObject(parsed) ? parsed : undefined
      const body = object && (cloud.endpoint.reply === undefined ? object : cloud.endpoint.reply(kind, object))
      return body === undefined ? yield* malformed : { bytes, body }
    })

    const send = Effect.fnUntraced(function* (call: UpstreamCall) {
      const kind = { route: call.route, operation: call.operation, stream: false }
      const answer = yield* open(call, kind)
      const { span } = answer.attempt
      const { body, bytes } = yield* endOnFailure(span)(read(answer, kind))
      span.received()
      span.named(() => responseNames(body))
      return { bytes, body, span }
    }, Effect.scoped)

    const stream = (call: UpstreamCall): Stream.Stream<Event, GatewayError> => {
      const kind = { route: call.route, operation: call.operation, stream: true }
      const { record, route } = call
      return Stream.unwrap(
        Effect.map(Effect.tap(open(call, kind), receivedAtEnd), ({ attempt, response }) =>
          decode({
            decoder: cloud.framing(kind).decoder(),
            arrived: () => {
              attempt.lastBytesAt = performance.now()
              attempt.span.chunk()
            },
            first: ({ data }) => {
              attempt.span.named(() =>
                responseNames((data.length > maxFirstEvent ? undefined : readObject(data)) ?? {})
              )
            },
            hold: (bytes) => (record.takeMemory(bytes) ? undefined : noRoom),
            framingError: (failure) => framingError(failure, cloud.scrub(route)),
            clientError
          })(response.stream)
        )
      )
    }

    return Provider.of({ send, stream, faultError: (route, fault) => faultError(fault, cloud.scrub(route)) })
  })
