/**
 * Gives every request its ID, record and span, and every reply the headers that all replies have. It answers what no route answers, and
 * writes the usage record, the log line and the metrics of a request that is over.
 */
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Cause, Clock, Context, Effect, Exit, identity, Option, References, Scope, Tracer } from "effect"
import { HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { GatewayError, internal, invalid, noRoom } from "../catalog/GatewayError.ts"
import { endpoints } from "../contract/Api.ts"
import { apiErrorBody, MessagesError, messagesErrorBody } from "../contract/Errors.ts"
import { Quota } from "../limits/Quota.ts"
import { UsageLog } from "../limits/UsageLog.ts"
import { usageRecordOf } from "../limits/UsageRecord.ts"
import { Settings } from "../Settings.ts"
import { apiError, messagesError } from "../surfaces/errorResponse.ts"
import { logRequest } from "../telemetry/logs.ts"
import { RecordActivity, recordRequest } from "../telemetry/metrics.ts"
import { makeTrackRequest } from "../telemetry/spans.ts"
import { makeSourceOf, repeats } from "./authenticate.ts"
import { Drain } from "./Drain.ts"
import { CurrentRecord, makeMemoryBudget, RequestRecord } from "./RequestRecord.ts"

/** `allow`: what the path is served to, if anything is there. */
const noRoute = (method: string, path: string, allow: string | undefined): GatewayError => {
  if (allow !== undefined && allow !== method) {
    return new GatewayError({
      reason: "method",
      message: `${method} is not allowed here: use ${allow}`,
      headers: { allow: allow === "GET" ? "GET, HEAD" : allow }
    })
  }
  const shown = path.slice(0, 100).replace(/[^\x20-\x7e]/g, "?")
  return new GatewayError({
    reason: "not-found",
    message: `there is nothing at ${shown}; the endpoints are ${[...endpoints.keys()].join(", ")}`
  })
}

/** The endpoint at a path. A segment in braces is any text. */
const endpointAt = (path: string) =>
  endpoints.get(path) ?? (/^\/v1\/models\/[^/]+$/.test(path) ? endpoints.get("/v1/models/{id}") : undefined)

/** The messages endpoints have their own error format; all other paths share one. */
const isMessages = (path: string): boolean => path === "/v1/messages" || path.startsWith("/v1/messages/")

/** The reply to a request that no endpoint answers, in the error format of its path. */
export const errorReply = (path: string, error: GatewayError): HttpServerResponse.HttpServerResponse => {
  const failure = isMessages(path) ? messagesError(error) : apiError(error)
  const body = failure instanceof MessagesError ? messagesErrorBody(failure) : apiErrorBody(failure)
  return HttpServerResponse.jsonUnsafe(body, { status: failure.status })
}

const overloaded = new GatewayError({
  reason: "overloaded",
  message: "the gateway has as many requests in flight as it takes; try again in a moment",
  retryAfter: 1
})

type Request = HttpServerRequest.HttpServerRequest

/** Refuses what HTTP forbids, because Node's own refusals have no body and no ID. */
const malformed = (request: Request): GatewayError | undefined => {
  const { headers, httpVersion } = NodeHttpServerRequest.toIncomingMessage(request)
  if (repeats(request, "host")) return invalid("there is more than one header Host")
  const coding = request.headers["transfer-encoding"] ?? ""
  // Node itself refuses what does not end in chunks.
  if (/(?:^|,\s*)chunked$/i.test(coding) && (httpVersion !== "1.1" || coding.includes(","))) return uncertain
  if (httpVersion !== "1.1") return undefined
  if (request.headers.host === undefined) return invalid("the header Host is missing")
  return headers.expect === undefined || headers.expect.toLowerCase() === "100-continue" ? undefined : unexpected
}

const unexpected = new GatewayError({
  reason: "expectation",
  message: "the only expectation that is met is 100-continue"
})

/** A proxy in front may see the body end elsewhere (RFC 9112, section 6.1), so no request follows on the connection. */
const uncertain = new GatewayError({
  reason: "invalid",
  message: "Transfer-Encoding must be chunked, in HTTP/1.1",
  headers: { connection: "close" }
})

/** The link to the usage notice that every reply carries (docs/api.md#usage-notice). */
const link = '</>; rel="terms-of-service"'

/** Where the gateway serves TLS: browsers use nothing else for a year. */
const strictTransport = { "strict-transport-security": "max-age=31536000" }
/** Replies must not be cached; pages have cache headers of their own. */
const notStored = { "cache-control": "no-store" }

/** Bytes of documents that wait for their callers, who need no key for them and so take nothing of what requests may hold. */
const mostOfDocuments = 128 * 1024 * 1024

/** Writes the usage record, the log line and the metrics of a request that is over. */
const makeReport = Effect.gen(function* () {
  const records = yield* UsageLog
  const { note } = yield* Quota
  const { metricsBy } = yield* Settings
  const recordActivity = yield* RecordActivity
  /** `left`: the caller left before the end. */
  return (facts: RequestRecord, left: boolean): Effect.Effect<void> => {
    const now = facts.now()
    const { caller, charged: tokens, cost = 0 } = facts
    // The key's next request is checked against it.
    if (caller !== undefined) note(caller, facts.startedAt, (tokens?.input ?? 0) + (tokens?.output ?? 0), cost)
    const outcome = facts.finalOutcome(left)
    const record = usageRecordOf(facts, outcome, now)
    if (record !== undefined) records.record(record)
    recordRequest(metricsBy, facts, outcome, now, tokens)
    recordActivity?.(facts, outcome, now)
    return logRequest(facts, outcome, now, facts.span)
  }
})

/** `documents`: what is served to GET beside the endpoints. */
export const requestMiddleware = (documents: ReadonlySet<string>) =>
  HttpRouter.middleware(
    Effect.gen(function* () {
      const settings = yield* Settings
      const report = yield* makeReport
      const drain = yield* Drain
      const { inFlight, trackRequest } = yield* makeTrackRequest
      const clock = yield* Clock.Clock
      const tls = Option.isSome(settings.tlsCert)
      const sourceOf = makeSourceOf(settings.trustedProxies)
      const memory = makeMemoryBudget()
      const memoryOfDocuments = makeMemoryBudget(mostOfDocuments)

      /** Why a request does not reach the router; undefined where it does. */
      const refusalOf = (request: Request, path: string, allow: string | undefined): GatewayError | undefined => {
        if (inFlight() > settings.maxInFlight && path !== "/health") return overloaded
        const refused = malformed(request)
        if (refused !== undefined) return refused
        // The router also serves paths that differ in slashes, capitals or escapes: they would belong to no surface.
        return allow === undefined ? noRoute(request.method, path, allow) : undefined
      }

      /** The reply with all its headers; its status and size go to the record. */
      const completed = (record: RequestRecord, reply: HttpServerResponse.HttpServerResponse) => {
        record.status = reply.status
        if (record.sent) record.addServedHeaders()
        if (reply.body._tag !== "Stream") {
          record.bytesOut = "contentLength" in reply.body ? (reply.body.contentLength ?? 0) : 0
        }
        return HttpServerResponse.setHeaders(reply, {
          ...record.replyHeaders,
          "x-request-id": record.id,
          ...(isMessages(record.path) ? { "request-id": record.id } : {}),
          ...(drain.draining() ? { connection: "close" } : {}),
          ...(tls ? strictTransport : {}),
          ...("cache-control" in reply.headers ? {} : notStored),
          link,
          "x-content-type-options": "nosniff"
        })
      }

      return (handler) =>
        Effect.withFiber((fiber) => {
          const outer = fiber.context
          const request = Context.getUnsafe(outer, HttpServerRequest.HttpServerRequest)
          const response = NodeHttpServerRequest.toServerResponse(request)
          // One of too many that a connection sent together (`sockets.ts`).
          if (response.destroyed) return Effect.interrupt
          const scope = Context.getUnsafe(outer, Scope.Scope)
          const path = request.url.split("?", 1)[0] ?? "/"
          const endpoint = endpointAt(path)
          const isDocument = documents.has(path)
          const allow = isDocument ? "GET" : endpoint?.method
          const record = new RequestRecord(
            {
              id: crypto.randomUUID(),
              startedAt: clock.currentTimeMillisUnsafe(),
              method: request.method,
              path,
              source: sourceOf(request),
              surface: endpoint?.surface
            },
            isDocument ? memoryOfDocuments : memory
          )
          const tracked = trackRequest(record, { headers: request.headers, https: tls })
          const { span } = tracked
          record.span = span

          const context = outer.pipe(
            Context.add(References.CurrentLogAnnotations, { request_id: record.id }),
            Context.add(CurrentRecord, record),
            span === undefined ? identity : Context.add(Tracer.ParentSpan, span)
          )
          // A stream that has begun is ended with an error in the stream (`makeTerminations`).
          const stopWaiting = drain.onExpired((error) => {
            if (response.headersSent) return
            for (const attempt of record.attempts) attempt.span.fail(error)
            fiber.interruptUnsafe()
          })
          const onEnd = (exit: Exit.Exit<unknown, unknown>) => {
            stopWaiting()
            const left = Exit.isFailure(exit)
            const ended = drain.ended()
            if (left && ended !== undefined) record.fail(ended)
            // What a slow caller has not read yet stays in memory (`sockets.ts` limits for how long).
            if (response.destroyed || response.writableLength === 0) record.release()
            else response.once("close", () => record.release())
            tracked.end(left)
            return path === "/health" ? Effect.void : report(record, left)
          }
          const refuse = (error: GatewayError) => {
            record.refuse(error)
            return completed(record, errorReply(path, error))
          }
          const finish = (reply: HttpServerResponse.HttpServerResponse) => {
            const whole = completed(record, reply)
            return isDocument && !record.admitBody(record.bytesOut) ? refuse(noRoom) : whole
          }
          const refused = refusalOf(request, path, allow)
          const onFailure = (cause: Cause.Cause<unknown>) => {
            if (Cause.hasInterruptsOnly(cause)) {
              const ended = drain.ended()
              return ended === undefined || response.destroyed ? Effect.failCause(cause) : Effect.succeed(refuse(ended))
            }
            const error = Option.getOrUndefined(Cause.findErrorOption(cause))
            if (HttpServerError.isHttpServerError(error) && error.reason._tag === "RouteNotFound") {
              return Effect.succeed(refuse(noRoute(request.method, path, allow)))
            }
            return Effect.as(Effect.provideContext(Effect.logError("request failed", cause), context), refuse(internal))
          }
          const answer =
            refused === undefined
              ? Effect.matchCauseEffect(
                  Effect.updateContext(handler, (_: Context.Context<never>) => context),
                  { onSuccess: (reply) => Effect.succeed(finish(reply)), onFailure }
                )
              : Effect.succeed(refuse(refused))
          return Effect.andThen(Scope.addFinalizerExit(scope, onEnd), answer)
        })
    }),
    { global: true }
  )
