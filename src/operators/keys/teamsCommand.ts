/** What `teams create`, `teams set` and `teams remove` do; each returns the text to print (docs/operation.md#keys). */
import { Effect } from "effect"
import { auditDone } from "../../audit/Audit.ts"
import type { Limits } from "../../contract/Security.ts"
import { changeBook, type KeyBook, type Team } from "../../limits/KeyFile.ts"
import { fail } from "../../wire/OperatorError.ts"
import { changeLimits, givenTo, isShortName, parseLimits } from "./keyOptions.ts"

export const createTeam = Effect.fnUntraced(function* (file: string, name: string, limits: Limits) {
  if (!isShortName(name)) {
    return yield* fail(
      `a team's name is 1 to 64 letters, digits, '.', '_' and '-', and begins with a letter or digit; not ${JSON.stringify(name)}`
    )
  }
  const team: Team = { name, ...(yield* parseLimits(limits)) }
  yield* changeBook(file, ({ teams }) =>
    teams.some((other) => other.name === name)
      ? fail(`there is a team ${name} already. Change its limits: npm run gateway -- teams set ${name} …`)
      : Effect.succeed({ book: { teams: [...teams, team] }, result: undefined })
  )
  yield* auditDone("team.created", { team: name, given: givenTo(team) })
  return `Created team ${name} in ${file}. Give it keys: npm run gateway -- keys create --name NAME --team ${name}\n`
})

const unknown = (name: string, file: string) =>
  fail(`there is no team ${JSON.stringify(name)} in ${file}. Show them: npm run gateway -- teams list`)

/** Changes the limits that are given and no others. What the team has used stays counted. */
export const setTeam = Effect.fnUntraced(function* (
  file: string,
  name: string,
  { none, ...limits }: Limits & { readonly none?: string | undefined }
) {
  const given = yield* parseLimits(limits)
  const change = Effect.fnUntraced(function* ({ teams }: KeyBook) {
    const before = teams.find((other) => other.name === name)
    if (before === undefined) return yield* unknown(name, file)
    const { after, changes } = yield* changeLimits(before, given, none)
    return { book: { teams: teams.map((other) => (other === before ? after : other)) }, result: changes }
  })
  const changes = yield* changeBook(file, change)
  yield* auditDone("team.changed", { team: name, changes })
  return `Team ${name}: ${changes}. Gateways take it up within 5 seconds.\n`
})

export const keysOf = (name: string, { keys }: KeyBook) =>
  keys.filter(({ revoked, team }) => team === name && revoked === undefined)

export const removeTeam = Effect.fnUntraced(function* (file: string, name: string) {
  yield* changeBook(file, (book) => {
    const teams = book.teams.filter((team) => team.name !== name)
    if (teams.length === book.teams.length) return unknown(name, file)
    const keys = keysOf(name, book)
    return keys.length > 0
      ? fail(`team ${name} has keys: ${keys.map(({ id }) => id).join(", ")}. Revoke them first.`)
      : Effect.succeed({ book: { teams }, result: undefined })
  })
  yield* auditDone("team.removed", { team: name })
  return `Removed team ${name} from ${file}.\n`
})
