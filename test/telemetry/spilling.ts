/** A process whose usage log takes nothing, and whose standard error is stalled; once it is told so, one more record, and its end. */
import { once } from "node:events"
import { Effect, Option } from "effect"
import { makeUsageLog } from "../../src/limits/UsageLog.ts"
import { run } from "../../src/operators/cli/run.ts"
import { logsLayer } from "../../src/telemetry/logs.ts"
import { record } from "../usage/records.ts"

const count = Number(process.argv[2])

const program = Effect.gen(function* () {
  const log = yield* makeUsageLog(() => Effect.never, { capacity: 0 })
  for (let n = 1; n <= count; n++) log.record(record(n))
  yield* Effect.sleep("10 millis")
  process.send?.(process.stderr.writableLength)
  yield* Effect.promise(() => once(process, "message"))
  process.disconnect?.()
  log.record(record(count + 1))
}).pipe(Effect.scoped)
run(Effect.provide(program, logsLayer({ logLevel: "info", logFormat: Option.some("json") })))
