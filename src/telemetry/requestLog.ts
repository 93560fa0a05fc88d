/** The log line of a request that is over. */
import { Context, Effect, References, Tracer } from "effect"
import type { Outcome } from "../model/Outcome.ts"
import type { RequestFacts } from "../model/RequestFacts.ts"

/** Longest model ID that is kept, in characters: it is what the caller wrote. */
const maxText = 256

/** `endedAt` is in milliseconds since the epoch, `span` the request's. */
export const logRequest = (
  facts: RequestFacts,
  outcome: Outcome,
  endedAt: number,
  span: Tracer.AnySpan | undefined
): Effect.Effect<void> =>
  Effect.updateContext(Effect.logInfo(`${facts.method} ${facts.path}`), (context: Context.Context<never>) => {
    const annotated = Context.add(context, References.CurrentLogAnnotations, {
      request_id: facts.id,
      status: facts.status,
      outcome,
      model: facts.modelId?.slice(0, maxText),
      duration_ms: endedAt - facts.startedAt
    })
    return span === undefined ? annotated : Context.add(annotated, Tracer.ParentSpan, span)
  })
