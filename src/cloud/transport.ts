/** Names the ways in which a connection fails, without a word of what the library says about it. */
import type { HttpClientError } from "effect/http"
import { type Code, GatewayError } from "../catalog/GatewayError.ts"

/** Codes of failures before any byte of the request was sent, by Node and undici. */
const beforeSending = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EADDRNOTAVAIL",
  "UND_ERR_CONNECT_TIMEOUT",
  // The proxy refused the tunnel, or could not be reached.
  "UND_ERR_ABORTED",
  "UND_ERR_PRX_TLS",
  "UND_ERR_PRX_CONN"
])
const certificate = /^(CERT_|ERR_TLS_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_MISMATCH|ERR_SSL_)/

/** Looks for a system or library code along a chain of causes. */
const codeOf = (error: unknown): string | undefined => {
  let current = error
  for (let depth = 0; depth < 8 && typeof current === "object" && current !== null; depth++) {
    const code = Reflect.get(current, "code")
    if (typeof code === "string") return code
    current = Reflect.get(current, "cause")
  }
  return undefined
}

const failed = (message: string, code: Code) => new GatewayError({ reason: "upstream", message, code })

/** The limit is this machine's, not the cloud's (docs/operation.md#running). */
const noDescriptors = new GatewayError({
  reason: "overloaded",
  message: "the gateway has as many connections open as its system allows; try again in a moment",
  retryAfter: 1
})

/** A failed connection, as the caller may know it. */
const transportError = (error: unknown): GatewayError => {
  const code = codeOf(error) ?? ""
  if (code === "UND_ERR_CONNECT_TIMEOUT") {
    return failed("the cloud that serves this model could not be reached in time", "connect-timeout")
  }
  if (code === "EMFILE" || code === "ENFILE") return noDescriptors
  if (beforeSending.has(code)) return failed("the cloud that serves this model could not be reached", "connect")
  if (certificate.test(code)) {
    return failed("the certificate of the cloud that serves this model could not be verified", "certificate")
  }
  return failed("the connection to the cloud that serves this model failed", "connection")
}

/** A body that ended before its end. */
export const brokenOff = failed("the cloud that serves this model broke off its reply", "cut")

/** A failed call, as the caller may know it. */
export const clientError = ({ reason }: HttpClientError.HttpClientError): GatewayError => {
  const { cause } = reason
  if (cause instanceof GatewayError) return cause
  return reason._tag === "TransportError" ? transportError(cause) : brokenOff
}

/** Whether nothing of the request can have reached the upstream. */
export const isUnreachable = (error: GatewayError): boolean =>
  error.code === "connect" || error.code === "connect-timeout"

/** Failures before anything of the request was sent. */
const unsent: ReadonlySet<Code | undefined> = new Set<Code>([
  "connect",
  "connect-timeout",
  "certificate",
  "credentials",
  "circuit-open"
])

/** Whether a request that failed so cannot have reached the cloud that it was for. */
export const isUnsent = ({ code, upstreamStatus }: GatewayError): boolean =>
  upstreamStatus === undefined && unsent.has(code)
