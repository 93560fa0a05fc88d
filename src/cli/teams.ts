/** `teams`: limits that several keys share (docs/operation.md#keys). */
import { Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { listTeams } from "../access/listCommands.ts"
import { spentIn } from "../access/store.ts"
import { createTeam, removeTeam, setTeam } from "../access/teamsCommand.ts"
import { environment, load } from "../Settings.ts"
import { jsonFlag, limitFlags, limitsGiven } from "./limitFlags.ts"

const settings = Effect.map(
  Effect.suspend(() => load(environment())),
  ({ gateway }) => gateway
)
const name = Argument.String("NAME").pipe(Argument.withDescription("the team's name"))

const flags = {
  name,
  ...limitFlags,
  monthlyCost: Flag.Int("monthly-cost").pipe(
    Flag.withDescription("cost a calendar month (UTC), in whole units of the catalog's currency"),
    Flag.optional
  )
}

const create = Command.make(
  "create",
  flags,
  Effect.fnUntraced(function* ({ name, monthlyCost, ...given }) {
    const { keysFile } = yield* settings
    const options = { ...limitsGiven(given), monthlyCost: Option.getOrUndefined(monthlyCost) }
    yield* Console.log((yield* createTeam(keysFile, name, options)).trimEnd())
  })
).pipe(Command.withDescription("Create a team, with limits that its keys share"))

const set = Command.make(
  "set",
  flags,
  Effect.fnUntraced(function* ({ name, monthlyCost, ...given }) {
    const { keysFile } = yield* settings
    const options = { ...limitsGiven(given), monthlyCost: Option.getOrUndefined(monthlyCost) }
    yield* Console.log((yield* setTeam(keysFile, name, options)).trimEnd())
  })
).pipe(Command.withDescription("Give a team these limits, and no others"))

const list = Command.make(
  "list",
  { json: jsonFlag },
  Effect.fnUntraced(function* ({ json }) {
    const gateway = yield* settings
    yield* Console.log((yield* listTeams(gateway.keysFile, { json, spent: spentIn(gateway) })).trimEnd())
  })
).pipe(Command.withDescription("List the teams, their limits, and what they used this month"))

const remove = Command.make(
  "remove",
  { name },
  Effect.fnUntraced(function* ({ name }) {
    const { keysFile } = yield* settings
    yield* Console.log((yield* removeTeam(keysFile, name)).trimEnd())
  })
).pipe(Command.withDescription("Remove a team that has no working keys"))

export const teamsCommand = Command.make("teams").pipe(
  Command.withDescription("Create, list, change and remove teams"),
  Command.withSubcommands([create, set, list, remove])
)
