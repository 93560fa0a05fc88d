/** Notes that processes with a shared store leave for each other: what the status page shows of other replicas. */
import { Context, type Effect } from "effect"
import type { LedgerError } from "./Ledger.ts"

export interface Board {
  /** Says that somebody looks; for ten seconds. */
  readonly watch: Effect.Effect<void, LedgerError>
  /** Whether somebody looks: nothing needs to be told otherwise. */
  readonly watched: Effect.Effect<boolean, LedgerError>
  /** Leaves a text in the place of what the same process left before; for ten seconds. */
  readonly tell: (id: string, text: string) => Effect.Effect<void, LedgerError>
  readonly told: Effect.Effect<ReadonlyArray<string>, LedgerError>
}

/** Undefined without a store that replicas share. */
export const SharedBoard = Context.Reference<Board | undefined>("gateway/access/Board", {
  defaultValue: () => undefined
})
