/**
 * Makes a `GatewayError` of any failure of a call: of the connection, of a status, of a frame, or inside a reply that began as a success
 * (docs/api.md#what-becomes-of-a-clouds-error). The only place where a cloud's messages are scrubbed of what belongs to the operator.
 */
import { Cause, Option, RegExp as Regex } from "effect"
import type { Headers, HttpClientError } from "effect/http"
import { cloudFacts, clouds } from "../catalog/clouds.ts"
import { type Code, GatewayError, internal, type Reason } from "../catalog/GatewayError.ts"
import {
  invalidBody,
  isTimeout,
  type Refused,
  refused,
  retryDelayOf,
  topicOf,
  type UpstreamFault
} from "../catalog/UpstreamFault.ts"
import type { FramingFailure } from "../stream/framing.ts"
import { type JsonObject, objectOf, readObject, textOf } from "../wire/json.ts"
import { meaningsOf } from "../wire/words.ts"
import type { CredentialError } from "./credentials.ts"

// Failures of connections, by their codes: nothing of the library's messages is passed on.

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

/** The first system or library code in a chain of causes. */
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

export const brokenOff = failed("the cloud that serves this model broke off its reply", "cut")

export const clientError = ({ reason }: HttpClientError.HttpClientError): GatewayError => {
  const { cause } = reason
  if (cause instanceof GatewayError) return cause
  return reason._tag === "TransportError" ? transportError(cause) : brokenOff
}

/** Why a call failed: `internal` for a defect; undefined where the call was given up. */
export const errorOf = (cause: Cause.Cause<GatewayError>): GatewayError | undefined =>
  Cause.hasInterruptsOnly(cause) ? undefined : Option.getOrElse(Cause.findErrorOption(cause), () => internal)

const unsent = new Set<Code | undefined>(["connect", "connect-timeout", "certificate", "credentials", "circuit-open"])

/** Whether a request that failed so cannot have reached the cloud that it was for. */
export const isUnsent = ({ code, upstreamStatus }: GatewayError): boolean =>
  upstreamStatus === undefined && unsent.has(code)

/** The caller's error where there are no credentials; `upstreamStatus`: by which the cloud refused those before. */
export const credentialsUnavailable = ({ message, refused }: CredentialError, upstreamStatus?: number) =>
  new GatewayError({
    reason: "upstream",
    message: "the gateway could not get credentials for the cloud that serves this model",
    code: "credentials",
    headers: refused === true ? { "x-should-retry": "false" } : undefined,
    detail: message,
    upstreamStatus
  })

// Errors of clouds

/** Longest message of an upstream that is passed on, and longest name in it, in characters. */
const maxMessage = 2_000
const maxName = 200

/** The beginning of a message, without a word that would be cut: it may be one of the operator's names. */
const cutAtWord = (message: string): string =>
  message.length <= maxMessage
    ? message
    : message.slice(0, Math.max(message.lastIndexOf(" ", maxMessage), maxMessage - maxName))

/** Takes out of a message what belongs to the operator. */
export type Scrub = (message: string) => string

const domains = clouds.flatMap((cloud) => cloudFacts[cloud].domains.map((domain) => domain.replaceAll(".", "\\.")))
/** Hosts of the clouds, and Google's service accounts. */
const ownHosts = new RegExp(`\\b[\\w.@-]+\\.(?:${domains.join("|")})\\b`, "gi")

