/** What a reply says of limits: its headers where the request fits them, or why it is refused (docs/api.md#headers). Pure. */
import { Array as Arr, Order, String as Str } from "effect"
import { GatewayError } from "../catalog/GatewayError.ts"
import { plural } from "../wire/plural.ts"
import type { Demand, Held, Standing } from "./Ledger.ts"
import { type Budget, day, millionths } from "./limits.ts"

export interface BudgetDemand extends Demand {
  readonly budget: Budget
}

/** Seconds to wait where running requests hold what is left. */
const whileRunning = 5

/** Seconds as a duration, as OpenAI's clients read it: `12s`, `1m0s`, `216h30m5s`. */
const duration = (seconds: number): string => {
  const whole = Math.max(0, Math.ceil(seconds))
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)]
  return `${hours > 0 ? `${hours}h` : ""}${whole >= 60 ? `${minutes}m` : ""}${whole % 60}s`
}

/** Seconds until so much is free again. */
const restOf = ({ account, limit, period }: Budget, left: number, wanted = limit): number =>
  account.drain === undefined ? (period?.rest ?? 0) : Math.max(0, (wanted - left) / account.drain / 1000)

/** `x-ratelimit-{limit,remaining,reset}-{requests,tokens}`; none of a cost. `reset` is when all of it is free again. */
const headersOf = (budget: Budget, left: number): Readonly<Record<string, string>> =>
  budget.unit === "cost"
    ? {}
    : {
        [`x-ratelimit-limit-${budget.unit}`]: String(budget.limit),
        [`x-ratelimit-remaining-${budget.unit}`]: String(Math.max(0, Math.floor(left))),
        [`x-ratelimit-reset-${budget.unit}`]: duration(restOf(budget, left))
      }

/** Of the limit that has the least left. */
export const limitHeaders = (demands: ReadonlyArray<BudgetDemand>, { shares }: Held) => {
  const counted = Arr.zip(demands, shares).flatMap(([{ budget }, { amount, held, spent }]) =>
    budget.unit === "cost" ? [] : [{ budget, left: budget.limit - spent - held - amount }]
  )
  const [first] = Arr.sortWith(counted, ({ left }) => left, Order.Number)
  return first === undefined ? {} : headersOf(first.budget, first.left)
}

/** `the team blue's` */
const possessive = (owner: string): string => `${Str.uncapitalize(owner)}'s`

const explainRate = ({ budget, least }: BudgetDemand, left: number) => {
  const { limit, owner, unit } = budget
  if (least > limit) {
    return {
      message: `This request needs at least ${least} ${unit}, more than ${possessive(owner)} ${limit} ${unit} a minute. Shorten it.`,
      seconds: Infinity
    }
  }
  const seconds = Math.max(1, Math.ceil(restOf(budget, left, least)))
  const again = `Try again in ${seconds} s.`
  const needs = `This request needs at least ${least}, and ${Math.max(0, Math.floor(left))} are left.`
  return {
    message:
      unit === "requests"
        ? `${owner} may send ${limit} ${plural(limit, "request")} a minute. ${again}`
        : `${owner} may use ${limit} ${unit} a minute. ${needs} ${again}`,
    seconds
  }
}

/** Why a demand does not fit, and in how many seconds it will: Infinity where no wait helps. */
const explain = (demand: BudgetDemand, { held, spent }: Standing, left: number, currency = "") => {
  const { budget, least } = demand
  const { limit, owner, period, unit } = budget
  if (period === undefined) return explainRate(demand, left)
  const shown = (amount: number) => (unit === "cost" ? String(amount / millionths) : String(amount))
  const what = unit === "cost" ? currency : unit
  const all = `${shown(limit)} ${what} ${period.kind === "month" ? "of this month" : "of today"}`
  const next = `The next ${period.kind} starts on ${day(period.end)} (UTC).`
  const free = Math.max(0, limit - spent)
  const needs = `This request needs at least ${shown(least)} ${what}`
  if (spent >= limit) return { message: `${owner} has used its ${all}. ${next}`, seconds: period.rest }
  if (least > limit) {
    return { message: `${needs}, more than all of ${possessive(owner)} ${all}. Shorten it.`, seconds: Infinity }
  }
  if (least > free) {
    return {
      message: `${needs}, and ${shown(free)} of ${possessive(owner)} ${all} are left. Shorten it. ${next}`,
      seconds: period.rest
    }
  }
  return {
    message: `${needs}, and running requests hold ${shown(held)} of the ${shown(free)} that are left of ${possessive(owner)} ${all}. Try again when one has ended.`,
    seconds: whileRunning
  }
}

/** Of what does not fit, that which takes the longest to; undefined where everything fits. */
export const limitRefusal = (demands: ReadonlyArray<BudgetDemand>, { shares }: Held, currency?: string) => {
  const refusals = Arr.zip(demands, shares).flatMap(([demand, standing]) => {
    const { budget, least } = demand
    // Below zero where more was used than was reserved: that must drain, too.
    const left = budget.limit - standing.spent - standing.held
    return left < least ? [{ budget, left, ...explain(demand, standing, left, currency) }] : []
  })
  const [longest] = Arr.sortWith(refusals, ({ seconds }) => -seconds, Order.Number)
  if (longest === undefined) return undefined
  const { budget, left, message, seconds } = longest
  const retryAfter = Number.isFinite(seconds) ? seconds : undefined
  const reason = budget.period === undefined && retryAfter !== undefined ? "rate-limit" : "quota"
  return new GatewayError({ reason, message, retryAfter, headers: headersOf(budget, left) })
}
