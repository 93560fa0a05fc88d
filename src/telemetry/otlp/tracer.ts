/**
 * Spans for OpenTelemetry: sampled and limited as its SDKs do it, and written for the collector when they end.
 * Of a failure a span has the kind, never the message, which may quote a caller.
 */
import { Cause, Context, Exit, Option, type Tracer } from "effect"
import { perObject } from "../../wire/perObject.ts"
import type { Attributes, OpenSpan, SpanSort, SpanStart, Time } from "../spans.ts"
import { type AttributeLimits, type Written, writeAttributes } from "./attributes.ts"
import type { Add } from "./batches.ts"
import { type Id, type Identified, idsOf, type SpanIds } from "./ids.ts"
import { type Instant, type Message, nanosOf, ProtobufWriter } from "./protobuf.ts"

/** Whether a span is kept, by its trace and its parent. */
export type Sampler = (trace: Id, parent: Tracer.AnySpan | undefined) => boolean

export interface SpanLimits extends AttributeLimits {
  /** Events of a span; the oldest are dropped. */
  readonly events: number
}

export interface TracerOptions {
  readonly sampler: Sampler
  readonly limits: SpanLimits
  readonly ids: SpanIds
  /** Takes a span that has ended. */
  readonly add: Add
}

export interface SpanTracer extends Tracer.Tracer {
  /** Opens a span without an effect, as `Effect.makeSpan` would with one. */
  readonly open: (start: SpanStart) => OpenSpan
}

/** A tracer for a collector. */
export const makeTracer = (options: TracerOptions): SpanTracer => {
  const { limits } = options
  const writer = new ProtobufWriter()
  const open = (start: SpanStart) => new Span(sink, start)
  const tracer: SpanTracer = {
    open,
    span: ({ name, kind, parent, startTime }) =>
      open({ of: { name, kind, attributes: nothing }, parent: Option.getOrUndefined(parent), startTime })
  }
  const sink: Sink = {
    ...options,
    tracer,
    clock: new Clock(),
    head: perObject((sort) => {
      writer.string(5, sort.name)
      writer.integer(6, kinds[sort.kind])
      return writer.take()
    }),
    shared: perObject((attributes) => ({
      ...writeAttributes(writer, spanAttributes, attributes, limits),
      bytes: writer.take()
    }))
  }
  return tracer
}

/** Attributes that were written before. */
interface Shared extends Written {
  readonly bytes: Uint8Array
}

interface Sink extends TracerOptions {
  readonly tracer: Tracer.Tracer
  readonly clock: Clock
  readonly head: (sort: SpanSort) => Uint8Array
  readonly shared: (attributes: Attributes) => Shared
}

/** What the process's clock shows, as time since the epoch. */
class Clock {
  private origin = performance.timeOrigin

  /** The time now, by both clocks: it is set when the machine's was. */
  set(now: number, epoch: number): void {
    if (Math.abs(epoch - this.origin - now) > 1000) this.origin = epoch - now
  }

  sinceEpoch(time: Time): Instant {
    return typeof time === "bigint" ? time : this.origin + time
  }
}

/** The field of OTLP's `Span`. */
const spanAttributes = 9

interface Event {
  readonly name: string
  readonly time: Instant
}

const nothing: Attributes = {}
const none: ReadonlyArray<Event> = []
const noAnnotations = Context.empty()
const noAttributes: ReadonlyMap<string, unknown> = new Map()
const noLinks: ReadonlyArray<Tracer.SpanLink> = []

class Span implements OpenSpan, Identified, Message {
  readonly trace: Id
  readonly id: Id
  readonly sampled: boolean
  private readonly sink: Sink
  private readonly of: SpanSort
  private readonly above: Tracer.AnySpan | undefined
  private readonly aboveId: Id | undefined
  private readonly startTime: Instant
  private endTime: Instant | undefined
  private failure: string | undefined
  private shared: Attributes
  /** What it learned and shares. */
  private alike: Attributes
  private own: Record<string, unknown> | undefined
  private events: Array<Event> | undefined

  constructor(sink: Sink, { of, parent, startTime, wallTime }: SpanStart) {
    this.sink = sink
    if (wallTime !== undefined && typeof startTime === "number") sink.clock.set(startTime, wallTime)
    this.of = of
    this.above = parent
    this.startTime = sink.clock.sinceEpoch(startTime)
    this.endTime = undefined
    this.failure = undefined
    this.shared = of.attributes
    this.alike = nothing
    this.own = undefined
    this.events = undefined
    const above = parent && idsOf(parent)
    this.aboveId = above?.id
    this.trace = above?.trace ?? sink.ids.trace()
    this.id = sink.ids.span()
    this.sampled = sink.sampler(this.trace, parent)
  }

