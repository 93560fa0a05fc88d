/** Google Vertex AI: Claude through rawPredict, Gemini through generateContent (docs/upstreams.md#vertex-ai). */
import { Effect, Layer, Option } from "effect"
import { Clouds } from "../Settings.ts"
import type { VertexSettings } from "../settings/clouds.ts"
import { sse } from "../stream/sse.ts"
import { arrayOf } from "../wire/json.ts"
import type { CallKind, Cloud, Message } from "./Cloud.ts"
import { google } from "./credentials/google.ts"
import { makeScrub } from "./fault.ts"
import { makeProvider } from "./makeProvider.ts"
import { type Body, Provider } from "./Provider.ts"

/** Semantics of Anthropic's API version 2023-06-01; the 2026-10-21 one refuses sampling parameters. */
const anthropicVersion = "vertex-2023-10-16"

/** Where a location is reached. */
export const host = (location: string) =>
  location === "us"
    ? `https://aiplatform.${location}.rep.googleapis.com`
    : `https://${location}-aiplatform.googleapis.com`

/** `@` of dated IDs stays as it is. */
const segment = (text: string) => encodeURIComponent(text).replaceAll("%40", "@")

const path = (project: string, { operation, route, stream }: CallKind, location: string) => {
  const base = `/v1/projects/${segment(project)}/locations/${segment(location)}/publishers`
  if (operation === "count") return `${base}/anthropic/models/count-tokens:rawPredict`
  const model = segment(route.deployment.model)
  return operation === "content"
    ? `${base}/google/models/${model}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`
    : `${base}/anthropic/models/${model}:${stream ? "streamRawPredict" : "rawPredict"}`
}

/** Betas travel in a header here, the version in the body, and the model in the address unless tokens are counted. */
const message = ({ operation, route, stream }: CallKind, given: Body): Message => {
  if (operation === "content") return { body: given }
  const { anthropic_beta, model: _, ...body } = given
  const betas = arrayOf(anthropic_beta)
  return {
    headers: betas.length > 0 ? { "anthropic-beta": betas.join(",") } : {},
    body: {
      anthropic_version: anthropicVersion,
      ...(operation === "count" ? { model: route.deployment.countModel } : undefined),
      ...body,
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
    const cloud: Cloud = {
      name: "vertex",
      endpoint: {
        baseUrl: Option.getOrUndefined(settings.baseUrl),
        regions: ({ operation, route }) =>
          operation === "count" && Option.isSome(settings.countLocation)
            ? [settings.countLocation.value]
            : (route.deployment.regions ?? [settings.location]),
        host,
        path: (call, location) => path(settings.project, call, location),
        message
      },
      auth: yield* credentialOf(settings),
      framing: () => ({ contentType: "text/event-stream", decoder: sse }),
      scrub: ({ deployment, model }) =>
        makeScrub([
          [settings.project, "the project"],
          [deployment.model, model.id]
        ])
    }
    return yield* makeProvider(cloud)
  })
)
