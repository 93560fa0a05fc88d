/**
 * Runs the requests of every surface, in these steps: read the body, find the route, screen the tools, ask the guards, prepare what is
 * sent, reserve limits, call the cloud. What waits is an effect; the rest is synchronous.
 */
import { Context, Duration, Effect, Layer, Option, type Scope } from "effect"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import { CatalogStore } from "../catalog/CatalogStore.ts"
import { GatewayError } from "../catalog/GatewayError.ts"
import { surfaceOf, surfaces } from "../catalog/names.ts"
import type { Route } from "../catalog/Route.ts"
import { estimateInput, type Tokens } from "../catalog/Tokens.ts"
import { servingClouds } from "../cloud/Providers.ts"
import type { ApiError, MessagesError } from "../contract/Errors.ts"
import { Caller, type CallerIdentity } from "../contract/Security.ts"
import { screen } from "../governance/screen.ts"
import { CloudQuota } from "../limits/CloudQuota.ts"
import { mayUse, permits } from "../limits/Keys.ts"
import { limitsStreams, limitsUse } from "../limits/limits.ts"
import { Quota } from "../limits/Quota.ts"
import { RateLimit } from "../limits/RateLimit.ts"
import { Settings } from "../Settings.ts"
import type { Counts, NamesModel, Prepared, Ready, ScreenedTool, Surface } from "../surfaces/Surface.ts"
import { adjustedHeaders } from "../vendors/adjustments.ts"
import { inSlices } from "../wire/slices.ts"
import { bodyReader } from "./body.ts"
import { makeTerminations, type Terminations } from "./Drain.ts"
import { type GuardedRequest, Guarding, type ReplyGuards } from "./Guarding.ts"
import { CurrentRecord, failWith, type RequestRecord } from "./RequestRecord.ts"
import { makeResend } from "./refusedFields.ts"
import { makeStreamReply } from "./streamReply.ts"
import { makeWholeReply } from "./wholeReply.ts"

/** Records what is in a request, and returns about how many tokens its input is. */
const recordContents = (record: RequestRecord, { tools, images, files, mediaBytes }: Counts): number => {
  record.tools = tools
  record.images = images
  record.files = files
  return estimateInput(Math.max(0, record.bytesIn - mediaBytes), images + files)
}

/** Reserves what a request may use until its scope closes: a stream of its key, and tokens of its key's quota and of the cloud's. */
const makeReserve = (
  limit: RateLimit["Service"],
  quota: Quota["Service"],
  cloud: CloudQuota["Service"],
  terminated: Terminations
) =>
  Effect.fnUntraced(function* (caller: CallerIdentity, record: RequestRecord, { prepared, route }: Ready<Prepared>) {
    const { bodies, maxOutput, stream } = prepared
    const { deployment } = route
    const { startedAt } = record
    const input = record.inputEstimate ?? 0
    const output = maxOutput ?? 0
    if (stream && limitsStreams(caller)) record.endStream = yield* limit.stream(caller)
    if (maxOutput !== undefined && limitsUse(caller)) {
      const reservation = yield* quota.reserve(caller, { input, output, prices: deployment.prices, startedAt })
      record.reservation = reservation
      record.replyHeaders = { ...record.replyHeaders, ...reservation.headers }
      // Runs after a stream has recorded its tokens, and before the reservation is settled.
      yield* Effect.addFinalizer(() => Effect.sync(() => reservation.use(totalOf(record.charged) ?? 0, record.cost)))
    }
    // Last, because it may wait.
    if (deployment.quota === undefined) return
    const load = { requests: bodies.length, tokens: input + output }
    const used = () => {
      // A request that the cloud does not take has used no tokens.
      const isTaken = record.sent && record.failure !== "upstream-invalid" && record.failure !== "context-length"
      const requests = record.attempts.filter(({ sent }) => sent).length
      return { requests, tokens: totalOf(record.charged) ?? (isTaken ? undefined : 0) }
    }
    yield* Effect.raceFirst(cloud.take(deployment, deployment.quota, caller, load, used), terminated(caller))
  })

const totalOf = (tokens: Tokens | undefined): number | undefined => tokens && tokens.input + tokens.output

