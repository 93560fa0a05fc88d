/**
 * The provider of a cloud: it prints the body of a call, makes the call, and reads the reply, whole or event by event.
 *
 * A call is tried once more where the connection failed before anything was sent, once more with new credentials, and once more in
 * another region of the same deployment where one is at its limit. It is never tried in another deployment. Each attempt has its own span.
 */
import { isUtf8 } from "node:buffer"
import { Cause, Context, Effect, Exit, Layer, Option, Scope, Stream } from "effect"
import type { HttpClientResponse } from "effect/http"
import { cloudFacts } from "../catalog/clouds.ts"
import { GatewayError, noRoom } from "../catalog/GatewayError.ts"
import type { Route } from "../catalog/Route.ts"
import { Clouds } from "../Settings.ts"
import { hostOf } from "../settings/fields.ts"
import { decode } from "../stream/decode.ts"
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
  makeScrub,
  malformed,
  retryAfterOf,
  type Scrub,
  statusFault,
  unexpected
} from "./fault.ts"
import { type Attempt, type CallKind, type CallRecord, type Cloud, Provider, type UpstreamCall } from "./Provider.ts"
import type { CallContext } from "./Response.ts"
import { makeBreaker, makeRegions, type Target, targetOf } from "./regions.ts"

// Attempts

/** A reply whose head says success; its reader ends the span of the attempt. */
interface OpenReply {
  readonly response: HttpClientResponse.HttpClientResponse
  readonly attempt: Attempt
}

/** Statuses of a region at its limit. */
const limited: ReadonlySet<number | undefined> = new Set([429, 503, 529])
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

/**
 * Takes out of an error message what belongs to the operator: the address, and the names of the deployment. A host that is a word of
 * letters only (`tools`) stays, because messages have such words of their own.
 */
const makeScrubOf = ({ endpoint: { baseUrl }, names = [] }: Cloud) => {
  const host = baseUrl === undefined ? "" : hostOf(baseUrl)
  return ({ deployment, model }: Route): Scrub =>
    makeScrub([
      [/^[a-z]*$/.test(host) ? "" : host, "the upstream"],
      [deployment.model, model.id],
      [deployment.countModel ?? "", model.id],
      ...names
    ])
}

/** Refuses a redirect, and a 200 that is not of the promised type. */
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

/** A call as it is sent to any region. */
interface Printed {
  readonly call: UpstreamCall
  readonly kind: CallKind
  readonly body: Uint8Array
  /** Those of the cloud's `message`. */
  readonly headers: Readonly<Record<string, string>>
  /** The headers of the last attempt, with its credentials. */
  signed: AuthHeaders
}

