/** What is done once for every request that is over: its usage record, its log line, its metrics, the end of its span. */
import { Effect } from "effect"
import { Quota } from "../access/Quota.ts"
import { UsageLog } from "../access/UsageLog.ts"
import { usageRecordOf } from "../access/UsageRecord.ts"
import { Settings } from "../Settings.ts"
import { Activity } from "../status/Activity.ts"
import { makeRecordRequest } from "../telemetry/metrics.ts"
import { logRequest } from "../telemetry/requestLog.ts"
import type { RequestSpan } from "../telemetry/requestSpan.ts"
import { Backlog } from "../wire/Backlog.ts"
import { chargedCost, chargedTokens } from "./charge.ts"
import type { Observation } from "./Observation.ts"

export const makeFinish = Effect.gen(function* () {
  const records = yield* UsageLog
  const { note } = yield* Quota
  const recordRequest = makeRecordRequest((yield* Settings).metricsBy)
  const activity = yield* Activity
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const backlog = yield* Backlog
  // While the usage log still takes records.
  yield* Effect.addFinalizer(() => Effect.sync(backlog.clear))
  /** `left`: the caller left before the end. `now` is in milliseconds since the epoch. */
  return (facts: Observation, left: boolean, now: number, { close, span }: RequestSpan): void => {
    if (facts.path === "/health") return
    const { caller } = facts
    const tokens = chargedTokens(facts)
    // What the next request is measured by.
    if (caller !== undefined && tokens !== undefined) {
      note(caller, facts.startedAt, tokens.input + tokens.output, chargedCost(facts, tokens) ?? 0)
    }
    const until = performance.now()
    backlog.add(() => {
      const outcome = facts.outcome ?? (left ? "cancelled" : "ok")
      const record = usageRecordOf(facts, left, now)
      if (record !== undefined) records.record(record)
      recordRequest(facts, outcome, now, tokens)
      activity?.record(facts, outcome, now)
      run(logRequest(facts, outcome, now, span))
      close(left, until)
    })
  }
})
