/** Whether the server is going down: `/health` says so, connections are not kept, and in the end streams are ended. */
import { Context, Deferred, Effect, Layer } from "effect"
import { Audit } from "../audit/Audit.ts"
import { GatewayError } from "../catalog/GatewayError.ts"

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
