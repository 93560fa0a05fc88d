/** Runs a command to its end: failures in words, and the exit code. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, Config, Console, Effect, Exit, Option, Runtime } from "effect"
import { nodeStatements, statement } from "../../statements.ts"
import { explainSetting } from "./explainSetting.ts"

const end = (message: string, text = `gateway: ${message}`) => Console.error(statement("fatal", message, text))

/** Failures that a person can fix are printed in one line; anything else with its cause. */
const explain = (cause: Cause.Cause<unknown>) => {
  const error = Option.getOrUndefined(Cause.findErrorOption(cause))
  if (!Runtime.getErrorReported(error)) return Effect.void
  if (error instanceof Config.ConfigError) return end(explainSetting(error))
  const message =
    error instanceof Error || (typeof error === "object" && error !== null && "message" in error)
      ? String(error.message)
      : undefined
  if (message !== undefined && message !== "") return end(message)
  const all = Cause.pretty(cause)
  return end(all, all)
}

export const run = <A, E>(command: Effect.Effect<A, E>) => {
  nodeStatements()
  command.pipe(
    Effect.tapCause((cause) => (Cause.hasInterruptsOnly(cause) ? Effect.void : explain(cause))),
    NodeRuntime.runMain({
      disableErrorReporting: true,
      teardown: (exit, onExit) => onExit(Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause) ? 1 : 0)
    })
  )
}
