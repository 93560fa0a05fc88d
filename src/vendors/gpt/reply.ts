/** OpenAI's chat completions: what is answered. */
import { Result } from "effect"
import type { Route } from "../../catalog/Route.ts"
import type { Tokens } from "../../catalog/Tokens.ts"
import { cut, invalidBody, unreadable } from "../../catalog/UpstreamFault.ts"
import { arrayOf, isObject, type JsonObject, numberOf, objectOf, readObject, textOf } from "../../wire/json.ts"
import { addText, callId, finishOf, finishOfWord, isFilter, isGuarded, servedOf } from "../answer.ts"
import type { Dialect, Pieces, Served } from "../Dialect.ts"
import { gptFault } from "../faults.ts"
import { answerTokens } from "../openaiUsage.ts"
import { reasoningFilter } from "../textFilters.ts"

export const reader: Dialect["reader"] = (route) => {
  const filter = route.model.thinking.tagged === true ? reasoningFilter() : undefined
  /** By the upstream's index, the call that it means now: another ID with a name begins another call. */
  const calls = new Map<number, { readonly index: number; readonly id: string }>()
  let begun = 0
  /** Those of calls that have no arguments yet. */
  const bare = new Set<number>()
  let reason: string | undefined
  let guarded = false
  let tokens: Tokens | undefined
  let served: Served | undefined
  let over = false
  let logprobs: JsonObject | undefined

  const call = (delta: JsonObject, theirs: number, out: Pieces): void => {
    const called = objectOf(delta.function)
    const id = textOf(delta.id) ?? ""
    const known = calls.get(theirs)
    const name = textOf(called.name) ?? ""
    const isSame = known !== undefined && (id === "" || id === known.id || name === "")
    const index = isSame ? known.index : begun++
    if (!isSame) {
      calls.set(theirs, { index, id })
      bare.add(index)
      out.push({ type: "call", index, id: uniqueId(id, route), name })
    }
    const text = textOf(called.arguments) ?? ""
    if (text === "") return
    bare.delete(index)
    out.push({ type: "arguments", index, text })
  }

  /** What a whole message says, whose calls are in order, or a delta of one, whose calls have an index (`isDelta`). */
  const say = (message: JsonObject, likely: JsonObject | undefined, isDelta: boolean, out: Pieces): void => {
    const text = textOf(message.content) ?? ""
    addText(filter?.push(text) ?? text, out, likely)
    addText(textOf(message.refusal) ?? "", out, likely, "refusal")
    if (Array.isArray(message.annotations)) out.push({ type: "annotations", annotations: message.annotations })
    for (const [position, item] of arrayOf(message.tool_calls).filter(isObject).entries())
      call(item, (isDelta ? numberOf(item.index) : undefined) ?? position, out)
  }

  return {
    *whole(body, out) {
      const choice = objectOf(arrayOf(body.choices)[0])
      // The cloud's filter may leave none (docs/upstreams.md#azure-openai).
      if (!isObject(choice.message) && !isFilter(choice.finish_reason)) return invalidBody
      guarded = isGuarded(body)
      reason = textOf(choice.finish_reason) ?? ""
      tokens = answerTokens(body.usage, route, "chat")
      served = servedOf(body)
      logprobs = readLogprobs(choice, route)
      say(objectOf(choice.message), undefined, false, out)
      over = true
      return undefined
    },
    step: ({ data }, out) => {
      if (data === "[DONE]") over = true
      if (over) return undefined
      const chunk = readObject(data)
      if (chunk === undefined) return unreadable
      if (isObject(chunk.error)) return gptFault(chunk.error)
      // Counts come in a chunk of their own; content filter results in chunks without choices or delta
      // (docs/decisions.md#chunks-without-choices).
      tokens = answerTokens(chunk.usage, route, "chat") ?? tokens
      const choice = objectOf(arrayOf(chunk.choices)[0])
      reason = textOf(choice.finish_reason) ?? reason
      guarded ||= isGuarded(chunk)
      served ??= servedOf(chunk)
      say(objectOf(choice.delta), readLogprobs(choice, route), true, out)
      return undefined
    },
    end: (out) => {
      if (!over || reason === undefined) return Result.fail(cut)
      return Result.map(finishOfWord(reason, guarded), (finish) => {
        addText(filter?.end() ?? "", out)
        const finishReason = finishOf(finish, begun)
        // Some models write nothing for a call without arguments, which is no JSON. One that was cut stays as it is.
        if (finishReason === "tool_calls") for (const index of bare) out.push({ type: "arguments", index, text: "{}" })
        return { finishReason, usage: tokens, served, logprobs }
      })
    },
    ended: () => over,
    usage: () => tokens
  }
}

/** Open-weight models' IDs may be positional (`call_0`), and come again in the next turn; ours do not. */
const uniqueId = (id: string, { model }: Route): string =>
  callId(model.thinking.tagged === true && /^[a-z]*[-_:]?\d{1,4}$/i.test(id) ? undefined : id)

/** Those of tagged reasoning would show it, token by token. */
const readLogprobs = ({ logprobs }: JsonObject, { model }: Route): JsonObject | undefined =>
  isObject(logprobs) && model.thinking.tagged !== true ? logprobs : undefined
