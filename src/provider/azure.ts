/** Azure OpenAI: chat completions and responses through the v1 routes (upstreams: Azure OpenAI). */
import { Effect, Layer, Option } from "effect"
import type { Route } from "../model/Route.ts"
import { Clouds } from "../Settings.ts"
import { azure as azureCredential } from "./credentials/azure.ts"
import { openStream, sendJson, spanOf } from "./exchange.ts"
import { sse } from "./framing/sse.ts"
import { type Body, type Operation, Provider } from "./Provider.ts"
import { makeScrub, refusal } from "./refusal.ts"
import { type Call, Upstream } from "./Upstream.ts"

export const azure = Layer.effect(
  Provider,
  Effect.gen(function* () {
    const settings = yield* Effect.flatMap(Clouds, ({ azure }) => Effect.fromOption(azure))
    const upstream = yield* Upstream
    const endpoint = new URL(settings.endpoint)
    const credential = yield* azureCredential({
      endpoint,
      apiKey: Option.getOrUndefined(settings.apiKey),
      tenantId: Option.getOrUndefined(settings.tenantId),
      clientId: Option.getOrUndefined(settings.clientId),
      clientSecret: Option.getOrUndefined(settings.clientSecret),
      clientCertificatePath: Option.getOrUndefined(settings.clientCertificatePath),
      federatedTokenFile: Option.getOrUndefined(settings.federatedTokenFile),
      authorityHost: Option.getOrUndefined(settings.authorityHost)
    })

    const call = (route: Route, operation: Operation, body: Body, stream: boolean): Call => {
      const url = new URL(
        `${settings.endpoint}/openai/v1/${operation === "responses" ? "responses" : "chat/completions"}`
      )
      return {
        cloud: "azure",
        regions: [settings.region],
        prepare: () =>
          Effect.map(credential.headers, (headers) => ({
            url,
            headers: { ...headers, accept: stream ? "text/event-stream" : "application/json" }
          })),
        refresh: Option.isSome(settings.apiKey) ? undefined : ({ headers }) => credential.refresh(headers),
        body: JSON.stringify({ ...body, model: route.deployment.model }),
        contentType: stream ? "text/event-stream" : "application/json",
        refusal: refusal(scrub(route)),
        span: spanOf(route, operation, url, stream)
      }
    }
    const scrub = (route: Route) =>
      makeScrub([
        [endpoint.hostname, "the upstream"],
        [route.deployment.model, route.model.id]
      ])

    return Provider.of({
      region: () => settings.region,
      send: (route, operation, body) => sendJson(upstream, call(route, operation, body, false)),
      stream: (route, operation, body, stopper) =>
        openStream(upstream, call(route, operation, body, true), stopper, sse, scrub(route))
    })
  })
)
