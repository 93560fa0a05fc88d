/** Spans by Effect's tracer, and that of a request: a server span by the OpenTelemetry HTTP conventions. */
import { Clock, Context, Effect, Exit, Option, References, type Tracer } from "effect"
import { Headers, HttpTraceContext } from "effect/http"
import type { RequestFacts } from "../catalog/RequestFacts.ts"
import { gaugeOf, isSimulated, requestsInFlight, streamsInFlight } from "./metrics.ts"

/** Those that are undefined are left out. */
export type Attributes = Readonly<Record<string, unknown>>

/** `Effect.makeSpan` for code that is no effect; undefined where nothing is traced. `startTime` is in nanoseconds since the epoch. */
export const makeOpenSpan = Effect.gen(function* () {
  if (!(yield* References.TracerEnabled)) return undefined
  const tracer = yield* Effect.tracer
  return (name: string, kind: Tracer.SpanKind, parent: Tracer.AnySpan | undefined, startTime: bigint): Tracer.Span =>
    tracer.span({
      name,
      kind,
      parent: Option.fromUndefinedOr(parent),
      annotations: Context.empty(),
      links: [],
      startTime,
      root: false,
      sampled: parent?.sampled ?? true
    })
})

/** Nanoseconds since the epoch by the monotonic clock, so that a span never ends before it began. */
export const startTimer = (clock: Clock.Clock): (() => bigint) => {
  const zero = clock.currentTimeNanosUnsafe() - clock.monotonicTimeNanosUnsafe()
  return () => zero + clock.monotonicTimeNanosUnsafe()
}

/** The `error.type` of a request or call that was given up, which is no failure. */
export const cancelled = "cancelled"

/** Ends a span with its attributes; `endTime` in nanoseconds since the epoch. A failure is named by its kind, because its message may quote a caller. */
export const endSpan = (span: Tracer.Span, endTime: bigint, attributes: Attributes) => {
  for (const key in attributes) if (attributes[key] !== undefined) span.attribute(key, attributes[key])
  const failure = attributes["error.type"]
  span.end(endTime, failure === undefined || failure === cancelled ? Exit.void : Exit.fail(failure))
}

/** What the span of a request has beside its facts. */
interface TracedRequest {
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly https: boolean
}

/**
 * Counts requests in flight, and opens a span for each that continues the caller's W3C trace context. Health checks have no span. Made
 * once, with the server.
 */
export const makeTrackRequest = Effect.gen(function* () {
  const inFlight = new Set<RequestFacts>()
  yield* gaugeOf(requestsInFlight, () => inFlight.size)
  yield* gaugeOf(streamsInFlight, () => [...inFlight].filter(({ stream }) => stream).length)
  const clock = yield* Clock.Clock
  const openSpan = yield* makeOpenSpan
  return (facts: RequestFacts, request: TracedRequest) => {
    inFlight.add(facts)
    const now = startTimer(clock)
    const span =
      facts.path === "/health"
        ? undefined
        : openSpan?.(nameOf(facts), "server", parentOf(request.headers.traceparent), now())
    return {
      /** The parent of the request's other spans; undefined where nothing is traced. */
      span,
      /** The request is over, and all its facts are known. `left`: the caller left before the end. */
      end: (left: boolean): void => {
        inFlight.delete(facts)
        if (span !== undefined) endSpan(span, now(), attributesOf(facts, request, errorOf(facts, left)))
      }
    }
  }
})
/** Longest text of a caller's in an attribute, in characters. */
const maxText = 200

/** The caller's span; undefined where the header is not valid. */
const parentOf = (traceparent: string | undefined) =>
  traceparent === undefined
    ? undefined
    : Option.getOrUndefined(HttpTraceContext.w3c(Headers.fromRecordUnsafe({ traceparent })))

/** Any number of paths have no route: their spans are named by the method alone. */
const nameOf = ({ method, path, surface }: RequestFacts) => (surface === undefined ? method : `${method} ${path}`)

/** The `error.type` of a 5xx, of a stream that broke off and of a request that was given up. */
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
