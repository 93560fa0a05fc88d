/** A responses reply: the upstream's own bytes, unless something must be added or removed (docs/api.md#responses). */
import { Result } from "effect"
import { GatewayError } from "../catalog/GatewayError.ts"
import { countOf } from "../catalog/Tokens.ts"
import { invalidBody, type UpstreamFault } from "../catalog/UpstreamFault.ts"
import type { Scrub } from "../cloud/fault.ts"
import type { Called } from "../governance/accumulate.ts"
import type { Summary } from "../stream/Frame.ts"
import { isFilter, isGuarded } from "../vendors/answer.ts"
import { countedTokens } from "../vendors/openaiUsage.ts"
import { arrayOf, isObject, type Json, type JsonObject, objectOf, textOf, without } from "../wire/json.ts"
import { meaningsOf } from "../wire/words.ts"
import type { Answer } from "./Surface.ts"

const secretField = "encrypted_content"
const encryptedType = "compaction"

/** An item that is nothing but its encrypted content, so that OpenAI's schema demands it: it is left out whole. */
export const isEncrypted = (item: Json | undefined): boolean =>
  isObject(item) &&
  (item.type === encryptedType || (typeof item[secretField] === "string" && item.type !== "reasoning"))

// Each of these returns the same value where there is nothing to take out.

const withoutEncrypted = (fields: JsonObject): JsonObject => without(fields, [secretField])

export const responseWithoutEncrypted = (response: JsonObject): JsonObject => {
  const items = arrayOf(response.output)
  const output = items
    .filter((item) => !isEncrypted(item))
    .map((item) => (isObject(item) ? withoutEncrypted(item) : item))
  const same = output.length === items.length && output.every((item, at) => item === items[at])
  return same ? response : { ...response, output }
}

/** An event: its item, or the whole response that openings and ends carry. */
export const eventWithoutEncrypted = (event: JsonObject): JsonObject => {
  const item = isObject(event.item) ? withoutEncrypted(event.item) : event.item
  const response = isObject(event.response) ? responseWithoutEncrypted(event.response) : event.response
  const own = withoutEncrypted(event)
  if (own === event && item === event.item && response === event.response) return event
  return { ...own, ...(item === undefined ? {} : { item }), ...(response === undefined ? {} : { response }) }
}

/** Calls of tools that have no name of their own, and where they say what to do. */
const unnamed = meaningsOf(
  ["local_shell_call shell_call", "action"],
  ["apply_patch_call", "operation"],
  ["tool_search_call", "arguments"]
)

/** Arguments of a function call, the text that a custom tool is given, the commands of a shell, patches, and what tools are searched for. */
export const callOf = (item: Json | undefined): Called | undefined => {
  const fields = objectOf(item)
  const { type, call_id, name, arguments: args, input } = fields
  const id = textOf(call_id) ?? ""
  const kind = textOf(type) ?? ""
  const field = unnamed.get(kind)
  if (field !== undefined) return { id, name: kind.replace(/_call$/, ""), input: fields[field] ?? {} }
  if (type !== "function_call" && type !== "custom_tool_call") return undefined
  const call = { id, name: textOf(name) ?? "" }
  const given = args ?? input ?? ""
  // What a custom tool is given is no JSON.
  return typeof given === "string" && type === "function_call"
    ? { ...call, arguments: given }
    : { ...call, input: given }
}

export const callsOf = (response: JsonObject): ReadonlyArray<Called> =>
  arrayOf(response.output).flatMap((item) => callOf(item) ?? [])

/** A failure in the cloud's words, freed of what is the operator's; undefined where nothing must go. */
export const scrubbedError = (response: JsonObject, scrub: Scrub): JsonObject | undefined => {
  const { error } = response
  const given = isObject(error) ? textOf(error.message) : undefined
  const message = given === undefined ? given : scrub(given)
  return message === given ? undefined : { ...response, error: { ...objectOf(error), message: message ?? null } }
}

/** A reply whose status is `failed`: it is passed on, but it is no success. */
const failedReply = new GatewayError({ reason: "upstream", message: "the model failed", code: "upstream-error" })

export const summarize = (response: JsonObject): Summary => {
  const { incomplete_details, status, usage } = response
  return {
    tokens: countOf(objectOf(usage).input_tokens) === undefined ? undefined : countedTokens(usage, "responses"),
    finishReason: textOf(status),
    filtered: isGuarded(response) || isFilter(objectOf(incomplete_details).reason),
    failure: status === "failed" ? failedReply : undefined
  }
}

/** The answer of a whole reply. Its bytes stay as they came where nothing must change. */
export const answerOf = (bytes: Buffer, response: JsonObject, scrub: Scrub): Result.Result<Answer, UpstreamFault> => {
  if (response.object !== "response") return Result.fail(invalidBody)
  const failed = scrubbedError(response, scrub)
  return Result.succeed({
    ...summarize(response),
    calls: callsOf(response),
    body: (governance) => {
      const shown = responseWithoutEncrypted(failed ?? response)
      if (governance !== undefined) return { ...shown, x_gateway_governance: governance }
      return shown === response ? bytes : shown
    }
  })
}
