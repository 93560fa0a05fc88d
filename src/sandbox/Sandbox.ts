/** Starts the three simulated clouds, and provides the settings of a gateway for them. */
import { Context, Effect, Layer, Record, Result } from "effect"
import type { Catalog } from "../catalog/Catalog.ts"
import { shippedCatalog } from "../catalog/CatalogStore.ts"
import { azure } from "./cloud/azure.ts"
import { bedrock } from "./cloud/bedrock.ts"
import { vertex } from "./cloud/vertex.ts"
import { type Call, type SimulatedCloud, startServer } from "./http.ts"
import { modelsOf } from "./models.ts"

interface SandboxOptions {
  /** Milliseconds between the events of a stream. Default 20; 0 sends as fast as the socket takes. */
  readonly pace?: number
  /** The catalog of the simulated models, called for each request. Default: the shipped one. */
  readonly catalog?: (() => Catalog) | undefined
  /** Gets each call that reaches a cloud, once its body has come. */
  readonly onCall?: (call: Call) => void
}

const make = Effect.fnUntraced(function* ({ pace = 20, catalog, onCall = () => {} }: SandboxOptions = {}) {
  const shipped = Result.getOrThrow(shippedCatalog)
  const models = modelsOf(catalog ?? (() => shipped))
  const clouds = { vertex: vertex(models), bedrock: bedrock(models), azure: azure(models) }
  const start = ({ answer }: SimulatedCloud, cloud: string) =>
    Effect.acquireRelease(
      Effect.promise(() => startServer(cloud, pace, onCall, answer)),
      ({ server }) =>
        Effect.promise(() => {
          const closed = server[Symbol.asyncDispose]()
          server.closeAllConnections()
          return closed
        })
    ).pipe(Effect.map(({ url }) => url))

  const urls = yield* Effect.all(Record.map(clouds, start))
  const environments = Record.map(clouds, ({ environment }, cloud) => environment(urls[cloud]))
  /** The settings of a gateway for this sandbox. */
  const environment: Readonly<Record<string, string>> = Object.assign({}, ...Object.values(environments))
  return { urls, environment, bearers: Record.map(clouds, ({ bearer }) => bearer) }
})

/** Three simulated clouds on loopback: Vertex AI, Amazon Bedrock and Azure OpenAI. Their credentials are made anew at each start. */
export class Sandbox extends Context.Service<Sandbox>()("gateway/sandbox/Sandbox", { make }) {
  /** Starts the clouds on free ports; they stop with the layer's scope and cut open connections. */
  static layer(options?: SandboxOptions): Layer.Layer<Sandbox> {
    return Layer.effect(Sandbox, make(options))
  }
}
