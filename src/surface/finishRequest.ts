/** What is done once with every request that is over: its usage record, its log line, its metrics. */
import { Clock, Effect, Exit } from "effect"
import { UsageLog } from "../access/UsageLog.ts"
import { recordRequest } from "../telemetry/metrics.ts"
import type { Observation } from "./Observation.ts"
import { usageRecordOf } from "./usageRecord.ts"

export const finishRequest = Effect.gen(function* () {
  const log = yield* UsageLog
  return (observation: Observation, exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      if (observation.path === "/health") return Effect.void
      const outcome = observation.outcome ?? (Exit.isFailure(exit) ? "cancelled" : "ok")
      recordRequest(observation, outcome, now)
      const record = usageRecordOf(observation, exit, now)
      const line = Effect.logInfo(`${observation.method} ${observation.path}`).pipe(
        Effect.annotateLogs({
          request_id: observation.id,
          status: observation.status,
          outcome,
          ...(observation.modelId === undefined ? {} : { model: observation.modelId.slice(0, 256) }),
          duration_ms: now - observation.startedAt
        })
      )
      return record === undefined ? line : Effect.andThen(log.record(record), line)
    })
})
