/** Checks who calls, and the caller's requests a minute, before the body is read (docs/api.md#authentication). */
import { Context, Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import { type Act, Audit } from "../audit/Audit.ts"
import type { GatewayError } from "../catalog/GatewayError.ts"
import type { ApiError, MessagesError } from "../contract/Errors.ts"
import { ApiKey, Caller, MessagesKey } from "../contract/Security.ts"
import { limitsRequests } from "../limits/limits.ts"
import { RateLimit } from "../limits/RateLimit.ts"
import { apiError, messagesError } from "../surfaces/errorResponse.ts"
import { makeAuthenticate } from "./authenticate.ts"
import { CurrentRecord, type RequestRecord } from "./RequestRecord.ts"

const refusalOf = (
  { id: key_id, why }: NonNullable<GatewayError["refused"]>,
  { id, source, surface }: RequestRecord
): Act => ({
  audit: "caller.refused",
  outcome: "failure",
  actor: { kind: "caller", key_id, source },
  reason: why,
  detail: surface === undefined ? { request_id: id } : { request_id: id, surface }
})

/** The same check, refused in the shape that `wire` gives it. */
const check = <E extends ApiError | MessagesError>(wire: (error: GatewayError) => E) =>
  Effect.gen(function* () {
    const authenticate = yield* makeAuthenticate
    const limit = yield* RateLimit
    const audit = yield* Audit
    return <A, E2, R>(handler: Effect.Effect<A, E2, R>): Effect.Effect<A, E | E2, Exclude<R, Caller>> =>
      Effect.withFiber((fiber) => {
        const record = Context.get(fiber.context, CurrentRecord)
        const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
        const admitted = Effect.tap(authenticate(request), (caller) => {
          record.caller = caller
          if (!limitsRequests(caller)) return Effect.void
          return Effect.map(limit.take(caller), (headers) => {
            record.replyHeaders = headers
          })
        })
        return Effect.matchEffect(admitted, {
          onFailure: (error) => {
            record.refuse(error)
            if (error.refused !== undefined) audit(refusalOf(error.refused, record))
            const refused = Effect.fail(wire(error))
            return error.detail === undefined ? refused : Effect.andThen(Effect.logError(error.detail), refused)
          },
          onSuccess: (caller) => Effect.provideService(handler, Caller, caller)
        })
      })
  })

export const apiKeyLayer = Layer.mergeAll(
  Layer.effect(ApiKey, check(apiError)),
  Layer.effect(MessagesKey, check(messagesError))
)