  get _tag() {
    return "Span" as const
  }

  get traceId(): string {
    return this.trace.hex
  }

  get spanId(): string {
    return this.id.hex
  }

  get name(): string {
    return this.of.name
  }

  get kind(): Tracer.SpanKind {
    return this.of.kind
  }

  get tracer(): Tracer.Tracer {
    return this.sink.tracer
  }

  get parent(): Option.Option<Tracer.AnySpan> {
    return Option.fromUndefinedOr(this.above)
  }

  get status(): Tracer.SpanStatus {
    const startTime = nanosOf(this.startTime)
    if (this.endTime === undefined) return { _tag: "Started", startTime }
    const exit = this.failure === undefined ? Exit.void : Exit.fail(this.failure)
    return { _tag: "Ended", startTime, endTime: nanosOf(this.endTime), exit }
  }

  // Of these there are none, or they are not read here.
  get annotations() {
    return noAnnotations
  }
  get attributes() {
    return noAttributes
  }
  get links() {
    return noLinks
  }
  addLinks(): void {}

  attribute(key: string, value: unknown): void {
    if (!this.sampled || this.endTime !== undefined) return
    const known = this.shared[key]
    if (known !== undefined) {
      if (known === value) return
      this.own = { ...this.shared, ...this.own }
      this.shared = nothing
    }
    this.own ??= {}
    this.own[key] = value
  }

  event(name: string, time: Time): void {
    if (!this.sampled || this.endTime !== undefined) return
    this.events ??= []
    this.events.push({ name, time: this.sink.clock.sinceEpoch(time) })
  }

  end(endTime: bigint, exit: Exit.Exit<unknown, unknown>): void {
    // An interruption is no failure.
    const failed = Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause)
    this.over(endTime, failed ? kindOf(exit.cause) : undefined)
  }

  close(endTime: Time, failure: string | undefined, alike: Attributes, own: Record<string, unknown>): void {
    if (this.endTime !== undefined) return
    this.alike = alike
    this.own = this.own === undefined ? own : { ...this.own, ...own }
    this.over(endTime, failure)
  }

  private over(endTime: Time, failure: string | undefined): void {
    if (this.endTime !== undefined) return
    this.endTime = this.sink.clock.sinceEpoch(endTime)
    this.failure = failure
    if (this.sampled) this.sink.add(this)
  }

  /** The fields of OTLP's `Span`. */
  write(writer: ProtobufWriter): void {
    const { above, startTime } = this
    const events = this.events ?? none
    const { limits } = this.sink
    const shared = this.sink.shared(this.shared)
    const alike = this.sink.shared(this.alike)
    writer.id(1, this.trace)
    writer.id(2, this.id)
    if (this.aboveId !== undefined) writer.id(4, this.aboveId)
    writer.fields(this.sink.head(this.of))
    writer.time(7, startTime)
    writer.time(8, this.endTime ?? startTime)
    const known = shared.count + alike.count
    const fits = known <= limits.count
    const rest = fits ? (this.own ?? nothing) : { ...this.alike, ...this.own }
    writer.fields(shared.bytes)
    if (fits) writer.fields(alike.bytes)
    const { dropped } = writeAttributes(writer, spanAttributes, rest, limits, fits ? known : shared.count)
    writer.integer(10, dropped)
    const first = Math.max(0, events.length - limits.events)
    for (let index = first; index < events.length; index++) writeEvent(writer, events[index])
    writer.integer(12, first)
    writer.integer(14, 0)
    const status = writer.open(15)
    // A success stays unset, as the conventions want it.
    if (this.failure !== undefined) writer.string(2, this.failure)
    writer.integer(3, this.failure === undefined ? 0 : 2)
    writer.close(status)
    // Sampled; known whether the parent is remote; whether it is.
    writer.fixed32(16, 1 | 0x100 | (above?._tag === "ExternalSpan" ? 0x200 : 0))
  }
}

const kinds = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 } as const

const writeEvent = (writer: ProtobufWriter, event: Event | undefined): void => {
  if (event === undefined) return
  const message = writer.open(11)
  writer.time(1, event.time)
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
