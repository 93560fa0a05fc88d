/** Errors that no handler took: the process has lost track of something, and goes down in order. */
import { Cause, Data, Duration, Effect, Runtime } from "effect"

/** It is in the log. */
class Crashed extends Data.TaggedError("Crashed")<{ readonly message: string }> {
  override readonly [Runtime.errorReported] = false
}

/**
 * Fails with the first such error; a rejection that no code waits for is one. Those that come while the process goes down are
 * logged, and do not keep it from writing its records; `within` this time it ends.
 */
export const crash = (within: Duration.Duration): Effect.Effect<never, Crashed> =>
  Effect.withFiber((fiber) => {
    const run = Effect.runForkWith(fiber.context)
    return Effect.callback<never, Crashed>((resume) => {
      process.on("uncaughtException", (error) => {
        run(Effect.logFatal("An error that no handler took ends the process", Cause.die(error)))
        setTimeout(() => process.exit(1), Duration.toMillis(within)).unref()
        resume(Effect.fail(new Crashed({ message: error.message })))
      })
    })
  })
