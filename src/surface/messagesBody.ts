/** What of a native messages body is read, refused, adjusted or removed before it goes upstream (docs/api.md#messages). */
import { Result } from "effect"
import { removed } from "../dialect/adjustments.ts"
import { adjustThinking } from "../dialect/thinking.ts"
import { GatewayError, invalid } from "../model/GatewayError.ts"
import type { Route } from "../model/Route.ts"
import type { Body } from "../provider/Provider.ts"
import { arrayOf, isObject, type Json, type JsonObject, objectOf } from "../wire/json.ts"
import { strip } from "../wire/strip.ts"
import { refuseOutside } from "./inlineMedia.ts"
import { refuseServerTools } from "./serverTools.ts"

/**
 * A conversation that the server holds. Taking the field away would lose the turns that the caller leaves out; this error
 * is the vendor's own, at which its client libraries go on with whole conversations (docs/upstreams.md#message-threads).
 */
const threadUnsupported = new GatewayError({
  reason: "invalid",
  message: "thread: the gateway stores no conversations; send all messages with every request",
  details: { error_code: "thread_unsupported_request", unsupported: ["thread"] }
})

export interface Media {
  readonly images: number
  readonly files: number
}

const mediaOfBlocks = (blocks: Json | undefined): Media => {
  let images = 0
  let files = 0
  for (const block of arrayOf(blocks)) {
    if (!isObject(block)) continue
    if (block.type === "image") images++
    else if (block.type === "document") files++
    else if (block.type === "tool_result") {
      const nested = mediaOfBlocks(block.content)
      images += nested.images
      files += nested.files
    }
  }
  return { images, files }
}

/** How many images and documents a request brings. */
export const mediaOf = (request: JsonObject): Media => {
  let images = 0
  let files = 0
  for (const message of arrayOf(request.messages)) {
    const media = mediaOfBlocks(objectOf(message).content)
    images += media.images
    files += media.files
  }
  return { images, files }
}

/** Betas of the body and of the header, the ones the deployment takes, each once. */
const allowedBetas = (
  body: JsonObject,
  header: string | undefined,
  allowed: ReadonlyArray<string>
): ReadonlyArray<string> => {
  const given = [...arrayOf(body.anthropic_beta), ...(header ?? "").split(",").map((beta) => beta.trim())]
  return [...new Set(allowed.filter((beta) => given.includes(beta)))]
}

/** Fields that can make a difference to a count. */
const counted = ["messages", "system", "tools", "tool_choice", "thinking", "output_config", "anthropic_version"]

export interface PreparedBody {
  readonly body: Body
  /** For `x-gateway-adjusted`. */
  readonly adjusted: ReadonlyArray<string>
  /** For `x-gateway-thinking-adjusted`. */
  readonly thinkingAdjusted: ReadonlyArray<string>
}

export const prepareMessages = (
  given: JsonObject,
  route: Route,
  options: { readonly betaHeader: string | undefined; readonly counting: boolean }
): Result.Result<PreparedBody, GatewayError> => {
  const { deployment, model } = route
  if (given.thread !== undefined && given.thread !== null) return Result.fail(threadUnsupported)
  const refusal = refuseServerTools(given) ?? refuseOutside(given)
  if (refusal !== undefined) return Result.fail(invalid(refusal))
  const betas = allowedBetas(
    given,
    options.betaHeader,
    (options.counting ? deployment.countBetas : deployment.betas) ?? []
  )
  const {
    vendor_version,
    anthropic_version = vendor_version,
    anthropic_beta: _,
    model: __,
    thread: ___,
    ...rest
  } = given
  const versioned: JsonObject = anthropic_version === undefined ? rest : { ...rest, anthropic_version }
  const kept = options.counting
    ? Object.fromEntries(Object.entries(versioned).filter(([key]) => counted.includes(key)))
    : versioned
  const { body, changes } = adjustThinking(kept, { model, deployment, betas, counting: options.counting })
  const gone = new Set<string>()
  const stripped = strip(body, route.strip, (path) => gone.add(path))
  return Result.succeed({
    body: betas.length === 0 ? stripped : { ...stripped, anthropic_beta: betas },
    adjusted: [...gone].map(removed),
    thinkingAdjusted: changes
  })
}
