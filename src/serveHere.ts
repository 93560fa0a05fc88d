/** The server in this process, from its start to the end of its last stream. */
import { flushCompileCache } from "node:module"
import { Cause, Duration, Effect, Exit, Layer, Option } from "effect"
import { HttpServer } from "effect/http"
import { Drain } from "./http/Drain.ts"
import { Activity } from "./operators/status/Activity.ts"
import { type GatewayOptions, gatewayLayer } from "./Server.ts"
import type { GatewaySettings } from "./Settings.ts"
import { crash } from "./statements.ts"
import { telemetryLayer } from "./Telemetry.ts"

interface ServeOptions<E, R> extends GatewayOptions {
  /** Run once, when connections are taken on this port. */
  readonly whenListening: (port: number) => Effect.Effect<void, E, R>
}

const listening = <E, R>({ settings, whenListening }: ServeOptions<E, R>) =>
  Effect.gen(function* () {
    const { address } = yield* HttpServer.HttpServer
    yield* whenListening(address._tag === "UnixPathAddress" ? settings.port : address.port)
    // A process that is killed writes none at its end.
    flushCompileCache()
  })

/**
 * On the way down `/health` answers `draining`; after the delay the listener closes; streams may finish until the timeout, and are
 * then ended in-band. After an error that no handler took there is no time for either.
 */
const drainOnShutdown = ({ drainDelay, drainTimeout }: GatewaySettings) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const drain = yield* Drain
      yield* Effect.addFinalizer((exit) => {
        const crashed = Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause)
        return drain.begin.pipe(
          Effect.andThen(Effect.sleep(crashed ? 0 : drainDelay)),
          Effect.andThen(Effect.forkDetach(Effect.delay(drain.expire, crashed ? 0 : drainTimeout)))
        )
      })
    })
  )

/** For what is done after a crash: requests are cut off, their records written, telemetry sent. */
const afterCrash = Duration.seconds(20)

export const serveHere = <E, R>(options: ServeOptions<E, R>) => {
  const { settings } = options
  const serving = Layer.mergeAll(Layer.effectDiscard(listening(options)), drainOnShutdown(settings)).pipe(
    Layer.provide(gatewayLayer(options)),
    Layer.provide(Option.isSome(settings.metricsPort) ? Activity.layer : Layer.empty)
  )
  return Effect.scoped(Effect.andThen(Layer.build(serving), crash(afterCrash))).pipe(
    Effect.provide(telemetryLayer(settings))
  )
}
