import { Data, type Effect } from "effect"

/**
 * A cloud's credential could not be obtained. The message names the cloud and what the library called the failure,
 * never the library's own text or the error itself: those may quote tokens, assertions or replies of token servers.
 */
export class CredentialError extends Data.TaggedError("CredentialError")<{ readonly message: string }> {}

/** Headers that authenticate a request; the values are secrets. */
export type AuthHeaders = Readonly<Record<string, string>>

/** A credential that is sent as a header, whatever the request. */
export interface HeaderCredential {
  /** Where the library found what the last headers were made from, in its words; undefined where it does not say. */
  readonly source?: (() => string | undefined) | undefined
  /** The headers to send now; waits for the token service only when no valid token is at hand. */
  readonly headers: Effect.Effect<AuthHeaders, CredentialError>
  /**
   * For an upstream 401: replaces the token that `refused` carried, once for all who ask, unless it has been replaced
   * since. Nothing happens for a fixed key.
   */
  readonly refresh: (refused: AuthHeaders) => Effect.Effect<void, CredentialError>
}

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
    return new CredentialError({ message: `no credentials from ${source}${reason}: ${remedy}` })
  }

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
