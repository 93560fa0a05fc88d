/** Azure OpenAI: chat completions and responses through the v1 routes (docs/upstreams.md#azure-openai). */
import { Effect, Layer, Option } from "effect"
import type { Route } from "../model/Route.ts"
import { Clouds } from "../Settings.ts"
import type { AzureSettings } from "../settings/clouds.ts"
import { mapNow } from "../wire/now.ts"
import { sse } from "../wire/sseDecoder.ts"
import { spanOf } from "./callAttributes.ts"
import { azure as azureCredential } from "./credentials/azure.ts"
import { faultError, makeScrub } from "./fault.ts"
import { perKind } from "./kinds.ts"
import { Outgoing } from "./Outgoing.ts"
import { type Ask, Provider } from "./Provider.ts"
import { makeTargets } from "./Target.ts"
import { type Call, Upstream } from "./Upstream.ts"

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
    const upstream = yield* Upstream
    const endpoint = new URL(settings.endpoint)
    const credential = yield* credentialOf(settings)

    const target = makeTargets({
      cloud: "azure",
      baseUrl: settings.endpoint,
      place: (_, operation) => ({
        origin: settings.endpoint,
        path: `/openai/v1/${operation === "responses" ? "responses" : "chat/completions"}`
      })
    })

    const scrub = (route: Route) =>
      makeScrub([
        [endpoint.hostname, "the upstream"],
        [route.deployment.model, route.model.id]
      ])
    const kind = perKind((route, operation, stream) => {
      const at = target(route, operation, stream, settings.region)
      return { at, scrub: scrub(route), span: spanOf(route, operation, at, stream) }
    })
    const regions = [settings.region]

    const call = ({ route, operation, body, large, asked, stopper, parent }: Ask, stream: boolean): Call => {
      const contentType = stream ? "text/event-stream" : "application/json"
      const { at, scrub, span } = kind(route, operation, stream)
      return {
        deployment: route.deployment,
        regions,
        prepare: () =>
          mapNow(credential.headers, (headers) => ({ target: at, headers: { ...headers, accept: contentType } })),
        refresh: Option.isSome(settings.apiKey) ? undefined : ({ headers }) => credential.refresh(headers),
        body: new Outgoing({ ...body, model: route.deployment.model }, { large }),
        contentType,
        scrub,
        span,
        parent,
        asked,
        stopper
      }
    }

    return Provider.of({
      send: (ask) => upstream.send(call(ask, false)),
      stream: (ask) => upstream.stream(call(ask, true), sse),
      faultError: (route, fault) => faultError(fault, scrub(route))
    })
  })
)
