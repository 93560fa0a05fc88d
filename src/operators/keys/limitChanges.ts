/** Changes of a key or a team by option: what is given is set, what `--none` names is removed, the rest stays (docs/operation.md#keys). */
import { DateTime, Effect } from "effect"
import type { Key, Team } from "../../limits/KeyFile.ts"
import { type LimitName, limitKinds, limitNames } from "../../limits/limits.ts"
import { fail } from "../../wire/OperatorError.ts"

type Changeable = Partial<Pick<Key & Team, LimitName | "expires" | "models" | "levels" | "team" | "owner">>
type Field = keyof Changeable

/** What can be changed: the option, and the field that it sets. */
const limits = limitNames.map((name): readonly [string, Field] => [limitKinds[name].option, name])
const others = (["expires", "models", "levels", "team", "owner"] as const).map((name) => [name, name] as const)

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

/** Fails where nothing would change. */
export const changeLimits = <A extends Key | Team>(before: A, given: Changeable, none: string | undefined) => {
  const options = "digest" in before ? [...limits, ...others] : limits
  const names = options.map(([option]) => option)
  const removed = none === undefined ? [] : none.split(",").map((name) => name.trim())
  const unknown = removed.find((name) => !names.includes(name))
  if (unknown !== undefined) {
    return fail(`--none: ${JSON.stringify(unknown)} cannot be removed. Options that can: ${names.join(", ")}`)
  }
  const [both] = options.find(([option, field]) => removed.includes(option) && given[field] !== undefined) ?? []
  if (both !== undefined) return fail(`--${both} is given, and --none removes it`)
  const after: A = { ...before }
  const was: Changeable = before
  const changes: Array<string> = []
  for (const [option, field] of options) {
    const value = removed.includes(option) ? undefined : (given[field] ?? was[field])
    if (shown(value) === shown(was[field])) continue
    changes.push(`${option} ${shown(was[field])} -> ${shown(value)}`)
    Object.assign(after, { [field]: value })
  }
  if (changes.length === 0) {
    return fail(`nothing would change. Options: ${names.map((name) => `--${name}`).join(", ")}, --none`)
  }
  return Effect.succeed<Changed<A>>({ after, changes })
}
