/** How an upstream fails inside a reply or a stream that began well (decisions: Errors). */
import { GatewayError } from "../model/GatewayError.ts"

/** 502. `code` is for records: `cut`, `event`, `shape`, `finish`. */
export const upstreamFailure = (message: string, code: string): GatewayError =>
  new GatewayError({ reason: "upstream", message, code })

/** A stream that ended without the upstream's own terminal event: never a success (pitfalls: 3). */
export const cut: GatewayError = upstreamFailure("the model's stream ended before the answer was complete", "cut")

/** A success status with a body that is no answer, such as an unknown route's (vendor: Bedrock). */
export const misshapen: GatewayError = upstreamFailure("the model's cloud sent a reply that is not an answer", "shape")

/** Longest part of an upstream's message that is passed on, in UTF-16 units. */
const maxMessage = 1000

/** ARNs, Google resource paths and Azure deployment paths name what callers must not learn. */
const scrub = (message: string): string =>
  message
    .slice(0, maxMessage)
    .replace(/\barn:[\w-]*:[^\s'"`,;)]*/g, "[resource]")
    .replace(/\b(?:projects|deployments|locations|publishers)\/[^\s'"`,;)]*/g, "[resource]")

/** An in-band error as the HTTP status that it would have had says; only a refusal of the request is passed on in words. */
export const inBand = (status: number, message: string | undefined): GatewayError => {
  const failure = { upstreamStatus: status, code: "in-band" }
  if (status === 400 || status === 413 || status === 422) {
    return new GatewayError({
      reason: "invalid",
      message: scrub(message ?? "the model refused the request"),
      ...failure
    })
  }
  if (status === 429)
    return new GatewayError({ reason: "rate-limit", message: "the model's rate limit was hit", ...failure })
  if (status === 408 || status === 504) {
    return new GatewayError({ reason: "timeout", message: "the model took too long to answer", ...failure })
  }
  return new GatewayError({ reason: "upstream", message: "the model's cloud failed while answering", ...failure })
}
