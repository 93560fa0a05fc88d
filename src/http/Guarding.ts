/** Shows requests to guards (docs/guards.md). There only where the operator has some: without them nothing is loaded. */
import { Context, type Effect } from "effect"
import type { GatewayError } from "../catalog/GatewayError.ts"
import type { Purpose } from "../catalog/names.ts"
import type { GuardedFields } from "../contract/places.ts"
import type { NamesModel } from "../surfaces/Surface.ts"
import type { RequestRecord } from "./RequestRecord.ts"

/** What guards need to know of a surface. */
export interface GuardedEndpoint {
  readonly purpose: Purpose
  readonly guarded: GuardedFields
}

export class Guarding extends Context.Service<
  Guarding,
  {
    /** Asks about the texts of a request, and returns it as it may go on. The record gets the guards of the reply. */
    readonly request: <R extends NamesModel>(
      surface: GuardedEndpoint,
      request: R,
      record: RequestRecord
    ) => Effect.Effect<R, GatewayError>
  }
>()("gateway/http/Guarding") {}
