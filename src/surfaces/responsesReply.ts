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
import { arrayOf, isObject, type Json, type JsonObject, objectOf, textOf } from "../wire/json.ts"
import type { Rendered } from "./Surface.ts"

const secretField = "encrypted_content"
const encryptedType = "compaction"

const hidden = new RegExp(`${secretField}|${encryptedType}`)

/** Whether something may have to be taken out of a text of JSON. Two searches of a text take three times as long as this one. */
export const mayHide = (text: string | Buffer): boolean =>
  typeof text === "string" ? hidden.test(text) : text.includes(secretField) || text.includes(encryptedType)

/** An item that is nothing but its encrypted content, so that OpenAI's schema demands it: it is left out whole. */
export const isEncrypted = (item: Json | undefined): boolean =>
  isObject(item) &&
  (item.type === encryptedType || (typeof item[secretField] === "string" && item.type !== "reasoning"))

/** An output item without its encrypted reasoning. */
const withoutEncrypted = ({ [secretField]: _, ...item }: JsonObject): JsonObject => item
const itemWithoutEncrypted = (item: Json): Json => (isObject(item) ? withoutEncrypted(item) : item)
export const responseWithoutEncrypted = (response: JsonObject): JsonObject =>
  Array.isArray(response.output)
    ? { ...response, output: response.output.filter((item) => !isEncrypted(item)).map(itemWithoutEncrypted) }
    : response

/** An event: its item, or the whole response that openings and ends carry. */
export const eventWithoutEncrypted = (event: JsonObject): JsonObject => ({
  ...withoutEncrypted(event),
  ...(isObject(event.item) ? { item: withoutEncrypted(event.item) } : {}),
  ...(isObject(event.response) ? { response: responseWithoutEncrypted(event.response) } : {})
})

/** Calls of tools that have no name of their own, and where they say what to do. */
const unnamed: ReadonlyMap<unknown, { readonly name: string; readonly field: string }> = new Map([
  ["local_shell_call", { name: "local_shell", field: "action" }],
  ["shell_call", { name: "shell", field: "action" }],
  ["apply_patch_call", { name: "apply_patch", field: "operation" }]
])

/** Arguments of a function call, the text that a custom tool is given, the commands of a shell, and patches. */
export const callOf = (item: Json | undefined): Called | undefined => {
  const fields = objectOf(item)
  const { type, call_id, name, arguments: args, input } = fields
  const own = unnamed.get(type)
  if (own !== undefined) {
    return { id: textOf(call_id) ?? "", name: own.name, input: fields[own.field] ?? {} }
  }
  if (type !== "function_call" && type !== "custom_tool_call") return undefined
  return { id: textOf(call_id) ?? "", name: textOf(name) ?? "", arguments: textOf(args) ?? textOf(input) ?? "" }
}

/** The calls that a whole response holds. */
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
export const answerOf = (bytes: Buffer, response: JsonObject, scrub: Scrub): Result.Result<Rendered, UpstreamFault> => {
  if (response.object !== "response") return Result.fail(invalidBody)
  const failed = scrubbedError(response, scrub)
  return Result.succeed({
    ...summarize(response),
    calls: callsOf(response),
    body: (governance) => {
      if (governance === undefined && failed === undefined && !mayHide(bytes)) return bytes
      const shown = responseWithoutEncrypted(failed ?? response)
      return governance === undefined ? shown : { ...shown, x_gateway_governance: governance }
    }
  })
}
