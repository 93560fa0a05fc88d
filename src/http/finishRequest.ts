/** What is done once for every request that is over: its usage record, its log line, its metrics, the end of its span. */
import { Effect } from "effect"
import { Quota } from "../limits/Quota.ts"
import { UsageLog } from "../limits/UsageLog.ts"
import { usageRecordOf } from "../limits/UsageRecord.ts"
import { Settings } from "../Settings.ts"
import { makeRecordRequest } from "../telemetry/metrics.ts"
import { RecordActivity } from "../telemetry/RecordActivity.ts"
import { logRequest } from "../telemetry/requestLog.ts"
import type { RequestSpan } from "../telemetry/requestSpan.ts"
import type { RequestRecord } from "./RequestRecord.ts"

export const makeFinish = Effect.gen(function* () {
  const records = yield* UsageLog
  const { note } = yield* Quota
  const recordRequest = makeRecordRequest((yield* Settings).metricsBy)
  const recordActivity = yield* RecordActivity
  /** `left`: the caller left before the end. `now` is in milliseconds since the epoch. */
  return (facts: RequestRecord, left: boolean, now: number, { close, span }: RequestSpan): Effect.Effect<void> => {
    if (facts.path === "/health") return Effect.void
    const { caller, charged: tokens, cost = 0 } = facts
    // What the next request is measured by.
    if (caller !== undefined) note(caller, facts.startedAt, (tokens?.input ?? 0) + (tokens?.output ?? 0), cost)
    const outcome = facts.outcome ?? (left ? "cancelled" : "ok")
    const record = usageRecordOf(facts, left, now)
    if (record !== undefined) records.record(record)
    recordRequest(facts, outcome, now, tokens)
    recordActivity?.(facts, outcome, now)
    close(left)
    return logRequest(facts, outcome, now, span)
  }
})
