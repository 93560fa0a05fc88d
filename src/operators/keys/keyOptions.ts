/** What the options of `keys` and `teams` may say, as they are typed, and what they change (docs/operation.md#keys). */
import { DateTime, Duration, Effect, Option, Schema } from "effect"
import { isLevel, levels } from "../../catalog/names.ts"
import type { Limits } from "../../contract/Security.ts"
import {
  isTime,
  type Key,
  ModelPattern,
  matches,
  maxTags,
  mostCost,
  ShortName,
  type Team
} from "../../limits/KeyFile.ts"
import { type LimitName, limitKinds, limitNames, pickLimits } from "../../limits/limits.ts"
import { nearest } from "../../wire/nearest.ts"
import { fail, type OperatorError } from "../../wire/OperatorError.ts"

/** Parses an option that was given; an absent one stays undefined. */
export const parseGiven = <A, B, E>(
  value: A | undefined,
  parse: (value: A) => Effect.Effect<B, E>
): Effect.Effect<B | undefined, E> => (value === undefined ? Effect.undefined : parse(value))

/** Refuses what was given for an option, and says what would work. */
export const failExpected = (option: string, expected: string, given: string) =>
  fail(`--${option}: expected ${expected}; not ${JSON.stringify(given)}`)

/** What commas separate, each once. */
export const itemsOf = (text: string): ReadonlyArray<string> => [...new Set(text.split(",").map((item) => item.trim()))]

/** The same, of which each must be known. */
export const parseItems =
  <A extends string>(option: string, isKnown: (item: string) => item is A, known: ReadonlyArray<string>) =>
  (text: string) =>
    Effect.forEach(itemsOf(text), (item) =>
      isKnown(item)
        ? Effect.succeed(item)
        : fail(`--${option}: ${JSON.stringify(item)} is none of ${known.join(", ")}; several are separated by commas`)
    )

export const parseLevels = parseItems("levels", isLevel, levels)

const isModelPattern = Schema.is(ModelPattern)

/**
 * `claude-*,gpt-5.1`. `models`: the catalog's; a pattern that matches none of them is a typing error. Without them it is not
 * looked up.
 */
export const parseModels = (models: ReadonlyArray<string> | undefined) => (text: string) =>
  Effect.forEach(itemsOf(text), (pattern) => {
    if (!isModelPattern(pattern)) {
      return fail(
        `--models: ${JSON.stringify(pattern)} is neither a base model name (gpt-5.1) nor a prefix (claude-*). ` +
          "Levels go into --levels."
      )
    }
    if (models === undefined || models.some((model) => matches(pattern, model))) return Effect.succeed(pattern)
    const prefixes = models.map((model) => `${model.slice(0, pattern.length - 1)}*`)
    const meant = nearest(pattern, pattern.endsWith("*") ? prefixes : models)
    return fail(
      `--models: ${JSON.stringify(pattern)} matches no model of the catalog. ${
        meant === undefined ? `Its models: ${models.join(", ")}` : `Is ${meant} meant?`
      }`
    )
  })

/** A date (00:00 UTC of that day), or a time in ISO 8601 with its zone. */
export const parseTime = (text: string): Option.Option<DateTime.DateTime> =>
  isTime(text) && /^[\d-]{10}$|(?:Z|[+-]\d\d:\d\d)$/.test(text) ? DateTime.make(text) : Option.none()

const daysIn = (text: string): number | undefined =>
  /^[1-9]\d{0,4}d$/.test(text) ? Number.parseInt(text, 10) : undefined

/** Days, in milliseconds. */
export const parseUnused = (text: string) => {
  const days = daysIn(text)
  return days === undefined ? failExpected("unused", "days, such as 30d", text) : Effect.succeed(days * 86_400_000)
}

/** A date, from whose 00:00 UTC the key is refused, a time, or days from now. */
export const parseExpires = (now: DateTime.Utc) => (text: string) => {
  const days = daysIn(text)
  if (days !== undefined) return Effect.succeed(DateTime.add(now, { days }))
  const time = parseTime(text)
  if (Option.isNone(time)) {
    const expected = "a date such as 2027-01-31, a time such as 2027-01-31T17:00:00Z, or days from now such as 90d"
    return failExpected("expires", expected, text)
  }
  if (DateTime.toEpochMillis(time.value) <= DateTime.toEpochMillis(now)) {
    return fail(`--expires: ${text} has passed already`)
  }
  return Effect.succeed(DateTime.toUtc(time.value))
}

