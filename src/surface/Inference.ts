/**
 * The runner of every surface, and the only place where a request waits: for its body, for the limits of keys that have them, for
 * the cloud, for the pieces of a streamed reply. Between two waits everything is synchronous.
 */
import { Context, Effect, Layer, Result, type Scope } from "effect"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import { CloudQuota } from "../access/CloudQuota.ts"
import { Quota } from "../access/Quota.ts"
import { RateLimit } from "../access/RateLimit.ts"
import type { ApiError, MessagesError } from "../api/Errors.ts"
import { Caller } from "../api/Security.ts"
import { CatalogStore } from "../model/CatalogStore.ts"
import type { GatewayError } from "../model/GatewayError.ts"
import { Settings } from "../Settings.ts"
import type { Progress } from "../stream/Frame.ts"
import { inOneTurn } from "../wire/turns.ts"
import { adjustedHeaders } from "./adjusted.ts"
import { type Admitted, makeAdmission } from "./admission.ts"
import { bodyReader, isLarge } from "./body.ts"
import { cloudProviders } from "./cloudProviders.ts"
import { makeEnds } from "./ends.ts"
import { makeHold } from "./hold.ts"
import { CurrentObservation } from "./Observation.ts"
import { makeRefusedFields, maxResent, refusedField, without } from "./refusedFields.ts"
import type { NamesModel, Prepared, Ready, Surface } from "./Surface.ts"
import { makeStreamReply } from "./streamReply.ts"
import { makeWholeReply } from "./wholeReply.ts"

/** What an endpoint does with a request. */
export type Handler<E> = (
  request: HttpServerRequest.HttpServerRequest
) => Effect.Effect<HttpServerResponse.HttpServerResponse, E, Caller | Scope.Scope>

const none: ReadonlyArray<never> = []
const noFields: ReadonlySet<string> = new Set()

/** Prepares a request without the fields that its cloud refuses. */
type Prepare<P extends Prepared> = (fields: ReadonlySet<string>) => Effect.Effect<Ready<P>, GatewayError>
type Sent = Effect.Effect<HttpServerResponse.HttpServerResponse, GatewayError, Scope.Scope>

export class Inference extends Context.Service<
  Inference,
  {
    readonly handler: <
      Request extends NamesModel,
      P extends Prepared,
      S extends Progress,
      E extends ApiError | MessagesError
    >(
      surface: Surface<Request, P, S, E>
    ) => Handler<E>
  }
>()("gateway/surface/Inference") {
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
      const refusedFields = makeRefusedFields(() => performance.now())
      const limits = { maxBytes: settings.maxBodyBytes, timeout: settings.bodyTimeout }

      const handler = <
        Request extends NamesModel,
        P extends Prepared,
        S extends Progress,
        E extends ApiError | MessagesError
      >(
        surface: Surface<Request, P, S, E>
      ): Handler<E> => {
        const read = bodyReader(surface.schema, limits, surface.texts)
        const { protocol } = surface
        return (request) =>
          Effect.withFiber((fiber) => {
            const observation = Context.get(fiber.context, CurrentObservation)
            const caller = Context.getUnsafe(fiber.context, Caller)
            const prepare = (
              value: Request,
              { inputEstimate, route: resolved }: Admitted,
              fields: ReadonlySet<string>
            ): Result.Result<Ready<P>, GatewayError> => {
              const { id, startedAt } = observation
              const route = without(resolved, fields)
              observation.route = route
              return Result.flatMap(
                surface.prepare(value, route, { id, startedAt, headers: request.headers }),
                (prepared) => {
                  const more = refusedFields.known(route.deployment, prepared).filter((field) => !fields.has(field))
                  if (more.length > 0) {
                    return prepare(value, { inputEstimate, route: resolved }, new Set([...fields, ...more]))
                  }
                  if (prepared.maxOutput !== undefined) observation.inputEstimate = inputEstimate
                  return Result.succeed({ route, prepared })
                }
              )
            }

            /**
             * Without a field that the cloud refuses by name, the request is sent again. `found`: those of this request, which are
             * remembered only when the cloud has answered a request without them.
             */
            const send = ({ prepared, route }: Ready<P>, readied: Prepare<P>, found: ReadonlyArray<string>): Sent => {
              const { adjusted = none, stream, thinkingAdjusted = none } = prepared
              observation.adjusted = adjusted.length + thinkingAdjusted.length
              observation.cloud = cloudOf(route)
              const provider = providerOf(route)
              observation.changes = observation.adjusted === 0 ? undefined : adjustedHeaders(adjusted, thinkingAdjusted)
              const sent =
                stream && protocol !== undefined
                  ? streamed({ protocol: protocol(prepared), prepared, route, provider, observation, request })
                  : whole({ surface, prepared, route, provider, observation })
              if (route.deployment.api !== "messages") return sent
              const learned =
                found.length === 0
                  ? sent
                  : Effect.map(sent, (response) => {
                      // A stream may have begun with a comment while the cloud is silent.
                      const answered = !observation.stream || observation.firstEventAt !== undefined
                      if (answered) refusedFields.remember(route.deployment, prepared, found)
                      return response
                    })
              if (found.length === maxResent) return learned
              return Effect.catch(learned, (error) => {
                const field = refusedField(error, prepared.bodies[0] ?? {})
                // What was left out and is refused anyway cannot be helped.
                if (field === undefined || route.refused?.has(field) === true) return Effect.fail(error)
                // This cloud has seen the request, wherever the next attempt gets.
                observation.answered()
                observation.firstEventAt = undefined
                return Effect.flatMap(readied(new Set([...(route.refused ?? none), field])), (again) =>
                  send(again, readied, [...found, field])
                )
              })
            }

            /** Within what the key may use. */
            const held = (ready: Ready<P>, readied: Prepare<P>): Sent => {
              const { bodies, maxOutput, stream } = ready.prepared
              const holding = hold(caller, observation, { calls: bodies.length, stream, maxOutput })
              const sent = () => send(ready, readied, none)
              return holding === undefined ? sent() : Effect.flatMap(holding, sent)
            }

            const serve = (value: Request): Sent => {
              const admitted = admit(surface, value, caller, observation)
              if (Result.isFailure(admitted)) return Effect.fail(admitted.failure)
              const readied: Prepare<P> = (fields) => {
                const prepared = () => prepare(value, admitted.success, fields)
                return isLarge(observation.bytesIn)
                  ? Effect.flatMap(inOneTurn(prepared), Effect.fromResult)
                  : Effect.fromResult(prepared())
              }
              return Effect.flatMap(screened(surface, value), () =>
                Effect.flatMap(readied(noFields), (ready) => held(ready, readied))
              )
            }

            return Effect.catch(read(request, observation, serve), (error) => {
              observation.refuse(error)
              if (observation.call?.sent === true) observation.answered()
              const refused = Effect.fail(surface.error(error))
              return error.detail === undefined ? refused : Effect.andThen(Effect.logError(error.detail), refused)
            })
          })
      }

      return Inference.of({ handler })
    })
  )
}
