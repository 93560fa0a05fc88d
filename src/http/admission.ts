/** Whether a request may be served at all: its model exists, its key may use it, and its tools may leave. */
import { Effect, Result } from "effect"
import type { CatalogStore } from "../catalog/CatalogStore.ts"
import { GatewayError } from "../catalog/GatewayError.ts"
import type { Route } from "../catalog/Route.ts"
import type { ApiError, MessagesError } from "../contract/Errors.ts"
import type { CallerIdentity } from "../contract/Security.ts"
import { screen } from "../governance/screen.ts"
import { permits } from "../limits/Keys.ts"
import { estimateInput } from "../limits/Quota.ts"
import type { GatewaySettings } from "../Settings.ts"
import type { NamesModel, Prepared, Surface } from "../surfaces/Surface.ts"
import { inSlices } from "../wire/turns.ts"
import type { RequestRecord } from "./RequestRecord.ts"

/** A model that the caller may use. */
export interface Admitted {
  readonly route: Route
  /** Tokens that the request may come to. */
  readonly inputEstimate: number
}

type Facts<Request extends NamesModel> = Pick<
  Surface<Request, Prepared, ApiError | MessagesError>,
  "counts" | "purpose" | "tools"
>

export const makeAdmission = (
  catalog: CatalogStore["Service"],
  settings: Pick<GatewaySettings, "screenMode" | "screenSurfaces">
) => ({
  /** Which model, and whether the key may use it. */
  admit: <Request extends NamesModel>(
    surface: Facts<Request>,
    request: Request,
    caller: CallerIdentity,
    record: RequestRecord
  ): Result.Result<Admitted, GatewayError> => {
    const { tools, images, files, mediaBytes } = surface.counts(request)
    record.tools = tools
    record.images = images
    record.files = files
    record.modelId = request.model
    const resolved = catalog.current().resolve(request.model, surface.purpose)
    if (Result.isFailure(resolved)) return Result.fail(resolved.failure)
    const route = resolved.success
    const permitted = permits(caller, { base: route.model.id, level: route.level })
    if (Result.isFailure(permitted)) return Result.fail(permitted.failure)
    record.route = route
    return Result.succeed({
      route,
      inputEstimate: estimateInput(Math.max(0, record.bytesIn - mediaBytes), images + files)
    })
  },

  /** Whether its tools may leave, where the operator wants them screened. */
  screened: <Request extends NamesModel>(
    surface: Facts<Request>,
    request: Request
  ): Effect.Effect<void, GatewayError> =>
    surface.tools === undefined || !settings.screenSurfaces.has(surface.purpose)
      ? Effect.void
      : Effect.flatMap(inSlices(screen(surface.tools(request), settings.screenMode)), (refusal) =>
          refusal === undefined
            ? Effect.void
            : Effect.fail(new GatewayError({ reason: "invalid", message: refusal.message, code: "screen" }))
        )
})
