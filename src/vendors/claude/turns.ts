/**
 * A chat's messages as Claude's turns (docs/upstreams.md#anthropic-messages, docs/api.md#chat-messages), with marks of the prompt
 * cache (docs/decisions.md#prompt-caching). A chat request has the vendor's own `cache_control`, where other gateways take it: on a
 * part, on a message as a whole, on a tool or its function, on a call.
 */
import type { ChatRequest } from "../../contract/Chat.ts"
import type { ContentPart, ToolCall } from "../../contract/ChatMessage.ts"
import { arrayOf, compact, type Json, type JsonObject, objectOf } from "../../wire/json.ts"
import { type Adjusted, isMark } from "../adjustments.ts"
import { digestId } from "../answer.ts"
import { assistantTexts, emptyUserText, endWithUser, historyName, isBlank, startWithUser } from "../chatRequest.ts"
import { inlineData, sanitizeFilename } from "../media.ts"
import { callInput } from "../toolCalls.ts"
import { isThinking, orderedBlocks } from "./order.ts"

/** The block with its mark of the prompt cache, where there is one. Other fields of the mark are not sent. */
export const marked = (block: JsonObject, given: Json | undefined): JsonObject =>
  isMark(given) ? { ...block, cache_control: compact({ type: "ephemeral", ttl: given.ttl ?? undefined }) } : block

/**
 * The blocks, with a mark on the last: it says that everything up to there is to be kept. A mark on empty texts only, which are not sent,
 * is lost (docs/upstreams.md#anthropic-messages).
 */
const markedLast = (
  blocks: ReadonlyArray<JsonObject>,
  given: Json | undefined,
  adjusted: Adjusted
): ReadonlyArray<JsonObject> => {
  const last = blocks.at(-1)
  if (last === undefined && isMark(given)) adjusted.removed("cache_control")
  return last === undefined ? blocks : blocks.with(-1, marked(last, given))
}

const isForAnHour = (mark: Json | undefined): boolean => objectOf(mark).ttl === "1h"

/** A message in the vendor's format. */
export interface Turn extends JsonObject {
  readonly role: "user" | "assistant"
  readonly content: ReadonlyArray<JsonObject>
}

/**
 * All system texts, in order, as blocks, and the turns: alternating, with tool results first in theirs. Calls are paired with their
 * results (`pairCalls`).
 */
export const toConversation = (chat: ChatRequest, model: string, adjusted: Adjusted) => {
  const system: Array<JsonObject> = []
  const turns: Array<{ readonly role: Turn["role"]; readonly content: Array<JsonObject> }> = []
  let keepsForAnHour = false
  const add = (role: Turn["role"], blocks: ReadonlyArray<JsonObject>) => {
    if (blocks.length === 0) return
    keepsForAnHour ||= blocks.some(({ cache_control }) => isForAnHour(cache_control))
    const last = turns.at(-1)
    if (last?.role !== role) turns.push({ role, content: [...blocks] })
    // Not spread into arguments: callers decide how much there is.
    else for (const block of blocks) last.content.push(block)
  }
  for (const message of endWithUser(chat, adjusted)) {
    switch (message.role) {
      case "system":
      case "developer": {
        // It goes in front of the turns before it, and the vendor takes no mark before one of a longer life.
        const isRefused = keepsForAnHour && isMark(message.cache_control) && !isForAnHour(message.cache_control)
        if (isRefused) adjusted.removed("cache_control")
        const mark = isRefused ? undefined : message.cache_control
        for (const block of markedLast(textBlocks(message.content), mark, adjusted)) system.push(block)
        break
      }
      case "user": {
        const blocks = userBlocks(message.content, adjusted)
        const isSilent = blocks.length === 0 && turns.at(-1)?.role === "assistant"
        if (isSilent) adjusted.changed("messages.content", "empty", "stand-in")
        add("user", markedLast(isSilent ? [textBlock(emptyUserText)] : blocks, message.cache_control, adjusted))
        break
      }
      case "tool":
        add("user", [marked(toolResult(message.tool_call_id, message.content), message.cache_control)])
        break
      case "assistant": {
        const texts = assistantTexts(message).map(textBlock)
        const toBlock = (call: ToolCall) => toolUse(call, adjusted)
        const blocks = orderedBlocks({ message, texts, toBlock }, model, adjusted)
        add("assistant", markedLast(blocks, message.cache_control, adjusted))
        break
      }
    }
  }
  const closed = turns.map(
    ({ role, content }): Turn => ({ role, content: role === "user" ? resultsFirst(content) : content })
  )
  const userTurn = (content: ReadonlyArray<JsonObject>): Turn => ({ role: "user", content })
  return startWithUser({ system, turns: trimPrefill(closed) }, userTurn, textBlock, adjusted)
}

