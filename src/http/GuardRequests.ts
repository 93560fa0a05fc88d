/** Shows requests to guards (docs/guards.md). There only where the operator has some: without them nothing is loaded. */
import { Context, type Effect } from "effect"
import type { GatewayError } from "../catalog/GatewayError.ts"
import type { ApiError, MessagesError } from "../contract/Errors.ts"
import type { NamesModel, Prepared, Surface } from "../surfaces/Surface.ts"
import type { RequestRecord } from "./RequestRecord.ts"

/** What is known of the surface whose requests they are. */
export type GuardedRequests = Pick<Surface<NamesModel, Prepared, ApiError | MessagesError>, "guarded" | "purpose">

export class GuardRequests extends Context.Service<
  GuardRequests,
  {
    /** Asks about the texts of a request; answers it as it may go on. The record gets the guards of the reply. */
    readonly request: <R extends NamesModel>(
      surface: GuardedRequests,
      request: R,
      record: RequestRecord
    ) => Effect.Effect<R, GatewayError>
  }
>()("gateway/http/GuardRequests") {}
