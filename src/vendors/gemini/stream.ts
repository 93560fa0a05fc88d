/** Google's generateContent, on Vertex: what is answered in a stream. */
import { Result } from "effect"
import type { Route } from "../../catalog/Route.ts"
import type { Tokens } from "../../catalog/Tokens.ts"
import { cut, misshapen, type UpstreamFault, unreadable } from "../../catalog/UpstreamFault.ts"
import type { FinishReason } from "../../contract/ChatReply.ts"
import type { Event } from "../../wire/Event.ts"
import { isObject, type Json, readObject, readWrittenObject } from "../../wire/json.ts"
import { addText, finishOf } from "../answer.ts"
import type { Dialect, Ending, Pieces, StreamReader } from "../Dialect.ts"
import { geminiFault } from "./faults.ts"
import { callIn, finishIn, hasPrintableCalls, partsOf, signed, textIn, textSignatureIn } from "./reply.ts"
import { readUsage } from "./usage.ts"

class GeminiReader implements StreamReader {
  private readonly route: Route
  private readonly counts: { [key: string]: Json } = {}
  private calls = 0
  private signature: string | undefined
  private finish: FinishReason | undefined

  constructor(route: Route) {
    this.route = route
  }

  step({ data }: Event, out: Pieces): UpstreamFault | undefined {
    // Only arguments need numbers as they were written, and to keep those takes longer.
    const body = data.includes("functionCall") ? readWrittenObject(data) : readObject(data)
    if (body === undefined) return unreadable
    if (isObject(body.error)) return geminiFault(body.error)
    // Counts come once, or as totals so far: the latest of each is right (docs/upstreams.md#gemini-usage).
    if (isObject(body.usageMetadata)) Object.assign(this.counts, body.usageMetadata)
    const finished = finishIn(body)
    if (Result.isFailure(finished)) return finished.failure
    if (!hasPrintableCalls(body)) return misshapen
    this.finish = finished.success ?? this.finish
    for (const part of partsOf(body)) this.say(part, out)
    return undefined
  }

  end(out: Pieces): Result.Result<Ending, UpstreamFault> {
    if (this.finish === undefined) return Result.fail(cut)
    const extra = signed(this.signature)
    if (extra !== undefined) out.push({ type: "extra", extra })
    return Result.succeed({ finishReason: finishOf(this.finish, this.calls), usage: this.usage() })
  }

  /** The vendor has no terminal event: counts may follow the finish reason, and the stream's end is its end. */
  ended(): boolean {
    return false
  }

  usage(): Tokens | undefined {
    return readUsage(this.counts, this.route)
  }

  private say(part: Json, out: Pieces): void {
    const text = textIn(part)
    this.signature = textSignatureIn(part) ?? this.signature
    addText(text, out)
    const call = text === "" ? callIn(part) : undefined
    if (call === undefined) return
    const index = this.calls++
    out.push({ type: "call", index, id: call.id, name: call.name, extra: call.extra })
    out.push({ type: "arguments", index, text: call.args })
    out.push({ type: "call-end", index })
  }
}

export const stream: Dialect["stream"] = (route) => new GeminiReader(route)