/** Results of tools come first in their turn. */
export const resultsFirst = <Block extends Json>(blocks: ReadonlyArray<Block>): ReadonlyArray<Block> => {
  const isResult = (block: Block) => objectOf(block).type === "tool_result"
  return [...blocks.filter(isResult), ...blocks.filter((block) => !isResult(block))]
}

const textBlock = (text: string): JsonObject => ({ type: "text", text })

/** The vendor refuses texts of nothing but whitespace. */
const textBlocks = (text: string): ReadonlyArray<JsonObject> => (isBlank(text) ? [] : [textBlock(text)])

const userBlocks = (content: string | ReadonlyArray<ContentPart>, adjusted: Adjusted): ReadonlyArray<JsonObject> => {
  if (typeof content === "string") return textBlocks(content)
  const blocks: Array<JsonObject> = []
  for (const part of content) {
    if (part.type !== "text" || !isBlank(part.text)) blocks.push(marked(userBlock(part), part.cache_control))
    // The mark of a blank text goes to the block before it, because it means everything up to there.
    else if (blocks.at(-1)?.cache_control === undefined)
      blocks.splice(-1, 1, ...markedLast(blocks.slice(-1), part.cache_control, adjusted))
  }
  return blocks
}
const userBlock = (part: ContentPart): JsonObject => {
  if (part.type === "text") return textBlock(part.text)
  const { data, mime } = inlineData(part)
  const source = { type: "base64", media_type: mime, data }
  return part.type === "image_url"
    ? { type: "image", source }
    : { type: "document", source, title: sanitizeFilename(part.file.filename) }
}

const toolResult = (id: string, content: string): JsonObject => ({
  type: "tool_result",
  tool_use_id: vendorId(id),
  ...(content === "" ? {} : { content })
})

/** The vendor takes letters, digits, `_` and `-`; other IDs become a digest, so that calls and results still match. */
const vendorId = (id: string): string => (/^[a-zA-Z0-9_-]+$/.test(id) ? id : digestId(id, 24))

const toolUse = (call: ToolCall, adjusted: Adjusted): JsonObject => {
  const { id, function: called } = call
  const use = { type: "tool_use", id: vendorId(id), name: historyName(called.name), input: callInput(call, adjusted) }
  return marked(use, call.cache_control)
}

/** The vendor refuses a conversation that ends in an assistant's text with whitespace after it. */
const trimPrefill = (turns: ReadonlyArray<Turn>): ReadonlyArray<Turn> => {
  const last = turns.at(-1)
  const block = last?.content.at(-1)
  if (last?.role !== "assistant" || typeof block?.text !== "string") return turns
  return turns.with(-1, { ...last, content: last.content.with(-1, { ...block, text: block.text.trimEnd() }) })
}

/**
 * Whether a model with a budget may think about these turns. The vendor refuses it where the assistant's turn goes on, by results of its
 * tools or as a prefill, and has not begun with thinking. A loop of tools is one turn: the messages behind its first have thinking only
 * where the model thinks between calls (docs/upstreams.md#anthropic-messages).
 */
export const canThink = (turns: ReadonlyArray<Turn>): boolean => {
  const last = turns.findLastIndex(({ role }) => role === "assistant")
  const goesOn = last === turns.length - 1 || turns[last]?.content.some(({ type }) => type === "tool_use") === true
  if (last < 0 || !goesOn) return true
  for (let at = last; at >= 0; at -= 2) {
    const [first] = turns[at]?.content ?? []
    if (first === undefined || isThinking(first)) return true
    if (turns[at - 1]?.content.every(({ type }) => type === "tool_result") !== true) return false
  }
  return false
}

/** The same of a native body. Messages that do not alternate are left for the upstream to judge. */
export const canThinkIn = ({ messages }: JsonObject): boolean => {
  const given = arrayOf(messages).map(objectOf)
  if (given.some(({ role }, at) => role !== (at % 2 === 0 ? "user" : "assistant"))) return true
  return canThink(
    given.map(({ content, role }) => ({
      role: role === "assistant" ? role : "user",
      content: typeof content === "string" ? [textBlock(content)] : arrayOf(content).map(objectOf)
    }))
  )
}

/** Turns for a request that does not think: the vendor refuses or ignores thinking blocks there. */
export const withoutThinking = (turns: ReadonlyArray<Turn>): ReadonlyArray<Turn> =>
  turns.map((turn) =>
    turn.content.some(isThinking) ? { ...turn, content: turn.content.filter((block) => !isThinking(block)) } : turn
  )
