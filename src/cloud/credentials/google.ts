/** Google OAuth access tokens for Vertex AI. */
import { Effect, Redacted, type Scope } from "effect"
import {
  type AuthHeaders,
  type Credential,
  type CredentialError,
  credentialError,
  fixedHeaders,
  sameHeaders
} from "./Credential.ts"
import { bearer, makeTokenCache } from "./Token.ts"

export interface GoogleOptions {
  /** `VERTEX_PROJECT`. Passed to the library so that it does not look for one itself, which would start `gcloud`. */
  readonly project: string
  /** A token to use as it is (`VERTEX_ACCESS_TOKEN`); without one, Application Default Credentials. */
  readonly accessToken?: Redacted.Redacted<string> | undefined
}

const failed = credentialError(
  "Google Application Default Credentials",
  "attach a service account, set GOOGLE_APPLICATION_CREDENTIALS or VERTEX_ACCESS_TOKEN, or run gcloud auth application-default login"
)

/**
 * `Authorization: Bearer`, and `x-goog-user-project` where the credentials name a quota project. Application Default
 * Credentials are google-auth-library's: a file (service account, workload identity federation, user) or the metadata
 * server. They are looked for on first use, so that a gateway starts while Google is unreachable.
 */
export const google = (options: GoogleOptions): Effect.Effect<Credential, CredentialError, Scope.Scope> =>
  options.accessToken === undefined
    ? applicationDefault(options.project)
    : Effect.succeed(fixedHeaders(bearer(options.accessToken)))

const attempt = <A>(promise: () => Promise<A>) => Effect.tryPromise({ try: promise, catch: failed })

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
  const headers = Effect.map(
    cache.get,
    (token): AuthHeaders => (quotaProject ? { ...bearer(token), "x-goog-user-project": quotaProject } : bearer(token))
  )
  const found = Effect.map(cache.get, () => source)
  return { headers: sameHeaders(headers), refresh: cache.refresh, source: found }
})
