/** What every inference request passes after its body has been read: the model, the key's permission, the limits. */
import { Context, Effect, Layer } from "effect"
import { permits } from "../access/Keys.ts"
import { CatalogStore } from "../model/CatalogStore.ts"
import { type GatewayError, internal } from "../model/GatewayError.ts"
import type { Purpose } from "../model/Resolver.ts"
import type { Route } from "../model/Route.ts"
import type { Operation, Provider } from "../provider/Provider.ts"
import { CurrentObservation } from "./Observation.ts"

export class Gate extends Context.Service<
  Gate,
  {
    /** Resolves a model ID for a purpose and checks that the caller may use it. */
    readonly admit: (id: string, purpose: Purpose) => Effect.Effect<Route, GatewayError>
  }
>()("gateway/surface/Gate") {
  static readonly layer = Layer.effect(
    Gate,
    Effect.gen(function* () {
      const catalog = yield* CatalogStore
      return {
        admit: Effect.fnUntraced(function* (id: string, purpose: Purpose) {
          const observation = yield* CurrentObservation
          observation.modelId = id
          const index = yield* catalog.current
          const route = yield* Effect.fromResult(index.resolve(id, purpose))
          if (observation.key === undefined) return yield* internal
          yield* Effect.fromResult(permits(observation.key, { base: route.model.id, level: route.level }))
          observation.route = route
          return route
        })
      }
    })
  )
}

/** The caller can prove which boundary served it (decisions: Beyond the spec). */
export const servedHeaders = (
  route: Route,
  provider: Provider["Service"],
  operation: Operation
): Readonly<Record<string, string>> => ({
  "x-gateway-served-by": `${route.deployment.cloud}/${provider.region(route, operation)}`,
  "x-gateway-served-level": route.level
})
