/**
 * The runner of every surface, and the only place where a request waits: for its body, for the limits of keys that have them, for
 * the cloud, for the pieces of a streamed reply. Between two waits everything is synchronous.
 */
import { Context, Effect, Layer, Option, Result, type Scope } from "effect"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import { CatalogStore } from "../catalog/CatalogStore.ts"
import type { GatewayError } from "../catalog/GatewayError.ts"
import type { ApiError, MessagesError } from "../contract/Errors.ts"
import { Caller } from "../contract/Security.ts"
import { CloudQuota } from "../limits/CloudQuota.ts"
import { Quota } from "../limits/Quota.ts"
import { RateLimit } from "../limits/RateLimit.ts"
import { Settings } from "../Settings.ts"
import {
  isReworded,
  makeRefusalMemory,
  maxResent,
  type RefusedFields,
  refusedIn,
  without
} from "../surfaces/refusedFields.ts"
import type { Arrival, NamesModel, Prepared, Ready, Surface } from "../surfaces/Surface.ts"
import { inOneTurn } from "../wire/turns.ts"
import { type Admitted, makeAdmission, makeHold } from "./admission.ts"
import { bodyReader } from "./body.ts"
import { GuardRequests } from "./GuardRequests.ts"
import { CurrentRecord, type RequestRecord, refuse } from "./RequestRecord.ts"
import { adjustedHeaders } from "./replyHeaders.ts"
import { makeStreamReply } from "./streamReply.ts"
import { makeEnds } from "./terminations.ts"
import { cloudProviders } from "./upstreamCall.ts"
import { makeWholeReply } from "./wholeReply.ts"

/** What an endpoint does with a request. */
export type Handler<E> = (arrived: {
  readonly request: HttpServerRequest.HttpServerRequest
}) => Effect.Effect<HttpServerResponse.HttpServerResponse, E, Caller | Scope.Scope>

const none: ReadonlyArray<never> = []
const noFields: ReadonlySet<string> = new Set()

/** Prepares a request without the fields that its cloud refuses. */
type Prepare<P extends Prepared> = (fields: ReadonlySet<string>) => Effect.Effect<Ready<P>, GatewayError>
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
      const streamed = makeStreamReply(settings, yield* makeEnds)
      const whole = makeWholeReply(settings)
      const { admit, screened } = makeAdmission(catalog, settings)
      const refusals = makeRefusalMemory(() => performance.now())
      const guards = Option.getOrUndefined(yield* Effect.serviceOption(GuardRequests))
      const limits = { maxBytes: settings.maxBodyBytes, timeout: settings.bodyTimeout }

      const handler = <Request extends NamesModel, P extends Prepared, E extends ApiError | MessagesError>(
        surface: Surface<Request, P, E>
      ): Handler<E> => {
        const read = bodyReader(
          surface.schema,
          limits,
          surface.texts,
          settings.textArrays ? surface.joinTexts : undefined
        )
        const { protocol } = surface

        const prepared = (
          request: Request,
          { inputEstimate, route: resolved }: Admitted,
          record: RequestRecord,
          headers: Arrival["headers"],
          fields: ReadonlySet<string>
        ): Result.Result<Ready<P>, GatewayError> => {
          const { id, startedAt } = record
          const route = without(resolved, fields)
          record.route = route
          return Result.flatMap(
            surface.prepare(request, route, { id, startedAt, headers, inputEstimate }),
            (prepared_) => {
              const more = refusals.known(route.deployment, prepared_).filter((field) => !fields.has(field))
              if (more.length > 0) {
                const all = new Set([...fields, ...more])
                return prepared(request, { inputEstimate, route: resolved }, record, headers, all)
              }
              if (prepared_.maxOutput !== undefined) record.inputEstimate = inputEstimate
              return Result.succeed({ route, prepared: prepared_ })
            }
          )
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

        /**
         * Without what the cloud refuses by name, the request is sent again. `found`: what was found in this request, which is
         * remembered only when the cloud has answered the request without it.
         */
        const send = (
          ready: Ready<P>,
          record: RequestRecord,
          prepare: Prepare<P>,
          found: ReadonlyArray<RefusedFields> = none
        ): Sent => {
          const sent = call(ready, record)
          const { prepared, route } = ready
          if (!isReworded(surface.purpose)) return sent
          const learned = Effect.tap(sent, () => {
            // A stream may have begun with a comment while the cloud is silent.
            const answered = !record.stream || record.firstEventAt !== undefined
            if (answered && found.length > 0) refusals.remember(route.deployment, found)
            return Effect.void
          })
          if (found.length === maxResent) return learned
          return Effect.catch(learned, (error) => {
            const refused = refusedIn(error, prepared)
            // What was left out and is refused anyway cannot be helped.
            if (refused === undefined || refused.fields.some((field) => route.refused?.has(field) === true))
              return Effect.fail(error)
            // This cloud has seen the request, wherever the next attempt gets.
            record.answered()
            record.firstEventAt = undefined
            return Effect.flatMap(prepare(new Set([...(route.refused ?? none), ...refused.fields])), (again) =>
              send(again, record, prepare, [...found, refused])
            )
          })
        }

        return Effect.fnUntraced(
          function* ({ request }) {
            const record = yield* CurrentRecord
            const caller = yield* Caller
            const sent = yield* read(request, record)
            const admitted = yield* Effect.fromResult(admit(surface, sent, caller, record))
            yield* screened(surface, sent)
            const body = guards === undefined ? sent : yield* guards.request(surface.purpose, sent, record)
            const prepare: Prepare<P> = (fields) =>
              Effect.flatMap(
                inOneTurn(() => prepared(body, admitted, record, request.headers, fields)),
                Effect.fromResult
              )
            const ready = yield* prepare(noFields)
            yield* hold(caller, record, ready.prepared)
            return yield* send(ready, record, prepare)
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
