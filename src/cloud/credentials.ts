/** How requests to a cloud are authenticated, and why they cannot be; with a bearer token that is refreshed before it expires. */
import { isAbsolute } from "node:path"
import { Clock, Data, Duration, Effect, Fiber, Redacted, type Scope } from "effect"
import { readRegularText } from "../regularFile.ts"
import { steadyMillis } from "../wire/steady.ts"

/**
 * A cloud's credential could not be obtained. The message names the cloud and what the library called the failure,
 * never the library's own text or the error itself: those may quote tokens, assertions or replies of token servers.
 */
export class CredentialError extends Data.TaggedError("CredentialError")<{
  readonly message: string
  /** The token service refused the identity, and would do so again. */
  readonly refused?: boolean
}> {}

/** Headers that authenticate a request; the values are secrets. */
export type AuthHeaders = Readonly<Record<string, string>>

/** A request before its credentials. */
export interface Signable {
  readonly url: URL
  readonly region: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

export interface Credential {
  /**
   * The request's own headers and those that authenticate it, without `host`, which follows from the URL. It waits for the token
   * service only when no valid token is at hand.
   */
  readonly headers: (request: Signable) => Effect.Effect<AuthHeaders, CredentialError>
  /**
   * For what the cloud refused (401, or 403 with an expired token): replaces the credentials behind the headers, once for all who
   * ask, unless they have been replaced since or just now. Absent where they are fixed.
   */
  readonly refresh?: ((refused: AuthHeaders) => Effect.Effect<void, CredentialError>) | undefined
  /** Where the library finds them, in its words; absent for what is fixed. */
  readonly source?: Effect.Effect<string | undefined, CredentialError> | undefined
}

export type Auth = Effect.Effect<Credential, CredentialError, Scope.Scope>

/** Headers that do not depend on the request, beside its own. */
export const sameHeaders =
  <E>(own: Effect.Effect<AuthHeaders, E>) =>
  ({ headers }: Signable): Effect.Effect<AuthHeaders, E> =>
    Effect.map(own, (own) => ({ ...headers, ...own }))

/** A key or token that is sent as it is. */
export const fixedHeaders = (own: AuthHeaders): Credential => ({ headers: sameHeaders(Effect.succeed(own)) })

/** Describes a failure of a vendor's library by its name, code and HTTP status, and by nothing else of it; then what fixes it. */
export const credentialError =
  (source: string, remedy: string) =>
  (cause: unknown): CredentialError => {
    const details = [
      identifier(property(cause, "name")),
      identifier(property(cause, "errorCode") ?? property(cause, "code")),
      oauthError(property(cause, "message")),
      status(cause)
    ].filter((detail) => detail !== undefined && detail !== "Error")
    const reason = details.length === 0 ? "" : ` (${details.join(", ")})`
    return new CredentialError({
      message: `no credentials from ${source}${reason}: ${remedy}`,
      refused: details.some((detail) => refusals.has(detail ?? ""))
    })
  }

/** A path in a message; undefined for what may be the secret itself, set in place of its file. */
export const shownPath = (path: string): string | undefined =>
  isAbsolute(path) && path.length <= 256 ? path : undefined

/** The text of a file that a variable names. */
export const readNamed = (variable: string, path: string) =>
  Effect.mapError(readRegularText(path), ({ code, message }) => {
    const shown = shownPath(path)
    const what = shown === undefined ? `the file that it should name (${code})` : `${shown} (${message})`
    return new CredentialError({
      message: `${variable}: cannot read ${what}. Name a file that this process can read, or unset it`
    })
  })

/** A metadata server that says 403 or 404 may still be starting. */
const refusals: ReadonlySet<string> = new Set(["invalid_grant", "invalid_client", "status 400", "status 401"])

/** Names of error classes and system codes: `CredentialsProviderError`, `ECONNREFUSED`. */
const identifier = (value: unknown): string | undefined =>
  typeof value === "string" && /^[A-Za-z][A-Za-z_]{1,47}$/.test(value) ? value : undefined

/** A message that is nothing but an OAuth error code (RFC 6749, 5.2): `invalid_grant`. */
const oauthError = (value: unknown): string | undefined =>
  typeof value === "string" && /^[a-z]+(_[a-z]+){1,3}$/.test(value) ? value : undefined

const status = (cause: unknown): string | undefined => {
  const value = property(cause, "status") ?? property(property(cause, "$metadata"), "httpStatusCode")
  return typeof value === "number" ? `status ${value}` : undefined
}

const property = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined

/** A token and when it expires, in milliseconds since the epoch. */
export interface Token {
  readonly token: Redacted.Redacted<string>
  readonly expiresAt: number
}

/** How long before its expiry a token is replaced, in milliseconds: 5 minutes, as the clouds' own libraries do. */
const earlyMillis = 5 * 60_000

/** A token this close to its expiry is not used any more, in milliseconds: it could expire on the way. */
const marginMillis = 10_000

/**
 * Shortest time between two attempts while there is a valid token, in milliseconds: what a cloud refuses of one caller (a model that
 * it does not serve to this account) must not let the token service turn away all of them.
 */
const pauseMillis = 10_000

/** Longest wait for a token service, in milliseconds; not every library has a limit of its own. */
const acquireMillis = 30_000

export const timedOut = new CredentialError({
  message: "no credentials: the token service did not answer in 30 seconds"
})

export const waitForToken = <A>(acquire: Effect.Effect<A, CredentialError>) =>
  Effect.timeoutOrElse(acquire, { duration: acquireMillis, orElse: () => Effect.fail(timedOut) })

/**
 * Keeps what `acquire` returns. All who need a token at one moment wait for one `acquire`, and share its failure.
 * Within 5 minutes of the expiry (or the last half of a shorter life) the token is replaced in the background of the
 * scope; should that fail, the old one serves until it expires. `acquire` must have no cache of its own.
 */
export const makeTokenCache = Effect.fnUntraced(function* (acquire: Effect.Effect<Token, CredentialError>) {
  const scope = yield* Effect.scope
  let current: Token | undefined
  // By the steady clock: one that is set back must not make a token live longer.
  let expiresAt = 0
  let replaceAt = 0

  // With less than no time to live only a run in progress is shared.
  const run = yield* acquire.pipe(
    waitForToken,
    Effect.withSpan("credentials refresh"),
    Effect.flatMap((token) =>
      Effect.zipWith(Clock.currentTimeMillis, steadyMillis, (today, now) => {
        const life = token.expiresAt - today
        current = token
        expiresAt = now + life
        replaceAt = now + Math.max(life - earlyMillis, life / 2)
        return token
      })
    ),
    Effect.cachedWithTTL(Duration.negativeInfinity)
  )
  // The scope waits for it, too: a run whose last caller has left would be given up.
  const shared = Effect.flatMap(Effect.forkIn(run, scope, { startImmediately: true }), Fiber.join)

  const get = Effect.flatMap(steadyMillis, (now) => {
    if (current === undefined || now >= expiresAt - marginMillis) return shared
    if (now < replaceAt) return Effect.succeed(current)
    replaceAt = now + pauseMillis
    return run.pipe(Effect.ignore, Effect.forkIn(scope), Effect.as(current))
  })

  const isCurrent = ({ authorization }: AuthHeaders) =>
    Effect.sync(() => current !== undefined && bearer(current.token).authorization === authorization)
  return { get: Effect.map(get, ({ token }) => token), refresh: makeRefresh(isCurrent, shared) }
})

/** `replace` for credentials that a cloud refused, unless they have been replaced since, or refused ones were just now. */
export const makeRefresh = (
  isCurrent: (refused: AuthHeaders) => Effect.Effect<boolean, CredentialError>,
  replace: Effect.Effect<unknown, CredentialError>
) => {
  let possibleAt = Number.NEGATIVE_INFINITY
  const pause = Effect.map(steadyMillis, (now) => {
    possibleAt = now + pauseMillis
  })
  return Effect.fnUntraced(function* (refused: AuthHeaders) {
    if (!(yield* isCurrent(refused)) || (yield* steadyMillis) < possibleAt) return
    yield* Effect.ensuring(replace, pause)
  })
}

export const bearer = (token: Redacted.Redacted<string>) => ({ authorization: `Bearer ${Redacted.value(token)}` })
