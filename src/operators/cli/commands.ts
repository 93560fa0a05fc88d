/** The commands: `serve`, `keys`, `teams`, `catalog`, `usage`, `doctor`, `chat`, with their help. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Layer } from "effect"
import { CliConfig, CliOutput, Command, GlobalFlag } from "effect/cli"
import { version } from "../../contract/version.ts"
import { oneLine } from "../../limits/files.ts"
import { OperatorError } from "../../wire/OperatorError.ts"
import { catalogCommand } from "./catalog.ts"
import { chatCommand } from "./chat.ts"
import { doctorCommand } from "./doctor.ts"
import { keysCommand, teamsCommand } from "./keys.ts"
import { end } from "./run.ts"
import { usageCommand } from "./usage.ts"

// For its help; main.ts runs a plain `serve` without these commands.
const serve = Effect.promise(() => import("../../serve.ts")).pipe(Effect.flatMap((loaded) => loaded.serve))
const serveCommand = Command.make("serve", {}, () => serve).pipe(
  Command.withDescription("Serve; the settings are environment variables (see docs/operation.md)")
)

const gateway = Command.make("gateway").pipe(
  Command.withDescription("Government Model Gateway"),
  Command.withSubcommands([
    serveCommand,
    keysCommand,
    teamsCommand,
    catalogCommand,
    usageCommand,
    doctorCommand,
    chatCommand
  ])
)

/** What is wrong with a command goes to standard error, in a line; help that was asked for is the answer. */
const presenter = CliOutput.layerPresenter({
  present: (event) => {
    if (event._tag !== "InvalidInvocation") return CliOutput.defaultPresenter.present(event)
    const problems = event.errors.map(({ message }) => oneLine(message)).join("; ")
    const help = ["npm run gateway --", ...event.commandPath.slice(1), "--help"].join(" ")
    return end(`${problems}. Help: ${help}`)
  }
})

/** Commands log nothing, and what a gateway logs is a setting. */
const config = CliConfig.layer({ builtIns: GlobalFlag.BuiltIns.filter((flag) => flag !== GlobalFlag.LogLevel) })

/** Relative names lead nowhere in a directory that was removed, and Node throws where it is asked for. */
const inDirectory = Effect.try({
  try: () => process.cwd(),
  catch: () => new OperatorError({ message: "the directory in which this runs was removed: change to another" })
})

export const command = Effect.andThen(inDirectory, Command.run(gateway, { version })).pipe(
  Effect.provide(Layer.mergeAll(NodeServices.layer, presenter, config))
)
