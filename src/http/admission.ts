/** Whether a request may be served: its model exists, its key may use it, its tools may leave, and its limits have room for it. */
import { Effect, Result } from "effect"
import type { CatalogStore } from "../catalog/CatalogStore.ts"
import { GatewayError } from "../catalog/GatewayError.ts"
import type { Route } from "../catalog/Route.ts"
import { estimateInput } from "../catalog/Tokens.ts"
import type { ApiError, MessagesError } from "../contract/Errors.ts"
import type { CallerIdentity } from "../contract/Security.ts"
import { screen } from "../governance/screen.ts"
import type { CloudQuota } from "../limits/CloudQuota.ts"
import { permits } from "../limits/Keys.ts"
import { limitsStreams, limitsUse } from "../limits/limits.ts"
import type { Quota } from "../limits/Quota.ts"
import type { RateLimit } from "../limits/RateLimit.ts"
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

/**
 * Holds what a request may use until its scope closes: one of the streams, and what it may use of the quota. Does nothing where neither the
 * key nor its team has such limits, and the operator none with the cloud.
 */
export const makeHold = (limit: RateLimit["Service"], quota: Quota["Service"], cloud: CloudQuota["Service"]) => {
  const ofTokens = (caller: CallerIdentity, record: RequestRecord, output: number) => {
    const reserve = Effect.suspend(() =>
      quota.reserve(caller, {
        input: record.inputEstimate ?? 0,
        output,
        prices: record.route?.deployment.prices
      })
    )
    return Effect.flatMap(reserve, (reservation) => {
      record.reservation = reservation
      record.replyHeaders = { ...record.replyHeaders, ...reservation.headers }
      // Runs before the reservation is settled, and after a stream has said what it used.
      return Effect.addFinalizer(() => {
        const { charged, cost } = record
        reservation.use((charged?.input ?? 0) + (charged?.output ?? 0), cost)
        return Effect.void
      })
    })
  }

  const ofCloud = (caller: CallerIdentity, record: RequestRecord, calls: number, output: number) =>
    record.route === undefined
      ? Effect.void
      : (cloud.take(
          record.route.deployment,
          caller,
          { requests: calls, tokens: (record.inputEstimate ?? 0) + output },
          () => {
            const { charged } = record
            return charged === undefined ? undefined : charged.input + charged.output
          }
        ) ?? Effect.void)

  return Effect.fnUntraced(function* (
    caller: CallerIdentity,
    record: RequestRecord,
    { bodies, maxOutput, stream }: Prepared
  ) {
    if (stream && limitsStreams(caller)) yield* limit.stream(caller)
    if (maxOutput !== undefined && limitsUse(caller)) yield* ofTokens(caller, record, maxOutput)
    // Last: a request that waits here has all else that it needs.
    yield* ofCloud(caller, record, bodies.length, maxOutput ?? 0)
  })
}
