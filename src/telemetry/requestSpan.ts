/** The server span of a request (OpenTelemetry HTTP conventions), and the gauges of what is in flight. */
import { Clock, Effect, Exit, Option, References, type Scope, Tracer } from "effect"
import { Headers, HttpTraceContext } from "effect/http"
import type { RequestFacts } from "../model/RequestFacts.ts"
import { gaugeOf, remembered, requestsInFlight, streamsInFlight } from "./metrics.ts"
import type { Attributes } from "./otlp/attributes.ts"
import { openSpan } from "./otlp/tracer.ts"

/** What a span says of a request beyond its facts. */
export interface TracedRequest {
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly https: boolean
}

/** A request that is being watched. */
export interface RequestSpan {
  /** What the request does is done in it, and logged with it; undefined where nothing is traced. */
  readonly span: Tracer.Span | undefined
  /** The request is over; `left`: the caller left before the end. */
  readonly end: (exit: { readonly left: boolean }) => void
}

export interface RequestWatch {
  /**
   * Called for every request. The span sees all that the request came to. The caller's W3C trace context is continued. Health
   * checks are not traced.
   */
  readonly open: (facts: RequestFacts, request: TracedRequest) => RequestSpan
}

/** Made once, with the server. */
export const makeRequestWatch: Effect.Effect<RequestWatch, never, Scope.Scope> = Effect.gen(function* () {
  const open = new Set<RequestFacts>()
  yield* gaugeOf(requestsInFlight, () => open.size)
  yield* gaugeOf(streamsInFlight, () => {
    let streams = 0
    for (const { stream } of open) if (stream) streams++
    return streams
  })
  const openRequest = makeOpen(yield* Tracer.Tracer)
  const clock = yield* Clock.Clock
  const traced = yield* References.TracerEnabled
  return {
    open: (facts, request) => {
      open.add(facts)
      const span =
        traced && facts.path !== "/health" ? openRequest(clock.currentTimeNanosUnsafe(), facts, request) : undefined
      return {
        span,
        end: ({ left }) => {
          open.delete(facts)
          if (span !== undefined) closeSpan(span, facts, left, clock.currentTimeNanosUnsafe())
        }
      }
    }
  }
})

/** Longest text of a caller's that is kept, in characters. */
const maxText = 200

/** The caller's span, if it is one. */
const parentOf = (traceparent: string | undefined) =>
  typeof traceparent === "string"
    ? Option.getOrUndefined(HttpTraceContext.w3c(Headers.fromRecordUnsafe({ traceparent })))
    : undefined

interface Kind {
  readonly facts: RequestFacts
  readonly https: boolean
}

const attributesOf = ({ facts: { method, path, surface }, https }: Kind): Attributes => ({
  "http.request.method": method,
  "url.path": path.slice(0, maxText),
  "url.scheme": https ? "https" : "http",
  "http.route": surface === undefined ? undefined : path
})

const makeOpen = (tracer: Tracer.Tracer) => {
  const known = remembered(({ facts: { method, path }, https }: Kind) => `${method}\n${path}\n${https}`, attributesOf)
  const nothing: Attributes = {}
  return (startTime: bigint, facts: RequestFacts, { headers, https }: TracedRequest) => {
    const { method, path, surface } = facts
    const own = { "gateway.request_id": facts.id, "user_agent.original": headers["user-agent"]?.slice(0, maxText) }
    const start = { kind: "server", parent: parentOf(headers.traceparent), startTime } as const
    // Paths that no route answers are without end: they are not remembered, and named by their method alone.
    return surface === undefined
      ? openSpan(tracer, {
          ...start,
          name: method,
          shared: nothing,
          own: { ...attributesOf({ facts, https }), ...own }
        })
      : openSpan(tracer, { ...start, name: `${method} ${path}`, shared: known({ facts, https }), own })
  }
}

/** An error is what the server failed at (5xx, a stream that broke off); a caller who leaves is none. */
const closeSpan = (span: Tracer.Span, facts: RequestFacts, left: boolean, now: bigint) => {
  const { route, status } = facts
  if (status !== 0) span.attribute("http.response.status_code", status)
  if (route !== undefined) {
    span.attribute("gateway.model", route.model.id)
    span.attribute("gateway.level", route.level)
  }
  const gone = left && facts.outcome === undefined
  const failed = status >= 500 || facts.streamEnd === "error"
  const error = gone ? "cancelled" : failed ? (facts.failure ?? String(status)) : undefined
  if (error !== undefined) span.attribute("error.type", error)
  span.end(now, gone ? Exit.interrupt() : error === undefined ? Exit.void : Exit.fail(error))
}
