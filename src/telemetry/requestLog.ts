/** The log line of a request that is over. */
import { Effect, type Tracer } from "effect"
import type { Outcome } from "../model/Outcome.ts"
import type { RequestFacts } from "../model/RequestFacts.ts"
import { Entry } from "./entry.ts"

/** Longest model ID that is kept, in characters: it is what the caller wrote. */
const maxText = 256

/** `endedAt` is in milliseconds since the epoch, `span` the request's. */
export const logRequest = (
  facts: RequestFacts,
  outcome: Outcome,
  endedAt: number,
  span: Tracer.AnySpan | undefined
): Effect.Effect<void> =>
  Effect.logInfo(
    new Entry(
      `${facts.method} ${facts.path}`,
      {
        request_id: facts.id,
        status: facts.status,
        outcome,
        model: facts.modelId?.slice(0, maxText),
        duration_ms: endedAt - facts.startedAt
      },
      span,
      endedAt
    )
  )
