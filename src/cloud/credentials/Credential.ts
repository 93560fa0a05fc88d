/** How requests to a cloud are authenticated, and why they cannot be. */
import { Data, Effect } from "effect"

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

/** How requests to a cloud are authenticated. */
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
