/** Tokens that a key may use in a calendar month (docs/api.md#authentication, docs/decisions.md#limits-and-quotas). */
import { Context, DateTime, Duration, Effect, Layer, Schedule, type Scope } from "effect"
import { GatewayError } from "../model/GatewayError.ts"
import { type Account, Ledger, type LedgerError } from "./Ledger.ts"
import { makeWatch } from "./outage.ts"
import { rateHeaders } from "./rateHeaders.ts"

/** Prompts that a cloud adds for tools and thinking, in tokens. */
const overhead = 1024
/** An image's tokens do not depend on its bytes; this is more than any listed model charges for one. */
const mediumTokens = 8192
/** More than any request uses: a cloud's nonsense must not overflow the count. */
const mostTokens = 1e12

/**
 * At most how many tokens a request can use: a token is at least a byte of the body, and the output is at most `maxOutput`.
 * `media` is the number of images and files.
 */
export const estimateTokens = (bodyBytes: number, maxOutput: number, media = 0): number =>
  Math.ceil(bodyBytes) + Math.ceil(maxOutput) + overhead + media * mediumTokens

/** A key that has a quota. */
export interface QuotaKey {
  readonly id: string
  readonly monthlyTokens: number
}

export interface Reservation {
  /** Tokens held for the request. */
  readonly reserved: number
  /** `x-ratelimit-*-tokens` of the reply. */
  readonly headers: Readonly<Record<string, string>>
  /**
   * Says how many tokens the request has used so far, input and output. The last word counts, so a stream says it as it learns;
   * what was never said is 0. After settling it changes nothing.
   */
  readonly use: (tokens: number) => void
  /** What is charged so far; what was charged, once settled. */
  readonly charged: () => number
  /** Charges what was used and gives the rest back, once. The scope does it when nothing else has, whatever way out it takes. */
  readonly settle: Effect.Effect<void>
}

export interface QuotaOptions {
  /** The longest a request may last: what a crashed process held comes back after it. */
  readonly lease: Duration.Input
}

export class Quota extends Context.Service<
  Quota,
  {
    /**
     * Holds `upperBound` tokens of the key's month until the scope closes. Fails with `quota` and the seconds to the end of the
     * month when they do not fit, and with `overloaded` while the store is lost: a quota that cannot be counted is not given.
     */
    readonly reserve: (key: QuotaKey, upperBound: number) => Effect.Effect<Reservation, GatewayError, Scope.Scope>
    /** Tokens charged to a key this month, running requests excluded. */
    readonly used: (keyId: string) => Effect.Effect<number, LedgerError>
  }
>()("gateway/access/Quota") {
  static readonly layer = (options: QuotaOptions): Layer.Layer<Quota, never, Ledger> =>
    Layer.effect(Quota, make(Duration.fromInputUnsafe(options.lease)))
}

interface Month extends Account {
  /** Seconds to its end. */
  readonly rest: number
  readonly next: string
}

/** The UTC calendar month of a key, which is the request's even when it ends in the next one. */
const monthOf = (keyId: string) =>
  Effect.map(DateTime.now, (now): Month => {
    const next = DateTime.add(DateTime.startOf(now, "month"), { months: 1 })
    const rest = Math.max(1, Math.ceil((DateTime.toEpochMillis(next) - DateTime.toEpochMillis(now)) / 1000))
    return {
      name: `${keyId}:${DateTime.formatIso(now).slice(0, 7)}`,
      keep: Duration.sum(Duration.seconds(rest), Duration.days(1)),
      rest,
      next: DateTime.formatIsoDateUtc(next)
    }
  })

const refusal = (limit: number, asked: number, left: number, month: Month) =>
  new GatewayError({
    reason: "quota",
    message:
      left === 0
        ? `This API key has used its ${limit} tokens of this month. The next month starts on ${month.next} (UTC).`
        : `This request may use up to ${asked} tokens, and ${left} of this API key's ${limit} tokens of this month are free. ` +
          `Ask for fewer output tokens, shorten the request, or wait for running requests to end; the next month starts on ${month.next} (UTC).`,
    retryAfter: month.rest,
    headers: rateHeaders("tokens", limit, left, month.rest)
  })

const make = Effect.fnUntraced(function* (lease: Duration.Duration) {
  const ledger = yield* Ledger
  const scope = yield* Effect.scope
  const watch = makeWatch("quota", "Requests of keys with a monthly quota are refused until it is back.")

  // What was used is owed, so it is settled whenever the store is back; only the end of the process gives up, and says so.
  const settleLater = (account: Account, id: string, tokens: number) =>
    ledger.settle(account, id, tokens).pipe(
      Effect.retry(Schedule.min([Schedule.exponential("200 millis"), Schedule.spaced("5 seconds")])),
      Effect.onInterrupt(() =>
        Effect.logError("Used tokens were not charged to the quota").pipe(
          Effect.annotateLogs({ account: account.name, tokens })
        )
      ),
      Effect.forkIn(scope)
    )

  const reserve = Effect.fnUntraced(function* ({ id: keyId, monthlyTokens: limit }: QuotaKey, upperBound: number) {
    const month = yield* monthOf(keyId)
    const id = crypto.randomUUID()
    let used = 0
    let settled = false
    const settle = Effect.suspend(() => {
      if (settled) return Effect.void
      settled = true
      return Effect.catch(watch(ledger.settle(month, id, used)), () => settleLater(month, id, used))
    }).pipe(Effect.uninterruptible, Effect.asVoid)

    const hold = watch(ledger.hold({ account: month, id, amount: upperBound, limit, lease })).pipe(
      Effect.mapError(
        () =>
          new GatewayError({
            reason: "overloaded",
            message: "The monthly quota of this API key cannot be checked at the moment. Try again shortly.",
            retryAfter: 5,
            code: "quota-store"
          })
      ),
      Effect.filterOrFail(
        ({ granted }) => granted,
        ({ left }) => refusal(limit, upperBound, left, month)
      )
    )
    const { left } = yield* Effect.acquireRelease(hold, () => settle)
    return {
      reserved: upperBound,
      headers: rateHeaders("tokens", limit, left, month.rest),
      use: (tokens: number) => {
        if (!settled && Number.isFinite(tokens)) used = Math.min(mostTokens, Math.max(0, Math.ceil(tokens)))
      },
      charged: () => used,
      settle
    }
  })

  const used = (keyId: string) => Effect.flatMap(monthOf(keyId), ledger.spent)
  return Quota.of({ reserve, used })
})
