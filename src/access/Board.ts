/** Notes that processes with a shared store leave for each other: what the status page shows of other replicas. */
import { Context, type Effect } from "effect"
import type { LedgerError } from "./Ledger.ts"

export interface Board {
  /** Notes that somebody looks at the status page; valid for ten seconds. */
  readonly watch: Effect.Effect<void, LedgerError>
  /** Whether somebody looks: otherwise nothing needs to be left. */
  readonly watched: Effect.Effect<boolean, LedgerError>
  /** Replaces the note of the process with this ID; valid for ten seconds. */
  readonly leave: (id: string, text: string) => Effect.Effect<void, LedgerError>
  /** The notes of all processes. */
  readonly notes: Effect.Effect<ReadonlyArray<string>, LedgerError>
}

/** Undefined without a store that replicas share. */
export const SharedBoard = Context.Reference<Board | undefined>("gateway/access/Board", {
  defaultValue: () => undefined
})
