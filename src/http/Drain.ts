/** Why a running reply may not go on: the server goes down, or its caller has lost its access. */
import { Context, Effect, Layer, Option } from "effect"
import { Audit } from "../audit/Audit.ts"
import { GatewayError } from "../catalog/GatewayError.ts"
import { type CallerIdentity, isCallerId } from "../contract/Security.ts"
import { Identity } from "../identity/Identity.ts"
import { Keys } from "../limits/Keys.ts"

const shutDown = new GatewayError({
  reason: "overloaded",
  message: "the gateway is shutting down; send the request again",
  retryAfter: 1,
  code: "drained"
})

const makeDrain = Effect.map(Audit, (audit) => {
  let draining = false
  let expired = false
  const waiting = new Set<(error: GatewayError) => void>()
  return {
    draining: () => draining,
    begin: Effect.sync(() => {
      if (!draining) audit({ audit: "gateway.draining", outcome: "success" })
      draining = true
    }),
    /** Why what is still running is ended; undefined until then. */
    ended: () => (expired ? shutDown : undefined),
    /** `end` is called when running streams have had their time (`GATEWAY_DRAIN_TIMEOUT`). Returns how to unsubscribe. */
    onExpired: (end: (error: GatewayError) => void) => {
      if (expired) end(shutDown)
      else waiting.add(end)
      return () => void waiting.delete(end)
    },
    expire: Effect.sync(() => {
      expired = true
      for (const end of waiting) end(shutDown)
    })
  }
})

export class Drain extends Context.Service<Drain, Effect.Success<typeof makeDrain>>()("gateway/http/Drain") {
  static readonly layer = Layer.effect(Drain, makeDrain)
}

// Running streams.

const withdrawn = (what: string) =>
  new GatewayError({
    reason: "unauthenticated",
    message: `the ${what} of this request no longer gives access`,
    code: "revoked"
  })
const revokedError = withdrawn("API key")
const withdrawnError = withdrawn("token or certificate")

/** Made once; then fails when what runs for the caller may not go on. */
export const makeTerminations = Effect.gen(function* () {
  const keys = yield* Keys
  const identity = Option.getOrUndefined(yield* Effect.serviceOption(Identity))
  const { onExpired } = yield* Drain
  // Nothing is kept for a caller between its streams: callers with tokens and certificates are without number.
  return (caller: CallerIdentity) =>
    Effect.suspend(() => {
      const credential = keys.credentialOf(caller)
      const stops: Array<(() => void) | undefined> = []
      return Effect.callback<never, GatewayError>((resume) => {
        const end = (error: GatewayError) => resume(Effect.fail(error))
        stops.push(
          onExpired(end),
          keys.onEnd(credential, () => end(isCallerId(credential) ? withdrawnError : revokedError)),
          identity?.onEnd(caller, () => end(withdrawnError))
        )
      }).pipe(
        Effect.ensuring(
          Effect.sync(() => {
            for (const stop of stops) stop?.()
          })
        )
      )
    })
})
export type Terminations = Effect.Success<typeof makeTerminations>
