/** Which limits there are, which of them a caller has, of its key and of its team, and where each is counted (docs/decisions.md#limits-and-quotas). */
import { DateTime, Duration, Struct } from "effect"
import { type CallerIdentity, isCallerId, type Limits, type TeamIdentity } from "../contract/Security.ts"
import type { Account } from "./Ledger.ts"

export type Unit = "requests" | "streams" | "tokens" | "cost"

interface LimitKind {
  readonly unit: Unit
  /** In which it may be used; absent: at the same time. */
  readonly per?: "minute" | "day" | "month"
  /** On the command line, and in its help. */
  readonly option: string
  readonly help: string
}

const ofCost = "in whole units of the catalog's currency"

/** Key files, rules, options, lists and budgets are made from it. */
export const limitKinds = {
  requestsPerMinute: { unit: "requests", per: "minute", option: "rpm", help: "requests a minute" },
  tokensPerMinute: { unit: "tokens", per: "minute", option: "tpm", help: "tokens a minute, input and output" },
  streams: { unit: "streams", option: "streams", help: "streams at a time" },
  dailyTokens: { unit: "tokens", per: "day", option: "daily-tokens", help: "tokens a day (UTC)" },
  monthlyTokens: { unit: "tokens", per: "month", option: "monthly-tokens", help: "tokens a calendar month (UTC)" },
  dailyCost: { unit: "cost", per: "day", option: "daily-cost", help: `cost a day (UTC), ${ofCost}` },
  monthlyCost: { unit: "cost", per: "month", option: "monthly-cost", help: `cost a calendar month (UTC), ${ofCost}` }
} as const satisfies Readonly<Record<keyof Limits, LimitKind>>

export type LimitName = keyof Limits
export const limitNames: ReadonlyArray<LimitName> = Struct.keys(limitKinds)
const kindOf = (name: LimitName): LimitKind => limitKinds[name]

export const pickLimits: (of: Limits) => Limits = Struct.pick([...limitNames])

/** Who calls, of what a key or a rule gives: nothing of its secrets. */
export const callerOf = (
  id: string,
  name: string,
  given: Omit<CallerIdentity, "id" | "name" | "team">,
  team: TeamIdentity | undefined
): CallerIdentity => {
  const { levels, models, owner, tags } = given
  return { id, name, models, levels, owner, tags, ...pickLimits(given), team }
}

/** As errors begin with it. */
export const callerTitle = ({ id }: CallerIdentity): string => (isCallerId(id) ? "This caller" : "This API key")

/** Of what a request uses: those that are known when it is over. */
const useNames = limitNames.filter((name) => kindOf(name).unit === "tokens" || kindOf(name).unit === "cost")

/** A team's name in the store, where a key or caller has its ID, which has no slash. */
export const teamUser = (name: string): string => `team/${name}`

export interface Limit {
  /** Who has it, as errors begin with it: `This API key`, `This caller`, `The team blue`. */
  readonly owner: string
  /** The key's or the team's name in the store. */
  readonly user: string
  readonly limit: number
}

/** The limits of one kind, the key's first. */
export const limitsOf = (caller: CallerIdentity, what: LimitName): ReadonlyArray<Limit> => {
  const { id, team } = caller
  const own = { owner: callerTitle(caller), user: id, limit: caller[what] }
  const shared = team && { owner: `The team ${team.name}`, user: teamUser(team.name), limit: team[what] }
  return [own, shared].filter((one): one is Limit => one?.limit !== undefined)
}

const has = (caller: CallerIdentity, what: LimitName): boolean => limitsOf(caller, what).length > 0

export const limitsStreams = (caller: CallerIdentity): boolean => has(caller, "streams")
export const limitsUse = (caller: CallerIdentity): boolean => useNames.some((name) => has(caller, name))

/** How long a request may hold what it has reserved: it may wait for the cloud's quota before its call begins. */
export const leaseOf = (settings: {
  readonly streamCeiling: Duration.Duration
  readonly requestCeiling: Duration.Duration
  readonly queueWait: Duration.Duration
}): Duration.Duration =>
  Duration.max(settings.streamCeiling, settings.requestCeiling).pipe(
    Duration.sum(settings.queueWait),
    Duration.sum(Duration.minutes(1))
  )

/** A day in UTC: `2026-11-22`. */
export const day = (time: number): string => new Date(time).toISOString().slice(0, 10)

/**
 * The calendar month or the day in UTC that `now` is in, in milliseconds since the epoch: its name, such as `2026-11`, the seconds
 * to its end (`rest`), and when the next one begins (`end`).
 */
export const periodAt = (kind: "month" | "day", now: number) => {
  const end = DateTime.toEpochMillis(DateTime.endOf(DateTime.makeUnsafe(now), kind)) + 1
  const name = day(now).slice(0, kind === "month" ? 7 : 10)
  return { kind, name, rest: Math.max(1, Math.ceil((end - now) / 1000)), end }
}
type Period = ReturnType<typeof periodAt>

/** Where the use of a period is counted: tokens, or cost in millionths. */
export const accountOf = (user: string, { name, rest }: Period, unit: Unit): Account => ({
  name: `${user}:${unit === "cost" ? "cost:" : ""}${name}`,
  keep: Duration.seconds(rest + 86_400)
})

/** When a key was used last, in milliseconds since the epoch. */
export const lastUseAccount = (user: string): Account => ({ name: `${user}:last-use`, keep: Duration.days(400) })

/** Where the use of a minute is counted: all of the limit is free again in a minute. Another limit begins anew. */
const drainingAccount = (user: string, option: string, limit: number): Account => ({
  name: `${user}:${option}:${limit}`,
  keep: Duration.hours(1),
  drain: limit / 60_000
})

/** Millionths in a unit of a currency. */
export const millionths = 1_000_000

/** Limits on use in a time; without a period what was spent drains. */
const budgetsFor = (caller: CallerIdentity, name: LimitName, now: number) => {
  const { option, per, unit } = kindOf(name)
  return limitsOf(caller, name).map((of) => {
    const period = per === "month" || per === "day" ? periodAt(per, now) : undefined
    return {
      ...of,
      limit: unit === "cost" ? of.limit * millionths : of.limit,
      unit,
      period,
      account: period === undefined ? drainingAccount(of.user, option, of.limit) : accountOf(of.user, period, unit)
    }
  })
}

export type Budget = ReturnType<typeof budgetsFor>[number]

/** What every request of the caller's has to fit. */
export const requestBudgets = (caller: CallerIdentity): ReadonlyArray<Budget> =>
  budgetsFor(caller, "requestsPerMinute", 0)

/** What a request has to fit that uses something. */
export const budgetsOf = (caller: CallerIdentity, now: number): ReadonlyArray<Budget> =>
  useNames.flatMap((name) => budgetsFor(caller, name, now))
