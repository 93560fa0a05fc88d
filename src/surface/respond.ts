/** How every surface ends a request that fails: one wire error, in the shape of its path. */
import { Cause, Effect, Option } from "effect"
import type { HttpServerResponse } from "effect/http"
import { GatewayError, internal } from "../model/GatewayError.ts"
import { errorReply, shapeOf } from "./errorReply.ts"
import { CurrentObservation } from "./Observation.ts"

/** Renders a domain error, and notes it for the record. */
export const renderError = Effect.fnUntraced(function* (error: GatewayError) {
  const observation = yield* CurrentObservation
  observation.fail(error)
  if (error.detail !== undefined) yield* Effect.logError(error.detail)
  return errorReply(shapeOf(observation.path), error)
})

/** Turns every way of failing into a reply; only the caller's leaving goes on as an interruption. */
export const respond = <E, R>(
  handler: Effect.Effect<HttpServerResponse.HttpServerResponse, E | GatewayError, R>
): Effect.Effect<HttpServerResponse.HttpServerResponse, never, R> =>
  Effect.catchCause(handler, (cause) => {
    if (Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause as Cause.Cause<never>)
    const error = Option.getOrUndefined(Cause.findErrorOption(cause))
    return error instanceof GatewayError
      ? renderError(error)
      : Effect.andThen(Effect.logError("request failed", cause), renderError(internal))
  })