/** How long the old secret of a rotated key works; `0`, or a time such as `2 hours`, up to 30 days. A day where none is given. */
export const parseOverlap = (text = "1 day") => {
  const time = text.trim() === "0" ? Option.some(Duration.zero) : Duration.fromInput(text as Duration.Input)
  return Option.isSome(time) && Duration.between(time.value, { minimum: Duration.zero, maximum: Duration.days(30) })
    ? Effect.succeed(time.value)
    : failExpected("overlap", '0, or a time of at most 30 days such as "2 hours"', text)
}

/** A text that a person reads, on one line. */
export const parseText = (option: string, what: string) => (text: string) => {
  const trimmed = text.trim()
  return trimmed === "" || trimmed.length > 200 || /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(trimmed)
    ? failExpected(option, `1 to 200 printable characters that say ${what}`, text)
    : Effect.succeed(trimmed)
}

export const isShortName = Schema.is(ShortName)

/** `name=value`, each name once. */
export const parseTags = Effect.fnUntraced(function* (texts: ReadonlyArray<string>) {
  const tags: Record<string, string> = {}
  for (const text of texts) {
    const at = text.indexOf("=")
    const name = text.slice(0, Math.max(at, 0))
    if (!isShortName(name)) {
      const expected = "name=value such as project=atlas, with a name of letters, digits, '.', '_' and '-'"
      return yield* failExpected("tag", expected, text)
    }
    if (Object.hasOwn(tags, name)) return yield* fail(`--tag: ${name} is given twice`)
    tags[name] = yield* parseText("tag", `what ${name} is`)(text.slice(at + 1))
  }
  if (texts.length > maxTags) return yield* fail(`--tag: at most ${maxTags} tags`)
  return texts.length === 0 ? undefined : tags
})

export const parseTeam = (teams: ReadonlyArray<Team>) => (name: string) => {
  const names = teams.map((team) => team.name)
  if (names.includes(name)) return Effect.succeed(name)
  const meant = nearest(name, names)
  const known = meant !== undefined ? `Is ${meant} meant? ` : names.length > 0 ? `Teams: ${names.join(", ")}. ` : ""
  return fail(
    `--team: there is no team ${JSON.stringify(name)}. ${known}Create one: npm run gateway -- teams create NAME`
  )
}

export const parseLimits = (limits: Limits): Effect.Effect<Limits, OperatorError> =>
  Effect.as(
    Effect.forEach(limitNames, (name) => {
      const { option, unit } = limitKinds[name]
      const { [name]: value } = limits
      if (value !== undefined && !(Number.isSafeInteger(value) && value > 0)) {
        return failExpected(option, `a whole number above 0, such as --${option} 60`, String(value))
      }
      return unit === "cost" && (value ?? 0) > mostCost
        ? failExpected(option, `at most ${mostCost}`, String(value))
        : Effect.void
    }),
    pickLimits(limits)
  )

// Changes of a key or a team by option: what is given is set, what `--none` names is removed, the rest stays (docs/operation.md#keys).

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

/** What a key or a team is given, as `rpm 60, levels il5`. */
export const givenTo = (holder: Changeable): string =>
  [...limits, ...others]
    .flatMap(([option, field]) => (holder[field] === undefined ? [] : [`${option} ${shown(holder[field])}`]))
    .join(", ") || "no limits"

/** What comes of it, and the changes as `rpm 60 -> 900, streams none -> 5`. Fails where nothing would change. */
export const changeLimits = <A extends Key | Team>(before: A, given: Changeable, none: string | undefined) => {
  const options = "digest" in before ? [...limits, ...others] : limits
  const names = options.map(([option]) => option)
  const removed = none === undefined ? [] : itemsOf(none)
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
  return Effect.succeed({ after, changes: changes.join(", ") })
}
