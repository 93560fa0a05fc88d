/** How the three simulated clouds start, and how a gateway is pointed at them. */
import { randomBytes } from "node:crypto"
import { Context, Effect, Layer, Result } from "effect"
import type { Catalog } from "../model/Catalog.ts"
import { shippedCatalog } from "../model/CatalogStore.ts"
import { azure } from "./cloud/azure.ts"
import { bedrock } from "./cloud/bedrock.ts"
import { vertex } from "./cloud/vertex.ts"
import { type Call, type CloudRequest, callLog, type Reply, startServer } from "./http.ts"
import { modelsOf } from "./models.ts"

/** How the sandbox plays. */
export interface SandboxOptions {
  /** Milliseconds between the words of a stream. Default 20; 0 sends as fast as the socket takes. */
  readonly pace?: number
  /** Whose models the clouds have; asked for each request. Default: the shipped catalog. */
  readonly catalog?: () => Catalog
}

const PROJECT = "sandbox-project"
const LOCATION = "us-east5"
const REGION = "us-gov-west-1"

const secret = (prefix: string): string => prefix + randomBytes(24).toString("hex")

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
    readonly otherCredentials: { readonly bedrockBearer: string; readonly azureBearer: string }
    /** The last calls (at most 1000, 64 MB of bodies), oldest first. */
    readonly calls: () => ReadonlyArray<Call>
  }
>()("gateway/sandbox/Sandbox") {
  /** Starts the clouds on free ports; they stop with the layer's scope, and cut what is still open. */
  static layer(options: SandboxOptions = {}): Layer.Layer<Sandbox> {
    return Layer.effect(
      Sandbox,
      Effect.gen(function* () {
        const { add, list } = callLog()
        const { pace = 20, catalog } = options
        const shipped = Result.getOrThrow(shippedCatalog)
        const models = modelsOf(catalog ?? (() => shipped))
        const start = (cloud: string, answer: (request: CloudRequest) => Promise<Reply> | Reply) =>
          Effect.acquireRelease(
            Effect.promise(() => startServer({ cloud, pace, add, answer })),
            ({ server }) =>
              Effect.callback<void>((resume) => {
                server.close(() => resume(Effect.void))
                server.closeAllConnections()
              })
          ).pipe(Effect.map(({ url }) => url))

        const token = secret("ya29.sandbox-")
        const accessKeyId = `AKIA${randomBytes(8).toString("hex").toUpperCase()}`
        const key = { accessKeyId, secretAccessKey: secret(""), region: REGION }
        const apiKey = secret("")
        const otherCredentials = { bedrockBearer: secret("bedrock-api-key-"), azureBearer: secret("eyJ") }
        const { bedrockBearer, azureBearer } = otherCredentials

        const vertexUrl = yield* start("vertex", vertex({ project: PROJECT, location: LOCATION, token, models }))
        const bedrockUrl = yield* start("bedrock", bedrock({ ...key, bearer: bedrockBearer, models }))
        const azureUrl = yield* start("azure", azure({ apiKey, bearer: azureBearer, models }))
        const environment = {
          VERTEX_PROJECT: PROJECT,
          VERTEX_LOCATION: LOCATION,
          VERTEX_ACCESS_TOKEN: token,
          VERTEX_BASE_URL: vertexUrl,
          BEDROCK_REGION: REGION,
          BEDROCK_BASE_URL: bedrockUrl,
          AWS_ACCESS_KEY_ID: key.accessKeyId,
          AWS_SECRET_ACCESS_KEY: key.secretAccessKey,
          AZURE_OPENAI_ENDPOINT: azureUrl,
          AZURE_OPENAI_API_KEY: apiKey
        }
        return Sandbox.of({ vertexUrl, bedrockUrl, azureUrl, environment, otherCredentials, calls: list })
      })
    )
  }
}
