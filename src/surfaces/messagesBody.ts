/** What of a native messages body is read, refused, adjusted or removed before it goes upstream (docs/api.md#messages). */
import { Result } from "effect"
import { GatewayError, invalid } from "../catalog/GatewayError.ts"
import type { Route } from "../catalog/Route.ts"
import type { Body } from "../cloud/Provider.ts"
import { Adjusted } from "../vendors/adjustments.ts"
import { withOpaqueUser } from "../vendors/claude/request.ts"
import { systemTurns } from "../vendors/refusals.ts"
import { adjustThinking, withoutSampling } from "../vendors/thinking.ts"
import { arrayOf, isObject, type Json, type JsonObject, objectOf, textOf } from "../wire/json.ts"
import { plainFields, plainNumber } from "../wire/parse.ts"
import { plainPath, strip } from "../wire/strip.ts"
import { refuseCloudFields, refuseOutside, refuseServerTools, serverFields } from "./boundary.ts"
import { applyBetas } from "./messagesBetas.ts"
import { formatted } from "./messagesFormat.ts"
import { cacheLastBlock, foldSystem, mergeTurns, withoutLastThoughts } from "./messageTurns.ts"
import type { Counts } from "./Surface.ts"

/**
 * A conversation that the server holds. Taking the field away would lose the turns that the caller leaves out; this error
 * is the vendor's own, at which its client libraries go on with whole conversations (docs/upstreams.md#message-threads).
 */
const threadUnsupported = new GatewayError({
  reason: "invalid",
  message: "thread: the gateway stores no conversations; send all messages with every request",
  details: { error_code: "thread_unsupported_request", unsupported: ["thread"] }
})

/** A document may be text, whose bytes are the text's. */
const encodedBytes = ({ source }: JsonObject): number => {
  const { data, type } = objectOf(source)
  return type === "base64" ? (textOf(data) ?? "").length : 0
}

/** How many images and documents a request brings, and the bytes of their base64. */
export const mediaOf = (request: JsonObject): Omit<Counts, "tools"> => {
  const media = { images: 0, files: 0, mediaBytes: 0 }
  const count = (blocks: Json | undefined): void => {
    for (const block of arrayOf(blocks)) {
      if (!isObject(block)) continue
      if (block.type === "tool_result") count(block.content)
      else if (block.type === "image" || block.type === "document") {
        media[block.type === "image" ? "images" : "files"]++
        media.mediaBytes += encodedBytes(block)
      }
    }
  }
  for (const message of arrayOf(request.messages)) count(objectOf(message).content)
  return media
}

/** The numbers that are read here stand at the top, and in `thinking`. */
export const plainNumbers = (body: JsonObject): JsonObject => {
  const plain = plainFields(body)
  const { thinking } = plain
  if (!isObject(thinking) || thinking.budget_tokens === undefined) return plain
  const budget_tokens = plainNumber(thinking.budget_tokens)
  return budget_tokens === thinking.budget_tokens ? plain : { ...plain, thinking: { ...thinking, budget_tokens } }
}

/** Fields that can make a difference to a count, and those that make none: others are named where they go. */
const counted = ["messages", "system", "tools", "tool_choice", "thinking", "output_config", "anthropic_version"]
const uncounted = new Set(
  "max_tokens temperature top_p top_k stop_sequences metadata cache_control service_tier speed".split(" ")
)

/** What of a body is counted. */
const countedOf = (body: JsonObject, adjusted: Adjusted): JsonObject => {
  for (const name of Object.keys(body)) {
    if (counted.includes(name) || uncounted.has(name) || saysNothing(body[name] ?? null)) continue
    adjusted.removed(name)
  }
  return Object.fromEntries(Object.entries(body).filter(([key]) => counted.includes(key)))
}

interface PreparedBody {
  /** Without `stream`. */
  readonly body: Body
  /** Whether an instruction stands for the format of the answer. */
  readonly emulated: boolean
  /** For `x-gateway-adjusted`. */
  readonly adjusted: ReadonlyArray<string>
  /** For `x-gateway-thinking-adjusted`. */
  readonly thinkingAdjusted: ReadonlyArray<string>
}

const saysNothing = (value: Json): boolean =>
  value === null || (typeof value === "object" && Object.keys(value).length === 0)

/** Names what messages that became part of another one held beside their text. */
const reportLost = (before: JsonObject, after: JsonObject, adjusted: Adjusted): void => {
  const kept = new Set(arrayOf(after.messages))
  for (const given of arrayOf(before.messages)) {
    const message = objectOf(given)
    if (message.role !== "system" || kept.has(message)) continue
    for (const name of Object.keys(message)) {
      if (name === "role" || name === "content" || saysNothing(message[name] ?? null)) continue
      adjusted.removed(`messages.${name}`)
    }
  }
}

/** Paths that the cloud has refused, without brackets. */
const refusedPaths = ({ refused }: Route): ReadonlySet<string> => new Set([...(refused ?? [])].map(plainPath))

export const prepareMessages = (
  given: JsonObject,
  route: Route,
  options: { readonly betaHeader: string | undefined; readonly counting: boolean }
): Result.Result<PreparedBody, GatewayError> => {
  const { deployment, model } = route
  if (given.thread !== undefined && given.thread !== null) return Result.fail(threadUnsupported)
  const refusal = refuseServerTools(given) ?? refuseCloudFields(given, serverFields) ?? refuseOutside(given)
  if (refusal !== undefined) return Result.fail(invalid(refusal))
  const adjusted = new Adjusted()
  const allowed = (options.counting ? deployment.countBetas : deployment.betas) ?? []
  const { betas, body: plain, strip: stripped } = applyBetas(given, route, allowed, options.betaHeader, adjusted)
  const { vendor_version, anthropic_version, model: _, thread: __, stream: ___, ...rest } = plain
  const version = anthropic_version ?? vendor_version ?? undefined
  if (version !== undefined && version !== (vendor_version ?? version)) adjusted.removed("vendor_version")
  const versioned: JsonObject = version === undefined ? rest : { ...rest, anthropic_version: version }
  const { body: turned, folded } = foldSystem(
    versioned,
    deployment.systemTurns === true && route.refused?.has(systemTurns) !== true
  )
  if (folded) {
    adjusted.add("messages.role:system->user")
    reportLost(versioned, turned, adjusted)
  }
  const merged = mergeTurns(withoutLastThoughts(turned, adjusted), adjusted)
  const cached = options.counting || deployment.automaticCaching === true ? merged : cacheLastBlock(merged, adjusted)
  const { body: shaped, emulated } = formatted(cached, route.strip, adjusted)
  const kept = options.counting ? countedOf(shaped, adjusted) : shaped
  const addressed = withOpaqueUser(kept, adjusted)
  const sampled = withoutSampling(addressed, model, adjusted)
  const { body, changes } = adjustThinking(sampled, { model, deployment, betas, counting: options.counting })
  const refused = refusedPaths(route)
  const sent = strip(body, stripped, (path, value) => {
    if (!saysNothing(value) || refused.has(path)) adjusted.removed(path)
  })
  return Result.succeed({
    body: betas.length === 0 ? sent : { ...sent, anthropic_beta: betas },
    emulated,
    adjusted: [...adjusted],
    thinkingAdjusted: changes
  })
}
