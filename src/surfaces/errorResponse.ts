/** The one place where a domain error becomes a wire error: status, `error.type` and headers (docs/api.md#errors). */
import { type Code, type GatewayError, reasons } from "../catalog/GatewayError.ts"
import { ApiError, MessagesError } from "../contract/Errors.ts"

/** The codes by which OpenAI's clients decide. */
const codes: Readonly<Partial<Record<Code, string>>> = {
  "content-filter": "content_filter",
  "context-length": "context_length_exceeded"
}

/** An error of the general shape, as the contract declares it. */
export const apiError = ({ code, reason, message }: GatewayError): ApiError => {
  const [status, type] = reasons[reason]
  const known = code && codes[code]
  // Clients look for the code in the text, because OpenAI's SDK for Python shows them no other.
  return new ApiError({
    status,
    type,
    message: code === "context-length" ? `${message} (${known})` : message,
    code: known
  })
}

/** The place at the beginning of a message as the vendor's own errors have it: `messages.0.content`. */
const dotted = (message: string): string =>
  message.replace(/^[^\s:"]+(?=: )/, (path) => path.replace(/\[(\d+)\]/g, ".$1"))

/** An error of the messages endpoints, where an unknown key is 401. */
export const messagesError = ({ reason, message, details }: GatewayError): MessagesError => {
  const [status, type] = reasons[reason]
  return new MessagesError({
    status: reason === "unauthenticated" ? 401 : status,
    type,
    message: dotted(message),
    details
  })
}

/** Statuses after which the same request may succeed. */
const retryable: ReadonlySet<number> = new Set([408, 429, 502, 503, 504])

/** The longest wait, in seconds, that the vendors' client libraries accept. */
const longestWait = 60

/** Statuses by which a cloud refuses the operator's credentials or deployment, which it does again. */
const unauthorizedUpstream: ReadonlySet<number | undefined> = new Set([401, 403, 404])

/** A month that is used up ends with the next one, which no client waits for. */
const shouldRetry = ({ reason, retryAfter, upstreamStatus }: GatewayError): boolean =>
  reason === "quota"
    ? (retryAfter ?? Number.POSITIVE_INFINITY) <= longestWait
    : retryable.has(reasons[reason][0]) && !unauthorizedUpstream.has(upstreamStatus)

/** Headers of the reply that an error becomes; the vendors' client libraries obey the first. */
export const errorHeaders = (error: GatewayError): Readonly<Record<string, string>> => ({
  "x-should-retry": String(shouldRetry(error)),
  ...error.headers,
  // The rest of a body that took too long is not waited for.
  ...(error.reason === "timeout-caller" ? { connection: "close" } : {}),
  ...(error.retryAfter === undefined ? {} : { "retry-after": String(Math.max(0, Math.ceil(error.retryAfter))) })
})
