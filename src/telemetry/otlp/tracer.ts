/**
 * Effect's spans for OpenTelemetry: sampled and limited as its SDKs do it, and written for the collector when they end.
 * Of a failure a span has the kind, never the message, which may quote a caller.
 */
import { Cause, Context, Exit, Option, Tracer } from "effect"
import { type AttributeLimits, type Attributes, type Written, writeAttributes } from "./attributes.ts"
import type { Add } from "./batches.ts"
import { ProtobufWriter } from "./protobuf.ts"

type Options = Parameters<Tracer.Tracer["span"]>[0]

/** What a span is, from its start. */
export interface SpanStart {
  readonly name: string
  readonly kind: Tracer.SpanKind
  readonly parent: Tracer.AnySpan | undefined
  /** Nanoseconds since the epoch. */
  readonly startTime: bigint
  /** What all spans of its kind have, as one object: it is written once. What is undefined is left out. */
  readonly shared: Attributes
  /** What only this one has; the span takes the object. */
  readonly own: Record<string, unknown>
}

const setAll = (span: Tracer.Span, attributes: Attributes) => {
  for (const key in attributes) if (attributes[key] !== undefined) span.attribute(key, attributes[key])
}

/** Opens a span without an effect, as `Effect.makeSpan` would with one. */
export const openSpan = (
  tracer: Tracer.Tracer,
  { name, kind, parent, startTime, shared, own }: SpanStart
): Tracer.Span => {
  const span = tracer.span({
    name,
    kind,
    parent: Option.fromUndefinedOr(parent),
    startTime,
    annotations: Context.empty(),
    links: [],
    root: false,
    sampled: parent?.sampled ?? true
  })
  if (span instanceof Span) span.start(shared, own)
  else {
    setAll(span, shared)
    setAll(span, own)
  }
  return span
}

/** Whether a span is kept, by its trace and its parent. */
export type Sampler = (traceId: string, parent: Tracer.AnySpan | undefined) => boolean

export interface SpanLimits extends AttributeLimits {
  /** Events of a span; the oldest are dropped. */
  readonly events: number
}

export interface TracerOptions {
  readonly sampler: Sampler
  readonly limits: SpanLimits
  readonly ids: { readonly generateTraceId: () => string; readonly generateSpanId: () => string }
  /** Takes a span that has ended. */
  readonly add: Add
}

/** A tracer of Effect's for a collector. */
export const makeTracer = (options: TracerOptions): Tracer.Tracer => {
  const { limits } = options
  const shared = new WeakMap<Attributes, Shared>()
  const writer = new ProtobufWriter()
  const tracer: SpanTracer = {
    ...options,
    shared: (attributes) => {
      const known = shared.get(attributes)
      if (known !== undefined) return known
      const written = { ...writeAttributes(writer, spanAttributes, attributes, limits), bytes: writer.take() }
      shared.set(attributes, written)
      return written
    }
  }
  return Tracer.make({ span: (options) => new Span(tracer, options) })
}

/** Attributes that were written before. */
interface Shared extends Written {
  readonly bytes: Uint8Array
}

interface SpanTracer extends TracerOptions {
  readonly shared: (attributes: Attributes) => Shared
}

/** The field of OTLP's `Span`. */
const spanAttributes = 9

interface Event {
  readonly name: string
  readonly time: bigint
}

const none: ReadonlyMap<string, unknown> = new Map()
const nothing: Attributes = {}

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
  /** They are not read here. */
  readonly attributes = none
  status: Tracer.SpanStatus
  private readonly tracer: SpanTracer
  private shared = nothing
  private own: Record<string, unknown> = {}
  private readonly events: Array<Event> = []

  constructor(tracer: SpanTracer, { name, kind, parent, annotations, links, startTime }: Options) {
    const above = Option.getOrUndefined(parent)
    this.tracer = tracer
    this.name = name
    this.kind = kind
    this.parent = parent
    this.annotations = annotations
    this.links = links
    this.status = { _tag: "Started", startTime }
    this.traceId = above?.traceId ?? tracer.ids.generateTraceId()
    this.spanId = tracer.ids.generateSpanId()
    this.sampled = tracer.sampler(this.traceId, above)
  }

  /** What it has from its start. */
  start(shared: Attributes, own: Record<string, unknown>): void {
    this.shared = shared
    this.own = own
  }

  attribute(key: string, value: unknown): void {
    if (!this.sampled) return
    const known = this.shared[key]
    if (known !== undefined) {
      if (known === value) return
      this.own = { ...this.shared, ...this.own }
      this.shared = nothing
    }
    this.own[key] = value
  }

  event(name: string, time: bigint): void {
    if (this.sampled) this.events.push({ name, time })
  }

  /** Nothing here links spans. */
  addLinks(): void {}

  end(endTime: bigint, exit: Exit.Exit<unknown, unknown>): void {
    if (this.status._tag === "Ended") return
    const { startTime } = this.status
    this.status = { _tag: "Ended", startTime, endTime, exit }
    if (this.sampled) this.tracer.add((writer) => this.write(writer, startTime, endTime, exit))
  }

  /** The fields of OTLP's `Span`. */
  private write(writer: ProtobufWriter, startTime: bigint, endTime: bigint, exit: Exit.Exit<unknown, unknown>): void {
    const { limits } = this.tracer
    const shared = this.tracer.shared(this.shared)
    const above = Option.getOrUndefined(this.parent)
    writer.hex(1, this.traceId)
    writer.hex(2, this.spanId)
    if (above !== undefined) writer.hex(4, above.spanId)
    writer.string(5, this.name)
    writer.integer(6, kinds[this.kind])
    writer.fixed64(7, startTime)
    writer.fixed64(8, endTime)
    writer.fields(shared.bytes)
    writer.integer(10, writeAttributes(writer, spanAttributes, this.own, limits, shared.count).dropped)
    const first = Math.max(0, this.events.length - limits.events)
    for (let index = first; index < this.events.length; index++) writeEvent(writer, this.events[index])
    writer.integer(12, first)
    writer.integer(14, 0)
    const status = writer.open(15)
    // An interruption is no failure, and a success stays unset, as the conventions want it.
    const failed = Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause)
    if (failed) writer.string(2, kindOf(exit.cause))
    writer.integer(3, failed ? 2 : 0)
    writer.close(status)
    // Sampled; known whether the parent is remote; whether it is.
    writer.fixed32(16, 1 | 0x100 | (above?._tag === "ExternalSpan" ? 0x200 : 0))
  }
}

const kinds = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 } as const

const writeEvent = (writer: ProtobufWriter, event: Event | undefined): void => {
  if (event === undefined) return
  const message = writer.open(11)
  writer.fixed64(1, event.time)
  writer.string(2, event.name)
  writer.integer(4, 0)
  writer.close(message)
}

/** A code of ours, or the name of an error. */
const kindOf = (cause: Cause.Cause<unknown>): string => {
  const error: unknown = Option.getOrUndefined(Cause.findErrorOption(cause))
  if (typeof error === "string") return error
  const name: unknown = typeof error === "object" && error !== null ? Reflect.get(error, "_tag") : undefined
  return typeof name === "string" ? name : "_OTHER"
}
