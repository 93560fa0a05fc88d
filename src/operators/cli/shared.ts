/** What the commands share: settings, flags, how they print and how they fail. */
import { Console, Data, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { environment, type GatewaySettings, load } from "../../Settings.ts"

/** `message` is one line: what is wrong, and what would work. */
export class CommandError extends Data.TaggedError("CommandError")<{ readonly message: string }> {}
export const fail = (message: string) => Effect.fail(new CommandError({ message }))

export const settings = Effect.suspend(() => load(environment()))

export const print = (text: string) => Console.log(text.trimEnd())

export const optionalText = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withDescription(description), Flag.withDefault(undefined))
export const optionalCount = (name: string, description: string) =>
  Flag.Int(name).pipe(Flag.withDescription(description), Flag.withDefault(undefined))
export const jsonFlag = Flag.Boolean("json").pipe(Flag.withDescription("print JSON"), Flag.withDefault(false))

/** A command that prints a text. */
export const printing = <const Config extends Command.Command.Config, E, R>(
  name: string,
  description: string,
  config: Config,
  text: (values: Command.Command.Config.Infer<Config>, gateway: GatewaySettings) => Effect.Effect<string, E, R>
) =>
  Command.make(name, config, (values) =>
    Effect.flatMap(settings, ({ gateway }) => Effect.flatMap(text(values, gateway), print))
  ).pipe(Command.withDescription(description))
