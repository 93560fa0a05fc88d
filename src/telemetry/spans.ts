/**
 * Spans of requests and of calls to clouds, by Effect's tracer: the server span of a request (OpenTelemetry HTTP conventions), and
 * the client span of an upstream call, with its metrics (GenAI conventions).
 */
import { Clock, Context, Effect, Exit, Option, References, type Tracer } from "effect"
import { Headers, HttpTraceContext } from "effect/http"
import type { GatewayError } from "../catalog/GatewayError.ts"
import { operations } from "../catalog/names.ts"
import type { RequestFacts } from "../catalog/RequestFacts.ts"
import type { Tokens } from "../catalog/Tokens.ts"
import {
  type CallLabels,
  gaugeOf,
  isSimulated,
  makeCallRecorder,
  requestsInFlight,
  streamsInFlight
} from "./metrics.ts"

/** What is undefined is left out. */
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

/** Time since the epoch from now on, by the clock that is never set: a span does not end before it began. */
export const startTimer = (clock: Clock.Clock): (() => bigint) => {
  const zero = clock.currentTimeNanosUnsafe() - clock.monotonicTimeNanosUnsafe()
  return () => zero + clock.monotonicTimeNanosUnsafe()
}

/** The `error.type` of what a caller gave up, which is no failure. */
export const cancelled = "cancelled"

/** Ends a span with all that is known of it. A failure is named by its kind: its message may quote a caller. */
export const endSpan = (span: Tracer.Span, endTime: bigint, attributes: Attributes) => {
  for (const key in attributes) if (attributes[key] !== undefined) span.attribute(key, attributes[key])
  const failure = attributes["error.type"]
  span.end(endTime, failure === undefined || failure === cancelled ? Exit.void : Exit.fail(failure))
}

// The server span of a request (OpenTelemetry HTTP conventions), and the gauges of what is in flight.

/** What a span says of a request beyond its facts. */
interface TracedRequest {
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly https: boolean
}

/**
 * Made once, with the server; then called for every request. The span sees all that the request came to. The caller's W3C trace
 * context is continued. Health checks are not traced.
 */
export const makeRequestWatch = Effect.gen(function* () {
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
      /** What the request does is done in it, and logged with it; undefined where nothing is traced. */
      span,
      /** The request is no longer in flight. */
      leave: () => void inFlight.delete(facts),
      /** Ends the span, once all is known of the request; `left`: the caller left before the end. */
      close: (left: boolean): void => {
        if (span !== undefined) endSpan(span, now(), attributesOf(facts, request, errorOf(facts, left)))
      }
    }
  }
})
/** A request that is being watched. */
export type RequestSpan = ReturnType<Effect.Success<typeof makeRequestWatch>>

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

// The client span of one upstream call, and its metrics (OpenTelemetry GenAI conventions). Its time is over at the call's last
// byte, at its error, or when it is given up; what is learned later, such as the usage, is still on it.

/** What a call is, from its start. */
export interface CallSpanOptions extends CallLabels {
  /** The upstream's ID of the model. */
  readonly deployment: string
  /** The one that is asked. */
  readonly region: string
  readonly stream: boolean
}

/** What a cloud calls its reply. */
export interface ResponseNames {
  readonly model: string | undefined
  readonly id: string | undefined
}

/** The upstream's status where it had one, else our own code. */
const errorType = (error: GatewayError): string =>
  error.upstreamStatus === undefined ? (error.code ?? error.reason) : String(error.upstreamStatus)

const secondsBetween = (from: bigint, to: bigint): number => Number(to - from) / 1e9

