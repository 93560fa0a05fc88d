/** A process that logs lines whose reader is stalled; then, once it is told so, a last one, and fails. */
import { once } from "node:events"
import { Effect, Option } from "effect"
import { run } from "../../src/operators/cli/run.ts"
import { logsLayer } from "../../src/telemetry/logs.ts"
import { fail } from "../../src/wire/OperatorError.ts"

const [, , count, length] = process.argv.map(Number)

const program = Effect.gen(function* () {
  const text = "x".repeat(length ?? 0)
  for (let n = 1; n <= (count ?? 0); n++) yield* Effect.logInfo(text)
  process.send?.(process.stderr.writableLength)
  yield* Effect.promise(() => once(process, "message"))
  process.disconnect?.()
  yield* Effect.logInfo("the last line")
  yield* fail("the end")
})
run(Effect.provide(program, logsLayer({ logLevel: "info", logFormat: Option.some("json") })))
