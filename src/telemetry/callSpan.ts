/**
 * The client span of one upstream call, and its metrics (OpenTelemetry GenAI conventions). Its time is over at the call's last
 * byte, at its error, or when it is given up; what is learned later, such as the usage, is still on it.
 */
import { Clock, Effect, type Tracer } from "effect"
import type { GatewayError } from "../catalog/GatewayError.ts"
import type { Tokens } from "../catalog/Tokens.ts"
import { type CallLabels, makeCallRecorder } from "./metrics.ts"
import { cancelled, endSpan, makeOpenSpan, startTimer } from "./spans.ts"

/** What a call is, from its start. */
export interface CallSpanOptions extends CallLabels {
  /** The upstream's ID of the model. */
  readonly deployment: string
  readonly stream: boolean
}

/** What a cloud calls its reply. */
export interface ResponseNames {
  readonly model: string | undefined
  readonly id: string | undefined
}

export interface CallSpan {
  /** What the call came to; the last word counts. */
  readonly used: (tokens: Tokens, finishReason?: string, flags?: number) => void
  readonly firstToken: () => void
  readonly fail: (error: GatewayError) => void
  /** The region that is asked. */
  readonly asked: (region: string | undefined) => void
  /** The head of the reply has come. */
  readonly answered: (address: string, status: number) => void
  /** Asked for them only where a span says so. */
  readonly named: (names: () => ResponseNames) => void
  /** A chunk of a streamed reply has come. */
  readonly chunk: () => void
  /** The last byte has come. */
  readonly received: () => void
  /** The call is given up, by no fault of the cloud: a caller left, a sibling call failed, the request's time is over. Nothing, if it was over. */
  readonly cancelled: () => void
  /** From when to when the call took, in nanoseconds of its clock; until now while it is not over. */
  readonly period: () => readonly [from: bigint, to: bigint]
  /** Counts the call and ends the span, once. To be called when nothing more will be learned, by what opened it. */
  readonly end: () => void
}

/** The upstream's status where it had one, else our own code. */
const errorType = (error: GatewayError): string =>
  error.upstreamStatus === undefined ? (error.code ?? error.reason) : String(error.upstreamStatus)

const secondsBetween = (from: bigint, to: bigint): number => Number(to - from) / 1e9

const makeCall = (
  options: CallSpanOptions,
  now: () => bigint,
  startedAt: bigint,
  span: Tracer.Span | undefined
): CallSpan => {
  const record = makeCallRecorder(options)
  let ended = false
  let endedAt: bigint | undefined
  let chunkAt: bigint | undefined
  let firstChunk: number | undefined
  let region: string | undefined
  let answer: { readonly address: string; readonly status: number } | undefined
  let names: ResponseNames | undefined
  let usage: { readonly tokens: Tokens; readonly finishReason: string | undefined; readonly flags: number } | undefined
  let error: string | undefined

  const attributes = () => {
    // An embedding has no output that is counted.
    const output = options.operation === "embeddings" ? undefined : usage
    return {
      "gen_ai.operation.name": options.operation,
      "gen_ai.provider.name": options.provider,
      "gen_ai.request.model": options.model,
      "gen_ai.request.stream": options.stream,
      "server.address": answer?.address ?? options.address,
      "server.port": options.port,
      "http.response.status_code": answer?.status,
      "gateway.sandbox": options.sandbox || undefined,
      "gateway.level": options.level,
      "gateway.deployment": options.deployment,
      "gateway.region": region,
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
    asked: (asked) => {
      region = asked ?? region
    },
    answered: (address, status) => {
      answer = { address, status }
    },
    named: (of) => {
      if (span !== undefined) names = of()
    },
    used: (tokens, finishReason, flags = 0) => {
      usage = { tokens, finishReason, flags }
    },
    firstToken: () => span?.event("gen_ai.first_token", chunkAt ?? now()),
    chunk: () => {
      if (!options.stream) return
      const at = now()
      if (chunkAt === undefined) {
        firstChunk = secondsBetween(startedAt, at)
        record.firstChunk(firstChunk)
      } else record.outputChunk(secondsBetween(chunkAt, at))
      chunkAt = at
    },
    received: () => {
      endedAt ??= now()
    },
    cancelled: () => {
      if (endedAt !== undefined) return
      error = cancelled
      endedAt = now()
    },
    fail: (failure) => {
      error ??= errorType(failure)
      endedAt ??= now()
    },
    period: () => [startedAt, endedAt ?? now()],
    end: () => {
      if (ended) return
      ended = true
      endedAt ??= now()
      record.end(secondsBetween(startedAt, endedAt), error, usage?.tokens)
      if (span !== undefined) endSpan(span, endedAt, attributes())
    }
  }
}

/** Made once, with what calls; then called for every call, whose span it opens where spans are exported. */
export const makeCallSpans: Effect.Effect<(options: CallSpanOptions, parent: Tracer.AnySpan | undefined) => CallSpan> =
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const openSpan = yield* makeOpenSpan
    return (options, parent) => {
      const now = startTimer(clock)
      const startedAt = now()
      const span = openSpan?.(`${options.operation} ${options.model}`, "client", parent, startedAt)
      return makeCall(options, now, startedAt, span)
    }
  })
