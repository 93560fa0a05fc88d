/** `serve`: settings, sandbox where no cloud is configured, the server, and the way down. */
import { Console, Data, Duration, Effect, Layer, Option } from "effect"
import { HttpServer } from "effect/http"
import { CatalogStore } from "./model/CatalogStore.ts"
import { gatewayLayer } from "./Server.ts"
import { activeClouds, type CloudSettings, environment, type GatewaySettings, load } from "./Settings.ts"
import { Drain } from "./surface/Drain.ts"
import { telemetryLayer } from "./Telemetry.ts"

class NoCloud extends Data.TaggedError("NoCloud")<{ readonly message: string }> {}

interface Loaded {
  readonly gateway: GatewaySettings
  readonly clouds: CloudSettings
  readonly sandbox: boolean
}

/** The settings, pointed at the sandbox's clouds when there is no other or the operator wants it so. */
const loadWithSandbox = Effect.gen(function* () {
  const env = environment()
  const loaded = yield* load(env)
  const configured = activeClouds(loaded.clouds).size > 0
  const { sandbox } = loaded.gateway
  if (sandbox === "off" && !configured) {
    return yield* new NoCloud({
      message:
        "no cloud is configured: set VERTEX_PROJECT, BEDROCK_REGION or AZURE_OPENAI_ENDPOINT, or GATEWAY_SANDBOX=auto to try the gateway without one"
    })
  }
  if (sandbox === "off" || (sandbox === "auto" && configured)) {
    const result: Loaded = { ...loaded, sandbox: false }
    return result
  }
  const { Sandbox } = yield* Effect.promise(() => import("./sandbox/Sandbox.ts"))
  const context = yield* Layer.build(Sandbox.layer({ pace: Duration.toMillis(loaded.gateway.sandboxPace) }))
  const clouds = yield* load(
    yield* Effect.provide(
      Effect.map(Sandbox, ({ environment }) => environment),
      context
    )
  )
  const result: Loaded = { gateway: loaded.gateway, clouds: clouds.clouds, sandbox: true }
  return result
})

const announce = (loaded: Loaded) =>
  Effect.gen(function* () {
    const server = yield* HttpServer.HttpServer
    const catalog = yield* CatalogStore
    const { list } = yield* catalog.current
    const address =
      server.address._tag === "UnixPathAddress"
        ? server.address.path
        : `http://${loaded.gateway.host}:${server.address.port}`
    const clouds = loaded.sandbox ? "sandbox" : [...activeClouds(loaded.clouds)].join(", ")
    yield* Console.log(`listening on ${address} (clouds: ${clouds}; ${list.length} model IDs)`)
    if (loaded.sandbox) {
      yield* Console.log(`This is the sandbox: three simulated clouds on this machine, no data leaves it. Try:

  curl -N ${address}/v1/messages -H 'x-api-key: sandbox-key' -H 'content-type: application/json' \\
    -d '{"model":"claude-sonnet-4-5:il5","max_tokens":300,"stream":true,"messages":[{"role":"user","content":"What can you do?"}]}'
`)
    }
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

export const serve = Effect.gen(function* () {
  const loaded = yield* loadWithSandbox
  const { gateway: settings, clouds, sandbox } = loaded
  const docs = Option.getOrElse(settings.docs, () => (sandbox ? "public" : "off")) === "public"
  const server = Layer.mergeAll(Layer.effectDiscard(announce(loaded)), drainOnShutdown(settings)).pipe(
    Layer.provide(gatewayLayer({ settings, clouds, docs, sandbox })),
    Layer.provide(telemetryLayer(settings))
  )
  return yield* Layer.launch(server)
}).pipe(Effect.scoped)