const make = Effect.gen(function* () {
  const settings = yield* Settings
  const catalog = yield* CatalogStore
  const clouds = yield* servingClouds
  const terminated = yield* makeTerminations
  const reserve = makeReserve(yield* RateLimit, yield* Quota, yield* CloudQuota, terminated)
  const streamReply = makeStreamReply(settings, terminated)
  const wholeReply = makeWholeReply(settings)
  const resend = makeResend()
  const ceilings = {
    stream: Duration.toMillis(settings.streamCeiling),
    whole: Duration.toMillis(settings.requestCeiling)
  }
  const guarding = Option.getOrUndefined(yield* Effect.serviceOption(Guarding))

  const handler = <Request extends NamesModel, P extends Prepared, E extends ApiError | MessagesError>(
    surface: Surface<Request, P, E>
  ) => {
    const readBody = bodyReader(surface, settings)
    const { protocol, purpose } = surface
    // On surfaces for which the operator wants it.
    const screens = settings.screenSurfaces.has(surfaceOf(purpose))
    const refuseTools = Effect.fnUntraced(function* (tools: ReadonlyArray<ScreenedTool>) {
      const refusal = yield* inSlices(screen(tools, settings.screenMode))
      if (refusal !== undefined) {
        return yield* new GatewayError({ reason: "invalid", message: refusal.message, code: "screen" })
      }
    })

    const answer = (
      { prepared, route }: Ready<P>,
      record: RequestRecord,
      replyGuards: ReplyGuards | undefined,
      deadline: number
    ): Effect.Effect<HttpServerResponse.HttpServerResponse, GatewayError, Scope.Scope> => {
      const cloud = clouds.get(route.deployment.cloud)
      if (cloud === undefined) throw new Error(`${route.deployment.cloud} is not active`) // the resolver returns active clouds only
      const { adjusted, stream, thinkingAdjusted } = prepared
      record.adjusted = (adjusted?.size ?? 0) + (thinkingAdjusted?.size ?? 0)
      record.adjustedHeaders = record.adjusted === 0 ? undefined : adjustedHeaders(adjusted, thinkingAdjusted)
      record.cloud = cloud.name
      const { provider } = cloud
      const call = { prepared, route, provider, record, replyGuards, deadline }
      return stream && protocol !== undefined
        ? streamReply({ ...call, protocol: protocol(prepared, provider.scrub(route)) })
        : wholeReply({ ...call, surface })
    }

    return Effect.fnUntraced(
      function* ({ request: httpRequest }: { readonly request: HttpServerRequest.HttpServerRequest }) {
        const record = yield* CurrentRecord
        const caller = yield* Caller
        const resolve = (model: string) => Effect.fromResult(catalog.current().resolve(model, purpose, mayUse(caller)))
        const body = yield* Effect.tapError(readBody(httpRequest, record), () =>
          // A request for a model of another endpoint has the other's fields: it hears of the endpoint.
          record.modelId === undefined ? Effect.void : resolve(record.modelId)
        )
        const inputEstimate = recordContents(record, surface.counts(body))
        const found = yield* resolve(body.model)
        record.route = found
        yield* Effect.fromResult(permits(caller, found))
        if (screens && surface.tools !== undefined) yield* refuseTools(surface.tools(body))
        const { id, startedAt } = record
        const arrival = { id, startedAt, headers: httpRequest.headers, inputEstimate }
        const preparing = (request: Request) => (route: Route) => surface.prepare(request, route, arrival)
        // Before the guards, which are not asked about what is not sent.
        const asked = yield* resend.prepare(found, preparing(body))
        const { rewrittenTools } = asked.prepared
        if (screens && rewrittenTools !== undefined) yield* refuseTools(rewrittenTools)
        const unguarded: GuardedRequest<Request> = { request: body }
        const { emptied, replyGuards, request } =
          guarding === undefined ? unguarded : yield* guarding.request(surface, body, record)
        const prepareFor = preparing(request)
        const ready =
          request === body
            ? asked
            : yield* Effect.mapError(resend.prepare(found, prepareFor), (error) => emptied ?? error)
        if (ready.prepared.maxOutput !== undefined) record.inputEstimate = inputEstimate
        yield* reserve(caller, record, ready)
        // However often it is sent.
        const deadline = performance.now() + ceilings[ready.prepared.stream ? "stream" : "whole"]
        const send = (ready: Ready<P>) => answer(ready, record, replyGuards, deadline)
        return yield* surfaces[purpose].rewritten ? resend.send(ready, record, prepareFor, send) : send(ready)
      },
      Effect.catch((error: GatewayError) =>
        Effect.flatMap(CurrentRecord, (record) => failWith(record, error, surface.error))
      )
    )
  }

  return { handler }
})

export class Inference extends Context.Service<Inference, Effect.Success<typeof make>>()("gateway/http/Inference") {
  static readonly layer = Layer.effect(Inference, make)
}
