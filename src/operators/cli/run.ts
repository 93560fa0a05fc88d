/** Runs a command to its end: failures in words, and the exit code. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, Config, Console, Effect, Exit, Option, Predicate, Runtime, SchemaIssue } from "effect"
import { oneLine } from "../../limits/files.ts"
import { nodeStatements, statement } from "../../statements.ts"
import { messageOf, Reported } from "../../wire/OperatorError.ts"

const format = SchemaIssue.makeFormatterStandardSchemaV1()

/** What the schemas' own words leave out, by those words. */
const examples: ReadonlyArray<readonly [words: RegExp, example: string]> = [
  [/Duration string/, 'a time such as "500 millis", "30 seconds" or "5 minutes"'],
  [/an integer|NumberFromString/, "a whole number"],
  [/boolean|"true" \| "yes"/, "true or false"]
]

const inWords = (message: string): string => {
  const example = examples.find(([words]) => words.test(message))
  if (example !== undefined) return `must be ${example[1]}`
  const values = /^Expected ((?:"[^"]*"(?: \| )?)+)$/.exec(message)?.[1]
  if (values !== undefined) return `must be one of ${values.replaceAll('"', "").replaceAll(" | ", ", ")}`
  return oneLine(message.replace(/^Expected (a value )?/, "must be "))
}

/** Which setting is wrong, and what would work, in one line. The value is not repeated: it may be a secret. */
export const explainSetting = ({ cause }: Config.ConfigError): string => {
  if (cause._tag !== "SchemaError") return cause.message
  const { issues } = format(cause.issue)
  const problems = issues.map(({ message, path = [] }) => {
    const name = path.map((part) => String(typeof part === "object" ? part.key : part)).join("_")
    return message === "Missing key" ? `${name} is not set` : `${name} ${inWords(message)}`
  })
  return [...new Set(problems)].join("; ")
}

export const end = (message: string, text = `gateway: ${message}`) => Console.error(statement("fatal", message, text))

/** Failures that a person can fix are printed in one line; anything else with its cause. */
const explain = (cause: Cause.Cause<unknown>) => {
  const error = Option.getOrUndefined(Cause.findErrorOption(cause))
  if (!Runtime.getErrorReported(error)) return Effect.void
  if (error instanceof Config.ConfigError) return end(explainSetting(error))
  const message = Predicate.hasProperty(error, "message") ? String(error.message) : ""
  if (message !== "") return end(message)
  const all = Cause.pretty(cause)
  return end(all, all)
}

/** Says of a failure what there is to say, unless it was said before. */
export const report = <E>(cause: Cause.Cause<E>): Effect.Effect<never, Reported> =>
  Cause.hasInterruptsOnly(cause)
    ? Effect.interrupt
    : Effect.andThen(explain(cause), Effect.fail(new Reported({ message: messageOf(Cause.squash(cause)) })))

/** Longest wait for the readers of pipes: the end of the process loses what they have not taken. */
const patience = "2 seconds"

const taken = (stream: NodeJS.WriteStream) =>
  Effect.suspend(() =>
    stream.writableLength === 0
      ? Effect.void
      : Effect.callback<void>((resume) => void stream.write("", () => resume(Effect.void)))
  )
const allTaken = Effect.all([taken(process.stdout), taken(process.stderr)], { concurrency: 2 }).pipe(
  Effect.interruptible,
  Effect.timeoutOption(patience)
)

export const run = <A, E>(command: Effect.Effect<A, E>) => {
  nodeStatements()
  // A terminal that closes sends it. Node would end immediately, without the last records or a key that was made.
  process.on("SIGHUP", () => process.kill(process.pid, "SIGTERM"))
  command.pipe(
    Effect.catchCause(report),
    Effect.ensuring(allTaken),
    NodeRuntime.runMain({
      disableErrorReporting: true,
      // A check that a signal cut off has not passed. `serve` says that it has done what it should.
      teardown: (exit, onExit) => {
        if (Exit.isSuccess(exit)) return onExit(0)
        onExit(Cause.hasInterruptsOnly(exit.cause) ? Number(process.exitCode ?? 130) : 1)
      }
    })
  )
}
