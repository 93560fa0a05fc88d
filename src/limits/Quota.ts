/**
 * What a key and its team may use: tokens in a minute, and tokens and a cost in a day and in a month (docs/api.md#authentication,
 * docs/decisions.md#limits-and-quotas).
 */
import { Array as Arr, Clock, Context, Duration, Effect, Layer } from "effect"
import type { Prices } from "../catalog/Catalog.ts"
import { GatewayError } from "../catalog/GatewayError.ts"
import { costOf } from "../catalog/Tokens.ts"
import type { CallerIdentity } from "../contract/Security.ts"
import { type Charge, Ledger, makeWatch, untilBack } from "./Ledger.ts"
import { type BudgetDemand, limitHeaders, limitRefusal } from "./limitReply.ts"
import { type Budget, budgetsOf } from "./limits.ts"
import { makeUsageAccumulator, type Users, usageTotalsOf } from "./usageTotals.ts"

/** Output for which there must be room. */
const leastOutput = 256
/** More than any request uses, so that an absurd number from a cloud cannot overflow the count. */
const mostUsed = 1e12

export interface Wanted {
  /** Tokens of the input, about. */
  readonly input: number
  readonly output: number
  /** Absent where the deployment has no prices. */
  readonly prices?: Prices | undefined
  /** When the request arrived, in milliseconds since the epoch: its record is of that month and day, too. Now, where it is absent. */
  readonly startedAt?: number | undefined
}

const unpriced = (owner: string) =>
  new GatewayError({
    reason: "forbidden",
    message: `${owner} has a limit on its cost, and this model has no price at this level. Ask the operator for a price in the catalog, or use another model.`
  })

const lost = new GatewayError({
  reason: "overloaded",
  message: "The quota of this caller cannot be checked at the moment. Try again shortly.",
  retryAfter: 5,
  code: "quota-store"
})

/** Input and output where there is room; at least the input and a short answer. */
const demandOf = (budget: Budget, { input, output, prices }: Wanted): BudgetDemand => {
  const short = Math.min(output, leastOutput)
  const of = (tokens: number) =>
    budget.unit === "tokens" || prices === undefined ? input + tokens : costOf(prices, { input, output: tokens })
  return { budget, account: budget.account, limit: budget.limit, amount: of(output), least: of(short) }
}

const make = Effect.fnUntraced(function* (lease: Duration.Duration) {
  const ledger = yield* Ledger
  const scope = yield* Effect.scope
  const watch = makeWatch(ledger, "quota", "Requests of keys and teams with a quota are refused until it is back.")

  // What was used must be charged, so settling is tried until the store is back. Only the end of the process gives up, and logs it.
  const settleLater = (id: string, charges: ReadonlyArray<Charge>) =>
    ledger.settle(id, charges).pipe(
      Effect.retry(untilBack),
      Effect.onInterrupt(() =>
        Effect.forEach(
          charges.filter(({ amount }) => amount !== 0),
          ({ account, amount }) =>
            Effect.logError("What was used was not charged to the quota").pipe(
              Effect.annotateLogs({ account: account.name, amount })
            )
        )
      ),
      Effect.forkIn(scope)
    )

  /**
   * Holds what a request of the caller's may use until the scope closes, in every limit of the key and its team or in none. Fails
   * with `quota` where it does not fit, with `forbidden` where a cost is limited and there are no prices, and with `overloaded`
   * while the store is lost: a quota that cannot be counted is not given.
   */
  const reserve = Effect.fnUntraced(function* (caller: CallerIdentity, wanted: Wanted) {
    const budgets = budgetsOf(caller, wanted.startedAt ?? (yield* Clock.currentTimeMillis))
    const ofCost = budgets.find(({ unit }) => unit === "cost")
    if (ofCost !== undefined && wanted.prices === undefined) return yield* unpriced(ofCost.owner)
    const demands = budgets.map((budget) => demandOf(budget, wanted))
    const id = crypto.randomUUID()
    let used = 0
    let cost = 0
    let settled = false
    const charges = () =>
      demands.map(({ account, budget }): Charge => ({ account, amount: budget.unit === "cost" ? cost : used }))
    const settle = Effect.suspend(() => {
      if (settled) return Effect.void
      settled = true
      return Effect.catch(watch(ledger.settle(id, charges())), () => settleLater(id, charges()))
    }).pipe(Effect.uninterruptible, Effect.asVoid)

    const hold = watch(ledger.hold({ id, demands, lease })).pipe(
      Effect.catch(({ doubtful }) =>
        doubtful === true ? Effect.andThen(settleLater(id, charges()), Effect.fail(lost)) : Effect.fail(lost)
      ),
      Effect.filterOrFail(
        ({ granted }) => granted,
        // A ledger that refuses names what does not fit.
        (held) => limitRefusal(demands, held, wanted.prices?.currency) ?? lost
      )
    )
    const held = yield* Effect.acquireRelease(hold, () => settle)
    const reserved = Arr.zip(demands, held.shares).reduce(
      (least, [{ budget }, { amount }]) => (budget.unit === "cost" ? least : Math.min(least, amount)),
      wanted.input + wanted.output
    )
    return {
      /** Tokens held for the request: as many as it may want, or less where less is left. */
      reserved,
      /** `x-ratelimit-*-tokens` of the reply, of the limit that is nearest to its end; none where only the cost is limited. */
      headers: limitHeaders(demands, held),
      /**
       * Sets how many tokens the request has used so far, input and output, and what they cost in millionths. The last call
       * counts; without one it is 0. After settling it changes nothing.
       */
      use: (tokens: number, price = 0): void => {
        if (settled || !Number.isFinite(tokens)) return
        used = Math.min(mostUsed, Math.max(0, Math.ceil(tokens)))
        cost = Math.min(mostUsed, price)
      },
      /** Tokens that are charged so far; that were charged, once settled. */
      charged: () => used,
      /** Charges what was used and gives the rest back, once. The scope does it when nothing else has, whatever way out it takes. */
      settle
    }
  })

  const usageTotals = (users: Users) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => usageTotalsOf(ledger, users, now))
  /** Adds what a request used to what no limit counts. Once for every request of a caller; does not wait. */
  const note = yield* makeUsageAccumulator(
    ledger,
    makeWatch(ledger, "use", "What keys and teams without a quota use is written when it is back.")
  )
  return { reserve, note, usageTotals }
})

export class Quota extends Context.Service<Quota, Effect.Success<ReturnType<typeof make>>>()("gateway/limits/Quota") {
  /** `lease`: the longest a request may last; what a crashed process held comes back after it. */
  static readonly layer = (lease: Duration.Input) => Layer.effect(Quota, make(Duration.fromInputUnsafe(lease)))
}
export type Reservation = Effect.Success<ReturnType<Quota["Service"]["reserve"]>>
