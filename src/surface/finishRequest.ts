/** What is done once for every request that is over: its usage record, its log line, its metrics. */
import { Effect, type Tracer } from "effect"
import { Quota } from "../access/Quota.ts"
import { UsageLog } from "../access/UsageLog.ts"
import { usageRecordOf } from "../access/UsageRecord.ts"
import { Settings } from "../Settings.ts"
import { Activity } from "../status/Activity.ts"
import { makeRecordRequest } from "../telemetry/metrics.ts"
import { logRequest } from "../telemetry/requestLog.ts"
import { chargedCost, chargedTokens } from "./charge.ts"
import type { Observation } from "./Observation.ts"

export const makeFinish = Effect.gen(function* () {
  const records = yield* UsageLog
  const { note } = yield* Quota
  const recordRequest = makeRecordRequest((yield* Settings).metricsBy)
  const activity = yield* Activity
  /** `left`: the caller left before the end. `now` is in milliseconds since the epoch, `span` the request's. */
  return (facts: Observation, left: boolean, now: number, span: Tracer.AnySpan | undefined): Effect.Effect<void> => {
    if (facts.path === "/health") return Effect.void
    const outcome = facts.outcome ?? (left ? "cancelled" : "ok")
    const { caller } = facts
    const tokens = chargedTokens(facts)
    recordRequest(facts, outcome, now, tokens)
    activity?.record(facts, outcome, now)
    if (caller !== undefined && tokens !== undefined) {
      note(caller, facts.startedAt, tokens.input + tokens.output, chargedCost(facts, tokens) ?? 0)
    }
    const record = usageRecordOf(facts, left, now)
    if (record !== undefined) records.record(record)
    return logRequest(facts, outcome, now, span)
  }
})
