/** Checks the key before the body is read (spec: Authentication). */
import { Effect, Layer, Redacted, Result } from "effect"
import { Keys } from "../access/Keys.ts"
import { ApiKey, Caller } from "../api/Security.ts"
import { CurrentObservation } from "./Observation.ts"
import { renderError } from "./respond.ts"

export const apiKeyLayer = Layer.effect(
  ApiKey,
  Effect.gen(function* () {
    const keys = yield* Keys
    return {
      apiKey: (handler, { credential }) =>
        Effect.gen(function* () {
          const found = yield* Effect.result(keys.authenticate(Redacted.value(credential)))
          if (Result.isFailure(found)) return yield* renderError(found.failure)
          const observation = yield* CurrentObservation
          observation.key = found.success
          return yield* Effect.provideService(handler, Caller, { keyId: found.success.id })
        })
    }
  })
)
