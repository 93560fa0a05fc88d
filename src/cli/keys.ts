/** `keys`: who may call (docs/operation.md#keys). */
import { Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { createKey, revokeKey, rotateKey } from "../access/keysCommand.ts"
import { listKeys } from "../access/listCommands.ts"
import { spentIn } from "../access/store.ts"
import { loadCatalog } from "../model/CatalogStore.ts"
import { environment, load } from "../Settings.ts"
import { jsonFlag, limitFlags, limitsGiven } from "./limitFlags.ts"

const settings = Effect.suspend(() => load(environment()))
const keysFile = Effect.map(settings, ({ gateway }) => gateway.keysFile)
const id = Argument.String("ID").pipe(Argument.withDescription("the key's ID, as `keys list` shows it"))

const text = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withDescription(description), Flag.optional)

const create = Command.make(
  "create",
  {
    name: Flag.String("name").pipe(Flag.withDescription("who or what the key is for")),
    team: text("team", "the team whose limits it shares"),
    owner: text("owner", "who answers for it"),
    tags: Flag.String("tag").pipe(
      Flag.withDescription("name=value, for the usage records; may be given again"),
      Flag.atLeast(0)
    ),
    models: text("models", "base models it may use: claude-*,gpt-5.1"),
    levels: text("levels", "levels it may use: il5,itar"),
    ...limitFlags,
    expires: text("expires", "when it ends: 2027-01-31 (at 00:00 UTC), a time, or 90d")
  },
  Effect.fnUntraced(function* ({ name, tags, team, owner, models, levels, expires, ...flags }) {
    const { gateway } = yield* settings
    // Only names that were given are looked up.
    const known = Option.isNone(models)
      ? undefined
      : (yield* loadCatalog(gateway.catalogFile)).models.map((model) => model.id)
    yield* Console.log(
      yield* createKey(
        gateway.keysFile,
        {
          name,
          tags,
          team: Option.getOrUndefined(team),
          owner: Option.getOrUndefined(owner),
          models: Option.getOrUndefined(models),
          levels: Option.getOrUndefined(levels),
          expires: Option.getOrUndefined(expires),
          ...limitsGiven(flags)
        },
        known
      )
    )
  })
).pipe(Command.withDescription("Create a key and print it, once"))

const list = Command.make(
  "list",
  { json: jsonFlag },
  Effect.fnUntraced(function* ({ json }) {
    const { gateway } = yield* settings
    yield* Console.log((yield* listKeys(gateway.keysFile, { json, spent: spentIn(gateway) })).trimEnd())
  })
).pipe(Command.withDescription("List the keys, without their secrets, and what they used this month"))

const revoke = Command.make(
  "revoke",
  { id },
  Effect.fnUntraced(function* ({ id }) {
    yield* Console.log(yield* revokeKey(yield* keysFile, id))
  })
).pipe(Command.withDescription("Revoke a key; it stops working within seconds"))

const rotate = Command.make(
  "rotate",
  { id },
  Effect.fnUntraced(function* ({ id }) {
    yield* Console.log(yield* rotateKey(yield* keysFile, id))
  })
).pipe(Command.withDescription("Give a key a new secret; the old one works for another day"))

export const keysCommand = Command.make("keys").pipe(
  Command.withDescription("Create, list, rotate and revoke API keys"),
  Command.withSubcommands([create, list, revoke, rotate])
)
