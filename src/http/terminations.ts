/** Why a running stream may not go on: its caller has lost its access, or the server has to stop. */
import { Deferred, Effect, Option } from "effect"
import { GatewayError } from "../catalog/GatewayError.ts"
import type { CallerIdentity } from "../contract/Security.ts"
import { Identity } from "../identity/Identity.ts"
import { isCallerId } from "../limits/KeyFile.ts"
import { Keys } from "../limits/Keys.ts"
import { Drain } from "./Drain.ts"

const revokedError = new GatewayError({
  reason: "forbidden",
  message: "the API key has been revoked or has expired",
  code: "revoked"
})

const withdrawnError = new GatewayError({
  reason: "forbidden",
  message: "the token or certificate of this request no longer gives access",
  code: "revoked"
})

export const makeTerminations = Effect.gen(function* () {
  const keys = yield* Keys
  const identity = Option.getOrUndefined(yield* Effect.serviceOption(Identity))
  const { expired } = yield* Drain
  // Nothing is kept for a caller between its streams: callers with tokens and certificates are without number.
  return (caller: CallerIdentity): Effect.Effect<GatewayError> => {
    const credential = keys.credentialOf(caller)
    const refused = Effect.as(keys.ended(credential), isCallerId(credential) ? withdrawnError : revokedError)
    const withdrawn = identity?.ended(caller)
    const ends = [Deferred.await(expired), refused]
    return Effect.raceAllFirst(withdrawn === undefined ? ends : [...ends, Effect.as(withdrawn, withdrawnError)])
  }
})
