/** `keys` and `teams`: who may call, and how much (docs/operation.md#keys). */
import { Cause, Effect, Option, Record } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { loadCatalog } from "../../catalog/CatalogStore.ts"
import { limitKinds } from "../../limits/limits.ts"
import { spentIn, tellReplicas } from "../../limits/store.ts"
import type { GatewaySettings } from "../../Settings.ts"
import { readNotice } from "../../settings/notice.ts"
import { createKey, disableKey, enableKey, revokeKey, rotateKey, setKey } from "../keys/keysCommand.ts"
import { listKeys, listTeams } from "../keys/listCommands.ts"
import { createTeam, removeTeam, setTeam } from "../keys/teamsCommand.ts"
import { changing, jsonFlag, optionalCount, optionalText, printing } from "./shared.ts"

/** The catalog is read only to check names that were given. */
const rulesOf = Effect.fnUntraced(function* (models: string | undefined, { keysMaxAge, ...files }: GatewaySettings) {
  const catalog = models === undefined ? undefined : yield* loadCatalog(files)
  return { models: catalog?.models.map(({ id }) => id), maxAge: Option.getOrUndefined(keysMaxAge) }
})

const argument = (name: string, description: string) =>
  Argument.String(name).pipe(Argument.withDescription(description))

const id = argument("ID", "the key's ID, as `keys list` shows it")
const subject = argument(
  "ID",
  "a key's ID, or that of a caller with a token or a certificate (jwt_…, crt_…), as records have it"
)

const limitFlags = Record.map(limitKinds, ({ help, option }) => optionalCount(option, help))

const keyFlags = {
  team: optionalText("team", "the team whose limits it shares"),
  owner: optionalText("owner", "who answers for it"),
  models: optionalText("models", "base models it may use: claude-*,gpt-5.1"),
  levels: optionalText("levels", "levels it may use: il5,itar"),
  ...limitFlags,
  expires: optionalText("expires", "when it ends: 2027-01-31 (at 00:00 UTC), a time, or 90d")
}

const replicaNotes = (refused: boolean) => ({
  notified: "Replicas that share the Redis were notified.\n",
  unknown: refused
    ? "Replicas that share a Redis learn of it with the key file: set GATEWAY_REDIS_URL in this shell, too.\n"
    : "Replicas that share a Redis may refuse it on: set GATEWAY_REDIS_URL in this shell, too, and run this again.\n",
  none: ""
})

/** Replicas learn it from their Redis within two seconds, whenever they see the key file. `ids`: keys, callers and digests of secrets. */
const notifying = Effect.fnUntraced(function* <E, R>(
  gateway: GatewaySettings,
  refused: boolean,
  changed: Effect.Effect<{ readonly text: string; readonly ids: ReadonlyArray<string> }, E, R>
) {
  const { ids, text } = yield* changed
  if (ids.length === 0) return text
  // It may take many seconds, and what was changed is to be printed in any case.
  return yield* Effect.matchCause(Effect.interruptible(tellReplicas(gateway, ids, refused)), {
    onFailure: (cause) => {
      const why = Option.match(Cause.findErrorOption(cause), {
        onNone: () => "this command was ended",
        onSome: ({ message }) => message
      })
      return `${text}Replicas were not notified: ${why}. ${refused ? "They follow when they read the key file" : "They may refuse it on: run this again"}.\n`
    },
    onSuccess: (answer) => text + replicaNotes(refused)[answer]
  })
})

const refusal = <E, R>(
  name: string,
  description: string,
  refused: boolean,
  change: (file: string, id: string) => Effect.Effect<string, E, R>
) =>
  changing(name, description, { id: subject }, ({ id }, gateway) =>
    notifying(
      gateway,
      refused,
      Effect.map(change(gateway.keysFile, id), (text) => ({ text, ids: [id] }))
    )
  )

export const keysCommand = Command.make("keys").pipe(
  Command.withDescription("Create, list, change, rotate and revoke API keys"),
  Command.withSubcommands([
    changing(
      "create",
      "Create a key and print it, once",
      {
        name: Flag.String("name").pipe(Flag.withDescription("who or what the key is for")),
        ...keyFlags,
        tags: Flag.String("tag").pipe(
          Flag.withDescription("name=value, for the usage records; may be given again"),
          Flag.atLeast(0)
        )
      },
      Effect.fnUntraced(function* (options, gateway) {
        const notice = yield* readNotice(gateway.noticeFile)
        return yield* createKey(gateway.keysFile, options, { ...(yield* rulesOf(options.models, gateway)), notice })
      })
    ),
    changing(
      "set",
      "Change a key: what is given, and nothing else",
      { id, ...keyFlags, none: optionalText("none", "limits to remove: rpm,expires") },
      Effect.fnUntraced(function* ({ id, ...options }, gateway) {
        return yield* setKey(gateway.keysFile, id, options, yield* rulesOf(options.models, gateway))
      })
    ),
    printing(
      "list",
      "List the keys, without their secrets, and what they used this month",
      { json: jsonFlag, unused: optionalText("unused", "only keys that work and were not used for so long: 30d") },
      (options, gateway) => listKeys(gateway.keysFile, { ...options, spent: spentIn(gateway) })
    ),
    refusal("revoke", "Revoke a key or a caller; it stops working within seconds", true, revokeKey),
    refusal("disable", "Refuse a key or a caller until it is enabled again", true, disableKey),
    refusal("enable", "Take a key or a caller that was disabled", false, enableKey),
    changing(
      "rotate",
      "Give a key a new secret; the old one works for another day",
      { id, overlap: optionalText("overlap", "how long the old one works: 0, 2 hours; a day unless given") },
      ({ id, overlap }, gateway) => notifying(gateway, true, rotateKey(gateway.keysFile, id, overlap))
    )
  ])
)

const name = argument("NAME", "the team's name")
const team = { name, ...limitFlags }

export const teamsCommand = Command.make("teams").pipe(
  Command.withDescription("Create, list, change and remove teams"),
  Command.withSubcommands([
    changing("create", "Create a team, with limits that its keys share", team, ({ name, ...limits }, { keysFile }) =>
      createTeam(keysFile, name, limits)
    ),
    changing(
      "set",
      "Change limits of a team: those that are given, and no others",
      { ...team, none: optionalText("none", "limits to remove: rpm,monthly-cost") },
      ({ name, ...limits }, { keysFile }) => setTeam(keysFile, name, limits)
    ),
    printing(
      "list",
      "List the teams, their limits, and what they used this month",
      { json: jsonFlag },
      ({ json }, gateway) => listTeams(gateway.keysFile, { json, spent: spentIn(gateway) })
    ),
    changing("remove", "Remove a team that has no working keys", { name }, ({ name }, { keysFile }) =>
      removeTeam(keysFile, name)
    )
  ])
)
