/**
 * The client span of one upstream call, and its metrics (OpenTelemetry GenAI conventions). Its time is over at the call's last
 * byte, at its error, or when it is given up; what is learned later, such as the usage, is still on it.
 */
import { Clock, Effect, Exit, References, Tracer } from "effect"
import type { GatewayError } from "../model/GatewayError.ts"
import type { Tokens } from "../model/Tokens.ts"
import { type CallLabels, type CallRecorder, makeCallRecorder, remembered } from "./metrics.ts"
import type { Attributes } from "./otlp/attributes.ts"
import { openSpan } from "./otlp/tracer.ts"

/** What a call is, from its start. */
export interface CallSpanOptions extends CallLabels {
  /** The upstream's ID of the model. */
  readonly deployment: string
  readonly stream: boolean
}

/** What is learned of a call after its head. */
export interface UpstreamSpan {
  /** Kept where there is tracing; what is undefined is left out. */
  readonly set: (attributes: Readonly<Record<string, unknown>>) => void
  /** What the call came to; the last word counts. */
  readonly used: (tokens: Tokens, finishReason?: string, flags?: number) => void
  readonly firstToken: () => void
  readonly fail: (error: GatewayError) => void
}

export interface CallSpan extends UpstreamSpan {
  /** A chunk of a streamed reply has come. */
  readonly chunk: () => void
  /** The last byte has come. */
  readonly received: () => void
  /** The call is given up; nothing, if it was over. */
  readonly cancelled: () => void
  /** Counts the call and ends the span, once: whoever opened it does so, when nothing more will be learned. */
  readonly end: () => void
}

/** A caller that left, a sibling call that failed, a ceiling of the whole request: no failure of the cloud. */
const cancelled = "cancelled"

/** The upstream's status where it had one, else our own code. */
const errorType = (error: GatewayError): string =>
  error.upstreamStatus === undefined ? (error.code ?? error.reason) : String(error.upstreamStatus)

/** With tracing; the times are of the process's clock, as the call's. */
interface Traced {
  readonly span: Tracer.Span
  /** Nanoseconds since the epoch when the call began. */
  readonly begun: bigint
}

class Call implements CallSpan {
  private readonly options: CallSpanOptions
  private readonly record: CallRecorder
  private readonly traced: Traced | undefined
  private readonly startedAt = performance.now()
  private tokens: Tokens | undefined
  private error: string | undefined
  private endedAt: number | undefined
  private chunkAt: number | undefined
  private ended = false

  constructor(options: CallSpanOptions, record: CallRecorder, traced: Traced | undefined) {
    this.options = options
    this.record = record
    this.traced = traced
  }

  set(attributes: Readonly<Record<string, unknown>>): void {
    if (this.traced === undefined) return
    for (const key in attributes) {
      if (attributes[key] !== undefined) this.traced.span.attribute(key, attributes[key])
    }
  }

  used(tokens: Tokens, finishReason?: string, flags = 0): void {
    this.tokens = tokens
    if (this.traced === undefined) return
    this.set({ "gen_ai.usage.input_tokens": tokens.input })
    // An embedding has no output that is counted.
    if (this.options.operation === "embeddings") return
    this.set({
      "gen_ai.usage.output_tokens": tokens.output,
      "gen_ai.usage.cache_read.input_tokens": tokens.cached,
      "gen_ai.usage.reasoning.output_tokens": tokens.reasoning,
      "gen_ai.response.finish_reasons": finishReason === undefined ? undefined : [finishReason],
      "gateway.governance.flags": flags
    })
  }

  firstToken(): void {
    this.traced?.span.event("gen_ai.first_token", this.nanos(this.traced, this.chunkAt ?? performance.now()))
  }

  chunk(): void {
    if (!this.options.stream) return
    const now = performance.now()
    if (this.chunkAt === undefined) {
      const seconds = (now - this.startedAt) / 1000
      this.traced?.span.attribute("gen_ai.response.time_to_first_chunk", seconds)
      this.record.firstChunk(seconds)
    } else this.record.outputChunk((now - this.chunkAt) / 1000)
    this.chunkAt = now
  }

  received(): void {
    this.endedAt ??= performance.now()
  }

  cancelled(): void {
    if (this.endedAt !== undefined) return
    this.error = cancelled
    this.endedAt = performance.now()
  }

  fail(error: GatewayError): void {
    this.error ??= errorType(error)
    this.endedAt ??= performance.now()
  }

  end(): void {
    if (this.ended) return
    this.ended = true
    const { traced } = this
    const until = this.endedAt ?? performance.now()
    this.record.end((until - this.startedAt) / 1000, this.error, this.tokens)
    if (traced === undefined) return
    if (this.error !== undefined) traced.span.attribute("error.type", this.error)
    traced.span.end(this.nanos(traced, until), exitOf(this.error))
  }

  private nanos({ begun }: Traced, at: number): bigint {
    return begun + BigInt(Math.round((at - this.startedAt) * 1e6))
  }
}

const exitOf = (error: string | undefined): Exit.Exit<void, string> => {
  if (error === undefined) return Exit.void
  return error === cancelled ? Exit.interrupt() : Exit.fail(error)
}

/** What calls of one kind have in common. */
interface Kind {
  readonly name: string
  readonly record: CallRecorder
  readonly attributes: Attributes
}

const makeKind = (options: CallSpanOptions): Kind => ({
  name: `${options.operation} ${options.model}`,
  record: makeCallRecorder(options),
  attributes: {
    "gen_ai.operation.name": options.operation,
    "gen_ai.provider.name": options.provider,
    "gen_ai.request.model": options.model,
    "gen_ai.request.stream": options.stream,
    "server.address": options.address,
    "server.port": options.port,
    "gateway.level": options.level,
    "gateway.deployment": options.deployment
  }
})

/** Made once, with what calls; then called for every call, whose span it opens. Without tracing, no span is built. */
export const makeCallSpans: Effect.Effect<(options: CallSpanOptions, parent: Tracer.AnySpan | undefined) => CallSpan> =
  Effect.gen(function* () {
    const named = remembered(
      ({ operation, provider, model, level, address, port, deployment, stream }: CallSpanOptions) =>
        `${operation}\n${provider}\n${model}\n${level}\n${address}\n${port}\n${deployment}\n${stream}`,
      makeKind
    )
    /** Calls of one kind share their options. */
    const known = new WeakMap<CallSpanOptions, Kind>()
    const kindOf = (options: CallSpanOptions): Kind => {
      const kind = known.get(options)
      if (kind !== undefined) return kind
      const made = named(options)
      known.set(options, made)
      return made
    }
    const tracer = yield* Tracer.Tracer
    const clock = yield* Clock.Clock
    const traced = yield* References.TracerEnabled
    return (options, parent) => {
      const { name, record, attributes: shared } = kindOf(options)
      if (!traced) return new Call(options, record, undefined)
      const begun = clock.currentTimeNanosUnsafe()
      const span = openSpan(tracer, { name, kind: "client", parent, startTime: begun, shared, own: {} })
      return new Call(options, record, { span, begun })
    }
  })
