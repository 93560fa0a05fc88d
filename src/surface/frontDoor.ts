/**
 * The front door: every request gets its ID and its observation, every reply the headers that all replies have, and what
 * no route answers is answered here, in the shape of its path.
 */
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Cause, Clock, Context, Effect, Option, References, Scope } from "effect"
import { HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { GatewayError, internal, invalid } from "../model/GatewayError.ts"
import { Settings } from "../Settings.ts"
import { watchRequests } from "../telemetry/requestSpan.ts"
import { Drain } from "./Drain.ts"
import { errorReply, shapeOf } from "./errorReply.ts"
import { finishRequest } from "./finishRequest.ts"
import { CurrentObservation, Observation } from "./Observation.ts"

interface Endpoint {
  /** For 405 and its `allow`. */
  readonly method: "GET" | "POST"
  readonly surface: Observation["surface"]
}

const endpoints: ReadonlyMap<string, Endpoint> = new Map<string, Endpoint>([
  ["/v1/chat/completions", { method: "POST", surface: "chat" }],
  ["/v1/messages", { method: "POST", surface: "messages" }],
  ["/v1/messages/count_tokens", { method: "POST", surface: "count_tokens" }],
  ["/v1/responses", { method: "POST", surface: "responses" }],
  ["/v1/embeddings", { method: "POST", surface: "embeddings" }],
  ["/v1/models", { method: "GET", surface: "models" }],
  ["/health", { method: "GET", surface: undefined }]
])

/** Served where the operator allows it (`GATEWAY_DOCS`). */
const documents: ReadonlySet<string> = new Set(["/", "/docs", "/openapi.json"])

const noRoute = (method: string, path: string): GatewayError => {
  const allow = endpoints.get(path)?.method
  if (allow !== undefined) {
    return new GatewayError({
      reason: "method",
      message: `${method} is not allowed here: use ${allow}`,
      headers: { allow }
    })
  }
  const shown = path.slice(0, 100).replace(/[^\x20-\x7e]/g, "?")
  return new GatewayError({
    reason: "not-found",
    message: `there is nothing at ${shown}; the endpoints are ${[...endpoints.keys()].join(", ")}`
  })
}

const overloaded = new GatewayError({
  reason: "overloaded",
  message: "the gateway has as many requests in hand as it takes; try again in a moment",
  retryAfter: 1
})

/** HTTP/1.1 wants it (RFC 9112, 3.2). Node is told to leave the refusal to us, because its own has no body and no ID. */
const lacksHost = (request: HttpServerRequest.HttpServerRequest): boolean =>
  request.headers.host === undefined && NodeHttpServerRequest.toIncomingMessage(request).httpVersion === "1.1"

/** The link to the usage notice that every reply carries (decisions: Beyond the spec). */
const link = '</>; rel="terms-of-service"'

export const frontDoor = HttpRouter.middleware(
  Effect.gen(function* () {
    const settings = yield* Settings
    const finish = yield* finishRequest
    const drain = yield* Drain
    const watch = yield* watchRequests
    let inFlight = 0

    return (handler) =>
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        const startedAt = yield* Clock.currentTimeMillis
        const path = request.url.split("?", 1)[0] ?? "/"
        const shape = shapeOf(path)
        const observation = new Observation({
          id: crypto.randomUUID(),
          startedAt,
          method: request.method,
          path,
          source: Option.getOrUndefined(request.remoteAddress),
          surface: endpoints.get(path)?.surface
        })
        const { inSpan, end } = yield* watch(observation, request)
        inFlight++
        yield* Scope.addFinalizerExit(yield* Scope.Scope, (exit) => {
          inFlight--
          return Effect.ensuring(
            inSpan(finish(observation, exit)),
            Effect.sync(() => end(exit))
          )
        })
        const failed = (error: GatewayError) => {
          observation.fail(error)
          return errorReply(shape, error)
        }
        // The router forgives slashes, capitals and escapes; a request that it served so would be no surface's.
        const known = endpoints.has(path) || documents.has(path)
        const answer =
          inFlight > settings.maxInFlight && path !== "/health"
            ? Effect.succeed(failed(overloaded))
            : lacksHost(request)
              ? Effect.succeed(failed(invalid("the header Host is missing")))
              : known
                ? handler
                : Effect.succeed(failed(noRoute(request.method, path)))
        const reply = yield* inSpan(answer).pipe(
          Effect.updateContext((context: Context.Context<never>) =>
            context.pipe(
              Context.add(CurrentObservation, observation),
              Context.add(References.CurrentLogAnnotations, { request_id: observation.id })
            )
          ),
          Effect.catchCause((cause) => {
            if (Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause)
            const error = Option.getOrUndefined(Cause.findErrorOption(cause))
            if (HttpServerError.isHttpServerError(error) && error.reason._tag === "RouteNotFound") {
              return Effect.succeed(failed(noRoute(request.method, path)))
            }
            return Effect.as(Effect.logError("request failed", cause), failed(internal))
          })
        )
        observation.status = reply.status
        if (!observation.stream)
          observation.bytesOut = "contentLength" in reply.body ? (reply.body.contentLength ?? 0) : 0
        return HttpServerResponse.setHeaders(reply, {
          ...observation.replyHeaders,
          "x-request-id": observation.id,
          ...(shape === "messages" ? { "request-id": observation.id } : {}),
          ...(drain.draining() ? { connection: "close" } : {}),
          link,
          "x-content-type-options": "nosniff"
        })
      })
  }),
  { global: true }
)
