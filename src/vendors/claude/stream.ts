/** Anthropic's Messages API: what is answered in a stream (docs/upstreams.md#anthropic-stream-events). */
import { Result } from "effect"
import type { Route } from "../../catalog/Route.ts"
import type { Tokens } from "../../catalog/Tokens.ts"
import { cut, type UpstreamFault, unreadable } from "../../catalog/UpstreamFault.ts"
import type { FinishReason } from "../../contract/ChatReply.ts"
import type { Event } from "../../wire/Event.ts"
import { isShallow, type Json, type JsonObject, numberOf, objectOf, readObject, textOf } from "../../wire/json.ts"
import { addText, callId, finishOf } from "../answer.ts"
import type { Dialect, Ending, Pieces, StreamReader } from "../Dialect.ts"
import { finishOfWord, isGuarded } from "../finish.ts"
import type { TextFilter } from "../textFilter.ts"
import { claudeFault } from "./faults.ts"
import { isThinking, OrderWriter } from "./order.ts"
import { filterFor, thinkingExtra } from "./reply.ts"
import { overlayUsage, readUsage, totalsAtEnd } from "./usage.ts"

/** A content block that is being streamed. */
type Open =
  | { readonly type: "call"; readonly index: number; readonly input: Json | undefined; empty: boolean }
  | { readonly type: "thinking"; readonly block: { [key: string]: Json } }

class ClaudeReader implements StreamReader {
  private readonly route: Route
  private readonly filter: TextFilter
  /** By the vendor's index. */
  private readonly open = new Map<number, Open>()
  private thinking: Array<JsonObject> = []
  private readonly order: OrderWriter
  /** The text that is shown now. */
  private text: ReturnType<OrderWriter["text"]> | undefined
  /** Counts of the beginning, the totals since, and what they come to. */
  private start: JsonObject = {}
  private totals: JsonObject = {}
  private counts: JsonObject = {}
  private calls = 0
  private bytes = 0
  private finish: FinishReason = "content_filter"
  private guarded = false
  private over = false

  constructor(route: Route, filter: TextFilter) {
    this.route = route
    this.order = new OrderWriter(route.model.id)
    this.filter = filter
  }

  step(event: Event, out: Pieces): UpstreamFault | undefined {
    if (this.over) return undefined
    const fields = readObject(event.data)
    if (fields === undefined) return unreadable
    this.guarded ||= isGuarded(fields)
    if (fields.type !== "content_block_delta") return this.stepRare(fields, out)
    this.delta(numberOf(fields.index) ?? 0, objectOf(fields.delta), out)
    return undefined
  }

  /** Events of which a reply has few. Apart, because V8 compiles anew what reads objects whose shapes have been collected. */
  private stepRare(fields: JsonObject, out: Pieces): UpstreamFault | undefined {
    switch (fields.type) {
      case "content_block_start":
        this.begin(numberOf(fields.index) ?? 0, objectOf(fields.content_block), out)
        break
      case "content_block_stop":
        this.stop(numberOf(fields.index) ?? 0, out)
        break
      case "message_start":
        this.start = overlayUsage({}, objectOf(fields.message).usage)
        this.counts = this.start
        break
      case "message_delta":
        this.totals = overlayUsage(this.totals, fields.usage)
        this.counts = { ...this.start, ...this.totals }
        return this.conclude(textOf(objectOf(fields.delta).stop_reason))
      case "message_stop":
        this.counts = totalsAtEnd(this.start, this.totals, fields)
        this.over = true
        break
      case "error":
        return claudeFault(objectOf(fields.error))
    }
    return undefined
  }

  end(out: Pieces): Result.Result<Ending, UpstreamFault> {
    if (!this.over) return Result.fail(cut)
    this.show(this.filter.end(), out)
    // A block that the vendor never closed is complete anyway.
    for (const at of this.open.keys()) this.stop(at, out)
    const extra = this.order.extra()
    if (extra !== undefined) out.push({ type: "extra", extra })
    const finishReason = this.guarded ? "content_filter" : finishOf(this.finish, this.calls)
    return Result.succeed({ finishReason, usage: this.usage() })
  }

  ended(): boolean {
    return this.over
  }

  kept(): number {
    return this.bytes
  }

  usage(): Tokens | undefined {
    return readUsage(this.counts, this.route)
  }

  private conclude(reason: string | undefined): UpstreamFault | undefined {
    if (reason === undefined) return undefined
    const finished = finishOfWord(reason)
    if (Result.isFailure(finished)) return finished.failure
    this.finish = finished.success
    return undefined
  }

  private begin(at: number, block: JsonObject, out: Pieces): void {
    if (block.type === "text") {
      this.text = this.order.text(block)
      this.show(this.filter.push(textOf(block.text) ?? ""), out)
    } else if (isThinking(block)) {
      const thinking = { ...block }
      this.order.thinking(thinking)
      this.open.set(at, { type: "thinking", block: thinking })
    } else if (block.type === "tool_use") this.call(at, block, out)
  }

  private call(at: number, block: JsonObject, out: Pieces): void {
    const index = this.calls++
    const id = callId(textOf(block.id) ?? "")
    const extra = thinkingExtra(this.thinking)
    this.order.call(block, id)
    this.thinking = []
    this.open.set(at, { type: "call", index, input: isShallow(block.input) ? block.input : {}, empty: true })
    out.push({ type: "call", index, id, name: textOf(block.name) ?? "", extra })
  }

  private show(text: string, out: Pieces): void {
    if (this.text !== undefined) this.text.length += text.length
    addText(text, out)
  }

  private delta(at: number, change: JsonObject, out: Pieces): void {
    if (change.type === "text_delta") {
      this.show(this.filter.push(textOf(change.text) ?? ""), out)
      return
    }
    const target = this.open.get(at)
    if (change.type === "input_json_delta" && target?.type === "call") {
      const text = textOf(change.partial_json) ?? ""
      if (text === "") return
      target.empty = false
      out.push({ type: "arguments", index: target.index, text })
    } else if (target?.type === "thinking") this.bytes += append(target.block, change)
  }

  private stop(at: number, out: Pieces): void {
    const target = this.open.get(at)
    this.open.delete(at)
    if (target?.type === "thinking") this.thinking.push(target.block)
    if (target?.type !== "call") return
    const { index, input, empty } = target
    if (empty) out.push({ type: "arguments", index, text: JSON.stringify(input ?? {}) })
    out.push({ type: "call-end", index })
  }
}

export const stream: Dialect["stream"] = (route, chat) => new ClaudeReader(route, filterFor(chat))

/** Thinking and its signature arrive in fragments, and must be given back exactly. Answers how many bytes have come. */
const append = (block: { [key: string]: Json }, change: JsonObject): number => {
  let bytes = 0
  for (const name of ["thinking", "signature"]) {
    const text = textOf(change[name])
    if (text === undefined) continue
    block[name] = (textOf(block[name]) ?? "") + text
    bytes += Buffer.byteLength(text)
  }
  return bytes
}
