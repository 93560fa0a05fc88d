/** Keys that are revoked or disabled, passed on to every replica that shares a store, before its key file says so (docs/operation.md#redis). */
import { Context, Effect, Layer } from "effect"
import type { LedgerError } from "./Ledger.ts"

export class RefusedKeys extends Context.Service<
  RefusedKeys,
  {
    /** The IDs of all of them. */
    readonly list: Effect.Effect<ReadonlySet<string>, LedgerError>
    readonly add: (id: string) => Effect.Effect<void, LedgerError>
    /** Takes a key that was disabled. */
    readonly remove: (id: string) => Effect.Effect<void, LedgerError>
  }
>()("gateway/limits/RefusedKeys") {
  /** Where replicas share nothing but the key file. */
  static readonly none = Layer.succeed(RefusedKeys, {
    list: Effect.succeed(new Set<string>()),
    add: () => Effect.void,
    remove: () => Effect.void
  })
}
