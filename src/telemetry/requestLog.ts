/** The log line of a request that is over. */
import { Context, Effect, References, Tracer } from "effect"
import type { Outcome } from "../model/Outcome.ts"
import type { RequestFacts } from "../model/RequestFacts.ts"

/** Longest model ID that is kept, in characters: it is what the caller wrote. */
const maxText = 256

/** Made once; `endedAt` is in milliseconds since the epoch, `span` the request's. */
export const makeRequestLog: Effect.Effect<
  (facts: RequestFacts, outcome: Outcome, endedAt: number, span: Tracer.AnySpan | undefined) => void
> = Effect.map(Effect.context<never>(), (context) => (facts, outcome, endedAt, span) => {
  const annotated = Context.add(context, References.CurrentLogAnnotations, {
    request_id: facts.id,
    status: facts.status,
    outcome,
    model: facts.modelId?.slice(0, maxText),
    duration_ms: endedAt - facts.startedAt
  })
  const inSpan = span === undefined ? annotated : Context.add(annotated, Tracer.ParentSpan, span)
  Effect.runForkWith(inSpan)(Effect.logInfo(`${facts.method} ${facts.path}`))
})
