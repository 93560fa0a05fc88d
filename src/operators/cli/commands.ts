/** The commands: `serve`, `keys`, `teams`, `catalog`, `usage`, `doctor`, `chat`, with their help. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect } from "effect"
import { Command } from "effect/cli"
import { version } from "../../contract/version.ts"
import { catalogCommand } from "./catalog.ts"
import { chatCommand } from "./chat.ts"
import { doctorCommand } from "./doctor.ts"
import { keysCommand, teamsCommand } from "./keys.ts"
import { usageCommand } from "./usage.ts"

// Reached with flags such as `--log-level` only; main.ts runs a plain `serve` without these commands.
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

export const command = Command.run(gateway, { version }).pipe(Effect.provide(NodeServices.layer))
