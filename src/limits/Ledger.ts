/**
 * The store of limits: accounts that several requests draw on together. Of a month's or a day's what was spent stays spent; of a
 * minute's it drains evenly.
 *
 * Each call is one atomic step over all accounts that it names, so that racing requests never pass a limit, of a key or of its
 * team (docs/decisions.md#limits-and-quotas). Processes that share a store share the accounts.
 */
import { Context, Data, type Duration, Effect, Metric, Schedule } from "effect"

/** The store cannot be reached or written. `message` is for the operator. */
export class LedgerError extends Data.TaggedError("LedgerError")<{
  readonly message: string
  /** Whether the store may have done it anyway. */
  readonly doubtful?: boolean | undefined
}> {}

/** How often what must reach the store is tried again, until it is back. */
export const untilBack = Schedule.min([Schedule.exponential("200 millis"), Schedule.spaced("5 seconds")])

export interface Account {
  /** Unique in the store: `<key id>:2026-11`. */
  readonly name: string
  /** How long the store keeps the account after it was last used. */
  readonly keep: Duration.Duration
  /** How much of what was spent is free again after a millisecond; absent where it stays spent. */
  readonly drain?: number | undefined
}

export interface Demand {
  readonly account: Account
  /** What may be spent and held together. */
  readonly limit: number
  /** Held where it is free; else all that is free, if that is at least `least`. An account that drains is charged it now. */
  readonly amount: number
  readonly least: number
}

export interface Hold {
  /** Unique: names the hold when it is settled. */
  readonly id: string
  readonly demands: ReadonlyArray<Demand>
  /** After this long the hold no longer counts, also where a process that crashed is not noticed. */
  readonly lease: Duration.Duration
}

export interface Standing {
  readonly spent: number
  /** By requests that run. */
  readonly held: number
}

export interface Held {
  /** False when one of the demands does not fit; then nothing is held. */
  readonly granted: boolean
  /** What a request has of each account, in the order of its demands. */
  readonly shares: ReadonlyArray<Standing & { readonly amount: number }>
}

export interface Charge {
  readonly account: Account
  readonly amount: number
}

export class Ledger extends Context.Service<
  Ledger,
  {
    readonly hold: (hold: Hold) => Effect.Effect<Held, LedgerError>
    /**
     * Ends a hold and charges its accounts, those that drain by what was not charged yet; also when its lease is over. Settling
     * twice counts once.
     */
    readonly settle: (id: string, charges: ReadonlyArray<Charge>) => Effect.Effect<void, LedgerError>
    /** Raises what was spent of each account to this, where it is less. */
    readonly raise: (spent: ReadonlyArray<Charge>) => Effect.Effect<void, LedgerError>
    /** What was spent of each account, by name. */
    readonly spent: (names: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<number>, LedgerError>
    /** Charges what is demanded now, for good. */
    readonly take: (demands: ReadonlyArray<Demand>) => Effect.Effect<Held, LedgerError>
    /** Of each use for which the store counts as lost, what says that it is back. */
    readonly alarms: Set<Effect.Effect<void>>
  }
>()("gateway/limits/Ledger") {}

// Whether the store works: one log line when it is lost and one when it is back, and a count of what failed meanwhile.

/** Operations on the shared store that failed, by `use`: `rate-limit`, `streams`, `quota`, `use`. */
const failures = Metric.counter("gateway_access_store_failures_total", {
  description: "Operations on the store of limits and quotas that failed",
  incremental: true
})
/** 0 from when an operation of that `use` failed until one works, or until what was used is written. */
const up = Metric.gauge("gateway_access_store_up", { description: "Whether the store of limits and quotas works" })

/** For when something was written that waited for the store: it works for every use again, also where no request of one comes. */
export const storeIsBack = ({ alarms }: Ledger["Service"]): Effect.Effect<void> =>
  Effect.suspend(() => Effect.all([...alarms], { discard: true }))

/**
 * A watch over the operations of one use. `consequence` is what the log line says happens while the store is lost. A store that
 * was opened works until an operation fails, so that an alert can tell a lost store from a gateway that is gone.
 */
export const makeWatch = ({ alarms }: Ledger["Service"], use: string, consequence: string) => {
  const show = (value: number) => Metric.withAttributes(up, { use }).updateUnsafe(value, Context.empty())
  show(1)
  const back: Effect.Effect<void> = Effect.suspend(() => {
    if (!alarms.delete(back)) return Effect.void
    show(1)
    return Effect.logInfo("The store is back.").pipe(Effect.annotateLogs({ use }))
  })
  const lost = Effect.fnUntraced(function* (error: string) {
    Metric.withAttributes(failures, { use }).updateUnsafe(1, Context.empty())
    if (alarms.has(back)) return
    alarms.add(back)
    show(0)
    const words = Effect.logError(`The store of limits and quotas is lost. ${consequence}`)
    yield* Effect.annotateLogs(words, { use, error })
  })
  return <A, E extends { readonly message: string }, R>(operation: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    operation.pipe(
      Effect.tap(back),
      Effect.tapError(({ message }) => lost(message))
    )
}
