/** The server span of a request (OpenTelemetry HTTP conventions), and the gauges of what is in flight. */
import { IncomingMessage } from "node:http"
import { TLSSocket } from "node:tls"
import { Clock, Effect, Exit, Option, References, type Scope, Tracer } from "effect"
import { type HttpServerRequest, HttpTraceContext } from "effect/http"
import type { Observation } from "../surface/Observation.ts"
import { gaugeOf, requestsInFlight, streamsInFlight } from "./metrics.ts"

/** Makes a request's span the parent of what an effect does, and the trace of what it logs. */
export type InSpan = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

const untraced: InSpan = (effect) => effect

/** A request that is being watched. */
export interface Watched {
  readonly inSpan: InSpan
  /** The request is over. */
  readonly end: (exit: Exit.Exit<unknown, unknown>) => void
}

/**
 * Made once, with the server; then called for every request. The span sees all that the request came to. The caller's W3C
 * trace context is continued. Health checks are not traced.
 */
export const watchRequests: Effect.Effect<
  (observation: Observation, request: HttpServerRequest.HttpServerRequest) => Effect.Effect<Watched>,
  never,
  Scope.Scope
> = Effect.gen(function* () {
  const open = new Set<Observation>()
  yield* gaugeOf(requestsInFlight, () => open.size)
  yield* gaugeOf(streamsInFlight, () => {
    let streams = 0
    for (const { stream } of open) if (stream) streams++
    return streams
  })
  const clock = yield* Clock.Clock
  const traced = yield* References.TracerEnabled
  return (observation: Observation, request: HttpServerRequest.HttpServerRequest) => {
    open.add(observation)
    if (!traced || observation.path === "/health") {
      return Effect.succeed({ inSpan: untraced, end: () => void open.delete(observation) })
    }
    return Effect.map(openSpan(observation, request), (span) => ({
      inSpan: Effect.provideService(Tracer.ParentSpan, span),
      end: (exit) => {
        open.delete(observation)
        closeSpan(span, observation, exit, clock.currentTimeNanosUnsafe())
      }
    }))
  }
})

/** Longest text of a caller's that is kept, in characters. */
const maxText = 200

/** Paths that no route answers are named by their method alone, which keeps the names few. */
const openSpan = (observation: Observation, { headers, source }: HttpServerRequest.HttpServerRequest) => {
  const { method, path, surface } = observation
  const agent = headers["user-agent"]
  return Effect.makeSpan(surface === undefined ? method : `${method} ${path}`, {
    kind: "server",
    parent: Option.getOrUndefined(HttpTraceContext.w3c(headers)),
    attributes: {
      "http.request.method": method,
      "url.path": path.slice(0, maxText),
      "url.scheme": source instanceof IncomingMessage && source.socket instanceof TLSSocket ? "https" : "http",
      "gateway.request_id": observation.id,
      ...(surface === undefined ? {} : { "http.route": path }),
      ...(agent === undefined ? {} : { "user_agent.original": agent.slice(0, maxText) })
    }
  })
}

/** An error is what the server failed at (5xx, a stream that broke off); a caller who leaves is none. */
const closeSpan = (span: Tracer.Span, observation: Observation, exit: Exit.Exit<unknown, unknown>, now: bigint) => {
  const { route, status } = observation
  if (status !== 0) span.attribute("http.response.status_code", status)
  if (route !== undefined) {
    span.attribute("gateway.model", route.model.id)
    span.attribute("gateway.level", route.level)
  }
  const left = Exit.isFailure(exit) && observation.outcome === undefined
  const failed = status >= 500 || observation.streamEnd === "error"
  const error = left ? "cancelled" : failed ? (observation.failure ?? String(status)) : undefined
  if (error !== undefined) span.attribute("error.type", error)
  span.end(now, left ? Exit.interrupt() : error === undefined ? Exit.void : Exit.fail(error))
}
