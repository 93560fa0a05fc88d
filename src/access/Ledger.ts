/**
 * Counted accounts that several requests draw on at once: tokens of a month, streams at a time.
 *
 * An amount is held before it is used and settled after, in one atomic step each, so that racing requests never pass a limit
 * (docs/decisions.md#limits-and-quotas). Processes that share a store share the accounts.
 */
import { Context, Data, type Duration, type Effect } from "effect"

/** The store cannot be reached or written. `message` is for the operator. */
export class LedgerError extends Data.TaggedError("LedgerError")<{ readonly message: string }> {}

export interface Account {
  /** Unique in the store: `<key id>:2026-11`. */
  readonly name: string
  /** How long a shared store keeps the account after it was last used. */
  readonly keep: Duration.Duration
}

export interface Hold {
  readonly account: Account
  /** Unique: names the hold when it is settled. */
  readonly id: string
  readonly amount: number
  /** What may be spent and held together. */
  readonly limit: number
  /** After this long the hold no longer counts, so that what a crashed process held comes back. */
  readonly lease: Duration.Duration
}

export interface Held {
  /** False when `amount` does not fit; then nothing is held. */
  readonly granted: boolean
  /** What is left of the limit now. */
  readonly left: number
}

export class Ledger extends Context.Service<
  Ledger,
  {
    readonly hold: (hold: Hold) => Effect.Effect<Held, LedgerError>
    /** Ends a hold and adds `spent` to the account, also when its lease is over. Settling twice counts once. */
    readonly settle: (account: Account, id: string, spent: number) => Effect.Effect<void, LedgerError>
    /** What was spent of an account. */
    readonly spent: (account: Account) => Effect.Effect<number, LedgerError>
  }
>()("gateway/access/Ledger") {}
