/** Where replicas with a shared store post their state, for the status pages of the others. */
import { Context, type Effect } from "effect"
import type { LedgerError } from "./Ledger.ts"

export interface StatusBoard {
  /** Marks that a status page is open; valid for ten seconds. */
  readonly markWatched: Effect.Effect<void, LedgerError>
  /** Whether a page is open: otherwise nothing needs to be posted. */
  readonly isWatched: Effect.Effect<boolean, LedgerError>
  /** Replaces the post of the process with this ID; valid for ten seconds. */
  readonly post: (id: string, text: string) => Effect.Effect<void, LedgerError>
  /** The posts of all processes. */
  readonly posts: Effect.Effect<ReadonlyArray<string>, LedgerError>
}

/** Undefined without a store that replicas share. */
export const SharedStatusBoard = Context.Reference<StatusBoard | undefined>("gateway/limits/StatusBoard", {
  defaultValue: () => undefined
})
