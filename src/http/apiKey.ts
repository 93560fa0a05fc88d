/** Checks the key and its requests a minute before the body is read (docs/api.md#authentication). */
import { Clock, Context, Effect, Layer, Result } from "effect"
import { HttpServerRequest } from "effect/http"
import { GatewayError } from "../catalog/GatewayError.ts"
import type { ApiError, MessagesError } from "../contract/Errors.ts"
import { ApiKey, Caller, MessagesKey } from "../contract/Security.ts"
import { Keys } from "../limits/Keys.ts"
import { limitsRequests } from "../limits/limits.ts"
import { RateLimit } from "../limits/RateLimit.ts"
import { apiError, messagesError } from "../surfaces/errorResponse.ts"
import { CurrentRecord } from "./RequestRecord.ts"

/** A key in the wrong place is the commonest mistake, because most client libraries put it there by themselves. */
const onlyAuthorization = new GatewayError({
  reason: "unauthenticated",
  message:
    'The API key is missing: Authorization is not read. Send your key in the header x-api-key; with an SDK, as default_headers={"x-api-key": "…"} (Python) or defaultHeaders: {"x-api-key": "…"} (TypeScript).'
})

const sentOnlyAuthorization = ({ headers }: HttpServerRequest.HttpServerRequest): boolean =>
  headers.authorization !== undefined && (headers["x-api-key"] ?? "") === ""

/** The same check, refused in the shape that `wire` gives it. */
const check = <E extends ApiError | MessagesError>(wire: (error: GatewayError) => E) =>
  Effect.gen(function* () {
    const keys = yield* Keys
    const limit = yield* RateLimit
    const clock = yield* Clock.Clock
    return <A, E2, R>(handler: Effect.Effect<A, E2, R>): Effect.Effect<A, E | E2, Exclude<R, Caller>> =>
      Effect.withFiber((fiber) => {
        const record = Context.get(fiber.context, CurrentRecord)
        const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
        const refuse = (error: GatewayError) => {
          record.refuse(error)
          return Effect.fail(wire(error))
        }
        const found = keys.authenticate(request.headers["x-api-key"] ?? "", clock.currentTimeMillisUnsafe())
        if (Result.isFailure(found)) return refuse(sentOnlyAuthorization(request) ? onlyAuthorization : found.failure)
        const caller = found.success
        record.caller = caller
        const go = Effect.provideService(handler, Caller, caller)
        if (!limitsRequests(caller)) return go
        return Effect.matchEffect(limit.take(caller), {
          onFailure: refuse,
          onSuccess: (headers) => {
            record.replyHeaders = headers
            return go
          }
        })
      })
  })

export const apiKeyLayer = Layer.mergeAll(
  Layer.effect(ApiKey, check(apiError)),
  Layer.effect(MessagesKey, check(messagesError))
)
