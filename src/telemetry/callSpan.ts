/**
 * The client span of an upstream call, and its metrics (OpenTelemetry GenAI conventions). It lasts to the call's last byte, its error, or
 * until it is given up; attributes that are known later, such as the usage, are added before it is ended.
 */
import { Clock, Effect, type Tracer } from "effect"
import type { GatewayError } from "../catalog/GatewayError.ts"
import { operations } from "../catalog/names.ts"
import type { Tokens } from "../catalog/Tokens.ts"
import { type CallLabels, makeCallRecorder } from "./metrics.ts"
import { cancelled, endSpan, makeOpenSpan, startTimer } from "./spans.ts"

/** What is known of a call when it begins. */
export interface CallSpanOptions extends CallLabels {
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
    /** The head of the reply has come. */
    answered: (answer: number): void => {
      status = answer
    },
    /** What the cloud calls its reply; read only where there is a span. */
    named: (read: () => ResponseNames): void => {
      if (span !== undefined) names = read()
    },
    /** What the call used; the last report counts. */
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
