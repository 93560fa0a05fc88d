/**
 * The runner of every surface, and the only place where a request waits: for its body, for the limits of keys that have them, for
 * the cloud, for the pieces of a streamed reply. Between two waits everything is synchronous.
 */
import { Context, Effect, Layer, Option, Result, type Scope } from "effect"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import { CatalogStore } from "../catalog/CatalogStore.ts"
import type { GatewayError } from "../catalog/GatewayError.ts"
import { surfaces } from "../catalog/names.ts"
import type { ApiError, MessagesError } from "../contract/Errors.ts"
import { Caller } from "../contract/Security.ts"
import { CloudQuota } from "../limits/CloudQuota.ts"
import { Quota } from "../limits/Quota.ts"
import { RateLimit } from "../limits/RateLimit.ts"
import { Settings } from "../Settings.ts"
import { without } from "../surfaces/refusedFields.ts"
import type { Arrival, NamesModel, Prepared, Ready, Surface } from "../surfaces/Surface.ts"
import { type Admitted, makeAdmission, makeHold } from "./admission.ts"
import { bodyReader } from "./body.ts"
import { makeTerminations } from "./Drain.ts"
import { GuardRequests } from "./GuardRequests.ts"
import { CurrentRecord, type RequestRecord, refuse } from "./RequestRecord.ts"
import { adjustedHeaders } from "./replyHeaders.ts"
import { makeStreamReply } from "./streamReply.ts"
import { cloudProviders, makeResend, type Prepare } from "./upstreamCall.ts"
import { makeWholeReply } from "./wholeReply.ts"

/** What an endpoint does with a request. */
export type Handler<E> = (arrived: {
  readonly request: HttpServerRequest.HttpServerRequest
}) => Effect.Effect<HttpServerResponse.HttpServerResponse, E, Caller | Scope.Scope>

const none: ReadonlyArray<never> = []

type Sent = Effect.Effect<HttpServerResponse.HttpServerResponse, GatewayError, Scope.Scope>

export class Inference extends Context.Service<
  Inference,
  {
    readonly handler: <Request extends NamesModel, P extends Prepared, E extends ApiError | MessagesError>(
      surface: Surface<Request, P, E>
    ) => Handler<E>
  }
>()("gateway/http/Inference") {
  static readonly layer = Layer.effect(
    Inference,
    Effect.gen(function* () {
      const settings = yield* Settings
      const catalog = yield* CatalogStore
      const { cloudOf, providerOf } = yield* cloudProviders
      const hold = makeHold(yield* RateLimit, yield* Quota, yield* CloudQuota)
      const streamed = makeStreamReply(settings, yield* makeTerminations)
      const whole = makeWholeReply(settings)
      const { admit, screened } = makeAdmission(catalog, settings)
      const resend = makeResend()
      const guards = Option.getOrUndefined(yield* Effect.serviceOption(GuardRequests))
      const limits = { maxBytes: settings.maxBodyBytes, timeout: settings.bodyTimeout }

      const handler = <Request extends NamesModel, P extends Prepared, E extends ApiError | MessagesError>(
        surface: Surface<Request, P, E>
      ): Handler<E> => {
        const read = bodyReader(surface, limits, settings.textArrays ? surface.joinTexts : undefined)
        const { protocol } = surface

        const prepared = (
          request: Request,
          { inputEstimate, route: resolved }: Admitted,
          record: RequestRecord,
          headers: Arrival["headers"],
          refused: ReadonlySet<string>
        ): Result.Result<Ready<P>, GatewayError> => {
          const { id, startedAt } = record
          const route = without(resolved, refused)
          record.route = route
          return Result.map(surface.prepare(request, route, { id, startedAt, headers, inputEstimate }), (prepared) => {
            if (prepared.maxOutput !== undefined) record.inputEstimate = inputEstimate
            return { route, prepared }
          })
        }

        const call = (ready: Ready<P>, record: RequestRecord): Sent => {
          const { prepared, route } = ready
          const { adjusted = none, stream, thinkingAdjusted = none } = prepared
          record.adjusted = adjusted.length + thinkingAdjusted.length
          record.cloud = cloudOf(route)
          record.changes = record.adjusted === 0 ? undefined : adjustedHeaders(adjusted, thinkingAdjusted)
          const provider = providerOf(route)
          return stream && protocol !== undefined
            ? streamed({ protocol: protocol(prepared), prepared, route, provider, record })
            : whole({ surface, prepared, route, provider, record })
        }

        return Effect.fnUntraced(
          function* ({ request }) {
            const record = yield* CurrentRecord
            const caller = yield* Caller
            const sent = yield* read(request, record)
            const admitted = yield* Effect.fromResult(admit(surface, sent, caller, record))
            yield* screened(surface, sent)
            const body = guards === undefined ? sent : yield* guards.request(surface.purpose, sent, record)
            const prepare: Prepare<P> = (refused) => prepared(body, admitted, record, request.headers, refused)
            const ready = yield* resend.prepared(prepare)
            yield* hold(caller, record, ready.prepared)
            if (!surfaces[surface.purpose].reworded) return yield* call(ready, record)
            return yield* resend.sent(ready, record, prepare, (again) => call(again, record))
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

      return Inference.of({ handler })
    })
  )
}
