/** Anthropic's Messages API: what is answered as a whole (docs/upstreams.md#anthropic-messages). */
import { Result } from "effect"
import { misshapen } from "../../catalog/UpstreamFault.ts"
import type { ChatRequest } from "../../contract/Chat.ts"
import type { ToolCall } from "../../contract/ChatMessage.ts"
import { arrayOf, isObject, type JsonObject, objectOf, textOf } from "../../wire/json.ts"
import { callId, finishOfBody, makeAnswer, makeCall, noUsage } from "../answer.ts"
import { inputText, isPrintable } from "../callTexts.ts"
import type { Dialect } from "../Dialect.ts"
import { jsonFormat } from "../schema.ts"
import { jsonFenceFilter, noFilter, type TextFilter } from "../textFilters.ts"
import { isThinking, OrderWriter } from "./order.ts"
import { readUsage } from "./usage.ts"

export const reply: Dialect["reply"] = (body, route, chat) => {
  if (!Array.isArray(body.content)) return Result.fail(misshapen)
  const finished = finishOfBody(textOf(body.stop_reason), body)
  if (Result.isFailure(finished)) return Result.fail(finished.failure)
  const filter = filterFor(chat)
  const order = new OrderWriter(route.model.id)
  let text = ""
  let last: ReturnType<OrderWriter["text"]> | undefined
  const show = (shown: string): void => {
    text += shown
    if (last !== undefined) last.length += shown.length
  }
  let thinking: Array<JsonObject> = []
  const toolCalls: Array<ToolCall> = []
  for (const block of arrayOf(body.content)) {
    if (!isObject(block)) continue
    if (block.type === "text") {
      last = order.text(block)
      show(filter.push(textOf(block.text) ?? ""))
    } else if (isThinking(block)) {
      order.thinking(block)
      thinking.push(block)
    } else if (block.type === "tool_use") {
      if (!isPrintable(block.input)) return Result.fail(misshapen)
      const id = callId(textOf(block.id) ?? "")
      order.call(block, id)
      toolCalls.push(makeCall(id, textOf(block.name) ?? "", inputText(block.input), thinkingExtra(thinking)))
      thinking = []
    }
  }
  show(filter.end())
  return Result.succeed(
    makeAnswer({
      id: textOf(body.id),
      text,
      toolCalls,
      finishReason: finished.success,
      usage: readUsage(objectOf(body.usage), route) ?? noUsage,
      extra: order.extra()
    })
  )
}

/** JSON that was asked for in words may come in a fence anyway. */
export const filterFor = (chat: ChatRequest): TextFilter =>
  jsonFormat(chat) === undefined ? noFilter : jsonFenceFilter()

/** The signed blocks that came before a call, on the call itself: some callers keep no more than that. */
export const thinkingExtra = (blocks: ReadonlyArray<JsonObject>): JsonObject | undefined =>
  blocks.length === 0 ? undefined : { anthropic: { thinking_blocks: blocks } }