const makeCall = (options: CallSpanOptions, now: () => bigint, startedAt: bigint, span: Tracer.Span | undefined) => {
  const record = makeCallRecorder(options)
  let ended = false
  let endedAt: bigint | undefined
  let chunkAt: bigint | undefined
  let firstChunk: number | undefined
  let status: number | undefined
  let names: ResponseNames | undefined
  let usage: { readonly tokens: Tokens; readonly finishReason: string | undefined; readonly flags: number } | undefined
  let error: string | undefined

  const attributes = () => {
    // An embedding has no output that is counted.
    const output = operations[options.operation].output === "vector" ? undefined : usage
    return {
      "gen_ai.operation.name": operations[options.operation].name,
      "gen_ai.provider.name": options.provider,
      "gen_ai.request.model": options.model,
      "gen_ai.request.stream": options.stream,
      "server.address": options.address,
      "server.port": options.port,
      "http.response.status_code": status,
      "gateway.sandbox": options.sandbox || undefined,
      "gateway.level": options.level,
      "gateway.deployment": options.deployment,
      "gateway.region": options.region,
      "gateway.governance.flags": output?.flags,
      "gen_ai.response.id": names?.id,
      "gen_ai.response.model": names?.model,
      "gen_ai.response.finish_reasons": output?.finishReason === undefined ? undefined : [output.finishReason],
      "gen_ai.response.time_to_first_chunk": firstChunk,
      "gen_ai.usage.input_tokens": usage?.tokens.input,
      "gen_ai.usage.output_tokens": output?.tokens.output,
      "gen_ai.usage.cache_read.input_tokens": output?.tokens.cached,
      "gen_ai.usage.cache_creation.input_tokens": output?.tokens.cacheWrites,
      "gen_ai.usage.reasoning.output_tokens": output?.tokens.reasoning,
      "error.type": error
    }
  }

  return {
    /** The head of the reply has come. */
    answered: (answer: number): void => {
      status = answer
    },
    /** Asked for them only where a span says so. */
    named: (of: () => ResponseNames): void => {
      if (span !== undefined) names = of()
    },
    /** What the call came to; the last word counts. */
    used: (tokens: Tokens, finishReason?: string, flags = 0): void => {
      usage = { tokens, finishReason, flags }
    },
    firstToken: () => span?.event("gen_ai.first_token", chunkAt ?? now()),
    /** A chunk of a streamed reply has come. */
    chunk: (): void => {
      if (!options.stream) return
      const at = now()
      if (chunkAt === undefined) {
        firstChunk = secondsBetween(startedAt, at)
        record.firstChunk(firstChunk)
      } else record.outputChunk(secondsBetween(chunkAt, at))
      chunkAt = at
    },
    /** The last byte has come. */
    received: (): void => {
      endedAt ??= now()
    },
    /** The call is given up, by no fault of the cloud: a caller left, a sibling call failed, the request's time is over. Nothing, if it was over. */
    cancelled: (): void => {
      if (endedAt !== undefined) return
      error = cancelled
      endedAt = now()
    },
    fail: (failure: GatewayError): void => {
      error ??= errorType(failure)
      endedAt ??= now()
    },
    /** From when to when the call took, in nanoseconds of its clock; until now while it is not over. */
    period: (): readonly [from: bigint, to: bigint] => [startedAt, endedAt ?? now()],
    /** Counts the call and ends the span, once. To be called when nothing more will be learned, by what opened it. */
    end: (): void => {
      if (ended) return
      ended = true
      endedAt ??= now()
      record.end(secondsBetween(startedAt, endedAt), error, usage?.tokens)
      if (span !== undefined) endSpan(span, endedAt, attributes())
    }
  }
}

export type CallSpan = ReturnType<typeof makeCall>

/** Made once, with what calls; then called for every call, whose span it opens where spans are exported. */
export const makeCallSpans = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const openSpan = yield* makeOpenSpan
  return (options: CallSpanOptions, parent: Tracer.AnySpan | undefined) => {
    const now = startTimer(clock)
    const startedAt = now()
    const span = openSpan?.(`${operations[options.operation].name} ${options.model}`, "client", parent, startedAt)
    return makeCall(options, now, startedAt, span)
  }
})
