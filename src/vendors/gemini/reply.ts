/** Google's generateContent, on Vertex: what is answered as a whole. An event of a stream has the same shape. */
import { Result } from "effect"
import type { Route } from "../../catalog/Route.ts"
import type { Tokens } from "../../catalog/Tokens.ts"
import { misshapen, type UpstreamFault } from "../../catalog/UpstreamFault.ts"
import type { ToolCall } from "../../contract/ChatMessage.ts"
import type { FinishReason } from "../../contract/ChatReply.ts"
import { arrayOf, compact, isObject, type Json, type JsonObject, numberOf, objectOf, textOf } from "../../wire/json.ts"
import { callId, finishOfWord, makeAnswer, makeCall, newCallId, noUsage } from "../answer.ts"
import { inputText, isPrintable } from "../callTexts.ts"
import type { Dialect } from "../Dialect.ts"
import { callerName } from "./contents.ts"

export const reply: Dialect["reply"] = (body, route) => {
  const finished = finishIn(body)
  if (Result.isFailure(finished)) return Result.fail(finished.failure)
  if (finished.success === undefined && !Array.isArray(body.candidates)) return Result.fail(misshapen)
  if (!hasPrintableCalls(body)) return Result.fail(misshapen)
  let text = ""
  let signature: string | undefined
  const toolCalls: Array<ToolCall> = []
  for (const part of partsOf(body)) {
    text += textIn(part)
    signature = textSignatureIn(part) ?? signature
    const call = callIn(part)
    if (call !== undefined) toolCalls.push(makeCall(call.id, call.name, call.args, call.extra))
  }
  return Result.succeed(
    makeAnswer({
      id: textOf(body.responseId),
      text,
      toolCalls,
      // Without a word of its end an answer is not known to be whole.
      finishReason: finished.success ?? "content_filter",
      logprobs: readLogprobs(candidateOf(body).logprobsResult),
      usage: readUsage(objectOf(body.usageMetadata), route) ?? noUsage,
      extra: signed(signature)
    })
  )
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
export const partsOf = (body: JsonObject): ReadonlyArray<Json> => arrayOf(objectOf(candidateOf(body).content).parts)

/** Summaries of thoughts are no content. */
export const textIn = (part: Json): string => {
  const { text, thought } = objectOf(part)
  return thought === true ? "" : (textOf(text) ?? "")
}

/** The signature of a text, which comes with the text or, in a stream, on an empty one after it. */
export const textSignatureIn = (part: Json): string | undefined => {
  const { text, thought, thoughtSignature } = objectOf(part)
  return typeof text === "string" && thought !== true ? textOf(thoughtSignature) || undefined : undefined
}

/** What a message carries of its text's signature, in Google's own field. */
export const signed = (thought_signature: string | undefined): JsonObject | undefined =>
  thought_signature === undefined ? undefined : { google: { thought_signature } }

export interface Call {
  readonly id: string
  readonly name: string
  readonly args: string
  readonly extra: JsonObject | undefined
}

/** A call arrives whole; its ID is ours where the vendor gave none. The call carries what the vendor needs back. */
export const callIn = (part: Json): Call | undefined => {
  const { functionCall, thoughtSignature } = objectOf(part)
  if (!isObject(functionCall)) return undefined
  const google = compact({
    thought_signature: textOf(thoughtSignature),
    function_call_id: textOf(functionCall.id) || undefined
  })
  return {
    id: callId(textOf(functionCall.id) || newCallId()),
    name: callerName(textOf(functionCall.name) ?? ""),
    args: inputText(functionCall.args),
    extra: Object.keys(google).length === 0 ? undefined : { google }
  }
}

/** Whether the arguments of every call can be printed: others are nested too deep. */
export const hasPrintableCalls = (body: JsonObject): boolean =>
  partsOf(body).every((part) => {
    const { functionCall } = objectOf(part)
    return !isObject(functionCall) || isPrintable(functionCall.args)
  })

/** How the answer ended, if this says so: a finish reason, or a prompt that was blocked and has no candidate. */
export const finishIn = (body: JsonObject): Result.Result<FinishReason | undefined, UpstreamFault> => {
  const reason = textOf(candidateOf(body).finishReason)
  if (reason !== undefined) return finishOfWord(reason)
  return Result.succeed(textOf(objectOf(body.promptFeedback).blockReason) === undefined ? undefined : "content_filter")
}

/** Thoughts are counted beside the candidates; cached tokens inside the prompt. Undefined where nothing was counted. */
export const readUsage = (usage: JsonObject, { model }: Route): Tokens | undefined => {
  const prompt = numberOf(usage.promptTokenCount)
  const answer = numberOf(usage.candidatesTokenCount)
  const thoughts = numberOf(usage.thoughtsTokenCount)
  if (prompt === undefined && answer === undefined && thoughts === undefined) return undefined
  return {
    input: (prompt ?? 0) + (numberOf(usage.toolUsePromptTokenCount) ?? 0),
    output: (answer ?? 0) + (thoughts ?? 0),
    cached: numberOf(usage.cachedContentTokenCount),
    reasoning: model.thinking.counted ? (thoughts ?? 0) : undefined
  }
}
