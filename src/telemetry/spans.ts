/**
 * Spans by Effect's tracer: a server span for a request, by the OpenTelemetry HTTP conventions, and a client span for each upstream
 * call, with its metrics, by those of GenAI.
 */
import { Clock, Context, Effect, Exit, Option, References, type Tracer } from "effect"
import { type Headers, HttpTraceContext } from "effect/http"
import type { GatewayError } from "../catalog/GatewayError.ts"
import { operations } from "../catalog/names.ts"
import type { RequestFacts } from "../catalog/RequestFacts.ts"
import type { Tokens } from "../catalog/Tokens.ts"
import { beginningOf } from "../wire/print.ts"
import {
  type CallLabels,
  gaugeOf,
  isSimulated,
  makeCallRecorder,
  requestsInFlight,
  streamsInFlight
} from "./metrics.ts"

/** Those that are undefined are left out. */
type Attributes = Readonly<Record<string, unknown>>

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
const cancelled = "cancelled"

/** Ends a span with its attributes; `endTime` in nanoseconds since the epoch. A failure is named by its kind, because its message may quote a caller. */
export const endSpan = (span: Tracer.Span, endTime: bigint, attributes: Attributes) => {
  for (const key in attributes) if (attributes[key] !== undefined) span.attribute(key, attributes[key])
  const failure = attributes["error.type"]
  span.end(endTime, failure === undefined || failure === cancelled ? Exit.void : Exit.fail(failure))
}

/** What the span of a request has beside its facts. */
interface TracedRequest {
  readonly headers: Headers.Headers
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
  const trackRequest = (facts: RequestFacts, request: TracedRequest) => {
    inFlight.add(facts)
    const now = startTimer(clock)
    const parent = Option.getOrUndefined(HttpTraceContext.w3c(request.headers))
    const span = facts.path === "/health" ? undefined : openSpan?.(nameOf(facts), "server", parent, now())
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
  return { inFlight: () => inFlight.size, trackRequest }
})

/** Longest text of a caller's or a cloud's in an attribute, in characters. */
const maxText = 200
const shown = (text: string | undefined) => (text === undefined ? undefined : beginningOf(text, maxText))

/** The path of an endpoint, of which there are few; undefined for any other. */
const routeOf = ({ path, surface }: Pick<RequestFacts, "path" | "surface">): string | undefined =>
  surface === undefined ? undefined : path.startsWith("/v1/models/") ? "/v1/models/{id}" : path

const nameOf = (facts: RequestFacts): string => {
  const route = routeOf(facts)
  return route === undefined ? facts.method : `${facts.method} ${route}`
}

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
  "url.path": beginningOf(path, maxText),
  "url.scheme": https ? "https" : "http",
  "http.route": routeOf({ path, surface }),
  "http.response.status_code": status === 0 ? undefined : status,
  "user_agent.original": shown(headers["user-agent"]),
  "gateway.request_id": id,
  "gateway.sandbox": isSimulated(cloud) || undefined,
  "gateway.model": route?.model.id,
  "gateway.level": route?.level,
  "error.type": error
})

// The client span of a call. It lasts to the call's last byte, its error, or until it is given up; attributes that are known later, such
// as the usage, are added before it is ended.

/** What is known of a call when it begins. */
interface CallSpanOptions extends CallLabels {
  /** The upstream's ID of the model. */
  readonly deployment: string
  /** Where the call goes. */
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
  const metrics = makeCallRecorder(options)
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
      "gen_ai.usage.cache_write.input_tokens": output?.tokens.cacheWrites,
      "gen_ai.usage.reasoning.output_tokens": output?.tokens.reasoning,
      "error.type": error
    }
  }

  return {
    answered: (answer: number): void => {
      status = answer
    },
    /** What the cloud calls its reply; read only where there is a span. Returns whether nothing more is to be read. */
    named: (read: () => ResponseNames): boolean => {
      if (span !== undefined) names = read()
      return span === undefined || names?.model !== undefined
    },
    /** What the call used; the last report counts. */
    used: (tokens: Tokens, finishReason?: string, flags = 0): void => {
      usage = { tokens, finishReason: shown(finishReason), flags }
    },
    firstToken: () => span?.event("gen_ai.first_token", chunkAt ?? now()),
    /** A chunk of a streamed reply has come. */
    chunk: (): void => {
      if (!options.stream) return
      const at = now()
      if (chunkAt === undefined) {
        firstChunk = secondsBetween(startedAt, at)
        metrics.firstChunk(firstChunk)
      } else metrics.outputChunk(secondsBetween(chunkAt, at))
      chunkAt = at
    },
    /** The last byte has come. */
    received: (): void => {
      endedAt ??= now()
    },
    /** The call is given up: a caller left, a sibling call failed, the request's time is over. Ignored where the call was over. */
    cancelled: (): void => {
      if (endedAt !== undefined) return
      error = cancelled
      endedAt = now()
    },
    fail: (failure: GatewayError): void => {
      error ??= errorType(failure)
      endedAt ??= now()
    },
    /** When the call began and ended, in nanoseconds since the epoch; now while it is not over. */
    period: (): readonly [from: bigint, to: bigint] => [startedAt, endedAt ?? now()],
    /** Records the call's metrics and ends the span, once; called when all is known of the call. */
    end: (): void => {
      if (ended) return
      ended = true
      endedAt ??= now()
      metrics.end(secondsBetween(startedAt, endedAt), error, usage?.tokens)
      if (span !== undefined) endSpan(span, endedAt, attributes())
    }
  }
}

export type CallSpan = ReturnType<typeof makeCall>

/** Opens the span of a call, where spans are exported. Made once. */
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
