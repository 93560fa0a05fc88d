/** What of a native messages body is read, refused, adjusted or removed before it goes upstream (docs/api.md#messages). */
import { Result } from "effect"
import { removed } from "../dialect/adjustments.ts"
import { adjustThinking } from "../dialect/thinking.ts"
import { GatewayError, invalid } from "../model/GatewayError.ts"
import type { Route } from "../model/Route.ts"
import type { Body } from "../provider/Provider.ts"
import { arrayOf, isObject, type Json, type JsonObject, objectOf, textOf } from "../wire/json.ts"
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
  /** Bytes of their base64. */
  readonly mediaBytes: number
}

/** A document may be text, whose bytes are the text's. */
const encodedBytes = ({ source }: JsonObject): number => {
  const { data, type } = objectOf(source)
  return type === "base64" ? (textOf(data) ?? "").length : 0
}

const none: Media = { images: 0, files: 0, mediaBytes: 0 }
const plus = (a: Media, b: Media): Media => ({
  images: a.images + b.images,
  files: a.files + b.files,
  mediaBytes: a.mediaBytes + b.mediaBytes
})

const mediaOfBlocks = (blocks: Json | undefined): Media => {
  let media = none
  for (const block of arrayOf(blocks)) {
    if (!isObject(block)) continue
    if (block.type === "image") media = plus(media, { images: 1, files: 0, mediaBytes: encodedBytes(block) })
    else if (block.type === "document") media = plus(media, { images: 0, files: 1, mediaBytes: encodedBytes(block) })
    else if (block.type === "tool_result") media = plus(media, mediaOfBlocks(block.content))
  }
  return media
}

/** How many images and documents a request brings. */
export const mediaOf = (request: JsonObject): Media => {
  let media = none
  for (const message of arrayOf(request.messages)) media = plus(media, mediaOfBlocks(objectOf(message).content))
  return media
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
