/** The server in this process, from its start to the end of its last stream. */
import { Effect, Layer, Option } from "effect"
import { HttpServer } from "effect/http"
import { gatewayLayer } from "./Server.ts"
import type { GatewaySettings } from "./Settings.ts"
import type { CloudSettings } from "./settings/clouds.ts"
import { settle } from "./settle.ts"
import { activityLayer } from "./status/Activity.ts"
import { Drain } from "./surface/Drain.ts"
import { telemetryLayer } from "./Telemetry.ts"

export interface ServeOptions<E, R> {
  readonly gateway: GatewaySettings
  readonly clouds: CloudSettings
  readonly sandbox: boolean
  /** Run once, when connections are taken on this port. */
  readonly whenListening: (port: number) => Effect.Effect<void, E, R>
}

const listening = <E, R>({ gateway, whenListening }: ServeOptions<E, R>) =>
  Effect.gen(function* () {
    const { address } = yield* HttpServer.HttpServer
    yield* whenListening(address._tag === "UnixPathAddress" ? gateway.port : address.port)
    yield* Effect.forkScoped(settle)
  })

/**
 * On the way down `/health` says `draining` at once; after the delay no connection is taken any more; streams may finish
 * until the timeout, and are then ended in-band.
 */
const drainOnShutdown = ({ drainDelay, drainTimeout }: GatewaySettings) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const drain = yield* Drain
      yield* Effect.addFinalizer(() =>
        drain.begin.pipe(
          Effect.andThen(Effect.sleep(drainDelay)),
          Effect.andThen(Effect.forkDetach(Effect.delay(drain.expire, drainTimeout)))
        )
      )
    })
  )

export const serveHere = <E, R>(options: ServeOptions<E, R>) => {
  const { gateway: settings, clouds, sandbox } = options
  const docs = Option.getOrElse(settings.docs, () => (sandbox ? "public" : "off")) === "public"
  return Layer.mergeAll(Layer.effectDiscard(listening(options)), drainOnShutdown(settings)).pipe(
    Layer.provide(gatewayLayer({ settings, clouds, docs, sandbox })),
    Layer.provide(activityLayer(Option.isSome(settings.metricsPort))),
    Layer.provide(telemetryLayer(settings)),
    Layer.launch
  )
}
