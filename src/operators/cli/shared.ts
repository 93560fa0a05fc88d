/** What the commands share: settings, flags, how they print and how they fail. */
import { hostname, userInfo } from "node:os"
import { Effect, identity, Option, Stdio, Stream } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { type Act, Audit } from "../../audit/Audit.ts"
import { codeOf, fileError } from "../../limits/files.ts"
import { appendAudit } from "../../limits/UsageLog.ts"
import { environment, type GatewaySettings, load, recordOptions } from "../../Settings.ts"
import { rephrase } from "../../wire/OperatorError.ts"
import { escapeLines } from "../../wire/print.ts"

export const settings = Effect.suspend(() => load(environment()))

/** Node's console drops what cannot be written, as on a full disk. A reader that has left wants no more. */
export const print = Effect.fnUntraced(function* (text: string) {
  const { stdout } = yield* Stdio.Stdio
  yield* Stream.run(Stream.make(`${text.trimEnd()}\n`), stdout()).pipe(
    Effect.catchIf(
      (cause) => codeOf(cause) === "EPIPE",
      () => Effect.void
    ),
    Effect.mapError(fileError("write", "standard output"))
  )
})

/** The name of a file. An empty one comes of a variable that the shell has not set. */
const named = [(name: string) => name !== "", () => "the name of a file, not an empty one"] as const
export const fileArgument = (description: string) =>
  Argument.String("FILE").pipe(Argument.withDescription(description), Argument.filter(...named))
export const optionalFile = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withDescription(description), Flag.filter(...named), Flag.optional)

export const optionalText = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withDescription(description), Flag.withDefault(undefined))
export const optionalCount = (name: string, description: string) =>
  Flag.Int(name).pipe(Flag.withDescription(description), Flag.withDefault(undefined))
export const onFlag = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withDescription(description), Flag.withDefault(false))
export const jsonFlag = onFlag("json", "print JSON")

/** What a command has done goes to the audit log, with who did it, and is printed in any case: a new key is shown once. */
const printAudited = Effect.fnUntraced(function* <E, R>(
  gateway: GatewaySettings,
  command: Effect.Effect<string, E, R>
) {
  const acts: Array<Act> = []
  const text = escapeLines(yield* Effect.provideService(command, Audit, (act) => void acts.push(act)))
  const file = Option.getOrUndefined(gateway.auditLog)
  // Standard output is for what a command answers.
  if (file === undefined || file === "stdout") return yield* print(text)
  // A container may run as a user that it has no name for.
  const named = Effect.try(() => userInfo().username)
  const user = yield* Effect.orElseSucceed(named, () => String(process.getuid?.()))
  const actor = { kind: "operator", user, host: hostname() } as const
  const appending = appendAudit(
    file,
    acts.map((act) => ({ ...act, actor })),
    recordOptions(gateway)
  )
  const recorded = yield* Effect.exit(
    rephrase(appending, (why) => `it is done, but the audit log (GATEWAY_AUDIT_LOG) has no event of it: ${why}`)
  )
  yield* print(text)
  return yield* recorded
})

/** A command that prints a text. `run`: how what it does is run. */
export const printing = <const Config extends Command.Command.Config, E, R>(
  name: string,
  description: string,
  config: Config,
  text: (values: Command.Command.Config.Infer<Config>, gateway: GatewaySettings) => Effect.Effect<string, E, R>,
  run: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R> = identity
) =>
  Command.make(name, config, (values) =>
    Effect.flatMap(settings, ({ gateway }) => run(printAudited(gateway, text(values, gateway))))
  ).pipe(Command.withDescription(description))

/** A command that changes something. Once it has begun, it finishes, and is recorded and printed, also where a signal ends the process. */
export const changing = <const Config extends Command.Command.Config, E, R>(
  ...[name, description, config, text]: Parameters<typeof printing<Config, E, R>>
) => printing(name, description, config, text, Effect.uninterruptible)
