/** `keys` and `teams`: who may call, and how much (docs/operation.md#keys). */
import { Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { loadCatalog } from "../../catalog/CatalogStore.ts"
import { createKey, revokeKey, rotateKey } from "../../limits/keysCommand.ts"
import { listKeys, listTeams } from "../../limits/listCommands.ts"
import { spentIn } from "../../limits/store.ts"
import { createTeam, removeTeam, setTeam } from "../../limits/teamsCommand.ts"
import { jsonFlag, optionalCount, optionalText, printing } from "./shared.ts"

const id = Argument.String("ID").pipe(Argument.withDescription("the key's ID, as `keys list` shows it"))

const limitFlags = {
  rpm: optionalCount("rpm", "requests a minute"),
  streams: optionalCount("streams", "streams at a time"),
  monthlyTokens: optionalCount("monthly-tokens", "tokens a calendar month (UTC)"),
  dailyTokens: optionalCount("daily-tokens", "tokens a day (UTC)")
}

export const keysCommand = Command.make("keys").pipe(
  Command.withDescription("Create, list, rotate and revoke API keys"),
  Command.withSubcommands([
    printing(
      "create",
      "Create a key and print it, once",
      {
        name: Flag.String("name").pipe(Flag.withDescription("who or what the key is for")),
        team: optionalText("team", "the team whose limits it shares"),
        owner: optionalText("owner", "who answers for it"),
        tags: Flag.String("tag").pipe(
          Flag.withDescription("name=value, for the usage records; may be given again"),
          Flag.atLeast(0)
        ),
        models: optionalText("models", "base models it may use: claude-*,gpt-5.1"),
        levels: optionalText("levels", "levels it may use: il5,itar"),
        ...limitFlags,
        expires: optionalText("expires", "when it ends: 2027-01-31 (at 00:00 UTC), a time, or 90d")
      },
      Effect.fnUntraced(function* (options, { catalogFile, keysFile }) {
        // The catalog is read only to check names that were given.
        const catalog = options.models === undefined ? undefined : yield* loadCatalog(catalogFile)
        return yield* createKey(
          keysFile,
          options,
          catalog?.models.map((model) => model.id)
        )
      })
    ),
    printing(
      "list",
      "List the keys, without their secrets, and what they used this month",
      { json: jsonFlag },
      ({ json }, gateway) => listKeys(gateway.keysFile, { json, spent: spentIn(gateway) })
    ),
    printing("revoke", "Revoke a key; it stops working within seconds", { id }, ({ id }, { keysFile }) =>
      revokeKey(keysFile, id)
    ),
    printing("rotate", "Give a key a new secret; the old one works for another day", { id }, ({ id }, { keysFile }) =>
      rotateKey(keysFile, id)
    )
  ])
)

const name = Argument.String("NAME").pipe(Argument.withDescription("the team's name"))
const team = {
  name,
  ...limitFlags,
  monthlyCost: optionalCount("monthly-cost", "cost a calendar month (UTC), in whole units of the catalog's currency")
}

export const teamsCommand = Command.make("teams").pipe(
  Command.withDescription("Create, list, change and remove teams"),
  Command.withSubcommands([
    printing("create", "Create a team, with limits that its keys share", team, ({ name, ...limits }, { keysFile }) =>
      createTeam(keysFile, name, limits)
    ),
    printing("set", "Give a team these limits, and no others", team, ({ name, ...limits }, { keysFile }) =>
      setTeam(keysFile, name, limits)
    ),
    printing(
      "list",
      "List the teams, their limits, and what they used this month",
      { json: jsonFlag },
      ({ json }, gateway) => listTeams(gateway.keysFile, { json, spent: spentIn(gateway) })
    ),
    printing("remove", "Remove a team that has no working keys", { name }, ({ name }, { keysFile }) =>
      removeTeam(keysFile, name)
    )
  ])
)
