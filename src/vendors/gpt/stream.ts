/** OpenAI's chat completions: what is answered in a stream. */
import { Result } from "effect"
import type { Tokens } from "../../catalog/Tokens.ts"
import { cut, unreadable } from "../../catalog/UpstreamFault.ts"
import type { FinishReason } from "../../contract/ChatReply.ts"
import { arrayOf, isObject, type JsonObject, numberOf, objectOf, readObject, textOf } from "../../wire/json.ts"
import { addText, finishOf, finishOfWord, isGuarded, servedOf } from "../answer.ts"
import type { Dialect, Pieces, Served } from "../Dialect.ts"
import { answerTokens, chatNames } from "../openaiUsage.ts"
import { gptFault } from "./faults.ts"
import { filterFor, readLogprobs, uniqueId } from "./reply.ts"

export const stream: Dialect["stream"] = (route) => {
  const filter = filterFor(route)
  /** Our index of each of the upstream's. */
  const calls = new Map<number, number>()
  let finish: FinishReason | undefined
  let guarded = false
  let tokens: Tokens | undefined
  let served: Served | undefined
  let over = false

  const call = (delta: JsonObject, position: number, out: Pieces): void => {
    const theirs = numberOf(delta.index) ?? position
    const called = objectOf(delta.function)
    const known = calls.get(theirs)
    const index = known ?? calls.size
    if (known === undefined) {
      calls.set(theirs, index)
      out.push({ type: "call", index, id: uniqueId(delta.id, route), name: textOf(called.name) ?? "" })
    }
    const text = textOf(called.arguments) ?? ""
    if (text !== "") out.push({ type: "arguments", index, text })
  }

  return {
    step: ({ data }, out) => {
      if (data === "[DONE]") over = true
      if (over) return undefined
      const chunk = readObject(data)
      if (chunk === undefined) return unreadable
      if (isObject(chunk.error)) return gptFault(chunk.error)
      // Counts come in a chunk of their own; content filter results in chunks without choices or delta
      // (docs/decisions.md#chunks-without-choices).
      tokens = answerTokens(chunk.usage, route, chatNames) ?? tokens
      const choice = objectOf(arrayOf(chunk.choices)[0])
      const delta = objectOf(choice.delta)
      const reason = textOf(choice.finish_reason)
      if (reason !== undefined) {
        const finished = finishOfWord(reason)
        if (Result.isFailure(finished)) return finished.failure
        finish = finished.success
      }
      guarded ||= isGuarded(chunk)
      served ??= servedOf(chunk)
      const logprobs = readLogprobs(choice, route)
      addText(filter.push(textOf(delta.content) ?? ""), out, logprobs)
      const refusal = textOf(delta.refusal) ?? ""
      if (refusal !== "") out.push({ type: "refusal", text: refusal, ...(logprobs === undefined ? {} : { logprobs }) })
      if (Array.isArray(delta.annotations)) out.push({ type: "annotations", annotations: delta.annotations })
      let position = 0
      for (const item of arrayOf(delta.tool_calls)) if (isObject(item)) call(item, position++, out)
      return undefined
    },
    end: (out) => {
      if (!over || finish === undefined) return Result.fail(cut)
      addText(filter.end(), out)
      for (const index of calls.values()) out.push({ type: "call-end", index })
      const finishReason = guarded ? "content_filter" : finishOf(finish, calls.size)
      return Result.succeed({ finishReason, usage: tokens, served })
    },
    ended: () => over,
    usage: () => tokens
  }
}
