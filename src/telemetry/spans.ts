/** The gateway's own spans: who opens them, what their times are, and the request's, for what is done and logged within it. */
import { Context, Effect, type Fiber, References, Tracer } from "effect"

/** What a span says. What is undefined is left out. */
export type Attributes = Readonly<Record<string, unknown>>

/** Milliseconds by the process's clock (`performance.now()`), which cost less; or nanoseconds since the epoch, as Effect has them. */
export type Time = number | bigint

/** What spans of one kind have in common. It is written once for each object. */
export interface SpanSort {
  readonly name: string
  readonly kind: Tracer.SpanKind
  readonly attributes: Attributes
}

/** What a span is, from its start. */
export interface SpanStart {
  readonly of: SpanSort
  readonly parent: Tracer.AnySpan | undefined
  readonly startTime: Time
  /** When that is by the machine's clock, in milliseconds since the epoch: the process's runs evenly, and is set by it. */
  readonly wallTime?: number | undefined
}

export interface OpenSpan extends Tracer.Span {
  readonly tracer: Tracer.Tracer
  readonly event: (name: string, time: Time) => void
  /**
   * Ends it, with a failure's kind where it is one, and with what was learned: what other spans have too, as one object,
   * and what only this one has. The span takes the objects.
   */
  readonly close: (endTime: Time, failure: string | undefined, alike: Attributes, own: Attributes) => void
}

export interface SpanMaker {
  readonly open: (start: SpanStart) => OpenSpan
}

/** There is none where no span is exported. */
export const Spans = Context.Reference<SpanMaker | undefined>("gateway/telemetry/Spans", {
  defaultValue: () => undefined
})

/**
 * Under which the annotations of a request's log lines hold its span: whoever prints them does not see it. A reference of its own
 * would be one more thing in the context of each request; Effect's own has the runtime look up, for each, all that it keeps at hand.
 */
export const serverSpan = Symbol("gateway/telemetry/serverSpan")

/** The span that Effect knows of, or else that of the request that is served. */
export const currentSpan = (fiber: Fiber.Fiber<unknown, unknown>): Tracer.AnySpan | undefined =>
  fiber.cache.span ?? Reflect.get(fiber.getRef(References.CurrentLogAnnotations), serverSpan)

/** Traces what is done, below the current span, and by its tracer. */
export const withSpan =
  (name: string) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, Exclude<R, Tracer.ParentSpan>> =>
    Effect.withFiber((fiber) => {
      const parent = currentSpan(fiber)
      const spanned = Effect.withSpan(effect, name, { parent })
      return parent !== undefined && "tracer" in parent
        ? Effect.provideService(spanned, Tracer.Tracer, (parent as OpenSpan).tracer)
        : spanned
    })
