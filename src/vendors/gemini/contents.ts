/** A chat's messages as Gemini's contents (docs/upstreams.md#gemini, docs/api.md#chat-messages). */
import type { ChatRequest } from "../../contract/Chat.ts"
import type { ContentPart, MessageOf, ToolCall } from "../../contract/ChatMessage.ts"
import { compact, type JsonObject, objectOf, textOf } from "../../wire/json.ts"
import type { Adjusted } from "../adjustments.ts"
import { assistantTexts, emptyUserText, inlineData, startWithUser } from "../chatRequest.ts"
import { callInput, isObjectText, parsedObject } from "../toolCalls.ts"

/** Documented value for a call whose signature is lost (docs/upstreams.md#thought-signatures). */
const skipSignature = "skip_thought_signature_validator"

/** Its parts are undefined where a result is still to come. */
interface Content {
  readonly role: "user" | "model"
  readonly parts: Array<JsonObject | undefined>
}

/** The results of one turn's calls, in their order: one content, right behind that of the calls. */
interface Results extends Content {
  readonly calls: Map<string, { readonly call: ToolCall; readonly at: number }>
  answered: boolean
}

/** Calls are paired with their results (`pairCalls`). */
export const toContents = (chat: ChatRequest, adjusted: Adjusted) => {
  const system: Array<JsonObject> = []
  const entries: Array<Content> = []
  let results: Results | undefined
  const add = (role: Content["role"], parts: ReadonlyArray<JsonObject>) => {
    if (parts.length === 0) return
    const last = entries.at(-1)
    if (last?.role !== role || last === results) entries.push({ role, parts: [...parts] })
    // Not spread into arguments: callers decide how much there is.
    else for (const part of parts) last.parts.push(part)
  }
  for (const message of chat.messages) {
    switch (message.role) {
      case "system":
      case "developer":
        if (message.content !== "") system.push({ text: message.content })
        break
      case "user": {
        const { content } = message
        const given = typeof content === "string" ? [{ type: "text" as const, text: content }] : content
        const parts = withText(given.flatMap(userPart))
        const isSilent = parts.length === 0 && entries.at(-1)?.role === "model"
        if (isSilent) adjusted.changed("messages.content", "empty", "stand-in")
        add("user", isSilent ? [{ text: emptyUserText }] : parts)
        break
      }
      case "assistant": {
        const parts = assistantParts(message, adjusted)
        // Messages of the assistant's in a row are one turn.
        let open = entries.at(-1) === results && results?.answered === false ? results : undefined
        if (open === undefined) add("model", parts)
        else for (const part of parts) entries.at(-2)?.parts.push(part)
        const calls = message.tool_calls ?? []
        if (calls.length === 0) break
        if (open === undefined) {
          open = { role: "user", parts: [], calls: new Map(), answered: false }
          entries.push(open)
          results = open
        }
        for (const call of calls) open.calls.set(call.id, { call, at: open.parts.push(undefined) - 1 })
        break
      }
      case "tool": {
        const found = results?.calls.get(message.tool_call_id)
        if (results === undefined || found === undefined) break
        const { at, call } = found
        results.answered = true
        results.parts[at] = {
          functionResponse: compact({
            id: vendorId(call),
            name: historyName(call.function.name),
            response: responseOf(message)
          })
        }
        break
      }
    }
  }
  const contents = entries
    .map(({ role, parts }) => ({ role, parts: parts.filter((part) => part !== undefined) }))
    .filter(({ parts }) => parts.length > 0)
  const userTurn = (parts: ReadonlyArray<JsonObject>) => ({ role: "user" as const, parts: [...parts] })
  return startWithUser({ system, turns: contents }, userTurn, (text) => ({ text }), adjusted)
}

/**
 * Gemini's function names begin with a letter or `_`. Callers' may begin with a digit or `-`, but never hold a `.`, so
 * this prefix marks the ones that were changed.
 */
const aliasPrefix = "t."
export const vendorName = (name: string): string => (/^[a-zA-Z_]/.test(name) ? name : `${aliasPrefix}${name}`)

/** In a history there may be names that other vendors' models made up. */
const historyName = (name: string): string => vendorName(name.replace(/[^a-zA-Z0-9_.:-]/g, "_").slice(0, 126))
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
  const ofText = signatureOf(message)
  if (ofText !== undefined) parts.push({ ...(parts.pop() ?? { text: "" }), thoughtSignature: ofText })
  for (const [index, call] of (message.tool_calls ?? []).entries()) {
    const args = callInput(call, adjusted)
    const signature = signatureOf(call) ?? (index === 0 ? skipSignature : undefined)
    parts.push({
      functionCall: compact({ id: vendorId(call), name: historyName(call.function.name), args }),
      ...(signature === undefined ? {} : { thoughtSignature: signature })
    })
  }
  return parts
}

/** Google's own field for it (docs/upstreams.md#thought-signatures, docs/decisions.md#tool-loops-that-survive-thinking). */
const signatureOf = ({ extra_content }: MessageOf<"assistant"> | ToolCall): string | undefined => {
  const signature = textOf(objectOf(objectOf(extra_content).google).thought_signature)
  return signature === "" ? undefined : signature
}

/**
 * The vendor's own ID of a call, where it gave one (`callExtra` in its reply). Others are not sent: a cloud whose API has no such field
 * refuses it (docs/upstreams.md#gemini).
 */
const vendorId = (call: ToolCall): string | undefined =>
  textOf(objectOf(objectOf(call.extra_content).google).function_call_id)

/** For the vendor a key `$ref` names one of the result's media parts, and any other value is refused (docs/upstreams.md#gemini-schemas). */
const reference = /"(?:\$|\\u0024)ref"\s*:/

/** A result is an object as it is, or the output of one. */
const responseOf = (message: MessageOf<"tool">): JsonObject => {
  const { content } = message
  if (!isObjectText(content) || reference.test(content)) return { output: content }
  return parsedObject(message, content) ?? { output: content }
}
