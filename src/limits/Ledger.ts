/**
 * The store of limits: accounts that several requests draw on together. Of a month's or a day's what was spent stays spent; of a
 * minute's it drains evenly.
 *
 * Each call is one atomic step over all accounts that it names, so that racing requests never pass a limit, of a key or of its
 * team (docs/decisions.md#limits-and-quotas). Processes that share a store share the accounts.
 */
import { Context, Data, type Duration, type Effect } from "effect"

/** The store cannot be reached or written. `message` is for the operator. */
export class LedgerError extends Data.TaggedError("LedgerError")<{
  readonly message: string
  /** Whether the store may have done it anyway. */
  readonly doubtful?: boolean | undefined
}> {}

export interface Account {
  /** Unique in the store: `<key id>:2026-11`. */
  readonly name: string
  /** How long the store keeps the account after it was last used. */
  readonly keep: Duration.Duration
  /** How much of what was spent is free again after a millisecond; absent where it stays spent. */
  readonly drain?: number | undefined
}

/** What a request wants of one account. */
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
  /** After this long the hold no longer counts, so that what a crashed process held comes back. */
  readonly lease: Duration.Duration
}

/** An account as it stood before. */
export interface Standing {
  readonly spent: number
  /** By requests that run. */
  readonly held: number
}

/** What a request has of an account. */
export interface Share extends Standing {
  readonly amount: number
}

export interface Held {
  /** False when one of the demands does not fit; then nothing is held. */
  readonly granted: boolean
  /** One for each demand, in their order. */
  readonly shares: ReadonlyArray<Share>
}

/** What is charged to an account. */
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
    /** Of each use for which the store counts as lost, what says that it is back (storeHealth). */
    readonly alarms: Set<Effect.Effect<void>>
  }
>()("gateway/limits/Ledger") {}
