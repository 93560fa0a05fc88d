/**
 * The client span of one upstream call, and its metrics (OpenTelemetry GenAI conventions). Its time is over at the call's last
 * byte, at its error, or when it is given up; what is learned later, such as the usage, is still on it.
 */
import { Effect, type Tracer } from "effect"
import type { GatewayError } from "../model/GatewayError.ts"
import type { Tokens } from "../model/Tokens.ts"
import { Backlog, type Work } from "../wire/Backlog.ts"
import { perObject } from "../wire/perObject.ts"
import { type CallLabels, type CallRecorder, makeCallRecorder, remembered } from "./metrics.ts"
import { type Attributes, type OpenSpan, type SpanSort, Spans } from "./spans.ts"

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

/** What is learned of a call after its head. */
export interface UpstreamSpan {
  /** What the call came to; the last word counts. */
  readonly used: (tokens: Tokens, finishReason?: string, flags?: number) => void
  readonly firstToken: () => void
  readonly fail: (error: GatewayError) => void
}

export interface CallSpan extends UpstreamSpan {
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

class Call implements CallSpan {
  // What each chunk needs comes first: it lies together then.
  private readonly options: CallSpanOptions
  private readonly record: CallRecorder
  private readonly backlog: Work
  private chunkAt: number | undefined
  private readonly span: OpenSpan | undefined
  /** By the process's clock, as all times here. */
  private readonly startedAt: number
  private region: string | undefined
  private address: string | undefined
  private status: number | undefined
  private names: ResponseNames | undefined
  private tokens: Tokens | undefined
  private finishReason: string | undefined
  private flags: number | undefined
  private error: string | undefined
  private firstChunk: number | undefined
  private endedAt: number | undefined
  private ended = false

  constructor(
    options: CallSpanOptions,
    record: CallRecorder,
    backlog: Work,
    startedAt: number,
    span: OpenSpan | undefined
  ) {
    this.options = options
    this.record = record
    this.backlog = backlog
    this.startedAt = startedAt
    this.span = span
  }

  asked(region: string | undefined): void {
    this.region = region ?? this.region
  }

  answered(address: string, status: number): void {
    this.address = address
    this.status = status
  }

  named(names: () => ResponseNames): void {
    if (this.span !== undefined) this.names = names()
  }

  used(tokens: Tokens, finishReason?: string, flags = 0): void {
    if (this.ended) return
    this.tokens = tokens
    this.finishReason = finishReason
    this.flags = flags
  }

  firstToken(): void {
    this.span?.event("gen_ai.first_token", this.chunkAt ?? performance.now())
  }

  chunk(): void {
    if (!this.options.stream) return
    const now = performance.now()
    if (this.chunkAt === undefined) {
      this.firstChunk = (now - this.startedAt) / 1000
      this.record.firstChunk(this.firstChunk)
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
    if (this.ended) return
    this.error ??= errorType(error)
    this.endedAt ??= performance.now()
  }

  end(): void {
    if (this.ended) return
    this.ended = true
    this.endedAt ??= performance.now()
    const until = this.endedAt
    this.backlog.add(() => this.finish(until))
  }

  private finish(until: number): void {
    const { span } = this
    this.record.end((until - this.startedAt) / 1000, this.error, this.tokens)
    if (span === undefined) return
    const { tokens } = this
    // An embedding has no output that is counted.
    const output = this.options.operation === "embeddings" ? undefined : tokens
    const alike = reply(
      this.region,
      this.address ?? this.options.address,
      this.status,
      this.names?.model,
      output && this.finishReason,
      output && this.flags
    )
    span.close(until, this.error === cancelled ? undefined : this.error, alike, {
      "gen_ai.response.id": this.names?.id,
      "gen_ai.response.time_to_first_chunk": this.firstChunk,
      "gen_ai.usage.input_tokens": tokens?.input,
      "gen_ai.usage.output_tokens": output?.output,
      "gen_ai.usage.cache_read.input_tokens": output?.cached,
      "gen_ai.usage.reasoning.output_tokens": output?.reasoning,
      "error.type": this.error
    })
  }
}

/** What replies have in common. */
const reply = remembered(
  (
    region: string | undefined,
    address: string,
    status: number | undefined,
    model: string | undefined,
    finishReason: string | undefined,
    flags: number | undefined
  ): Attributes => ({
    "gateway.region": region,
    "server.address": address,
    "http.response.status_code": status,
    "gen_ai.response.model": model,
    "gen_ai.response.finish_reasons": finishReason === undefined ? undefined : [finishReason],
    "gateway.governance.flags": flags
  })
)

/** What calls of one kind have in common. */
interface Kind extends SpanSort {
  readonly record: CallRecorder
}

const makeKind = (options: CallSpanOptions): Kind => ({
  name: `${options.operation} ${options.model}`,
  kind: "client",
  record: makeCallRecorder(options),
  attributes: {
    "gen_ai.operation.name": options.operation,
    "gen_ai.provider.name": options.provider,
    "gen_ai.request.model": options.model,
    "gen_ai.request.stream": options.stream,
    "server.port": options.port,
    "gateway.level": options.level,
    "gateway.deployment": options.deployment
  }
})

/** Made once, with what calls; then called for every call, whose span it opens where spans are exported. */
export const makeCallSpans: Effect.Effect<(options: CallSpanOptions, parent: Tracer.AnySpan | undefined) => CallSpan> =
  Effect.gen(function* () {
    const same = new Map<string, Kind>()
    /** Calls of one kind share their options, until the catalog is read anew. */
    const kindOf = perObject((options: CallSpanOptions): Kind => {
      const text = JSON.stringify(options)
      const kind = same.get(text) ?? makeKind(options)
      same.set(text, kind)
      return kind
    })
    const spans = yield* Spans
    const backlog = yield* Backlog
    return (options, parent) => {
      const of = kindOf(options)
      const startedAt = performance.now()
      const span = spans?.open({ of, parent, startTime: startedAt })
      return new Call(options, of.record, backlog, startedAt, span)
    }
  })
