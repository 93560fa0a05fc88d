/**
 * Whether the server is going down, and why a running stream may not go on: the server has to stop, or its caller has lost its
 * access.
 */
import { Context, Deferred, Effect, Layer, Option } from "effect"
import { Audit } from "../audit/Audit.ts"
import { GatewayError } from "../catalog/GatewayError.ts"
import type { CallerIdentity } from "../contract/Security.ts"
import { Identity } from "../identity/Identity.ts"
import { isCallerId } from "../limits/KeyFile.ts"
import { Keys } from "../limits/Keys.ts"

const shutDown = new GatewayError({
  reason: "overloaded",
  message: "the gateway is shutting down; send the request again",
  code: "drained"
})

export class Drain extends Context.Service<
  Drain,
  {
    readonly draining: () => boolean
    readonly begin: Effect.Effect<void>
    /** Why what is still running is ended; undefined until then. */
    readonly ended: () => GatewayError | undefined
    /** Answers when running streams have had their time (`GATEWAY_DRAIN_TIMEOUT`). */
    readonly expired: Deferred.Deferred<GatewayError>
    readonly expire: Effect.Effect<void>
  }
>()("gateway/http/Drain") {
  static readonly layer = Layer.effect(
    Drain,
    Effect.gen(function* () {
      const audit = yield* Audit
      let draining = false
      const expired = yield* Deferred.make<GatewayError>()
      return {
        draining: () => draining,
        begin: Effect.sync(() => {
          if (!draining) audit({ audit: "gateway.draining", outcome: "success" })
          draining = true
        }),
        ended: () => (Deferred.isDoneUnsafe(expired) ? shutDown : undefined),
        expired,
        expire: Effect.asVoid(Deferred.succeed(expired, shutDown))
      }
    })
  )
}

// Why a running stream may not go on: its caller has lost its access, or the server has to stop.

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
