/** How the three simulated clouds start, and how a gateway is pointed at them. */
import { Context, Effect, Layer, Result } from "effect"
import type { Catalog } from "../model/Catalog.ts"
import { shippedCatalog } from "../model/CatalogStore.ts"
import { type Access, newAccess } from "./cloud/access.ts"
import { azure } from "./cloud/azure.ts"
import { bedrock } from "./cloud/bedrock.ts"
import { vertex } from "./cloud/vertex.ts"
import { type Call, callLog, startServer } from "./http.ts"
import { modelsOf } from "./models.ts"

/** How the sandbox plays. */
export interface SandboxOptions {
  /** Milliseconds between the words of a stream. Default 20; 0 sends as fast as the socket takes. */
  readonly pace?: number
  /** Whose models the clouds have; asked for each request. Default: the shipped catalog. */
  readonly catalog?: () => Catalog
}

/**
 * Three simulated clouds on loopback: Vertex AI, Amazon Bedrock and Azure OpenAI. They check the credentials and the requests they
 * are sent, and speak the clouds' own protocols. Their credentials are made anew at each start.
 */
export class Sandbox extends Context.Service<
  Sandbox,
  {
    readonly vertexUrl: string
    readonly bedrockUrl: string
    readonly azureUrl: string
    /** The settings that point a gateway at this sandbox. */
    readonly environment: Readonly<Record<string, string>>
    /** Credentials that the clouds take instead: a Bedrock API key, and an Entra ID token for Azure. */
    readonly otherCredentials: Pick<Access, "bedrockBearer" | "azureBearer">
    /** The last calls (at most 1000, 64 MB of bodies), oldest first. */
    readonly calls: () => ReadonlyArray<Call>
  }
>()("gateway/sandbox/Sandbox") {
  /** Starts the clouds on free ports; they stop with the layer's scope, and cut what is still open. */
  static layer(options: SandboxOptions = {}): Layer.Layer<Sandbox> {
    return Layer.effect(
      Sandbox,
      Effect.gen(function* () {
        const { pace = 20, catalog } = options
        const { add, list } = callLog()
        const shipped = Result.getOrThrow(shippedCatalog)
        const models = modelsOf(catalog ?? (() => shipped))
        const access = newAccess()
        const start = (cloud: string, play: typeof vertex | typeof bedrock | typeof azure) =>
          Effect.acquireRelease(
            Effect.promise(() => startServer({ cloud, pace, add, answer: play(access, models) })),
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
        const environment = {
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
        return Sandbox.of({ vertexUrl, bedrockUrl, azureUrl, environment, otherCredentials: access, calls: list })
      })
    )
  }
}
