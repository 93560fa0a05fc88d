/** Which limits a caller has, of its key and of its team, and where each is counted (docs/decisions.md#limits-and-quotas). */
import { Duration } from "effect"
import type { CallerIdentity, Limits, TeamIdentity } from "../contract/Security.ts"
import type { Account } from "./Ledger.ts"

/** Who uses something. IDs of keys have no slash. */
export const keyUser = (id: string): string => id
export const teamUser = (name: string): string => `team/${name}`

/** The holder of a limit, as errors name it. */
export interface LimitOwner {
  /** `This API key`, `The team blue`. */
  readonly name: string
  /** Within a sentence, with an s. */
  readonly possessive: string
}
const theKey: LimitOwner = { name: "This API key", possessive: "this API key's" }
const theTeam = (name: string): LimitOwner => ({ name: `The team ${name}`, possessive: `the team ${name}'s` })

export interface Limit {
  readonly owner: LimitOwner
  /** The user's name in the store. */
  readonly user: string
  readonly limit: number
}

type Simple = "requestsPerMinute" | "streams" | "monthlyTokens" | "dailyTokens"

const limitOf = (of: Limits | undefined, what: Simple, user: string, owner: LimitOwner): ReadonlyArray<Limit> => {
  const limit = of?.[what]
  return limit === undefined ? [] : [{ owner, user, limit }]
}

/** The limits of one kind, the key's first. */
export const limitsOf = ({ id, team, ...key }: CallerIdentity, what: Simple): ReadonlyArray<Limit> => [
  ...limitOf(key, what, keyUser(id), theKey),
  ...(team === undefined ? [] : limitOf(team, what, teamUser(team.name), theTeam(team.name)))
]

const has = (what: Simple) => (caller: CallerIdentity) =>
  caller[what] !== undefined || caller.team?.[what] !== undefined

export const limitsRequests = has("requestsPerMinute")
export const limitsStreams = has("streams")
const limitsMonth = has("monthlyTokens")
const limitsDay = has("dailyTokens")
export const limitsUse = (caller: CallerIdentity): boolean =>
  limitsMonth(caller) || limitsDay(caller) || caller.team?.monthlyCost !== undefined

/** A calendar month or a day in UTC. */
export interface Period {
  readonly kind: "month" | "day"
  /** `2026-11`, `2026-11-22` */
  readonly name: string
  /** Seconds to its end. */
  readonly rest: number
  /** The day on which the next one begins. */
  readonly next: string
}

const day = (time: number): string => new Date(time).toISOString().slice(0, 10)
const restOf = (now: number, end: number): number => Math.max(1, Math.ceil((end - now) / 1000))

/** `now` is in milliseconds since the epoch. */
export const monthAt = (now: number): Period => {
  const date = new Date(now)
  const end = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1)
  return { kind: "month", name: day(now).slice(0, 7), rest: restOf(now, end), next: day(end) }
}
export const dayAt = (now: number): Period => {
  const end = (Math.floor(now / 86_400_000) + 1) * 86_400_000
  return { kind: "day", name: day(now), rest: restOf(now, end), next: day(end) }
}

/** Where the use of a period is counted: tokens, or cost in millionths. */
export const accountOf = (user: string, { name, rest }: Period, cost = false): Account => ({
  name: `${user}:${cost ? "cost:" : ""}${name}`,
  keep: Duration.seconds(rest + 86_400)
})

/** A limit on use in a period. */
export interface Budget extends Limit {
  readonly account: Account
  readonly period: Period
  readonly unit: "tokens" | "cost"
}

/** Millionths in a unit of a currency. */
export const millionths = 1_000_000

const costBudget = (team: TeamIdentity | undefined, period: Period): ReadonlyArray<Budget> => {
  if (team?.monthlyCost === undefined) return []
  const user = teamUser(team.name)
  const limit = team.monthlyCost * millionths
  return [{ owner: theTeam(team.name), user, limit, account: accountOf(user, period, true), period, unit: "cost" }]
}

/** What a request of the caller's has to fit. */
export const budgetsOf = (caller: CallerIdentity, now: number): ReadonlyArray<Budget> => {
  const month = monthAt(now)
  const budgets = (what: "monthlyTokens" | "dailyTokens", period: Period): ReadonlyArray<Budget> =>
    limitsOf(caller, what).map((limit) => ({
      ...limit,
      account: accountOf(limit.user, period),
      period,
      unit: "tokens"
    }))
  return [
    ...budgets("monthlyTokens", month),
    ...(limitsDay(caller) ? budgets("dailyTokens", dayAt(now)) : []),
    ...costBudget(caller.team, month)
  ]
}
