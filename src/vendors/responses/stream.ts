/** OpenAI's responses API: what is answered in a stream (docs/upstreams.md#responses-api). */
import { Result } from "effect"
import type { Route } from "../../catalog/Route.ts"
import type { Tokens } from "../../catalog/Tokens.ts"
import { cut, type UpstreamFault, unreadable } from "../../catalog/UpstreamFault.ts"
import type { FinishReason } from "../../contract/ChatReply.ts"
import type { Event } from "../../wire/Event.ts"
import {
  arrayOf,
  isObject,
  type Json,
  type JsonObject,
  numberOf,
  objectOf,
  readObject,
  textOf
} from "../../wire/json.ts"
import { addText, finishOf as finishWith, servedOf } from "../answer.ts"
import type { Dialect, Ending, Pieces, Served, StreamReader } from "../Dialect.ts"
import { responsesFault } from "./faults.ts"
import { annotationsOf, between, finishOf, idOf } from "./reply.ts"
import { readUsage } from "./usage.ts"

/** A call that has begun. */
interface Call {
  readonly index: number
  /** Whether arguments came in pieces. */
  hasArguments: boolean
  done: boolean
}

class ResponsesReader implements StreamReader {
  private readonly route: Route
  /** By their places in the output. */
  private readonly calls = new Map<number, Call>()
  private readonly messages = new Set<number>()
  /** The message whose text was said last. */
  private speaking: number | undefined
  private finish: FinishReason | undefined
  private tokens: Tokens | undefined
  private served: Served | undefined

  constructor(route: Route) {
    this.route = route
  }

  step({ data }: Event, out: Pieces): UpstreamFault | undefined {
    if (this.finish !== undefined) return undefined
    const fields = readObject(data)
    // It has no last word of chat's kind; one is not an end.
    if (fields === undefined) return data === "[DONE]" ? undefined : unreadable
    const at = numberOf(fields.output_index) ?? 0
    switch (fields.type) {
      case "response.output_text.delta":
        this.say(at, fields.delta, fields.logprobs, out)
        break
      case "response.function_call_arguments.delta":
        this.args(this.calls.get(at), fields.delta, out)
        break
      case "response.output_item.added": {
        const item = objectOf(fields.item)
        if (item.type === "function_call") this.callAt(at, item, out)
        break
      }
      case "response.output_item.done":
        this.settle(at, objectOf(fields.item), out)
        break
      case "response.refusal.delta":
        this.refuse(at, fields.delta, out)
        break
      case "response.output_text.annotation.added":
        annotate([fields.annotation ?? null], out)
        break
      case "response.completed":
      case "response.incomplete":
      case "response.failed":
        return this.conclude(fields.type.slice("response.".length), objectOf(fields.response), out)
      case "error":
        return responsesFault(isObject(fields.error) ? fields.error : fields)
    }
    return undefined
  }

  end(out: Pieces): Result.Result<Ending, UpstreamFault> {
    if (this.finish === undefined) return Result.fail(cut)
    for (const { index, done } of this.calls.values()) if (!done) out.push({ type: "call-end", index })
    const finishReason = finishWith(this.finish, this.calls.size)
    return Result.succeed({ finishReason, usage: this.tokens, served: this.served })
  }

  ended(): boolean {
    return this.finish !== undefined
  }

  usage(): Tokens | undefined {
    return this.tokens
  }

  private callAt(at: number, item: JsonObject, out: Pieces): Call {
    const known = this.calls.get(at)
    if (known !== undefined) return known
    const begun = { index: this.calls.size, hasArguments: false, done: false }
    this.calls.set(at, begun)
    out.push({ type: "call", index: begun.index, id: idOf(item), name: textOf(item.name) ?? "" })
    return begun
  }

  /** Of a call that never began they are nothing yet: the whole item says them. */
  private args(call: Call | undefined, text: Json | undefined, out: Pieces): void {
    if (call === undefined || typeof text !== "string" || text === "") return
    call.hasArguments = true
    out.push({ type: "arguments", index: call.index, text })
  }

  private say(at: number, text: Json | undefined, logprobs: Json | undefined, out: Pieces): void {
    if (typeof text !== "string" || text === "") return
    this.messages.add(at)
    if (this.speaking !== undefined && this.speaking !== at) addText(between, out)
    this.speaking = at
    const likely = arrayOf(logprobs)
    addText(text, out, likely.length === 0 ? undefined : { content: likely, refusal: null })
  }

  private refuse(at: number, text: Json | undefined, out: Pieces): void {
    if (typeof text !== "string" || text === "") return
    this.messages.add(at)
    out.push({ type: "refusal", text })
  }

  /** A whole item: what of it did not come in pieces. */
  private settle(at: number, item: JsonObject, out: Pieces): void {
    if (item.type === "function_call") {
      const call = this.callAt(at, item, out)
      if (call.done) return
      if (!call.hasArguments) this.args(call, item.arguments, out)
      call.done = true
      out.push({ type: "call-end", index: call.index })
    } else if (item.type === "message" && !this.messages.has(at)) {
      for (const part of arrayOf(item.content).map(objectOf)) {
        this.say(at, part.type === "output_text" ? part.text : undefined, part.logprobs, out)
        this.refuse(at, part.type === "refusal" ? part.refusal : undefined, out)
        annotate(arrayOf(part.annotations), out)
      }
    }
  }

  private conclude(status: string, given: JsonObject, out: Pieces): UpstreamFault | undefined {
    const response: JsonObject = { ...given, status }
    this.tokens = readUsage(response.usage, this.route)
    this.served = servedOf(response)
    const finished = finishOf(response)
    if (Result.isFailure(finished)) return finished.failure
    for (const [at, item] of arrayOf(response.output).entries()) this.settle(at, objectOf(item), out)
    this.finish = finished.success
    return undefined
  }
}

export const stream: Dialect["stream"] = (route) => new ResponsesReader(route)

const annotate = (annotations: ReadonlyArray<Json>, out: Pieces): void => {
  const said = annotationsOf({ annotations })
  if (said.length > 0) out.push({ type: "annotations", annotations: said })
}
