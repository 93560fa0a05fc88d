/** Spans of requests and of calls to clouds, by Effect's tracer. */
import { type Clock, Context, Effect, Exit, Option, References, type Tracer } from "effect"

/** What is undefined is left out. */
export type Attributes = Readonly<Record<string, unknown>>

/** A span has its attributes when it ends. `startTime` is in nanoseconds since the epoch. */
export type OpenSpan = (
  name: string,
  kind: Tracer.SpanKind,
  parent: Tracer.AnySpan | undefined,
  startTime: bigint
) => Tracer.Span

/** `Effect.makeSpan` for code that is no effect; undefined where nothing is traced. */
export const makeOpenSpan: Effect.Effect<OpenSpan | undefined> = Effect.gen(function* () {
  if (!(yield* References.TracerEnabled)) return undefined
  const tracer = yield* Effect.tracer
  return (name, kind, parent, startTime) =>
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
