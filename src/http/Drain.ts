/** Whether the server is going down, and how long what is still running may go on. */
import { Context, Effect, Layer } from "effect"
import { Audit } from "../audit/Audit.ts"
import { GatewayError } from "../catalog/GatewayError.ts"

const shutDown = new GatewayError({
  reason: "overloaded",
  message: "the gateway is shutting down; send the request again",
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
