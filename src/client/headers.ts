/** The reply headers that say who answered. */

/** Absent ones were not sent; `/v1/models` and refusals name no model, for instance. */
export interface GatewayHeaders {
  /** `x-request-id`: the gateway's ID of the request, which its operator can look up. */
  readonly requestId: string | undefined
  /** `x-gateway-served-by`: the cloud and region that served it, `bedrock/us-gov-west-1`. */
  readonly servedBy: string | undefined
  /** `x-gateway-served-level`: the level it was served at. */
  readonly servedLevel: string | undefined
  /** `x-gateway-served-model`: the base model. */
  readonly servedModel: string | undefined
  /** `x-gateway-thinking-adjusted`: what was changed in a thinking request (messages endpoints). */
  readonly thinkingAdjusted: string | undefined
  /** `x-gateway-adjusted`: what else was changed of the request, as `name:from->to` or `name:removed`, joined by `, `. */
  readonly adjusted: string | undefined
  /** `retry-after`, in seconds. */
  readonly retryAfter: number | undefined
  /** `x-should-retry`: whether the same request may succeed later; on refusals. */
  readonly shouldRetry: boolean | undefined
}

export const readHeaders = (headers: Readonly<Record<string, string | undefined>>): GatewayHeaders => ({
  requestId: headers["x-request-id"],
  servedBy: headers["x-gateway-served-by"],
  servedLevel: headers["x-gateway-served-level"],
  servedModel: headers["x-gateway-served-model"],
  thinkingAdjusted: headers["x-gateway-thinking-adjusted"],
  adjusted: headers["x-gateway-adjusted"],
  retryAfter: seconds(headers["retry-after"]),
  shouldRetry: headers["x-should-retry"] === undefined ? undefined : headers["x-should-retry"] === "true"
})

export const isEventStream = (contentType: string | null | undefined): boolean =>
  /^text\/event-stream\b/i.test(contentType ?? "")

/** The gateway sends seconds; what stands before it may send a date. */
const seconds = (text = ""): number | undefined => {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  const until = text.endsWith(" GMT") ? Date.parse(text) : Number.NaN
  return Number.isNaN(until) ? undefined : Math.max(0, Math.ceil((until - Date.now()) / 1000))
}
