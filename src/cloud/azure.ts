/** Azure OpenAI: chat completions and responses through the v1 routes (docs/upstreams.md#azure-openai). */
import { Effect, Layer, Option } from "effect"
import { Clouds } from "../Settings.ts"
import type { AzureSettings } from "../settings/clouds.ts"
import { sse } from "../stream/sse.ts"
import type { Cloud } from "./Cloud.ts"
import { azure as azureCredential } from "./credentials/azure.ts"
import { makeScrub } from "./fault.ts"
import { makeProvider } from "./makeProvider.ts"
import { Provider } from "./Provider.ts"

/** What is configured, or a managed identity. */
export const credentialOf = (settings: AzureSettings) =>
  azureCredential({
    endpoint: new URL(settings.endpoint),
    apiKey: Option.getOrUndefined(settings.apiKey),
    tenantId: Option.getOrUndefined(settings.tenantId),
    clientId: Option.getOrUndefined(settings.clientId),
    clientSecret: Option.getOrUndefined(settings.clientSecret),
    clientCertificatePath: Option.getOrUndefined(settings.clientCertificatePath),
    federatedTokenFile: Option.getOrUndefined(settings.federatedTokenFile),
    authorityHost: Option.getOrUndefined(settings.authorityHost)
  })

export const azure = Layer.effect(
  Provider,
  Effect.gen(function* () {
    const settings = yield* Effect.flatMap(Clouds, ({ azure }) => Effect.fromOption(azure))
    const { hostname } = new URL(settings.endpoint)
    const cloud: Cloud = {
      name: "azure",
      endpoint: {
        baseUrl: settings.endpoint,
        regions: () => [settings.region],
        host: () => settings.endpoint,
        path: ({ operation }) => `/openai/v1/${operation === "responses" ? "responses" : "chat/completions"}`,
        message: ({ route }, body) => ({ body: { ...body, model: route.deployment.model } })
      },
      auth: yield* credentialOf(settings),
      framing: () => ({ contentType: "text/event-stream", decoder: sse }),
      scrub: ({ deployment, model }) =>
        makeScrub([
          [hostname, "the upstream"],
          [deployment.model, model.id]
        ])
    }
    return yield* makeProvider(cloud)
  })
)
