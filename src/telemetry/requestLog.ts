/** The log line of a request that is over. */
import { Effect, Tracer } from "effect"
import type { Outcome } from "../catalog/Outcome.ts"
import type { RequestFacts } from "../catalog/RequestFacts.ts"

/** Longest model ID that is kept, in characters: it is what the caller wrote. */
const maxText = 256

/** `endedAt` is in milliseconds since the epoch, `span` the request's. */
export const logRequest = (
  { id, method, modelId, path, startedAt, status }: RequestFacts,
  outcome: Outcome,
  endedAt: number,
  span: Tracer.AnySpan | undefined
): Effect.Effect<void> => {
  const line = Effect.annotateLogs(Effect.logInfo(`${method} ${path}`), {
    request_id: id,
    status,
    outcome,
    ...(modelId === undefined ? {} : { model: modelId.slice(0, maxText) }),
    duration_ms: endedAt - startedAt
  })
  return span === undefined ? line : Effect.provideService(line, Tracer.ParentSpan, span)
}
