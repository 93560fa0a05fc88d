/** What processes that share a store tell each other through it: their state, and keys and callers that are refused (docs/operation.md#redis). */
import { Context, Effect } from "effect"
import type { LedgerError } from "./Ledger.ts"

/** How long a post, and the mark that a page is open, are valid, in milliseconds. */
export const boardMemory = 10_000

/** Where processes post their state, for the status pages of the others. */
export class StatusBoard extends Context.Service<
  StatusBoard,
  {
    /** The posts of all processes; marks that a status page is open. */
    readonly read: Effect.Effect<ReadonlyArray<string>, LedgerError>
    /** Replaces the post of the process with this ID where a page is open; returns whether one is. */
    readonly post: (id: string, text: () => string) => Effect.Effect<boolean, LedgerError>
  }
>()("gateway/limits/StatusBoard") {}

/**
 * Keys and callers that are revoked or disabled, and secrets that rotation has ended, before the key file of every replica says so.
 * There are none where replicas share nothing but the key file.
 */
export const RefusedKeys = Context.Reference<{
  /** The IDs of keys and callers, and the digests of secrets. */
  readonly list: Effect.Effect<ReadonlySet<string>, LedgerError>
  readonly add: (ids: ReadonlyArray<string>) => Effect.Effect<void, LedgerError>
  /** Takes what was disabled. */
  readonly remove: (ids: ReadonlyArray<string>) => Effect.Effect<void, LedgerError>
}>("gateway/limits/RefusedKeys", {
  defaultValue: () => ({ list: Effect.succeed(new Set()), add: () => Effect.void, remove: () => Effect.void })
})
