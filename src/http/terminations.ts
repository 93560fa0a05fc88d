/** Why a running stream may not go on: its key was revoked or has expired, or the server has to stop. */
import { Deferred, Effect } from "effect"
import { GatewayError } from "../catalog/GatewayError.ts"
import { Keys } from "../limits/Keys.ts"
import { Drain } from "./Drain.ts"

const revokedError = new GatewayError({
  reason: "forbidden",
  message: "the API key has been revoked or has expired",
  code: "revoked"
})

/** One fiber a key with streams; each stream awaits what it answers. */
export const makeEnds = Effect.gen(function* () {
  const keys = yield* Keys
  const { expired } = yield* Drain
  const scope = yield* Effect.scope
  const ends = new Map<string, Deferred.Deferred<GatewayError>>()
  return (keyId: string): Effect.Effect<GatewayError> =>
    Effect.suspend(() => {
      const known = ends.get(keyId)
      if (known !== undefined) return Deferred.await(known)
      const end = Deferred.makeUnsafe<GatewayError>()
      ends.set(keyId, end)
      const revoked = Effect.as(keys.ended(keyId), revokedError)
      return Effect.raceFirst(Deferred.await(expired), revoked).pipe(
        Effect.tap((error) => {
          ends.delete(keyId)
          return Deferred.succeed(end, error)
        }),
        Effect.forkIn(scope),
        Effect.andThen(Deferred.await(end))
      )
    })
})
