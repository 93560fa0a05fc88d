/** Changes of a key or a team by option: what is given is set, what `--none` names is removed, the rest stays (docs/operation.md#keys). */
import { DateTime, Effect } from "effect"
import type { Key, Team } from "./KeyFile.ts"
import { fail } from "./keyOptions.ts"

/** What can be changed, by the option that names it. */
const fields = {
  rpm: "requestsPerMinute",
  streams: "streams",
  "daily-tokens": "dailyTokens",
  "monthly-tokens": "monthlyTokens",
  "monthly-cost": "monthlyCost",
  expires: "expires",
  models: "models",
  levels: "levels",
  team: "team",
  owner: "owner"
} as const satisfies Readonly<Record<string, keyof Key | keyof Team>>

type Field = (typeof fields)[keyof typeof fields]
type Changeable = Partial<Pick<Key & Team, Field>>

const shown = (value: Changeable[Field]): string => {
  if (value === undefined) return "none"
  if (DateTime.isDateTime(value)) return DateTime.formatIso(value)
  return Array.isArray(value) ? value.join(",") : String(value)
}

export interface Changed<A> {
  readonly after: A
  /** `rpm 60 -> 900`, in the order of the options. */
  readonly changes: ReadonlyArray<string>
}

/** `options`: those that the command has. Fails where nothing would change. */
export const changeLimits = <A extends Changeable>(
  before: A,
  given: Changeable,
  none: string | undefined,
  options: ReadonlyArray<keyof typeof fields>
) => {
  const removed = none === undefined ? [] : none.split(",").map((name) => name.trim())
  const unknown = removed.find((name) => !options.some((option) => option === name))
  if (unknown !== undefined) {
    return fail(`--none: ${JSON.stringify(unknown)} cannot be removed. Options that can: ${options.join(", ")}`)
  }
  const both = options.find((option) => removed.includes(option) && given[fields[option]] !== undefined)
  if (both !== undefined) return fail(`--${both} is given, and --none removes it`)
  const after: A = { ...before }
  const changes: Array<string> = []
  for (const option of options) {
    const field = fields[option]
    const value = removed.includes(option) ? undefined : (given[field] ?? before[field])
    if (shown(value) === shown(before[field])) continue
    changes.push(`${option} ${shown(before[field])} -> ${shown(value)}`)
    Object.assign(after, { [field]: value })
  }
  if (changes.length === 0)
    return fail(`nothing would change. Options: ${options.map((name) => `--${name}`).join(", ")}, --none`)
  return Effect.succeed<Changed<A>>({ after, changes })
}
