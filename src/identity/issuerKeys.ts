/** The public keys of an issuer: from a file, or fetched from its address and kept while it cannot be reached. */
import { Effect, type Scope, Semaphore } from "effect"
import { FetchHttpClient, HttpClient, HttpClientResponse } from "effect/http"
import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from "jose"

export interface IssuerKeys {
  /** Undefined until they have been fetched for the first time. */
  readonly current: () => JWTVerifyGetKey | undefined
  /** Fetches them for a token with an unknown `kid`, at most once a minute however many tokens have one. */
  readonly refresh: Effect.Effect<void>
}

/** Throws where they are none. */
const keysIn = (set: unknown): JWTVerifyGetKey => createLocalJWKSet(set as JSONWebKeySet)

/** Keys that stand in a file. Throws where they are none. */
export const keysInFile = (file: Buffer): IssuerKeys => {
  const keys = keysIn(JSON.parse(file.toString("utf8")))
  return { current: () => keys, refresh: Effect.void }
}

const onDemand = 60_000
const regularly = "10 minutes"
/** While none are known. */
const soon = "5 seconds"

/** By Node's own `fetch`, which goes by the operator's proxy and TLS policy. Redirects are not followed. */
const fetchKeys = (url: string) =>
  HttpClient.get(url, { accept: "application/jwk-set+json, application/json" }).pipe(
    Effect.flatMap(HttpClientResponse.filterStatusOk),
    Effect.flatMap(({ json }) => json),
    Effect.flatMap((set) => Effect.try(() => keysIn(set))),
    Effect.timeout("5 seconds"),
    Effect.provide(FetchHttpClient.layer),
    Effect.provideService(FetchHttpClient.RequestInit, { redirect: "error" })
  )

/** The keys at an address. They never grow stale: what is known stays while the issuer is down, which does not hold up the start. */
export const keysAt = (url: string): Effect.Effect<IssuerKeys, never, Scope.Scope> =>
  Effect.gen(function* () {
    let known: JWTVerifyGetKey | undefined
    let askedAt = Number.NEGATIVE_INFINITY
    const one = yield* Semaphore.make(1)
    const fetched = Effect.suspend(() => {
      askedAt = performance.now()
      return fetchKeys(url)
    }).pipe(
      Effect.tap((keys) =>
        Effect.sync(() => {
          known = keys
        })
      ),
      Effect.asVoid,
      Effect.catch(() =>
        Effect.logWarning(
          `the keys at ${url} cannot be fetched${known === undefined ? "" : "; those that are known stay in force"}`
        )
      )
    )
    const loop = Effect.forever(
      Effect.andThen(
        one.withPermits(1)(fetched),
        Effect.suspend(() => Effect.sleep(known === undefined ? soon : regularly))
      )
    )
    yield* Effect.forkScoped(loop, { startImmediately: true })
    const refresh = one.withPermits(1)(
      Effect.suspend(() => (performance.now() - askedAt < onDemand ? Effect.void : fetched))
    )
    return { current: () => known, refresh }
  })
