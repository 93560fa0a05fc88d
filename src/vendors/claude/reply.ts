/** Anthropic's Messages API: what is answered as a whole (docs/upstreams.md#anthropic-messages). */
import { Result } from "effect"
import { type Broken, misshapen, unfinished } from "../../catalog/UpstreamFault.ts"
import type { ChatRequest } from "../../contract/Chat.ts"
import type { ToolCall } from "../../contract/ChatMessage.ts"
import type { FinishReason } from "../../contract/ChatReply.ts"
import { arrayOf, isObject, type JsonObject, objectOf, textOf } from "../../wire/json.ts"
import { callId, makeAnswer, makeCall, noUsage } from "../answer.ts"
import type { Dialect } from "../Dialect.ts"
import { inputText, isPrintable } from "../inputTexts.ts"
import { jsonFormat } from "../schema.ts"
import { noFilter, type TextFilter } from "../textFilter.ts"
import { jsonFenceFilter } from "./jsonFence.ts"
import { isThinking } from "./turns.ts"
import { readUsage } from "./usage.ts"

export const reply: Dialect["reply"] = (body, route, chat) => {
  if (!Array.isArray(body.content)) return Result.fail(misshapen)
  const paused = pausedBy(textOf(body.stop_reason))
  if (paused !== undefined) return Result.fail(paused)
  const filter = filterFor(chat)
  let text = ""
  let thinking: Array<JsonObject> = []
  let extra: JsonObject | undefined
  const toolCalls: Array<ToolCall> = []
  for (const block of arrayOf(body.content)) {
    if (!isObject(block)) continue
    if (block.type === "text") text += textOf(block.text) ?? ""
    else if (isThinking(block)) thinking.push(block)
    else if (block.type === "tool_use") {
      if (!isPrintable(block.input)) return Result.fail(misshapen)
      const own = thinkingExtra(thinking)
      thinking = []
      if (toolCalls.length === 0) extra = own
      toolCalls.push(makeCall(callId(textOf(block.id) ?? ""), textOf(block.name) ?? "", inputText(block.input), own))
    }
  }
  return Result.succeed(
    makeAnswer({
      id: textOf(body.id),
      text: filter.push(text) + filter.end(),
      toolCalls,
      finishReason: finishReasonOf(textOf(body.stop_reason)),
      usage: readUsage(objectOf(body.usage), route) ?? noUsage,
      extra
    })
  )
}

/** JSON that was asked for in words may come in a fence all the same. */
export const filterFor = (chat: ChatRequest | undefined): TextFilter =>
  chat === undefined || jsonFormat(chat) === undefined ? noFilter : jsonFenceFilter()

/** What the vendor wants back before a tool call: the signed blocks that came before it. */
export const thinkingExtra = (blocks: ReadonlyArray<JsonObject>): JsonObject | undefined =>
  blocks.length === 0 ? undefined : { anthropic: { thinking_blocks: blocks } }

/**
 * A turn that waits for what was said to be sent back as it was, which chat cannot do. Only the vendor's own server tools pause one,
 * and those are refused (docs/upstreams.md#stop-reasons-of-claude).
 */
export const pausedBy = (reason: string | undefined): Broken | undefined =>
  reason === "pause_turn" ? unfinished(reason) : undefined

export const finishReasonOf = (reason: string | undefined): FinishReason => finishReasons.get(reason ?? "") ?? "stop"

const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ["tool_use", "tool_calls"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["refusal", "content_filter"]
])
