/** What the commands share: settings, flags, how they print and how they fail. */
import { hostname, userInfo } from "node:os"
import { Console, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { type Act, Audit } from "../../audit/Audit.ts"
import { appendAudit } from "../../limits/UsageLog.ts"
import { environment, type GatewaySettings, load, recordOptions } from "../../Settings.ts"
import { rephrase } from "../../wire/OperatorError.ts"

export const settings = Effect.suspend(() => load(environment()))

export const print = (text: string) => Console.log(text.trimEnd())

export const optionalText = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withDescription(description), Flag.withDefault(undefined))
export const optionalCount = (name: string, description: string) =>
  Flag.Int(name).pipe(Flag.withDescription(description), Flag.withDefault(undefined))
export const onFlag = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withDescription(description), Flag.withDefault(false))
export const jsonFlag = onFlag("json", "print JSON")

/** What a command has done goes to the audit log, with who did it. */
const audited = Effect.fnUntraced(function* <A, E, R>(gateway: GatewaySettings, command: Effect.Effect<A, E, R>) {
  const acts: Array<Act> = []
  const done = yield* Effect.provideService(command, Audit, (act) => void acts.push(act))
  const file = Option.getOrUndefined(gateway.auditLog)
  // Standard output is for what a command answers.
  if (file === undefined || file === "stdout") return done
  const actor = { kind: "operator", user: userInfo().username, host: hostname() } as const
  const appending = appendAudit(
    file,
    acts.map((act) => ({ ...act, actor })),
    recordOptions(gateway)
  )
  yield* rephrase(appending, (why) => `it is done, but the audit log ${file} cannot be written: ${why}`)
  return done
})

export const printing = <const Config extends Command.Command.Config, E, R>(
  name: string,
  description: string,
  config: Config,
  text: (values: Command.Command.Config.Infer<Config>, gateway: GatewaySettings) => Effect.Effect<string, E, R>
) =>
  Command.make(name, config, (values) =>
    Effect.flatMap(settings, ({ gateway }) => Effect.flatMap(audited(gateway, text(values, gateway)), print))
  ).pipe(Command.withDescription(description))
