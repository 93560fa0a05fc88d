/** The server span of a request (OpenTelemetry HTTP conventions), and the gauges of what is in flight. */
import { Effect, Option, type Scope, type Tracer } from "effect"
import { Headers, HttpTraceContext } from "effect/http"
import type { RequestFacts } from "../model/RequestFacts.ts"
import { Crowd } from "../wire/Crowd.ts"
import { gaugeOf, remembered, requestsInFlight, streamsInFlight } from "./metrics.ts"
import { type OpenSpan, type SpanMaker, type SpanSort, Spans, type Time } from "./spans.ts"

/** What a span says of a request beyond its facts. */
export interface TracedRequest {
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly https: boolean
}

/** A request that is being watched. */
export interface RequestSpan {
  /** What the request does is done in it, and logged with it; undefined where nothing is traced. */
  readonly span: Tracer.Span | undefined
  /** The request is no longer in flight. */
  readonly leave: () => void
  /** Ends the span at that time, once all is known of the request; `left`: the caller left before the end. */
  readonly close: (left: boolean, endTime: Time) => void
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
  const open = new Crowd<RequestFacts>()
  yield* gaugeOf(requestsInFlight, () => open.size)
  yield* gaugeOf(streamsInFlight, () => {
    let streams = 0
    for (const { stream } of open) if (stream) streams++
    return streams
  })
  const spans = yield* Spans
  const openSpan = spans && makeOpen(spans)
  return {
    open: (facts, request) => {
      const span = facts.path === "/health" ? undefined : openSpan?.(facts, request)
      return {
        span,
        leave: open.add(facts),
        close: (left, endTime) => {
          if (span !== undefined) closeSpan(span, facts, request, left, endTime)
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

/** What requests of one kind have in common. */
const makeSort = (method: string, path: string, https: boolean, routed: boolean): SpanSort => ({
  // Paths that no route answers are without end: spans are named by the method alone.
  name: routed ? `${method} ${path}` : method,
  kind: "server",
  attributes: {
    "http.request.method": method,
    "url.path": path.slice(0, maxText),
    "url.scheme": https ? "https" : "http",
    "http.route": routed ? path : undefined
  }
})

const makeOpen = (spans: SpanMaker) => {
  const known = remembered((method: string, path: string, https: boolean) => makeSort(method, path, https, true))
  return ({ method, path, startedAt, surface }: RequestFacts, { headers, https }: TracedRequest) => {
    // What no route answers is not remembered.
    const of = surface === undefined ? makeSort(method, path, https, false) : known(method, path, https)
    const parent = parentOf(headers.traceparent)
    return spans.open({ of, parent, startTime: performance.now(), wallTime: startedAt })
  }
}

/** An error is what the server failed at (5xx, a stream that broke off); a caller who leaves is none. */
const closeSpan = (span: OpenSpan, facts: RequestFacts, { headers }: TracedRequest, left: boolean, endTime: Time) => {
  const { route, status } = facts
  const gone = left && facts.outcome === undefined
  const failed = status >= 500 || facts.streamEnd === "error"
  const error = failed && !gone ? (facts.failure ?? String(status)) : undefined
  span.close(endTime, error, outcome(status, route?.model.id, route?.level), {
    "gateway.request_id": facts.id,
    "user_agent.original": headers["user-agent"]?.slice(0, maxText),
    "error.type": gone ? "cancelled" : error
  })
}

const outcome = remembered((status: number, model: string | undefined, level: string | undefined) => ({
  "http.response.status_code": status === 0 ? undefined : status,
  "gateway.model": model,
  "gateway.level": level
}))
