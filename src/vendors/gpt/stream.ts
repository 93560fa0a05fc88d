/** OpenAI's chat completions: what is answered in a stream. */
import { Result } from "effect"
import type { Route } from "../../catalog/Route.ts"
import type { Tokens } from "../../catalog/Tokens.ts"
import { cut, type UpstreamFault, unreadable } from "../../catalog/UpstreamFault.ts"
import type { FinishReason } from "../../contract/ChatReply.ts"
import type { Event } from "../../wire/Event.ts"
import { arrayOf, isObject, type JsonObject, numberOf, objectOf, readObject, textOf } from "../../wire/json.ts"
import { addText, finishOf, servedOf } from "../answer.ts"
import type { Dialect, Ending, Pieces, Served, StreamReader } from "../Dialect.ts"
import { finishOfWord, isGuarded } from "../finish.ts"
import type { TextFilter } from "../textFilter.ts"
import { gptFault } from "./faults.ts"
import { filterFor, readLogprobs, uniqueId } from "./reply.ts"
import { readUsage } from "./usage.ts"

class GptReader implements StreamReader {
  private readonly route: Route
  private readonly filter: TextFilter
  /** Our index of each of the upstream's. */
  private readonly calls = new Map<number, number>()
  private finish: FinishReason | undefined
  private guarded = false
  private tokens: Tokens | undefined
  private served: Served | undefined
  private over = false

  constructor(route: Route) {
    this.route = route
    this.filter = filterFor(route)
  }

  step({ data }: Event, out: Pieces): UpstreamFault | undefined {
    if (data === "[DONE]") this.over = true
    if (this.over) return undefined
    const chunk = readObject(data)
    if (chunk === undefined) return unreadable
    if (isObject(chunk.error)) return gptFault(chunk.error)
    const { filter, route } = this
    // Counts come in a chunk of their own; content filter results in chunks without choices or delta
    // (docs/decisions.md#chunks-without-choices).
    this.tokens = readUsage(chunk.usage, route) ?? this.tokens
    const choice = objectOf(arrayOf(chunk.choices)[0])
    const delta = objectOf(choice.delta)
    const reason = textOf(choice.finish_reason)
    if (reason !== undefined) {
      const finished = finishOfWord(reason)
      if (Result.isFailure(finished)) return finished.failure
      this.finish = finished.success
    }
    this.guarded ||= isGuarded(chunk)
    this.served ??= servedOf(chunk)
    const logprobs = readLogprobs(choice, route)
    addText(filter.push(textOf(delta.content) ?? ""), out, logprobs)
    const refusal = textOf(delta.refusal) ?? ""
    if (refusal !== "") out.push({ type: "refusal", text: refusal, ...(logprobs === undefined ? {} : { logprobs }) })
    if (Array.isArray(delta.annotations)) out.push({ type: "annotations", annotations: delta.annotations })
    let position = 0
    for (const item of arrayOf(delta.tool_calls)) if (isObject(item)) this.call(item, position++, out)
    return undefined
  }

  end(out: Pieces): Result.Result<Ending, UpstreamFault> {
    if (!this.over || this.finish === undefined) return Result.fail(cut)
    addText(this.filter.end(), out)
    for (const index of this.calls.values()) out.push({ type: "call-end", index })
    const finishReason = this.guarded ? "content_filter" : finishOf(this.finish, this.calls.size)
    return Result.succeed({ finishReason, usage: this.tokens, served: this.served })
  }

  ended(): boolean {
    return this.over
  }

  usage(): Tokens | undefined {
    return this.tokens
  }

  private call(delta: JsonObject, position: number, out: Pieces): void {
    const theirs = numberOf(delta.index) ?? position
    const called = objectOf(delta.function)
    const known = this.calls.get(theirs)
    const index = known ?? this.calls.size
    if (known === undefined) {
      this.calls.set(theirs, index)
      out.push({ type: "call", index, id: uniqueId(delta.id, this.route), name: textOf(called.name) ?? "" })
    }
    const text = textOf(called.arguments) ?? ""
    if (text !== "") out.push({ type: "arguments", index, text })
  }
}

export const stream: Dialect["stream"] = (route) => new GptReader(route)
