/** Anthropic's Messages API: its replies (docs/upstreams.md#anthropic-messages, docs/upstreams.md#anthropic-stream-events). */
import { Result } from "effect"
import { cut, invalidBody, type UpstreamFault, unreadable } from "../../catalog/UpstreamFault.ts"
import { arrayOf, type Json, type JsonObject, numberOf, objectOf, readObject, textOf } from "../../wire/json.ts"
import { readWrittenObject } from "../../wire/parse.ts"
import { runNow } from "../../wire/slices.ts"
import { addText, callId, eventTypeOf, finishOf, finishOfWord, isGuarded, isOneEvent } from "../answer.ts"
import { jsonFormat } from "../chatRequest.ts"
import type { Dialect, Pieces } from "../Dialect.ts"
import { claudeFault } from "../faults.ts"
import { jsonFenceFilter } from "../textFilters.ts"
import { inputText } from "../toolCalls.ts"
import { isThinking, orderWriter, type TextPlace } from "./order.ts"
import { overlayUsage, readUsage, totalsAtEnd } from "./usage.ts"

/** A content block that is being streamed. */
type Open =
  | { readonly type: "call"; readonly index: number; readonly input: string; empty: boolean }
  | { readonly type: "thinking"; readonly block: { [key: string]: Json } }
  /** Of a kind that is skipped, also where its text comes in pieces. */
  | { readonly type: "unknown" }

/** What a block takes beside the event that begins it, and a piece of thinking beside its text, in bytes, about. */
const heldPerBlock = 256
const heldPerPiece = 32

