/**
 * What the program says beside its log and its records: the line that it serves, the error that ends it, Node's own warnings.
 * With `GATEWAY_LOG_FORMAT=json` each is one object of JSON on a line, like a log line, for collectors that take nothing else.
 */
import { Cause, Duration, Effect } from "effect"
import { environment } from "./Settings.ts"
import { withoutQuotes } from "./telemetry/logs.ts"
import { Reported } from "./wire/OperatorError.ts"
import { escapeJson, escapeLines } from "./wire/print.ts"

const isJson = (): boolean => environment().GATEWAY_LOG_FORMAT === "json"

/** `text` is what a person reads, where it differs; a terminal would obey what it quotes of a file. */
export const statement = (level: "info" | "warn" | "fatal", message: string, text = message): string =>
  isJson() ? escapeJson(JSON.stringify({ timestamp: new Date().toISOString(), level, message })) : escapeLines(text)

/** Warnings, and errors that come before there is a log. */
export const nodeStatements = (): void => {
  // Where the reader of the log is gone, its lines are lost, and callers are served on.
  process.stderr.on("error", () => {})
  if (!isJson()) return
  const say = (level: "warn" | "fatal", { message, name }: Error) =>
    void process.stderr.write(`${statement(level, withoutQuotes(`${name}: ${message}`))}\n`)
  process.removeAllListeners("warning").on("warning", (warning) => say("warn", warning))
  process.on("uncaughtException", (error) => {
    // Where the server runs, `crash` takes it.
    if (process.listenerCount("uncaughtException") > 1) return
    say("fatal", error)
    process.exit(1)
  })
}

// Errors that no handler took: the process has lost track of something, and goes down in order.

/**
 * Fails with the first such error; a rejection that no code waits for is one. Those that come while the process goes down are
 * logged, and do not keep it from writing its records; `within` this time it ends.
 */
export const crash = (within: Duration.Duration): Effect.Effect<never, Reported> =>
  Effect.withFiber((fiber) => {
    const run = Effect.runForkWith(fiber.context)
    return Effect.callback<never, Reported>((resume) => {
      process.on("uncaughtException", (error) => {
        run(Effect.logFatal("An error that no handler took ends the process", Cause.die(error)))
        setTimeout(() => process.exit(1), Duration.toMillis(within)).unref()
        resume(Effect.fail(new Reported({ message: error.message })))
      })
    })
  })
