/** The server span of a request (OpenTelemetry HTTP conventions), and the gauges of what is in flight. */
import { Clock, Effect, Option, type Scope, type Tracer } from "effect"
import { Headers, HttpTraceContext } from "effect/http"
import { isSimulated } from "../catalog/clouds.ts"
import type { RequestFacts } from "../catalog/RequestFacts.ts"
import { gaugeOf, requestsInFlight, streamsInFlight } from "./metrics.ts"
import { cancelled, endSpan, makeOpenSpan, startTimer } from "./spans.ts"

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
  /** Ends the span, once all is known of the request; `left`: the caller left before the end. */
  readonly close: (left: boolean) => void
}

/**
 * Made once, with the server; then called for every request. The span sees all that the request came to. The caller's W3C trace
 * context is continued. Health checks are not traced.
 */
export const makeRequestWatch: Effect.Effect<
  (facts: RequestFacts, request: TracedRequest) => RequestSpan,
  never,
  Scope.Scope
> = Effect.gen(function* () {
  const inFlight = new Set<RequestFacts>()
  yield* gaugeOf(requestsInFlight, () => inFlight.size)
  yield* gaugeOf(streamsInFlight, () => [...inFlight].filter(({ stream }) => stream).length)
  const clock = yield* Clock.Clock
  const openSpan = yield* makeOpenSpan
  return (facts, request) => {
    inFlight.add(facts)
    const leave = () => void inFlight.delete(facts)
    if (openSpan === undefined || facts.path === "/health") return { span: undefined, leave, close: () => {} }
    const now = startTimer(clock)
    const span = openSpan(nameOf(facts), "server", parentOf(request.headers.traceparent), now())
    const close = (left: boolean) => {
      endSpan(span, now(), attributesOf(facts, request, errorOf(facts, left)))
    }
    return { span, leave, close }
  }
})

/** Longest text of a caller's that is kept, in characters. */
const maxText = 200

/** The caller's span, if it is one. */
const parentOf = (traceparent: string | undefined) =>
  traceparent === undefined
    ? undefined
    : Option.getOrUndefined(HttpTraceContext.w3c(Headers.fromRecordUnsafe({ traceparent })))

/** Paths that no route answers are without end: their spans are named by the method alone. */
const nameOf = ({ method, path, surface }: RequestFacts) => (surface === undefined ? method : `${method} ${path}`)

/** What the server failed at: a 5xx, a stream that broke off. */
const errorOf = ({ failure, outcome, status, streamEnd }: RequestFacts, left: boolean): string | undefined => {
  if (left && outcome === undefined) return cancelled
  return status >= 500 || streamEnd === "error" ? (failure ?? String(status)) : undefined
}

const attributesOf = (
  { cloud, id, method, path, route, status, surface }: RequestFacts,
  { headers, https }: TracedRequest,
  error: string | undefined
) => ({
  "http.request.method": method,
  "url.path": path.slice(0, maxText),
  "url.scheme": https ? "https" : "http",
  "http.route": surface === undefined ? undefined : path,
  "http.response.status_code": status === 0 ? undefined : status,
  "user_agent.original": headers["user-agent"]?.slice(0, maxText),
  "gateway.request_id": id,
  "gateway.sandbox": isSimulated(cloud) || undefined,
  "gateway.model": route?.model.id,
  "gateway.level": route?.level,
  "error.type": error
})
