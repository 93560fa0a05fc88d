/** What `teams create`, `teams set` and `teams remove` do; each returns the text to print (docs/operation.md#keys). */
import { Effect } from "effect"
import { changeBook, type Team } from "./KeyFile.ts"
import { fail, isShortName, type LimitOptions, parseCount, parseGiven, parseLimits } from "./keyOptions.ts"

export interface TeamOptions extends LimitOptions {
  /** In whole units of the catalog's currency. */
  readonly monthlyCost?: number | undefined
}

const mostCost = 1_000_000_000
const parseCost = (value: number) =>
  value > mostCost ? fail(`--monthly-cost: at most ${mostCost}`) : parseCount("monthly-cost")(value)

const teamOf = Effect.fnUntraced(function* (name: string, options: TeamOptions) {
  const limits = yield* parseLimits(options)
  const monthlyCost = yield* parseGiven(options.monthlyCost, parseCost)
  const team: Team = { name, ...limits, monthlyCost }
  return team
})

export const createTeam = Effect.fnUntraced(function* (file: string, name: string, options: TeamOptions) {
  if (!isShortName(name)) {
    return yield* fail(
      `a team's name is 1 to 64 letters, digits, '.', '_' and '-', and begins with a letter or digit; not ${JSON.stringify(name)}`
    )
  }
  const team = yield* teamOf(name, options)
  return yield* changeBook(file, ({ keys, teams }) =>
    teams.some((other) => other.name === name)
      ? fail(`there is a team ${name} already. Change its limits: npm run gateway -- teams set ${name} …`)
      : Effect.succeed({
          book: { keys, teams: [...teams, team] },
          result: `Created team ${name} in ${file}. Give it keys: npm run gateway -- keys create --name NAME --team ${name}\n`
        })
  )
})

const unknown = (name: string, file: string) =>
  fail(`there is no team ${JSON.stringify(name)} in ${file}. Show them: npm run gateway -- teams list`)

/** Gives a team these limits and no others. What it has used stays counted. */
export const setTeam = Effect.fnUntraced(function* (file: string, name: string, options: TeamOptions) {
  const team = yield* teamOf(name, options)
  return yield* changeBook(file, ({ keys, teams }) =>
    teams.some((other) => other.name === name)
      ? Effect.succeed({
          book: { keys, teams: teams.map((other) => (other.name === name ? team : other)) },
          result: `Team ${name} has these limits now. Gateways take them up within 5 seconds.\n`
        })
      : unknown(name, file)
  )
})

/** Removes a team that no working key is of. */
export const removeTeam = (file: string, name: string) =>
  changeBook(file, ({ keys, teams }) => {
    if (!teams.some((team) => team.name === name)) return unknown(name, file)
    const members = keys.filter(({ revoked, team }) => team === name && revoked === undefined)
    return members.length > 0
      ? fail(`team ${name} has keys: ${members.map(({ id }) => id).join(", ")}. Revoke them first.`)
      : Effect.succeed({
          book: { keys, teams: teams.filter((team) => team.name !== name) },
          result: `Removed team ${name} from ${file}.\n`
        })
  })
