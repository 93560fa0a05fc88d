/** How an upstream fails inside a reply or a stream that began well (decisions: Errors). */
import { GatewayError } from "../model/GatewayError.ts"
import type { Route } from "../model/Route.ts"

/** 502. `code` is for records: `cut`, `event`, `shape`, `finish`. */
export const upstreamFailure = (message: string, code: string): GatewayError =>
  new GatewayError({ reason: "upstream", message, code })

/** A stream that ended without the upstream's own terminal event: never a success (pitfalls: 3). */
export const cut: GatewayError = upstreamFailure("the model's stream ended before the answer was complete", "cut")

/** A success status with a body that is no answer, such as an unknown route's (vendor: Bedrock). */
export const misshapen: GatewayError = upstreamFailure("the model's cloud sent a reply that is not an answer", "shape")

/** Longest part of an upstream's message that is passed on, in UTF-16 units. */
const maxMessage = 1000

/** ARNs, Google resource paths, hosts and the deployment's own name are the operator's, not the caller's. */
const scrub = (message: string, { model, deployment }: Route): string =>
  message
    .slice(0, maxMessage)
    .replace(/\barn:[\w-]*:[^\s'"`,;)]*/g, "the deployment")
    .replace(/\b(?:projects|deployments|locations|publishers)\/[^\s'"`,;)]*/g, "the deployment")
    .replace(/\bhttps?:\/\/[^\s'"`,;)]*/gi, "the upstream")
    .replaceAll(deployment.model, model.id)

/** An in-band error as the HTTP status that it would have had says; only a refusal of the request is passed on in words. */
export const inBand = (status: number, message: string | undefined, route: Route): GatewayError => {
  const facts = { upstreamStatus: status, code: "in-band" }
  if (status === 400 || status === 413 || status === 422) {
    const words = scrub(message ?? "the model's API refused the request", route)
    return new GatewayError({ reason: "invalid", message: words, ...facts })
  }
  if (status === 429) {
    const words = "the cloud that serves this model is limiting requests to it; try again later"
    return new GatewayError({ reason: "rate-limit", message: words, ...facts })
  }
  if (status === 408 || status === 504) {
    return new GatewayError({ reason: "timeout", message: "the model took too long", ...facts })
  }
  const words = "the cloud that serves this model failed while answering; try again"
  return new GatewayError({ reason: "upstream", message: words, ...facts })
}
