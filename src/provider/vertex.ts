/** Google Vertex AI: Claude through rawPredict, Gemini through generateContent (docs/upstreams.md#vertex-ai). */
import { Effect, Layer, Option } from "effect"
import type { Operation, Route } from "../model/Route.ts"
import { Clouds } from "../Settings.ts"
import type { VertexSettings } from "../settings/clouds.ts"
import { arrayOf } from "../wire/json.ts"
import { mapNow } from "../wire/now.ts"
import { sse } from "../wire/sseDecoder.ts"
import { spanOf } from "./callAttributes.ts"
import { google } from "./credentials/google.ts"
import { faultError, makeScrub } from "./fault.ts"
import { perKind } from "./kinds.ts"
import { Outgoing } from "./Outgoing.ts"
import { type Ask, type Body, Provider } from "./Provider.ts"
import { makeTargets } from "./Target.ts"
import { type Call, Upstream } from "./Upstream.ts"

/** Semantics of Anthropic's API version 2023-06-01; the 2026-10-21 one refuses sampling parameters. */
const anthropicVersion = "vertex-2023-10-16"

/** Where a location is reached. */
export const host = (location: string) =>
  location === "us"
    ? `https://aiplatform.${location}.rep.googleapis.com`
    : `https://${location}-aiplatform.googleapis.com`

/** `@` of dated IDs stays as it is. */
const segment = (text: string) => encodeURIComponent(text).replaceAll("%40", "@")

const path = (settings: VertexSettings, location: string, route: Route, operation: Operation, stream: boolean) => {
  const base = `/v1/projects/${segment(settings.project)}/locations/${segment(location)}/publishers`
  if (operation === "count") return `${base}/anthropic/models/count-tokens:rawPredict`
  const model = segment(route.deployment.model)
  return operation === "content"
    ? `${base}/google/models/${model}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`
    : `${base}/anthropic/models/${model}:${stream ? "streamRawPredict" : "rawPredict"}`
}

/** Few bodies name either; the others are not copied for it. */
const unnamed = (body: Body): Body => {
  if (body.anthropic_beta === undefined && body.model === undefined) return body
  const { anthropic_beta: _, model: __, ...rest } = body
  return rest
}

/** Betas travel in a header here, the version in the body, and the model in the address unless tokens are counted. */
const bodyOf = (route: Route, operation: Operation, body: Body, stream: boolean) => {
  if (operation === "content") return { body, betas: [] }
  return {
    betas: arrayOf(body.anthropic_beta),
    body: {
      anthropic_version: anthropicVersion,
      ...(operation === "count" ? { model: route.deployment.countModel } : undefined),
      ...unnamed(body),
      ...(stream ? { stream: true } : undefined)
    }
  }
}

/** What is configured, or Application Default Credentials. */
export const credentialOf = ({ accessToken, project }: VertexSettings) =>
  google({ project, accessToken: Option.getOrUndefined(accessToken) })

export const vertex = Layer.effect(
  Provider,
  Effect.gen(function* () {
    const settings = yield* Effect.flatMap(Clouds, ({ vertex }) => Effect.fromOption(vertex))
    const upstream = yield* Upstream
    const credential = yield* credentialOf(settings)

    const locations = (route: Route, operation: Operation): ReadonlyArray<string> =>
      operation === "count" && Option.isSome(settings.countLocation)
        ? [settings.countLocation.value]
        : (route.deployment.regions ?? [settings.location])

    const target = makeTargets({
      cloud: "vertex",
      baseUrl: Option.getOrUndefined(settings.baseUrl),
      place: (route, operation, stream, location) => ({
        origin: host(location),
        path: path(settings, location, route, operation, stream)
      })
    })

    const scrub = (route: Route) =>
      makeScrub([
        [settings.project, "the project"],
        [route.deployment.model, route.model.id]
      ])
    const kind = perKind((route, operation, stream) => {
      const regions = locations(route, operation)
      const first = target(route, operation, stream, regions[0] ?? settings.location)
      return { regions, scrub: scrub(route), span: spanOf(route, operation, first, stream) }
    })

    const call = ({ route, operation, body: given, large, asked, stopper, parent }: Ask, stream: boolean): Call => {
      const { body, betas } = bodyOf(route, operation, given, stream)
      const contentType = stream ? "text/event-stream" : "application/json"
      const { regions, scrub, span } = kind(route, operation, stream)
      return {
        deployment: route.deployment,
        regions,
        prepare: (location) =>
          mapNow(credential.headers, (headers) => ({
            target: target(route, operation, stream, location),
            headers: {
              ...headers,
              accept: contentType,
              ...(betas.length > 0 ? { "anthropic-beta": betas.join(",") } : {})
            }
          })),
        refresh: Option.isSome(settings.accessToken) ? undefined : ({ headers }) => credential.refresh(headers),
        body: new Outgoing(body, { large }),
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