/** Takes out ARNs, Google resource paths, addresses and account numbers; and these names, each with what is shown in its place. */
export const scrubbed = (names: ReadonlyArray<readonly [name: string, shown: string]>, message: string): string => {
  const known = names.filter(([name]) => name.length > 2).sort(([a], [b]) => b.length - a.length)
  const shown = new Map(known)
  // Whole words, in one pass: a project `model` is no part of `models`, and what is shown holds no names.
  const words = new RegExp(
    `(?<![A-Za-z0-9])(?:${known.map(([name]) => Regex.escape(name)).join("|")})(?![A-Za-z0-9])`,
    "g"
  )
  return cutAtWord(message)
    .replace(/\barn:[a-z0-9-]*:[^\s'"`,;)]*/gi, "the deployment")
    .replace(/\b(?:projects|deployments|locations|publishers)\/[^\s'"`,;)]*/gi, "the deployment")
    .replace(/\bhttps?:\/\/[^\s'"`,;)]*/gi, "the upstream")
    .replace(ownHosts, "the upstream")
    .replace(/\b\d{12}\b/g, "the account")
    .replace(words, (name) => shown.get(name) ?? name)
}

interface Meaning {
  readonly reason: Reason
  readonly code: Code
  /** Undefined: the cloud's own message, scrubbed. */
  readonly message?: string
}

const refusal: Meaning = { reason: "invalid", code: "upstream-invalid" }
const unauthorizedUpstream: Meaning = {
  reason: "upstream",
  code: "upstream-refused",
  message: "the cloud that serves this model refused the gateway; its operator has to look at it"
}
const tooSlow: Meaning = { reason: "timeout", code: "upstream-timeout", message: "the model took too long" }
const limited: Meaning = {
  reason: "rate-limit",
  code: "upstream-rate-limit",
  message: "the cloud that serves this model is limiting requests to it; try again later"
}
const outage: Meaning = {
  reason: "upstream",
  code: "upstream-error",
  message: "the cloud that serves this model failed; try again"
}

/** The one table from an upstream's status to ours; what is not here is an outage. */
const meanings = meaningsOf<Meaning>(
  ["400 413 422", refusal],
  ["401 403 404", unauthorizedUpstream],
  ["408 504", tooSlow],
  ["429", limited]
)

/** Anthropic's words for it. Clients look for them in the text, because not all of them see the code. */
const tooLong = "prompt is too long"
/** The second is what clients lower their `max_tokens` by. */
const ownWords = new RegExp(`${tooLong}|input length and \`max_tokens\``, "i")
const inWords = (topic: Refused["topic"], message: string): string =>
  topic === "context-length" && !ownWords.test(message) ? `${tooLong}: ${message}` : message

/** The caller's error for a failure of the cloud. */
export const faultError = (fault: UpstreamFault, scrub: Scrub): GatewayError => {
  if (fault._tag === "Broken") {
    const { kind, message } = fault
    return kind === "cut" ? brokenOff : new GatewayError({ reason: "upstream", message, code: kind })
  }
  const { topic, status, message, retryAfter } = fault
  const known = status === 400 && topic !== undefined ? { ...refusal, code: topic } : meanings.get(String(status))
  const meaning: Meaning = known ?? outage
  return new GatewayError({
    reason: meaning.reason,
    code: meaning.code,
    message:
      meaning.message ??
      (message === undefined ? "the model's API refused the request" : inWords(topic, scrub(message))),
    retryAfter: meaning === limited ? retryAfter : undefined,
    upstreamStatus: status
  })
}

/** The error body of Anthropic, Google (also wrapped in an array), AWS, Azure or OpenAI. */
const errorBody = (body: string): JsonObject =>
  objectOf(
    readObject(body, (text) => {
      const json: unknown = JSON.parse(text)
      return Array.isArray(json) ? json[0] : json
    })
  )

const messageOf = (top: JsonObject): string | undefined =>
  textOf(objectOf(top.error).message) || textOf(top.message) || textOf(top.Message) || undefined

/** Only a number of seconds is passed on. */
const retryAfterOf = (headers: Headers.Headers): number | undefined => {
  const value = headers["retry-after"]
  return value !== undefined && /^\d{1,6}$/.test(value) ? Number(value) : undefined
}

/** Statuses that mean another one, by the cloud's message. */
const corrections: ReadonlyArray<readonly [status: number, message: RegExp, meant: number]> = [
  // Bedrock's about the ID of a model, which is the catalog's (docs/upstreams.md#amazon-bedrock).
  [400, /^The provided model identifier is invalid\.$/, 404],
  [400, /^Invocation of model ID \S+ with on-demand throughput /, 404],
  // OpenAI's about an item of the request, which it looks for by the item's ID (docs/upstreams.md#items-of-earlier-replies).
  [404, /^Item with id '[^']*' not found\./, 400]
]
const meantBy = (status: number, message = ""): number =>
  corrections.find(([of, pattern]) => of === status && pattern.test(message))?.[2] ?? status

export const statusFault = (status: number, headers: Headers.Headers, body: string): Refused => {
  const top = errorBody(body)
  const error = objectOf(top.error)
  // As the SDKs of AWS read it: `ThrottlingException:http://…`, `com.amazon.coral#ThrottlingException`.
  const exception = headers["x-amzn-errortype"] ?? textOf(top.code) ?? textOf(top.__type)
  const isQuota = exception !== undefined && /^(?:[^:,]*#)?ServiceQuotaExceededException(?![^:,])/.test(exception)
  const message = messageOf(top)
  const effective = isQuota ? 429 : isTimeout(error) ? 504 : meantBy(status, message)
  return refused(effective, message, retryAfterOf(headers) ?? retryDelayOf(error), topicOf(error))
}

/** The HTTP status that each exception frame of Bedrock stands for. */
const exceptions = meaningsOf(
  ["validationexception", 400],
  ["modeltimeoutexception", 408],
  ["modelstreamerrorexception", 424],
  ["throttlingexception modelnotreadyexception servicequotaexceededexception", 429],
  ["internalserverexception", 500],
  ["serviceunavailableexception", 503]
)

/** The caller's error for a stream that broke: a bad frame is a failure of the cloud, an exception frame has a status. */
export const framingError = (failure: FramingFailure, scrub: Scrub): GatewayError => {
  if (failure._tag === "UpstreamException") {
    const status = exceptions.get(failure.type.toLowerCase()) ?? failure.status ?? 500
    return faultError(refused(status, failure.message), scrub)
  }
  return failure.kind === "truncated" ? brokenOff : unexpected("a stream that cannot be read", failure.kind)
}

/** The error for a cloud that sent something else than a reply, with `status`. */
export const unexpected = (what: string, code: Code, status?: number) =>
  new GatewayError({
    reason: "upstream",
    message: `the cloud that serves this model sent ${what}`,
    code,
    upstreamStatus: status
  })

/** A 200 whose body is not what the API promises. */
export const malformed = faultError(invalidBody, (message) => message)
