/** Anthropic's Messages API: what is answered in a stream (docs/upstreams.md#anthropic-stream-events). */
import { Result } from "effect"
import { cut, unreadable } from "../../model/UpstreamFault.ts"
import { isShallow, type Json, type JsonObject, numberOf, objectOf, readObject, textOf } from "../../wire/json.ts"
import { addText, callId, finishOf } from "../answer.ts"
import type { Dialect, Pieces } from "../Dialect.ts"
import { claudeFault } from "./faults.ts"
import { filterFor, finishReasonOf, pausedBy, thinkingExtra } from "./reply.ts"
import { isThinking } from "./turns.ts"
import { overlayUsage, readUsage, totalsAtEnd } from "./usage.ts"

/** A content block that is being streamed, by the vendor's index. */
type Open =
  | { readonly type: "call"; readonly index: number; readonly input: Json | undefined; empty: boolean }
  | { readonly type: "thinking"; readonly block: { [key: string]: Json } }

export const stream: Dialect["stream"] = (route, chat) => {
  const filter = filterFor(chat)
  const open = new Map<number, Open>()
  let thinking: Array<JsonObject> = []
  /** Counts of the beginning, the totals since, and what they come to. */
  let start: JsonObject = {}
  let totals: JsonObject = {}
  let usage: JsonObject = {}
  let calls = 0
  let kept = 0
  let stopReason: string | undefined
  let ended = false

  const begin = (at: number, block: JsonObject, out: Pieces): void => {
    if (block.type === "text") addText(filter.push(textOf(block.text) ?? ""), out)
    else if (isThinking(block)) open.set(at, { type: "thinking", block: { ...block } })
    else if (block.type === "tool_use") call(at, block, out)
  }

  const call = (at: number, block: JsonObject, out: Pieces): void => {
    const index = calls++
    const extra = thinkingExtra(thinking)
    thinking = []
    open.set(at, { type: "call", index, input: isShallow(block.input) ? block.input : {}, empty: true })
    out.push({
      type: "call",
      index,
      id: callId(textOf(block.id) ?? ""),
      name: textOf(block.name) ?? "",
      extra,
      messageExtra: index === 0 ? extra : undefined
    })
  }

  const delta = (at: number, change: JsonObject, out: Pieces): void => {
    if (change.type === "text_delta") {
      addText(filter.push(textOf(change.text) ?? ""), out)
      return
    }
    const target = open.get(at)
    if (change.type === "input_json_delta" && target?.type === "call") {
      const text = textOf(change.partial_json) ?? ""
      if (text === "") return
      target.empty = false
      out.push({ type: "arguments", index: target.index, text })
    } else if (target?.type === "thinking") kept += append(target.block, change)
  }

  const stop = (at: number, out: Pieces): void => {
    const target = open.get(at)
    open.delete(at)
    if (target?.type === "thinking") thinking.push(target.block)
    if (target?.type !== "call") return
    const { index, input, empty } = target
    if (empty) out.push({ type: "arguments", index, text: JSON.stringify(input ?? {}) })
    out.push({ type: "call-end", index })
  }

  return {
    step: (event, out) => {
      if (ended) return undefined
      const fields = readObject(event.data)
      if (fields === undefined) return unreadable
      switch (fields.type) {
        case "content_block_delta":
          delta(numberOf(fields.index) ?? 0, objectOf(fields.delta), out)
          break
        case "content_block_start":
          begin(numberOf(fields.index) ?? 0, objectOf(fields.content_block), out)
          break
        case "content_block_stop":
          stop(numberOf(fields.index) ?? 0, out)
          break
        case "message_start":
          start = overlayUsage({}, objectOf(fields.message).usage)
          usage = start
          break
        case "message_delta":
          totals = overlayUsage(totals, fields.usage)
          usage = { ...start, ...totals }
          stopReason = textOf(objectOf(fields.delta).stop_reason) ?? stopReason
          return pausedBy(stopReason)
        case "message_stop":
          usage = { ...start, ...totalsAtEnd(start, totals, fields) }
          ended = true
          break
        case "error":
          return claudeFault(objectOf(fields.error))
      }
      return undefined
    },
    end: (out) => {
      if (!ended) return Result.fail(cut)
      addText(filter.end(), out)
      // A call that the vendor never closed is complete all the same.
      for (const at of open.keys()) stop(at, out)
      return Result.succeed({
        finishReason: finishOf(finishReasonOf(stopReason), calls),
        usage: readUsage(usage, route)
      })
    },
    ended: () => ended,
    kept: () => kept,
    usage: () => readUsage(usage, route)
  }
}

/** Thinking and its signature arrive in fragments, and must be given back exactly. Answers how many characters have come. */
const append = (block: { [key: string]: Json }, change: JsonObject): number => {
  let characters = 0
  for (const name of ["thinking", "signature"]) {
    const text = textOf(change[name])
    if (text === undefined) continue
    block[name] = (textOf(block[name]) ?? "") + text
    characters += text.length
  }
  return characters
}
