/** Takes each request that is over, for the status page. Undefined where there is none: then nothing is kept. */
import { Context } from "effect"
import type { Outcome } from "../catalog/Outcome.ts"
import type { RequestFacts } from "../catalog/RequestFacts.ts"

/** `endedAt` is in milliseconds since the epoch. */
export type RecordRequest = (facts: RequestFacts, outcome: Outcome, endedAt: number) => void

export const RecordActivity = Context.Reference<RecordRequest | undefined>("gateway/telemetry/RecordActivity", {
  defaultValue: () => undefined
})
