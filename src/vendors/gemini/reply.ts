/**
 * Google's generateContent, on Vertex: what is answered, and how it fails inside a stream that began well. An event of a stream has
 * the shape of a whole reply.
 */
import { Result } from "effect"
import type { Route } from "../../catalog/Route.ts"
import { countOf, type Tokens } from "../../catalog/Tokens.ts"
import { cut, googleFault, invalidBody, type UpstreamFault, unreadable } from "../../catalog/UpstreamFault.ts"
import type { FinishReason } from "../../contract/ChatReply.ts"
import {
  arrayOf,
  compact,
  isObject,
  type Json,
  type JsonObject,
  numberOf,
  objectOf,
  readObject,
  textOf
} from "../../wire/json.ts"
import { readWrittenObject } from "../../wire/parse.ts"
import { runNow, type Slices } from "../../wire/slices.ts"
import { addText, callId, finishOf, finishOfWord } from "../answer.ts"
import type { Dialect, Pieces } from "../Dialect.ts"
import { inputText } from "../toolCalls.ts"
import { callerName } from "./contents.ts"

/** The counts that are read of a reply; nothing else is kept. */
const countNames = [
  ...["promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount"],
  ...["toolUsePromptTokenCount", "cachedContentTokenCount"]
]

export const reader: Dialect["reader"] = (route) => {
  const counts: { [name: string]: Json } = {}
  let calls = 0
  let signature: string | undefined
  let finish: FinishReason | undefined
  let logprobs: JsonObject | undefined

  const usage = () => readUsage(counts, route)

  /** `input`: the text of a call's. */
  const say = (part: JsonObject, input: string, out: Pieces): void => {
    const { functionCall, thought, thoughtSignature } = part
    // Summaries of thoughts are no content.
    const text = thought === true ? undefined : textOf(part.text)
    // That of a text comes with the text or, in a stream, on an empty one after it, which may be left out.
    if (text !== undefined || (thought !== true && !isObject(functionCall)))
      signature = textOf(thoughtSignature) || signature
    addText(text ?? "", out)
    if (text || !isObject(functionCall)) return
    const index = calls++
    // What the vendor needs back with the call.
    const google = compact({
      thought_signature: textOf(thoughtSignature),
      function_call_id: textOf(functionCall.id) || undefined
    })
    out.push({
      type: "call",
      index,
      id: callId(functionCall.id),
      name: callerName(textOf(functionCall.name) ?? ""),
      extra: Object.keys(google).length === 0 ? undefined : { google }
    })
    out.push({ type: "arguments", index, text: input })
    out.push({ type: "call-end", index })
  }

  /** A whole body, or one of those of a stream. */
  function* read(body: JsonObject, out: Pieces): Slices<UpstreamFault | undefined> {
    // Counts come once, or as totals so far: the latest of each is right (docs/upstreams.md#gemini-usage).
    for (const name of countNames) counts[name] = numberOf(objectOf(body.usageMetadata)[name]) ?? counts[name] ?? null
    const parts = arrayOf(objectOf(candidateOf(body).content).parts).map(objectOf)
    const inputs: Array<string> = []
    for (const { functionCall } of parts) {
      const input = isObject(functionCall) ? yield* inputText(functionCall.args) : ""
      if (input === undefined) return invalidBody
      inputs.push(input)
    }
    for (const [at, part] of parts.entries()) say(part, inputs[at] ?? "", out)
    const finished = finishIn(body)
    if (Result.isFailure(finished)) return finished.failure
    finish = finished.success ?? finish
    return undefined
  }

  return {
    *whole(body, out) {
      const fault = yield* read(body, out)
      if (fault !== undefined) return fault
      if (finish === undefined && !isObject(arrayOf(body.candidates)[0])) return invalidBody
      // Without a word of its end an answer is not known to be whole.
      finish ??= "content_filter"
      logprobs = readLogprobs(candidateOf(body).logprobsResult)
      return undefined
    },
    step: ({ data }, out) => {
      // Only arguments need numbers as they were written, and to keep those takes longer.
      const body = data.includes("functionCall") ? readWrittenObject(data) : readObject(data)
      if (body === undefined) return unreadable
      if (isObject(body.error)) return googleFault(body.error)
      return runNow(read(body, out))
    },
    end: (out) => {
      if (finish === undefined) return Result.fail(cut)
      if (signature !== undefined) out.push({ type: "extra", extra: { google: { thought_signature: signature } } })
      return Result.succeed({ finishReason: finishOf(finish, calls), usage: usage(), logprobs })
    },
    // The vendor has no terminal event: counts may follow the finish reason, and the stream's end is its end.
    ended: () => false,
    usage
  }
}

/** A token as OpenAI says it; the vendor says no bytes, and those of a part of a character do not follow from its text. */
const likelihood = (candidate: Json): JsonObject => {
  const { token, logProbability } = objectOf(candidate)
  return { token: textOf(token) ?? "", logprob: numberOf(logProbability) ?? 0, bytes: null }
}

/** How likely the tokens were, if the reply says so. The alternatives of each are in a list beside the chosen ones. */
const readLogprobs = (result: Json | undefined): JsonObject | undefined => {
  if (!isObject(result)) return undefined
  const tops = arrayOf(result.topCandidates)
  const content = arrayOf(result.chosenCandidates).map((chosen, index) => ({
    ...likelihood(chosen),
    top_logprobs: arrayOf(objectOf(tops[index]).candidates).map(likelihood)
  }))
  return { content, refusal: null }
}

const candidateOf = (body: JsonObject): JsonObject => objectOf(arrayOf(body.candidates)[0])

/** How the answer ended, if this says so: a finish reason, or a prompt that was blocked and has no candidate. */
const finishIn = (body: JsonObject): Result.Result<FinishReason | undefined, UpstreamFault> => {
  const reason = textOf(candidateOf(body).finishReason)
  if (reason !== undefined) return finishOfWord(reason)
  return Result.succeed(textOf(objectOf(body.promptFeedback).blockReason) === undefined ? undefined : "content_filter")
}

/** Thoughts are counted beside the candidates; cached tokens inside the prompt. Undefined where nothing was counted. */
const readUsage = (usage: JsonObject, { model }: Route): Tokens | undefined => {
  const prompt = countOf(usage.promptTokenCount)
  const answer = countOf(usage.candidatesTokenCount)
  const thoughts = countOf(usage.thoughtsTokenCount)
  if (prompt === undefined && answer === undefined && thoughts === undefined) return undefined
  return {
    input: (prompt ?? 0) + (countOf(usage.toolUsePromptTokenCount) ?? 0),
    output: (answer ?? 0) + (thoughts ?? 0),
    cached: countOf(usage.cachedContentTokenCount),
    reasoning: model.thinking.counted ? (thoughts ?? 0) : undefined
  }
}