export const reader: Dialect["reader"] = (route, chat) => {
  // JSON that an instruction asked for may come in a fence.
  const filter = jsonFormat(chat) === undefined ? undefined : jsonFenceFilter()
  const order = orderWriter(route.model.id)
  /** By the vendor's index of the block. */
  const openBlocks = new Map<number, Open>()
  let thinking: Array<JsonObject> = []
  /** The text block that is being read. */
  let text: TextPlace | undefined
  /** Counts of `message_start`, and the totals since. */
  let start: JsonObject = {}
  let totals: JsonObject = {}
  let calls = 0
  let unsent = 0
  let held = 0
  let reason: string | undefined
  let guarded = false
  let over = false

  const usage = () => readUsage({ ...start, ...totals }, route)

  const show = (shown: string, out: Pieces): void => {
    if (text !== undefined) text.length += shown.length
    addText(shown, out)
  }

  const beginCall = (at: number, block: JsonObject, input: string, out: Pieces): void => {
    const index = calls++
    const id = callId(block.id)
    // A call carries the signed blocks before it, because some callers keep only calls.
    const extra =
      thinking.length === 0 ? undefined : { anthropic: { model: route.model.id, thinking_blocks: thinking } }
    order.call(block, id)
    thinking = []
    openBlocks.set(at, { type: "call", index, input, empty: true })
    out.push({ type: "call", index, id, name: textOf(block.name) ?? "", extra })
  }

  const addShown = (added: string, out: Pieces): void => show(filter?.push(added) ?? added, out)

  /** `input`: the text of a call's. */
  const begin = (at: number, block: JsonObject, input: string, out: Pieces): void => {
    // One that the vendor never closed is complete where another takes its place.
    stop(at, out)
    if (block.type === "text") {
      text = order.text(block)
      addShown(textOf(block.text) ?? "", out)
    } else if (isThinking(block)) {
      const thought = { ...block }
      unsent += thoughtBytes(thought)
      order.thinking(thought)
      openBlocks.set(at, { type: "thinking", block: thought })
    } else if (block.type === "tool_use") beginCall(at, block, input, out)
    else openBlocks.set(at, { type: "unknown" })
  }

  const delta = (at: number, change: JsonObject, out: Pieces): UpstreamFault | undefined => {
    const target = openBlocks.get(at)
    if (change.type === "text_delta") {
      if (target?.type !== "unknown") addShown(textOf(change.text) ?? "", out)
    } else if (change.type === "input_json_delta") {
      const json = textOf(change.partial_json) ?? ""
      // Of a call that is complete, or has not begun: it would be executed without them.
      if (target === undefined && json !== "") return unreadable
      if (target?.type !== "call" || json === "") return undefined
      target.empty = false
      out.push({ type: "arguments", index: target.index, text: json })
    } else if (target?.type === "thinking") {
      const added = append(target.block, change)
      unsent += added
      held += heldPerPiece + added
    }
    return undefined
  }

  const stop = (at: number, out: Pieces): void => {
    const target = openBlocks.get(at)
    openBlocks.delete(at)
    if (target?.type === "thinking") thinking.push(target.block)
    if (target?.type !== "call") return
    const { index, input, empty } = target
    if (empty) out.push({ type: "arguments", index, text: input })
    out.push({ type: "call-end", index })
  }

  return {
    *whole(body, out) {
      if (!Array.isArray(body.content)) return invalidBody
      guarded = isGuarded(body)
      reason = textOf(body.stop_reason)
      totals = objectOf(body.usage)
      for (const [at, block] of arrayOf(body.content).map(objectOf).entries()) {
        const input = block.type === "tool_use" ? yield* inputText(block.input) : ""
        if (input === undefined) return invalidBody
        begin(at, block, input, out)
        stop(at, out)
      }
      over = true
      return undefined
    },
    step: ({ data, event }, out) => {
      if (over) return undefined
      const fields = readObject(data)
      if (fields === undefined) return unreadable
      guarded ||= isGuarded(fields)
      const at = numberOf(fields.index) ?? 0
      const type = eventTypeOf(fields)
      if (!isOneEvent(event, type)) return unreadable
      switch (type) {
        case "content_block_start": {
          // What of the block is kept depends on its type: all of thinking, the input of a call, and fields that chat does not have.
          held += heldPerBlock + data.length
          // A call may have its input here. Parsed as written, because the block may be sent back.
          const block = objectOf(readWrittenObject(data)?.content_block)
          begin(at, block, runNow(inputText(block.input)) ?? "{}", out)
          break
        }
        case "content_block_delta":
          return delta(at, objectOf(fields.delta), out)
        case "content_block_stop":
          stop(at, out)
          break
        case "message_start":
          start = overlayUsage({}, objectOf(fields.message).usage)
          break
        case "message_delta":
          totals = overlayUsage(totals, fields.usage)
          reason = textOf(objectOf(fields.delta).stop_reason) ?? reason
          break
        case "message_stop":
          totals = totalsAtEnd(start, totals, fields)
          start = {}
          over = true
          break
        case "error":
          return claudeFault(objectOf(fields.error))
      }
      return undefined
    },
    end: (out) => {
      if (!over) return Result.fail(cut)
      return Result.map(finishOfWord(reason, guarded), (finish) => {
        show(filter?.end() ?? "", out)
        // A block that the vendor never closed is complete anyway.
        for (const at of openBlocks.keys()) stop(at, out)
        const extra = order.extra()
        if (extra !== undefined) out.push({ type: "extra", extra })
        return { finishReason: finishOf(finish, calls), usage: usage() }
      })
    },
    ended: () => over,
    unsent: () => unsent,
    held: () => held,
    usage
  }
}

const thoughtTexts = ["thinking", "signature", "data"]
/** Bytes of thinking; what is not shown of it is in its signature or encrypted. */
export const thoughtBytes = (block: JsonObject): number =>
  thoughtTexts.reduce((bytes, name) => bytes + Buffer.byteLength(textOf(block[name]) ?? ""), 0)

/** Thinking and its signature arrive in fragments, and must be given back exactly. Returns how many bytes have come. */
const append = (block: { [key: string]: Json }, change: JsonObject): number => {
  for (const name of thoughtTexts) {
    const text = textOf(change[name])
    if (text !== undefined) block[name] = (textOf(block[name]) ?? "") + text
  }
  return thoughtBytes(change)
}
