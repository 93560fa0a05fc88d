/** Checks the key and its requests a minute before the body is read (spec: Authentication). */
import { Effect, Layer, Redacted, Result } from "effect"
import { Keys } from "../access/Keys.ts"
import { RateLimit } from "../access/RateLimit.ts"
import { ApiKey, Caller } from "../api/Security.ts"
import { CurrentObservation } from "./Observation.ts"
import { renderError } from "./respond.ts"

export const apiKeyLayer = Layer.effect(
  ApiKey,
  Effect.gen(function* () {
    const keys = yield* Keys
    const limit = yield* RateLimit
    return {
      apiKey: (handler, { credential }) =>
        Effect.gen(function* () {
          const found = yield* Effect.result(keys.authenticate(Redacted.value(credential)))
          if (Result.isFailure(found)) return yield* renderError(found.failure)
          const observation = yield* CurrentObservation
          const key = found.success
          observation.key = key
          const taken = yield* Effect.result(limit.take(key))
          if (Result.isFailure(taken)) return yield* renderError(taken.failure)
          observation.replyHeaders = taken.success
          return yield* Effect.provideService(handler, Caller, { keyId: key.id })
        })
    }
  })
)
