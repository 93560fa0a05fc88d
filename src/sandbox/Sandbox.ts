/** Starts the three simulated clouds, and provides the settings of a gateway for them. */
import { Context, Effect, Layer, Result } from "effect"
import type { Catalog } from "../catalog/Catalog.ts"
import { shippedCatalog } from "../catalog/CatalogStore.ts"
import { type Access, newAccess } from "./cloud/access.ts"
import { azure } from "./cloud/azure.ts"
import { bedrock } from "./cloud/bedrock.ts"
import { vertex } from "./cloud/vertex.ts"
import { callLog, startServer } from "./http.ts"
import { modelsOf } from "./models.ts"

interface SandboxOptions {
  /** Milliseconds between the events of a stream. Default 20; 0 sends as fast as the socket takes. */
  readonly pace?: number
  /** The catalog of the simulated models, called for each request. Default: the shipped one. */
  readonly catalog?: () => Catalog
}

const make = Effect.fnUntraced(function* ({ pace = 20, catalog }: SandboxOptions = {}) {
  const { add, list } = callLog()
  const shipped = Result.getOrThrow(shippedCatalog)
  const models = modelsOf(catalog ?? (() => shipped))
  const access = newAccess()
  const start = (cloud: string, play: typeof vertex | typeof bedrock | typeof azure) =>
    Effect.acquireRelease(
      Effect.promise(() => startServer(cloud, pace, add, play(access, models))),
      ({ server }) =>
        Effect.promise(() => {
          const closed = server[Symbol.asyncDispose]()
          server.closeAllConnections()
          return closed
        })
    ).pipe(Effect.map(({ url }) => url))

  const vertexUrl = yield* start("vertex", vertex)
  const bedrockUrl = yield* start("bedrock", bedrock)
  const azureUrl = yield* start("azure", azure)
  /** The settings of a gateway for this sandbox. */
  const environment: Readonly<Record<string, string>> = {
    VERTEX_PROJECT: access.project,
    VERTEX_LOCATION: access.location,
    VERTEX_ACCESS_TOKEN: access.vertexBearer,
    VERTEX_BASE_URL: vertexUrl,
    BEDROCK_REGION: access.region,
    BEDROCK_BASE_URL: bedrockUrl,
    AWS_ACCESS_KEY_ID: access.accessKeyId,
    AWS_SECRET_ACCESS_KEY: access.secretAccessKey,
    AZURE_OPENAI_ENDPOINT: azureUrl,
    AZURE_OPENAI_API_KEY: access.azureKey
  }
  /** Credentials that the clouds accept too. */
  const otherCredentials: Pick<Access, "bedrockBearer" | "azureBearer"> = access
  return { vertexUrl, bedrockUrl, azureUrl, environment, otherCredentials, calls: list }
})

/** Three simulated clouds on loopback: Vertex AI, Amazon Bedrock and Azure OpenAI. Their credentials are made anew at each start. */
export class Sandbox extends Context.Service<Sandbox>()("gateway/sandbox/Sandbox", { make }) {
  /** Starts the clouds on free ports; they stop with the layer's scope and cut open connections. */
  static layer(options?: SandboxOptions): Layer.Layer<Sandbox> {
    return Layer.effect(Sandbox, make(options))
  }
}
