/**
 * Google Vertex AI: Claude through rawPredict, Gemini through generateContent (docs/upstreams.md#vertex-ai), with its credentials.
 */
import { Effect, Option, Redacted } from "effect"
import { environment } from "../Settings.ts"
import type { VertexSettings } from "../settings/clouds.ts"
import { sse } from "../stream/framing.ts"
import { arrayOf, type JsonObject } from "../wire/json.ts"
import {
  type Auth,
  bearer,
  credentialError,
  fixedHeaders,
  makeTokenCache,
  sameHeaders,
  shownPath
} from "./credentials.ts"
import type { CallKind, Cloud, Message } from "./Provider.ts"

const failed = (cause: unknown) => {
  const file = environment().GOOGLE_APPLICATION_CREDENTIALS ?? ""
  const shown = shownPath(file)
  const explain =
    file === ""
      ? credentialError(
          "Google Application Default Credentials",
          "attach a service account, set GOOGLE_APPLICATION_CREDENTIALS or VERTEX_ACCESS_TOKEN, or run gcloud auth application-default login"
        )
      : credentialError(
          `the file of GOOGLE_APPLICATION_CREDENTIALS${shown === undefined ? "" : ` ${shown}`}`,
          "it must be a file that this process can read, with the JSON of Google credentials, and what it names be reachable"
        )
  return explain(cause)
}

/**
 * `Authorization: Bearer` with the token that is configured, or by Application Default Credentials, and `x-goog-user-project` where
 * those name a quota project. They are google-auth-library's: a file (service account, workload identity federation, user) or the
 * metadata server. They are looked for on first use, so that a gateway starts while Google is unreachable.
 */
export const credentialOf = ({ accessToken, project }: Pick<VertexSettings, "accessToken" | "project">): Auth =>
  Option.isSome(accessToken) ? Effect.succeed(fixedHeaders(bearer(accessToken.value))) : applicationDefault(project)

const attempt = <A>(promise: () => Promise<A>) => Effect.tryPromise({ try: promise, catch: failed })

/** The project is passed to the library so that it does not look for one itself, which would start `gcloud`. */
const applicationDefault = Effect.fnUntraced(function* (projectId: string) {
  const { GoogleAuth } = yield* attempt(() => import("google-auth-library"))
  let quotaProject: string | undefined
  let source: string | undefined
  const acquire = Effect.gen(function* () {
    // A new client for each token: its own cache is empty, and a rotated file or a late metadata server is found.
    const client = yield* attempt(() =>
      new GoogleAuth({ projectId, scopes: "https://www.googleapis.com/auth/cloud-platform" }).getClient()
    )
    const { token } = yield* attempt(() => client.getAccessToken())
    const expiresAt = client.credentials.expiry_date
    if (typeof token !== "string" || token === "" || typeof expiresAt !== "number") return yield* failed(undefined)
    quotaProject = client.quotaProjectId
    source = client.constructor.name
    return { token: Redacted.make(token, { label: "google-access-token" }), expiresAt }
  })
  const cache = yield* makeTokenCache(acquire)
  const headers = Effect.map(cache.get, (token) =>
    quotaProject ? { ...bearer(token), "x-goog-user-project": quotaProject } : bearer(token)
  )
  const found = Effect.map(cache.get, () => source)
  return { headers: sameHeaders(headers), refresh: cache.refresh, source: found }
})

/** Semantics of Anthropic's API version 2023-06-01; the 2026-10-21 one refuses sampling parameters. */
const anthropicVersion = "vertex-2023-10-16"

const host = (location: string) =>
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
const message = ({ operation, route, stream }: CallKind, given: JsonObject): Message => {
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

export const vertex = (settings: VertexSettings): Cloud => ({
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
  region: settings.location,
  credential: Option.isSome(settings.accessToken) ? "VERTEX_ACCESS_TOKEN" : "Application Default Credentials",
  auth: credentialOf(settings),
  framing: () => ({ contentType: "text/event-stream", decoder: sse }),
  names: [[settings.project, "the project"]]
})
