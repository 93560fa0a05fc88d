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

/** One fiber a credential with streams; each stream awaits what it answers. */
export const makeTerminations = Effect.gen(function* () {
  const keys = yield* Keys
  const identity = Option.getOrUndefined(yield* Effect.serviceOption(Identity))
  const { expired } = yield* Drain
  const scope = yield* Effect.scope
  const ends = new Map<string, Deferred.Deferred<GatewayError>>()
  const endOf = (credential: string): Effect.Effect<GatewayError> =>
    Effect.suspend(() => {
      const known = ends.get(credential)
      if (known !== undefined) return Deferred.await(known)
      const end = Deferred.makeUnsafe<GatewayError>()
      ends.set(credential, end)
      const revoked = Effect.as(keys.ended(credential), isCallerId(credential) ? withdrawnError : revokedError)
      return Effect.raceFirst(Deferred.await(expired), revoked).pipe(
        Effect.tap((error) => {
          ends.delete(credential)
          return Deferred.succeed(end, error)
        }),
        Effect.forkIn(scope),
        Effect.andThen(Deferred.await(end))
      )
    })
  return (caller: CallerIdentity): Effect.Effect<GatewayError> => {
    const end = endOf(keys.credentialOf(caller))
    const withdrawn = identity?.ended(caller)
    return withdrawn === undefined ? end : Effect.raceFirst(end, Effect.as(withdrawn, withdrawnError))
  }
})
