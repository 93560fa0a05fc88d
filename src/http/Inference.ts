/**
 * The runner of every surface, and the only place where a request waits: for its body, for the limits of keys that have them, for
 * the cloud, for the pieces of a streamed reply. Between two waits everything is synchronous.
 */
import { Context, Effect, Layer, Option, Result, type Scope } from "effect"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import { CatalogStore } from "../catalog/CatalogStore.ts"
import { GatewayError } from "../catalog/GatewayError.ts"
import { surfaces } from "../catalog/names.ts"
import type { Route } from "../catalog/Route.ts"
import { estimateInput, type Tokens } from "../catalog/Tokens.ts"
import { servingClouds } from "../cloud/Providers.ts"
import type { ApiError, MessagesError } from "../contract/Errors.ts"
import { Caller, type CallerIdentity } from "../contract/Security.ts"
import { screen } from "../governance/screen.ts"
import { CloudQuota } from "../limits/CloudQuota.ts"
import { permits } from "../limits/Keys.ts"
import { limitsStreams, limitsUse } from "../limits/limits.ts"
import { Quota } from "../limits/Quota.ts"
import { RateLimit } from "../limits/RateLimit.ts"
import { type GatewaySettings, Settings } from "../Settings.ts"
import type { NamesModel, Prepared, Ready, Surface } from "../surfaces/Surface.ts"
import { adjustedHeaders } from "../vendors/adjustments.ts"
import { inSlices } from "../wire/slices.ts"
import { bodyReader } from "./body.ts"
import { makeTerminations } from "./Drain.ts"
import { GuardRequests } from "./GuardRequests.ts"
import { CurrentRecord, type RequestRecord, refuse } from "./RequestRecord.ts"
import { makeResend, type PrepareWithout, routeWithout } from "./refusedFields.ts"
import { makeStreamReply } from "./streamReply.ts"
import { makeWholeReply } from "./wholeReply.ts"

/** What an endpoint does with a request. */
export type Handler<E> = (arrived: {
  readonly request: HttpServerRequest.HttpServerRequest
}) => Effect.Effect<HttpServerResponse.HttpServerResponse, E, Caller | Scope.Scope>

const none: ReadonlyArray<never> = []

type Replying = Effect.Effect<HttpServerResponse.HttpServerResponse, GatewayError, Scope.Scope>

type Facts<Request extends NamesModel> = Pick<
  Surface<Request, Prepared, ApiError | MessagesError>,
  "counts" | "purpose" | "tools"
>

/** A model that the caller may use. */
interface Admitted {
  readonly route: Route
  /** Tokens that the request may come to. */
  readonly inputEstimate: number
}

/** Which model is asked for, and whether the key may use it. */
const admit = <Request extends NamesModel>(
  surface: Facts<Request>,
  request: Request,
  catalog: CatalogStore["Service"],
  caller: CallerIdentity,
  record: RequestRecord
): Result.Result<Admitted, GatewayError> => {
  const { tools, images, files, mediaBytes } = surface.counts(request)
  record.tools = tools
  record.images = images
  record.files = files
  record.modelId = request.model
  const inputEstimate = estimateInput(Math.max(0, record.bytesIn - mediaBytes), images + files)
  return Result.flatMap(catalog.current().resolve(request.model, surface.purpose), (route) =>
    Result.map(permits(caller, { base: route.model.id, level: route.level }), () => {
      record.route = route
      return { route, inputEstimate }
    })
  )
}

/** Whether its tools may leave, where the operator wants them screened. */
const screened = <Request extends NamesModel>(
  { purpose, tools }: Facts<Request>,
  request: Request,
  { screenMode, screenSurfaces }: Pick<GatewaySettings, "screenMode" | "screenSurfaces">
): Effect.Effect<void, GatewayError> =>
  tools === undefined || !screenSurfaces.has(purpose)
    ? Effect.void
    : Effect.flatMap(inSlices(screen(tools(request), screenMode)), (refusal) =>
        refusal === undefined
          ? Effect.void
          : Effect.fail(new GatewayError({ reason: "invalid", message: refusal.message, code: "screen" }))
      )

