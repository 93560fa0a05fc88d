/** The commands: `serve`, `keys`, `catalog`, `usage`, `doctor`, `chat`, with their help. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Console, Context, Effect, Layer, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { createKey, listKeys, revokeKey, rotateKey } from "../access/keysCommand.ts"
import { Quota } from "../access/Quota.ts"
import { storeLayer } from "../access/store.ts"
import { version } from "../api/version.ts"
import { clouds } from "../model/Catalog.ts"
import { loadCatalog } from "../model/CatalogStore.ts"
import { reportCatalog } from "../model/catalogReport.ts"
import { bestSites } from "../model/Partition.ts"
import { environment, load } from "../Settings.ts"
import { sitesOf } from "../settings/clouds.ts"
import { chatCommand } from "./chat.ts"
import { doctorCommand } from "./doctor.ts"
import { usageCommand } from "./usage.ts"

const settings = Effect.suspend(() => load(environment()))
const keysFile = Effect.map(settings, ({ gateway }) => gateway.keysFile)
const id = Argument.String("ID").pipe(Argument.withDescription("the key's ID, as `keys list` shows it"))

const keys = Command.make("keys").pipe(
  Command.withDescription("Create, list, rotate and revoke API keys"),
  Command.withSubcommands([
    Command.make(
      "create",
      {
        name: Flag.String("name").pipe(Flag.withDescription("who or what the key is for")),
        models: Flag.String("models").pipe(
          Flag.withDescription("base models it may use: claude-*,gpt-5.1"),
          Flag.optional
        ),
        levels: Flag.String("levels").pipe(Flag.withDescription("levels it may use: il5,itar"), Flag.optional),
        rpm: Flag.Int("rpm").pipe(Flag.withDescription("requests a minute"), Flag.optional),
        streams: Flag.Int("streams").pipe(Flag.withDescription("streams at a time"), Flag.optional),
        monthlyTokens: Flag.Int("monthly-tokens").pipe(
          Flag.withDescription("tokens a calendar month (UTC)"),
          Flag.optional
        ),
        expires: Flag.String("expires").pipe(
          Flag.withDescription("when it ends: 2027-01-31 (at 00:00 UTC), or a time"),
          Flag.optional
        )
      },
      Effect.fnUntraced(function* (flags) {
        yield* Console.log(
          yield* createKey(yield* keysFile, {
            name: flags.name,
            models: Option.getOrUndefined(flags.models),
            levels: Option.getOrUndefined(flags.levels),
            rpm: Option.getOrUndefined(flags.rpm),
            streams: Option.getOrUndefined(flags.streams),
            monthlyTokens: Option.getOrUndefined(flags.monthlyTokens),
            expires: Option.getOrUndefined(flags.expires)
          })
        )
      })
    ).pipe(Command.withDescription("Create a key and print it, once")),
    Command.make(
      "list",
      {},
      Effect.fnUntraced(function* () {
        const { gateway } = yield* settings
        // Opened only when there is a key with a quota.
        const quota = yield* Effect.cached(
          Layer.build(Quota.layer({ lease: 0 }).pipe(Layer.provide(storeLayer(gateway))))
        )
        const used = (keyId: string) => Effect.flatMap(quota, (context) => Context.get(context, Quota).used(keyId))
        yield* Console.log(yield* listKeys(gateway.keysFile, used))
      }, Effect.scoped)
    ).pipe(Command.withDescription("List the keys, without their secrets, and what they used this month")),
    Command.make(
      "revoke",
      { id },
      Effect.fnUntraced(function* ({ id }) {
        yield* Console.log(yield* revokeKey(yield* keysFile, id))
      })
    ).pipe(Command.withDescription("Revoke a key; it stops working within seconds")),
    Command.make(
      "rotate",
      { id },
      Effect.fnUntraced(function* ({ id }) {
        yield* Console.log(yield* rotateKey(yield* keysFile, id))
      })
    ).pipe(Command.withDescription("Give a key a new secret; the old one works for another day"))
  ])
)

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
  Command.withSubcommands([serveCommand, keys, catalog, usageCommand, doctorCommand, chatCommand])
)

/** What the process's arguments ask for. */
export const command = Command.run(gateway, { version }).pipe(Effect.provide(NodeServices.layer))
