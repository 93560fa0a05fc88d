/** What every inference request passes after its body has been read: the model, the key's permission, streams, the quota. */
import { Context, Deferred, Effect, Fiber, Layer, type Scope } from "effect"
import { Keys, permits } from "../access/Keys.ts"
import { estimateTokens, Quota } from "../access/Quota.ts"
import { RateLimit } from "../access/RateLimit.ts"
import { CatalogStore } from "../model/CatalogStore.ts"
import { GatewayError, internal } from "../model/GatewayError.ts"
import type { Purpose, Route } from "../model/Route.ts"
import type { Operation, Provider } from "../provider/Provider.ts"
import { Drain } from "./Drain.ts"
import { CurrentObservation, type Observation } from "./Observation.ts"

const revokedError = new GatewayError({
  reason: "forbidden",
  message: "the API key has been revoked or has expired",
  code: "revoked"
})

export class Gate extends Context.Service<
  Gate,
  {
    /** Resolves a model ID for a purpose and checks that the caller may use it. */
    readonly admit: (id: string, purpose: Purpose) => Effect.Effect<Route, GatewayError>
    /**
     * Holds what the request may use until its scope closes: one of the key's streams, and an upper bound of tokens, made
     * from the body and the largest output. Charged is what the upstream counted; of a broken stream, about what came.
     */
    readonly hold: (options: {
      readonly stream: boolean
      readonly maxOutput: number
    }) => Effect.Effect<void, GatewayError, Scope.Scope>
    /** Calls back when a running stream of the caller may not go on; answers how to stop watching. */
    readonly watchEnd: (observation: Observation) => (ended: (error: GatewayError) => void) => () => void
  }
>()("gateway/surface/Gate") {
  static readonly layer = Layer.effect(
    Gate,
    Effect.gen(function* () {
      const catalog = yield* CatalogStore
      const keys = yield* Keys
      const limit = yield* RateLimit
      const quota = yield* Quota
      const drain = yield* Drain

      const admit = Effect.fnUntraced(function* (id: string, purpose: Purpose) {
        const observation = yield* CurrentObservation
        observation.modelId = id
        const index = yield* catalog.current
        const route = yield* Effect.fromResult(index.resolve(id, purpose))
        if (observation.key === undefined) return yield* internal
        yield* Effect.fromResult(permits(observation.key, { base: route.model.id, level: route.level }))
        observation.route = route
        return route
      })

      const hold = Effect.fnUntraced(function* ({ stream, maxOutput }: { stream: boolean; maxOutput: number }) {
        const observation = yield* CurrentObservation
        const { key } = observation
        if (key === undefined) return yield* internal
        if (stream) yield* limit.stream(key)
        const { bytesIn, images, files } = observation
        const reservation = yield* quota.reserve(key, estimateTokens(bytesIn, maxOutput, images + files))
        observation.reservation = reservation
        observation.replyHeaders = { ...observation.replyHeaders, ...reservation.headers }
        // Runs before the reservation is settled, and after a stream has said what it used.
        yield* Effect.addFinalizer(() => {
          reservation.use(usedTokens(observation))
          return Effect.void
        })
      })

      const watchers = yield* makeWatchers(keys, drain)
      const watchEnd = ({ key }: Observation) => watchers(key?.id ?? "")
      return { admit, hold, watchEnd }
    })
  )
}

/** One fiber a key with running streams, and one for the drain; a stream itself costs an entry in a set. */
const makeWatchers = Effect.fnUntraced(function* (keys: Keys["Service"], drain: Drain["Service"]) {
  const scope = yield* Effect.scope
  const context = yield* Effect.context<never>()
  const run = Effect.runForkWith(context)
  const running = new Map<string, Set<(error: GatewayError) => void>>()
  const tell = (listeners: Iterable<(error: GatewayError) => void>, error: GatewayError) => {
    for (const listener of [...listeners]) listener(error)
  }
  yield* Deferred.await(drain.expired).pipe(
    Effect.flatMap((error) =>
      Effect.sync(() =>
        tell(
          [...running.values()].flatMap((listeners) => [...listeners]),
          error
        )
      )
    ),
    Effect.forkIn(scope)
  )
  const listenersOf = (keyId: string) => {
    const known = running.get(keyId)
    if (known !== undefined) return known
    const listeners = new Set<(error: GatewayError) => void>()
    running.set(keyId, listeners)
    Fiber.runIn(
      run(
        Effect.andThen(
          keys.ended(keyId),
          Effect.sync(() => {
            running.delete(keyId)
            tell(listeners, revokedError)
          })
        )
      ),
      scope
    )
    return listeners
  }
  return (keyId: string) => (listener: (error: GatewayError) => void) => {
    const listeners = listenersOf(keyId)
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
    }
  }
})

/** About four bytes of a prompt are a token, and an event of a stream is about one. */
const usedTokens = ({ tokens, streamEnd, events, bytesIn }: Observation) => {
  if (tokens !== undefined && (streamEnd === undefined || streamEnd === "complete")) return tokens.input + tokens.output
  if (events === 0) return 0
  return (tokens?.input ?? Math.ceil(bytesIn / 4)) + Math.max(tokens?.output ?? 0, events)
}
/** Which boundary serves the request: for the caller, who can prove it (decisions: Beyond the spec), and for the record. */
export const servedHeaders = (
  observation: Observation,
  route: Route,
  provider: Provider["Service"],
  operation: Operation
): Readonly<Record<string, string>> => {
  const region = provider.region(route, operation)
  observation.region = region
  return {
    "x-gateway-served-model": route.model.id,
    "x-gateway-served-by": `${route.deployment.cloud}/${region}`,
    "x-gateway-served-level": route.level
  }
}
