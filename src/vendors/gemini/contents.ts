/** A chat's messages as Gemini's contents (docs/upstreams.md#gemini, docs/api.md#chat-messages). */
import type { ChatRequest } from "../../contract/Chat.ts"
import type { ContentPart, MessageOf, ToolCall } from "../../contract/ChatMessage.ts"
import { compact, isObject, type JsonObject, objectOf, textOf } from "../../wire/json.ts"
import type { Adjusted } from "../adjustments.ts"
import { assistantTexts, emptyUserText, endWithUser, startWithUser } from "../chatRequest.ts"
import { inlineData } from "../media.ts"
import { callInput, isObjectText, parsedObject } from "../toolCalls.ts"

/** Documented value for a call whose signature is lost (docs/upstreams.md#thought-signatures). */
const skipSignature = "skip_thought_signature_validator"
/** The other one, which clients send too, and Vertex refuses. */
const refusedSignature = "context_engineering_is_the_way_to_go"

/** `results` answer the calls of the turn before, and are a content of their own beside the user's words. */
interface Content {
  readonly from: "user" | "model" | "results"
  /** Results come in the order of their calls: `at` is the place of the call. */
  readonly parts: Array<{ readonly part: JsonObject; readonly at: number }>
}

/** Calls are paired with their results (`pairCalls`). */
export const toContents = (chat: ChatRequest, adjusted: Adjusted) => {
  const system: Array<JsonObject> = []
  const contents: Array<Content> = []
  const calls = new Map<string, { readonly call: ToolCall; readonly at: number }>()
  const add = (from: Content["from"], parts: ReadonlyArray<JsonObject>, at = 0) => {
    if (parts.length === 0) return
    const last = contents.at(-1)
    const content = last?.from === from ? last : { from, parts: [] }
    if (content !== last) contents.push(content)
    for (const part of parts) content.parts.push({ part, at })
  }
  for (const message of endWithUser(chat, adjusted)) {
    switch (message.role) {
      case "system":
      case "developer":
        if (message.content !== "") system.push({ text: message.content })
        break
      case "user": {
        const { content } = message
        const given = typeof content === "string" ? [{ type: "text" as const, text: content }] : content
        const parts = withText(given.flatMap(userPart))
        const isSilent = parts.length === 0 && contents.at(-1)?.from === "model"
        if (isSilent) adjusted.changed("messages.content", "empty", "stand-in")
        add("user", isSilent ? [{ text: emptyUserText }] : parts)
        break
      }
      case "assistant":
        add("model", assistantParts(message, adjusted))
        for (const call of message.tool_calls ?? []) calls.set(call.id, { call, at: calls.size })
        break
      case "tool": {
        const found = calls.get(message.tool_call_id)
        if (found === undefined) break
        const { at, call } = found
        const [id, name, response] = [vendorId(call), historyName(call.function.name), responseOf(message)]
        add("results", [{ functionResponse: compact({ id, name, response }) }], at)
        break
      }
    }
  }
  const turns = contents.map(({ from, parts }) => ({
    role: from === "model" ? from : ("user" as const),
    parts: parts.toSorted((one, other) => one.at - other.at).map(({ part }) => part)
  }))
  const userTurn = (parts: ReadonlyArray<JsonObject>) => ({ role: "user" as const, parts: [...parts] })
  return startWithUser({ system, turns }, userTurn, (text) => ({ text }), adjusted)
}

/**
 * Gemini's function names begin with a letter or `_`. Callers' may begin with a digit or `-`, but never hold a `.`, so
 * this prefix marks the ones that were changed.
 */
const aliasPrefix = "t."
export const vendorName = (name: string): string => (/^[a-zA-Z_]/.test(name) ? name : `${aliasPrefix}${name}`)

/** In a history there may be names that other vendors' models made up. */
const historyName = (name: string): string => vendorName(name.slice(0, 126).replace(/[^a-zA-Z0-9_.:-]/g, "_"))
export const callerName = (name: string): string =>
  name.startsWith(aliasPrefix) ? name.slice(aliasPrefix.length) : name

const userPart = (part: ContentPart): ReadonlyArray<JsonObject> => {
  if (part.type === "text") return part.text === "" ? [] : [{ text: part.text }]
  const { data, mime } = inlineData(part)
  return [{ inlineData: { mimeType: mime, data } }]
}

/** Vertex refuses a turn of nothing but media. */
const withText = (parts: ReadonlyArray<JsonObject>): ReadonlyArray<JsonObject> =>
  parts.length === 0 || parts.some((part) => "text" in part) ? parts : [...parts, { text: " " }]

const assistantParts = (message: MessageOf<"assistant">, adjusted: Adjusted): ReadonlyArray<JsonObject> => {
  const parts: Array<JsonObject> = assistantTexts(message).map((text) => ({ text }))
  const calls = message.tool_calls ?? []
  const ofText = signatureOf(message)
  // Some clients copy what a call carries to its message, and no other part may have a call's signature.
  const isCopied = calls.some((call) => signatureOf(call) === ofText)
  if (ofText !== undefined && !isCopied) parts.push({ ...(parts.pop() ?? { text: "" }), thoughtSignature: ofText })
  for (const [index, call] of calls.entries()) {
    const [id, name, args] = [vendorId(call), historyName(call.function.name), callInput(call, adjusted)]
    const thoughtSignature = signatureOf(call) ?? (index === 0 ? skipSignature : undefined)
    parts.push(compact({ functionCall: compact({ id, name, args }), thoughtSignature }))
  }
  return parts
}

/** Google's own field for it (docs/upstreams.md#thought-signatures, docs/decisions.md#tool-loops-that-survive-thinking). */
const signatureOf = ({ extra_content }: MessageOf<"assistant"> | ToolCall): string | undefined => {
  const signature = textOf(objectOf(objectOf(extra_content).google).thought_signature)
  return signature === "" || signature === refusedSignature ? undefined : signature
}

/**
 * The vendor's own ID of a call, where it gave one with its reply. Others are not sent: a cloud whose API has no such field
 * refuses it (docs/upstreams.md#gemini).
 */
const vendorId = (call: ToolCall): string | undefined =>
  textOf(objectOf(objectOf(call.extra_content).google).function_call_id)

/** For the vendor a key `$ref` names one of the result's media parts, and any other value is refused (docs/upstreams.md#gemini-schemas). */
const reference = /"(?:\$|\\u0024)ref"\s*:/

/**
 * A result is an object as it is, or the output of one. Of an object with `output` or `error` the vendor reads only these
 * (docs/upstreams.md#gemini).
 */
const responseOf = (message: MessageOf<"tool">): JsonObject => {
  const { content } = message
  if (!isObjectText(content) || reference.test(content)) return { output: content }
  const result = parsedObject(message, content) ?? content
  const isWhole = isObject(result) && (Object.keys(result).length === 1 || !("output" in result || "error" in result))
  return isWhole ? result : { output: result }
}
