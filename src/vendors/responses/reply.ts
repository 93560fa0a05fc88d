/** OpenAI's responses API: what is answered (docs/upstreams.md#responses-api). */
import { Result } from "effect"
import type { Tokens } from "../../catalog/Tokens.ts"
import { cut, invalidBody, type UpstreamFault, unreadable } from "../../catalog/UpstreamFault.ts"
import type { FinishReason } from "../../contract/ChatReply.ts"
import { arrayOf, type Json, type JsonObject, numberOf, objectOf, readObject, textOf } from "../../wire/json.ts"
import { addText, callId, eventTypeOf, finishOf, finishOfWord, isGuarded, isOneEvent, servedOf } from "../answer.ts"
import type { Dialect, Pieces, Served } from "../Dialect.ts"
import { responsesFault } from "../faults.ts"
import { answerTokens } from "../openaiUsage.ts"

/** What a message takes that has spoken, in bytes, about. */
const heldPerPlace = 32

/** A call that has begun. */
interface Call {
  readonly index: number
  /** Whether arguments came in pieces. */
  hasArguments: boolean
  done: boolean
}

export const reader: Dialect["reader"] = (route) => {
  /** By their places in the output. */
  const calls = new Map<number, Call>()
  const messages = new Set<number>()
  /** The message whose text was said last. */
  let speaking: number | undefined
  let finish: FinishReason | undefined
  let tokens: Tokens | undefined
  let served: Served | undefined
  let logprobs: JsonObject | undefined

  const callAt = (at: number, item: JsonObject, out: Pieces): Call => {
    const known = calls.get(at)
    if (known !== undefined) return known
    const begun = { index: calls.size, hasArguments: false, done: false }
    calls.set(at, begun)
    // By `call_id` it is answered; the item has another ID of its own.
    out.push({ type: "call", index: begun.index, id: callId(item.call_id), name: textOf(item.name) ?? "" })
    return begun
  }

  /** Of a call that never began they are nothing yet: the whole item says them. */
  const args = (call: Call | undefined, text: Json | undefined, out: Pieces): void => {
    if (call === undefined || typeof text !== "string" || text === "") return
    call.hasArguments = true
    out.push({ type: "arguments", index: call.index, text })
  }

  const say = (type: "text" | "refusal", at: number, said: Json | undefined, out: Pieces, logprobs?: Json): void => {
    if (typeof said !== "string" || said === "") return
    messages.add(at)
    if (type === "text") {
      if (speaking !== undefined && speaking !== at) addText(between, out)
      speaking = at
    }
    addText(said, out, likelihoods(arrayOf(logprobs)), type)
  }

  /** A whole item: what of it did not come in pieces. */
  const settle = (at: number, item: JsonObject, out: Pieces): void => {
    if (item.type === "function_call") {
      const call = callAt(at, item, out)
      if (call.done) return
      // None is no JSON, unless the call was cut.
      if (!call.hasArguments) args(call, item.arguments || (item.status === "incomplete" ? "" : "{}"), out)
      call.done = true
      out.push({ type: "call-end", index: call.index })
    } else if (item.type === "message" && !messages.has(at)) {
      for (const part of arrayOf(item.content).map(objectOf)) {
        if (part.type === "output_text") say("text", at, part.text, out, part.logprobs)
        if (part.type === "refusal") say("refusal", at, part.refusal, out)
        annotate(arrayOf(part.annotations), out)
      }
    }
  }

  const conclude = (response: JsonObject, out: Pieces): UpstreamFault | undefined => {
    tokens = answerTokens(response.usage, route, "responses")
    served = servedOf(response)
    const finished = finishIn(response)
    if (Result.isFailure(finished)) return finished.failure
    for (const [at, item] of arrayOf(response.output).entries()) settle(at, objectOf(item), out)
    finish = finished.success
    return undefined
  }

  return {
    *whole(body, out) {
      if (body.object !== "response" || !Array.isArray(body.output)) return invalidBody
      const parts = body.output.flatMap((item) => arrayOf(objectOf(item).content))
      logprobs = likelihoods(parts.flatMap((part) => arrayOf(objectOf(part).logprobs)))
      return conclude(body, out)
    },
    step: ({ data, event }, out) => {
      if (finish !== undefined) return undefined
      const fields = readObject(data)
      // It has no last word of chat's kind; one is not an end.
      if (fields === undefined) return data === "[DONE]" ? undefined : unreadable
      const at = numberOf(fields.output_index) ?? 0
      const type = eventTypeOf(fields)
      if (!isOneEvent(event, type)) return unreadable
      switch (type) {
        case "response.output_text.delta":
          say("text", at, fields.delta, out, fields.logprobs)
          break
        case "response.function_call_arguments.delta":
          args(calls.get(at), fields.delta, out)
          break
        case "response.output_item.added": {
          const item = objectOf(fields.item)
          if (item.type === "function_call") callAt(at, item, out)
          break
        }
        case "response.output_item.done":
          settle(at, objectOf(fields.item), out)
          break
        case "response.refusal.delta":
          say("refusal", at, fields.delta, out)
          break
        case "response.output_text.annotation.added":
          annotate([fields.annotation ?? null], out)
          break
        case "response.completed":
        case "response.incomplete":
        case "response.failed":
          return conclude({ ...objectOf(fields.response), status: type.slice("response.".length) }, out)
        case "error":
          return responsesFault(fields)
      }
      return undefined
    },
    end: () => {
      if (finish === undefined) return Result.fail(cut)
      return Result.succeed({ finishReason: finishOf(finish, calls.size), usage: tokens, served, logprobs })
    },
    ended: () => finish !== undefined,
    held: () => heldPerPlace * messages.size,
    usage: () => tokens
  }
}

/** Citations, as chat completions have them: one level deeper. Others point at files, which are not there. */
const annotate = (annotations: ReadonlyArray<Json>, out: Pieces): void => {
  const cited = annotations.flatMap((annotation) => {
    const { type, ...url_citation } = objectOf(annotation)
    return type === "url_citation" ? [{ type, url_citation }] : []
  })
  if (cited.length > 0) out.push({ type: "annotations", annotations: cited })
}

/** A model may speak before and after it calls tools; a chat message has one text. */
const between = "\n\n"

/** How likely the tokens of a text were, as chat completions say it; undefined where the API does not say. */
const likelihoods = (tokens: ReadonlyArray<Json>): JsonObject | undefined =>
  tokens.length === 0 ? undefined : { content: tokens, refusal: null }

/** What a response's status says: every other than the first two is no answer. */
const finishIn = (response: JsonObject): Result.Result<FinishReason, UpstreamFault> => {
  const { status } = response
  const guarded = isGuarded(response)
  switch (status) {
    case "completed":
      return finishOfWord(status, guarded)
    case "incomplete":
      return finishOfWord(textOf(objectOf(response.incomplete_details).reason), guarded)
    case "failed":
      return Result.fail(responsesFault(response))
    default:
      return Result.fail(invalidBody)
  }
}