/** Holds what a request may use until its scope closes: a stream, and parts of the quotas of its key and of the operator's with the cloud. */
const makeHold = (limit: RateLimit["Service"], quota: Quota["Service"], cloud: CloudQuota["Service"]) =>
  Effect.fnUntraced(function* (caller: CallerIdentity, record: RequestRecord, { prepared, route }: Ready<Prepared>) {
    const { bodies, maxOutput, stream } = prepared
    const { deployment } = route
    const input = record.inputEstimate ?? 0
    const output = maxOutput ?? 0
    if (stream && limitsStreams(caller)) yield* limit.stream(caller)
    if (maxOutput !== undefined && limitsUse(caller)) {
      const reservation = yield* quota.reserve(caller, { input, output, prices: deployment.prices })
      record.reservation = reservation
      record.replyHeaders = { ...record.replyHeaders, ...reservation.headers }
      // Runs before the reservation is settled, and after a stream has said what it used.
      yield* Effect.addFinalizer(() => Effect.sync(() => reservation.use(totalOf(record.charged) ?? 0, record.cost)))
    }
    // Last: a request that waits here has all else that it needs.
    if (deployment.quota === undefined) return
    const load = { requests: bodies.length, tokens: input + output }
    yield* cloud.take(deployment, deployment.quota, caller, load, () => totalOf(record.charged))
  })

const totalOf = (tokens: Tokens | undefined): number | undefined => tokens && tokens.input + tokens.output

const make = Effect.gen(function* () {
  const settings = yield* Settings
  const catalog = yield* CatalogStore
  const clouds = yield* servingClouds
  const hold = makeHold(yield* RateLimit, yield* Quota, yield* CloudQuota)
  const streamed = makeStreamReply(settings, yield* makeTerminations)
  const whole = makeWholeReply(settings)
  const resend = makeResend()
  const guards = Option.getOrUndefined(yield* Effect.serviceOption(GuardRequests))

  const handler = <Request extends NamesModel, P extends Prepared, E extends ApiError | MessagesError>(
    surface: Surface<Request, P, E>
  ): Handler<E> => {
    const read = bodyReader(surface, settings, settings.textArrays ? surface.joinTexts : undefined)
    const { protocol } = surface

    const call = (ready: Ready<P>, record: RequestRecord): Replying => {
      const { prepared, route } = ready
      const cloud = clouds.get(route.deployment.cloud)
      if (cloud === undefined) throw new Error(`${route.deployment.cloud} is not active`) // the resolver answers active clouds only
      const { adjusted = none, stream, thinkingAdjusted = none } = prepared
      record.adjusted = adjusted.length + thinkingAdjusted.length
      record.changes = record.adjusted === 0 ? undefined : adjustedHeaders(adjusted, thinkingAdjusted)
      record.cloud = cloud.name
      const { provider } = cloud
      return stream && protocol !== undefined
        ? streamed({ protocol: protocol(prepared), prepared, route, provider, record })
        : whole({ surface, prepared, route, provider, record })
    }

    return Effect.fnUntraced(
      function* ({ request: arrived }) {
        const record = yield* CurrentRecord
        const caller = yield* Caller
        const given = yield* read(arrived, record)
        const { inputEstimate, route } = yield* Effect.fromResult(admit(surface, given, catalog, caller, record))
        yield* screened(surface, given, settings)
        const request = guards === undefined ? given : yield* guards.request(surface.purpose, given, record)
        const { id, startedAt } = record
        const arrival = { id, startedAt, headers: arrived.headers, inputEstimate }
        const prepareWithout: PrepareWithout<P> = (fields) => {
          const asked = routeWithout(route, fields)
          record.route = asked
          return Result.map(surface.prepare(request, asked, arrival), (prepared) => {
            if (prepared.maxOutput !== undefined) record.inputEstimate = inputEstimate
            return { route: asked, prepared }
          })
        }
        const ready = yield* resend.prepare(prepareWithout)
        yield* hold(caller, record, ready)
        if (!surfaces[surface.purpose].reworded) return yield* call(ready, record)
        return yield* resend.send(ready, record, prepareWithout, (again) => call(again, record))
      },
      Effect.catch((error: GatewayError) =>
        Effect.flatMap(CurrentRecord, (record) => {
          const refused = refuse(record, error, surface.error)
          if (record.sent) record.answered()
          return refused
        })
      )
    )
  }

  return { handler }
})

export class Inference extends Context.Service<Inference, Effect.Success<typeof make>>()("gateway/http/Inference") {
  static readonly layer = Layer.effect(Inference, make)
}