/** Makes the calls of a cloud. All clouds share the connections, the circuit breakers and the limits of regions. */
const makeAttempts = Effect.gen(function* () {
  const { simulated } = yield* Clouds
  const client = yield* makeClient
  const withBreaker = yield* makeBreaker
  const openSpan = yield* makeCallSpans
  const regions = makeRegions()

  return (cloud: Cloud, scrub: Provider["Service"]["scrub"]) => {
    const { auth, endpoint } = cloud

    const sendTo = Effect.fnUntraced(function* (printed: Printed, target: Target, attempt: Attempt) {
      const { body, call, headers, kind } = printed
      const { region, span } = attempt
      const contentType = kind.stream ? cloud.framing(kind).contentType : "application/json"
      const given = { "content-type": "application/json", accept: contentType, ...headers }
      const signed = yield* Effect.mapError(auth.headers({ url: target.url, region, headers: given, body }), (error) =>
        credentialsUnavailable(error)
      )
      printed.signed = signed
      const context = contextOf(attempt, call.record, call.deadline)
      const sent = Effect.provideService(client.execute(postJson(target.url, signed, body)), CurrentCall, context)
      const response = yield* withBreaker(target.circuit, Effect.mapError(sent, clientError))
      attempt.requestId = requestIdOf(response)
      span.answered(response.status)
      if (limited.has(response.status))
        regions.markLimited(call.route.deployment, region, retryAfterOf(response.headers))
      const refused = refuseHead(contentType, response)
      if (refused !== undefined) return yield* refused
      if (response.status === 200) return { response, attempt }
      // The status is enough where the body cannot be read.
      const text = yield* Effect.orElseSucceed(response.text, () => "")
      return yield* faultError(statusFault(response.status, response.headers, text), scrub(call.route))
    })

    /** Fails for any reply but a 200 of the promised type. */
    return (printed: Printed) => {
      const { call, kind } = printed
      const tryOnce = (region: string): Effect.Effect<OpenReply, GatewayError, Scope.Scope> =>
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
          const attempt: Attempt = { region, span, sent: false, requestId: undefined, lastBytesAt: 0 }
          call.record.attempts.push(attempt)
          return endOnFailure(span)(sendTo(printed, target, attempt))
        })

      /** Once more with new credentials where the cloud refused these. */
      const tryRegion = (region: string) =>
        Effect.catch(tryOnce(region), (error) => {
          if (auth.refresh === undefined || !unauthorized.has(error.upstreamStatus)) return Effect.fail(error)
          const refreshed = Effect.mapError(auth.refresh(printed.signed), (failure) =>
            credentialsUnavailable(failure, error.upstreamStatus)
          )
          return Effect.andThen(refreshed, tryOnce(region))
        })

      const [first = "", second] = regions.order(call.route.deployment, endpoint.regions(kind), call.record.keyId ?? "")
      return Effect.catch(tryRegion(first), (error) => {
        if (second !== undefined && (isUnreachable(error) || error.code === "circuit-open")) return tryRegion(second)
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

// Replies

/** Longest first event that is parsed for names, in characters; a response event may repeat the whole request. */
const maxFirstEvent = 64 * 1024

/** Replies that may call tools with JSON values: their numbers are printed again as they were written. */
const numbersOf = (bytes: Buffer): Numbers =>
  bytes.includes('"input"') || bytes.includes('"functionCall"') ? "written" : "exact"

const shown = (value: unknown): string | undefined => textOf(value)?.slice(0, 100) || undefined

/** `gen_ai.response.*` of a whole reply or of a stream's first event, of any vendor; no field with the model's output. */
const responseNames = (body: JsonObject): ResponseNames => {
  const inner = objectOf(body.message ?? body.response ?? body)
  return {
    model: shown(inner.model) ?? shown(inner.modelVersion),
    id: shown(inner.id) ?? shown(inner.responseId)
  }
}

/** Notes in the span when a stream has come to its end. */
const noteEnd = ({ attempt: { span } }: OpenReply) =>
  Effect.flatMap(Effect.scope, (scope) =>
    Scope.addFinalizerExit(scope, (exit) => Effect.sync(() => (Exit.isSuccess(exit) ? span.received() : undefined)))
  )

export const makeProvider = (cloud: Cloud) =>
  Effect.map(Attempts, (attempts) => {
    const scrub = makeScrubOf(cloud)
    const callCloud = attempts(cloud, scrub)

    /** Opens a call; fails for any reply but a 200 of the promised type. */
    const open = (call: UpstreamCall, kind: CallKind) =>
      Effect.suspend(() => {
        const { body, headers = {} } = cloud.endpoint.message(kind, call.body())
        return Effect.flatMap(print(body, call.record.bytesIn), (text) =>
          callCloud({ call, kind, body: typeof text === "string" ? Buffer.from(text) : text, headers, signed: {} })
        )
      })

    const read = Effect.fnUntraced(function* ({ response }: OpenReply, kind: CallKind) {
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
      const opened = yield* open(call, kind)
      const { span } = opened.attempt
      const { body, bytes } = yield* endOnFailure(span)(read(opened, kind))
      span.received()
      span.named(() => responseNames(body))
      return { bytes, body, span }
    }, Effect.scoped)

    const stream = (call: UpstreamCall): Stream.Stream<Event, GatewayError> => {
      const kind = { route: call.route, operation: call.operation, stream: true }
      const { record, route } = call
      return Stream.unwrap(
        Effect.map(Effect.tap(open(call, kind), noteEnd), ({ attempt, response }) =>
          decode({
            decoder: cloud.framing(kind).decoder(),
            onBytes: () => {
              attempt.lastBytesAt = performance.now()
              attempt.span.chunk()
            },
            onFirstEvent: ({ data }) => {
              attempt.span.named(() =>
                responseNames((data.length > maxFirstEvent ? undefined : readObject(data)) ?? {})
              )
            },
            hold: (bytes) => (record.takeMemory(bytes) ? undefined : noRoom),
            framingError: (failure) => framingError(failure, scrub(route)),
            clientError
          })(response.stream)
        )
      )
    }

    return Provider.of({ send, stream, scrub })
  })
