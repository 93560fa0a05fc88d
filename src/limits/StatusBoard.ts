/** Where processes that share a store post their state, for the status pages of the others. */
import { Context, type Effect } from "effect"
import type { LedgerError } from "./Ledger.ts"

/** How long a post, and the mark that a page is open, are valid, in milliseconds. */
export const boardMemory = 10_000

export class StatusBoard extends Context.Service<
  StatusBoard,
  {
    /** The posts of all processes; marks that a status page is open. */
    readonly read: Effect.Effect<ReadonlyArray<string>, LedgerError>
    /** Replaces the post of the process with this ID where a page is open; answers whether one is. */
    readonly post: (id: string, text: () => string) => Effect.Effect<boolean, LedgerError>
  }
>()("gateway/limits/StatusBoard") {}
