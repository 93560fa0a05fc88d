/** `serve`: settings, sandbox where no cloud is configured, the server or its workers, and the way down. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { Console, Data, Duration, Effect, Layer, Option } from "effect"
import { loadCatalog } from "./model/CatalogStore.ts"
import { requestable } from "./model/Resolver.ts"
import {
  activeClouds,
  type CloudSettings,
  type Environment,
  environment,
  type GatewaySettings,
  load,
  unknownSettings
} from "./Settings.ts"
import { settle } from "./settle.ts"
import { logsLayer } from "./telemetry/logs.ts"
import { isWorker, reportReady, runWorkers } from "./workers.ts"

class NoCloud extends Data.TaggedError("NoCloud")<{ readonly message: string }> {}

interface Loaded {
  readonly gateway: GatewaySettings
  readonly clouds: CloudSettings
  readonly sandbox: boolean
  /** What a worker's environment needs beyond this process's own. */
  readonly forWorkers: Readonly<Record<string, string>>
}

/** Variables that configure clouds. An empty one counts as absent. */
const cloudVariable = /^(VERTEX|BEDROCK|AWS|AZURE)_/
const withoutClouds = (env: Environment): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.keys(env)
      .filter((name) => cloudVariable.test(name))
      .map((name) => [name, ""])
  )

/** The settings, pointed at the sandbox's clouds when there is no other or the operator wants it so. */
const loadWithSandbox = Effect.gen(function* () {
  const env = environment()
  const loaded = yield* load(env)
  const configured = activeClouds(loaded.clouds).size > 0
  const { sandbox, sandboxPace } = loaded.gateway
  if (sandbox === "off" && !configured) {
    return yield* new NoCloud({
      message:
        "no cloud is configured: set VERTEX_PROJECT, BEDROCK_REGION or AZURE_OPENAI_ENDPOINT, or GATEWAY_SANDBOX=auto to try the gateway without one"
    })
  }
  // The clouds that a worker finds in its environment are the sandbox's already: it is the first process that runs them.
  if (isWorker || sandbox === "off" || (sandbox === "auto" && configured)) {
    const result: Loaded = { ...loaded, sandbox: isWorker && sandbox === "on", forWorkers: { GATEWAY_SANDBOX: "off" } }
    return result
  }
  const { Sandbox } = yield* Effect.promise(() => import("./sandbox/Sandbox.ts"))
  const context = yield* Layer.build(Sandbox.layer({ pace: Duration.toMillis(sandboxPace) }))
  const simulated = yield* Effect.provide(
    Effect.map(Sandbox, ({ environment }) => environment),
    context
  )
  const { clouds } = yield* load(simulated)
  const result: Loaded = {
    gateway: loaded.gateway,
    clouds,
    sandbox: true,
    forWorkers: { ...withoutClouds(env), ...simulated, GATEWAY_SANDBOX: "on" }
  }
  return result
})

/** The one line that says the gateway serves (operation: Commands), and a first request for the sandbox. */
const announce = ({ gateway, clouds, sandbox }: Loaded, port: number) =>
  Effect.gen(function* () {
    const active = activeClouds(clouds)
    const { length } = requestable(yield* loadCatalog(gateway.catalogFile), active)
    const host = gateway.host.includes(":") ? `[${gateway.host}]` : gateway.host
    const address = `${Option.isSome(gateway.tlsCert) ? "https" : "http"}://${host}:${port}`
    yield* Console.log(
      `listening on ${address} (clouds: ${sandbox ? "sandbox" : [...active].join(", ")}; ${length} model IDs)`
    )
    for (const name of unknownSettings(environment())) {
      yield* Effect.logWarning(`${name} is not a setting of the gateway; docs/operation.md lists them`)
    }
    if (sandbox) {
      yield* Console.log(`This is the sandbox: three simulated clouds on this machine, no data leaves it. Try:

  curl -N ${address}/v1/messages -H 'x-api-key: sandbox-key' -H 'content-type: application/json' \\
    -d '{"model":"claude-sonnet-4-5:il5","max_tokens":300,"stream":true,"messages":[{"role":"user","content":"What can you do?"}]}'

The reference is at ${address}/docs; a chat in the terminal is: npm run gateway -- chat --model claude-sonnet-4-5:il5
`)
    }
  })

/** Only what is served with is loaded: a first process that has workers serves nothing, and has a third less memory. */
export const serve = Effect.gen(function* () {
  const loaded = yield* loadWithSandbox
  const { gateway: settings, forWorkers } = loaded
  const whenListening = (port: number) => (isWorker ? reportReady(port) : announce(loaded, port))
  if (isWorker || settings.workers === 1) {
    const { serveHere } = yield* Effect.promise(() => import("./serveHere.ts"))
    return yield* serveHere({ ...loaded, whenListening })
  }
  return yield* runWorkers({
    settings,
    environment: forWorkers,
    announce: (port) => Effect.andThen(whenListening(port), settle)
  }).pipe(Effect.provide(logsLayer(settings)))
}).pipe(Effect.provide(NodeFileSystem.layer), Effect.scoped)
