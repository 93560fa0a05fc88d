/** Why a running stream may not go on: the server has to stop, or its caller has lost its access. */
import { Effect, Option } from "effect"
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

/** Made once; then has `end` called when a stream of the caller's may not go on. Returns how to unsubscribe. */
export const makeTerminations = Effect.gen(function* () {
  const keys = yield* Keys
  const identity = Option.getOrUndefined(yield* Effect.serviceOption(Identity))
  const { onExpired } = yield* Drain
  // Nothing is kept for a caller between its streams: callers with tokens and certificates are without number.
  return (caller: CallerIdentity, end: (error: GatewayError) => void): (() => void) => {
    const credential = keys.credentialOf(caller)
    const stops = [
      onExpired(end),
      keys.onEnd(credential, () => end(isCallerId(credential) ? withdrawnError : revokedError)),
      identity?.onEnd(caller, () => end(withdrawnError))
    ]
    return () => {
      for (const stop of stops) stop?.()
    }
  }
})
export type OnTermination = Effect.Success<typeof makeTerminations>
