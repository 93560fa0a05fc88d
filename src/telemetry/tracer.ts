/**
 * Effect's spans, kept by OpenTelemetry's SDK. Leaner than the adapter of `@effect/opentelemetry` (two spans a request are
 * felt in the requests a second), and discreet: of a failure a span tells its kind, never a message, which may quote a caller.
 */
import {
  type AttributeValue,
  type HrTime,
  type Span as OtelSpan,
  type Tracer as OtelTracer,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace
} from "@opentelemetry/api"
import { Cause, type Context, Exit, Option, Tracer } from "effect"

type Options = Parameters<Tracer.Tracer["span"]>[0]

const kinds = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER
} as const

const time = (nanos: bigint): HrTime => [Number(nanos / 1_000_000_000n), Number(nanos % 1_000_000_000n)]

const attributeValue = (value: unknown): AttributeValue =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? value
    : Array.isArray(value)
      ? value.map(String)
      : String(value)

const none: ReadonlyMap<string, unknown> = new Map()

class Span implements Tracer.Span {
  readonly _tag = "Span"
  readonly name: string
  readonly kind: Tracer.SpanKind
  readonly parent: Option.Option<Tracer.AnySpan>
  readonly annotations: Context.Context<never>
  readonly links: ReadonlyArray<Tracer.SpanLink>
  readonly spanId: string
  readonly traceId: string
  readonly sampled: boolean
  /** They are the SDK's. */
  readonly attributes = none
  status: Tracer.SpanStatus
  private readonly span: OtelSpan

  constructor(tracer: OtelTracer, options: Options) {
    this.name = options.name
    this.kind = options.kind
    this.parent = options.parent
    this.annotations = options.annotations
    this.links = options.links
    this.status = { _tag: "Started", startTime: options.startTime }
    this.span = tracer.startSpan(
      options.name,
      { kind: kinds[options.kind], startTime: time(options.startTime) },
      parentContext(options.parent)
    )
    const { spanId, traceId, traceFlags } = this.span.spanContext()
    this.spanId = spanId
    this.traceId = traceId
    this.sampled = (traceFlags & TraceFlags.SAMPLED) !== 0
  }

  attribute(key: string, value: unknown): void {
    if (this.sampled) this.span.setAttribute(key, attributeValue(value))
  }

  event(name: string, startTime: bigint): void {
    if (this.sampled) this.span.addEvent(name, time(startTime))
  }

  /** Nothing here links spans. */
  addLinks(): void {}

  end(endTime: bigint, exit: Exit.Exit<unknown, unknown>): void {
    if (this.status._tag === "Ended") return
    this.status = { _tag: "Ended", startTime: this.status.startTime, endTime, exit }
    if (!this.sampled) return
    // An interruption is no failure, and a success stays unset, as the conventions want it.
    if (Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause)) {
      this.span.setStatus({ code: SpanStatusCode.ERROR, message: kindOf(exit.cause) })
    }
    this.span.end(time(endTime))
  }
}

const parentContext = (parent: Option.Option<Tracer.AnySpan>) => {
  if (Option.isNone(parent)) return ROOT_CONTEXT
  const { _tag, traceId, spanId, sampled } = parent.value
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: sampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
    isRemote: _tag === "ExternalSpan"
  })
}

/** A code of ours, or the name of an error. */
const kindOf = (cause: Cause.Cause<unknown>): string => {
  const error: unknown = Option.getOrUndefined(Cause.findErrorOption(cause))
  if (typeof error === "string") return error
  const name: unknown = typeof error === "object" && error !== null ? Reflect.get(error, "_tag") : undefined
  return typeof name === "string" ? name : "_OTHER"
}

/** A tracer of Effect's whose spans the SDK samples and exports. */
export const makeTracer = (tracer: OtelTracer): Tracer.Tracer =>
  Tracer.make({ span: (options) => new Span(tracer, options) })
