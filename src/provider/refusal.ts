/** What a cloud's refusal means to the caller (decisions: Errors). */
import { GatewayError } from "../model/GatewayError.ts"
import type { FramingFailure } from "./framing/Event.ts"
import type { ReplyHeaders } from "./replyHeaders.ts"
import { brokenOff } from "./transport.ts"

/** Longest message of an upstream that is passed on, in characters. */
const maxMessage = 2_000

/** Takes out of a message what belongs to the operator: ARNs, projects, hosts, and the deployment's own names. */
export type Scrub = (message: string) => string

export const makeScrub = (names: ReadonlyArray<readonly [name: string, shown: string]>): Scrub => {
  const known = names.filter(([name]) => name.length > 2).sort(([a], [b]) => b.length - a.length)
  return (message) => {
    let text = message
      .slice(0, maxMessage)
      .replace(/\barn:[a-z0-9-]+:[^\s"',)]+/gi, "the deployment")
      .replace(/\bprojects\/[^\s"',)]+/gi, "the deployment")
      .replace(/\bhttps?:\/\/[^\s"',)]+/gi, "the upstream")
      .replace(/\b\d{12}\b/g, "the account")
    for (const [name, shown] of known) text = text.replaceAll(name, shown)
    return text
  }
}

interface Parsed {
  readonly message: string | undefined
  readonly type: string | undefined
}

const object = (value: unknown): Record<string, unknown> | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined
const string = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined)

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Reads the error bodies of Anthropic, Google (also wrapped in an array), AWS, Azure and OpenAI. */
export const parseError = (body: string): Parsed => {
  const json = parseJson(body)
  const top = object(Array.isArray(json) ? json[0] : json)
  const error = object(top?.error)
  return {
    message: string(error?.message) ?? string(top?.message) ?? string(top?.Message),
    type: string(error?.type) ?? string(error?.status) ?? string(top?.__type)
  }
}

/** Only a number of seconds is passed on. */
const retryAfter = (headers: ReplyHeaders): number | undefined => {
  const value = headers["retry-after"]
  return value !== undefined && /^\d{1,6}$/.test(value) ? Number(value) : undefined
}

const outage = (status: number | undefined) =>
  new GatewayError({
    reason: "upstream",
    message: "the cloud that serves this model failed; try again",
    code: "upstream-error",
    upstreamStatus: status
  })

/** The one table from an upstream's status to ours. */
export const statusError = (options: {
  readonly status: number
  readonly message: string | undefined
  readonly retryAfter?: number | undefined
}): GatewayError => {
  const { status, message } = options
  switch (status) {
    case 400:
    case 413:
    case 422:
      return new GatewayError({
        reason: "invalid",
        message: message ?? "the model's API refused the request",
        code: "upstream-invalid",
        upstreamStatus: status
      })
    case 401:
    case 403:
    case 404:
      return new GatewayError({
        reason: "upstream",
        message: "the cloud that serves this model refused the gateway; its operator has to look at it",
        code: "upstream-refused",
        upstreamStatus: status
      })
    case 408:
      return new GatewayError({
        reason: "timeout",
        message: "the model took too long",
        code: "upstream-timeout",
        upstreamStatus: status
      })
    case 429:
      return new GatewayError({
        reason: "rate-limit",
        message: "the cloud that serves this model is limiting requests to it; try again later",
        code: "upstream-rate-limit",
        retryAfter: options.retryAfter,
        upstreamStatus: status
      })
    default:
      return outage(status)
  }
}

export const refusal =
  (scrub: Scrub) =>
  (status: number, headers: ReplyHeaders, body: string): GatewayError => {
    const { message } = parseError(body)
    const exception = headers["x-amzn-errortype"]?.split(/[:,]/)[0]
    const effective = exception === "ServiceQuotaExceededException" ? 429 : status
    return statusError({
      status: effective,
      message: message === undefined ? undefined : scrub(message),
      retryAfter: retryAfter(headers)
    })
  }

/** The HTTP status that each exception frame of Bedrock stands for. */
const exceptions: Readonly<Record<string, number>> = {
  throttlingexception: 429,
  modelnotreadyexception: 429,
  servicequotaexceededexception: 429,
  validationexception: 400,
  modeltimeoutexception: 408,
  serviceunavailableexception: 503,
  internalserverexception: 500,
  modelstreamerrorexception: 424
}

/** A stream that broke: a bad frame is the cloud's failure, an exception frame is a refusal with a delay. */
export const framingError =
  (scrub: Scrub) =>
  (failure: FramingFailure): GatewayError => {
    if (failure._tag === "UpstreamException") {
      const status = exceptions[failure.type.toLowerCase()] ?? failure.status ?? 500
      return statusError({ status, message: scrub(failure.message) })
    }
    return failure.kind === "truncated"
      ? cutError
      : new GatewayError({
          reason: "upstream",
          message: "the cloud that serves this model sent a stream that cannot be read",
          code: failure.kind
        })
  }

/** A stream that ended without its own terminal event: never a success. */
export const cutError = brokenOff

/** A 200 whose body is not what the API promises. */
export const malformed = new GatewayError({
  reason: "upstream",
  message: "the cloud that serves this model sent a reply that cannot be read",
  code: "malformed"
})
