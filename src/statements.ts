/**
 * What the program says beside its log and its records: the line that it serves, the error that ends it, Node's own warnings.
 * With `GATEWAY_LOG_FORMAT=json` each is one object of JSON on a line, like a log line, for collectors that take nothing else.
 */
import { environment } from "./Settings.ts"
import { withoutQuotes } from "./telemetry/logs.ts"
import { escapeJson } from "./wire/print.ts"

const isJson = (): boolean => environment().GATEWAY_LOG_FORMAT === "json"

/** `text` is what a person reads, where it differs. */
export const statement = (level: "info" | "warn" | "fatal", message: string, text = message): string =>
  isJson() ? escapeJson(JSON.stringify({ timestamp: new Date().toISOString(), level, message })) : text

/** Warnings, and errors that come before there is a log. */
export const nodeStatements = (): void => {
  if (!isJson()) return
  const say = (level: "warn" | "fatal", { message, name }: Error) =>
    void process.stderr.write(`${statement(level, withoutQuotes(`${name}: ${message}`))}\n`)
  process.removeAllListeners("warning").on("warning", (warning) => say("warn", warning))
  process.on("uncaughtException", (error) => {
    // Where the server runs, it logs them and goes down in order (crash.ts).
    if (process.listenerCount("uncaughtException") > 1) return
    say("fatal", error)
    process.exit(1)
  })
}
