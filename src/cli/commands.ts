/** The commands: `serve`, `keys`, `teams`, `catalog`, `usage`, `doctor`, `chat`, with their help. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Console, Effect, Option } from "effect"
import { Argument, Command } from "effect/cli"
import { version } from "../api/version.ts"
import { clouds } from "../model/Catalog.ts"
import { loadCatalog } from "../model/CatalogStore.ts"
import { reportCatalog } from "../model/catalogReport.ts"
import { bestSites } from "../model/Partition.ts"
import { environment, load } from "../Settings.ts"
import { sitesOf } from "../settings/clouds.ts"
import { chatCommand } from "./chat.ts"
import { doctorCommand } from "./doctor.ts"
import { keysCommand } from "./keys.ts"
import { teamsCommand } from "./teams.ts"
import { usageCommand } from "./usage.ts"

const settings = Effect.suspend(() => load(environment()))
const catalog = Command.make("catalog").pipe(
  Command.withDescription("Look at the model catalog"),
  Command.withSubcommands([
    Command.make(
      "check",
      {
        file: Argument.String("FILE").pipe(
          Argument.withDescription("a catalog file; the one in use otherwise"),
          Argument.optional
        )
      },
      Effect.fnUntraced(function* ({ file }) {
        const loaded = yield* settings
        const given = yield* loadCatalog(Option.orElse(file, () => loaded.gateway.catalogFile))
        // A cloud that is not configured here is taken to be where it may serve the most.
        const sites = { ...bestSites(clouds), ...sitesOf(loaded.clouds) }
        yield* Console.log(reportCatalog(given, sites))
      })
    ).pipe(
      Command.withDescription(
        "Check a catalog and print every requestable ID with the cloud that serves it, and what is left out"
      )
    )
  ])
)

// Reached with flags such as `--log-level` only; main.ts runs a plain `serve` without these commands.
const serve = Effect.flatMap(
  Effect.promise(() => import("../serve.ts")),
  (loaded) => loaded.serve
)
const serveCommand = Command.make("serve", {}, () => serve).pipe(
  Command.withDescription("Serve; the settings are environment variables (see docs/operation.md)")
)

const gateway = Command.make("gateway").pipe(
  Command.withDescription("Government Model Gateway"),
  Command.withSubcommands([serveCommand, keysCommand, teamsCommand, catalog, usageCommand, doctorCommand, chatCommand])
)

/** What the process's arguments ask for. */
export const command = Command.run(gateway, { version }).pipe(Effect.provide(NodeServices.layer))
