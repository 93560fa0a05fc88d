/** Google's generateContent, on Vertex (vendor: Vertex AI Gemini API). */
import { Result } from "effect"
import type { ChatRequest, FinishReason, Usage } from "../api/Chat.ts"
import type { ToolCall } from "../api/ChatMessage.ts"
import type { Model } from "../model/Catalog.ts"
import type { GatewayError } from "../model/GatewayError.ts"
import type { Route } from "../model/Route.ts"
import { finishOf, makeAnswer, makeCall, makeUsage, newCallId } from "./answer.ts"
import type { Dialect, Piece, StreamReader } from "./Dialect.ts"
import { cut, inBand, misshapen, upstreamFailure } from "./failure.ts"
import { callerName, toContents, vendorName } from "./geminiContents.ts"
import { geminiSchema } from "./geminiSchema.ts"
import {
  arrayOf,
  compact,
  isObject,
  isShallow,
  type JsonObject,
  numberOf,
  objectOf,
  parseEvent,
  textOf
} from "./json.ts"
import { jsonFormat, parametersOf, stopsOf, toolsOf } from "./schema.ts"
import { chatEffort, chatMaxTokens, takes } from "./thinking.ts"

// Request

const request: Dialect["request"] = (chat, { model }) =>
  Result.map(toContents(chat), ({ system, contents }) => {
    const tools = toolsOf(chat).map(declaration)
    return compact({
      contents,
      systemInstruction: system.length === 0 ? undefined : { parts: system },
      tools: tools.length === 0 ? undefined : [{ functionDeclarations: tools }],
      // A forced choice is not translated (spec: Reasoning, rule 7).
      toolConfig:
        tools.length === 0
          ? undefined
          : { functionCallingConfig: { mode: chat.tool_choice === "none" ? "NONE" : "AUTO" } },
      generationConfig: generation(chat, model)
    })
  })

const generation = (chat: ChatRequest, model: Model): JsonObject => {
  const effort = chatEffort(chat, model)
  const taken = takes(model.sampling, effort !== "none")
  const format = jsonFormat(chat)
  const stops = stopsOf(chat)
  return compact({
    maxOutputTokens: chatMaxTokens(chat),
    temperature: taken ? numberOf(chat.temperature) : undefined,
    topP: taken ? numberOf(chat.top_p) : undefined,
    stopSequences: stops.length === 0 ? undefined : stops,
    seed: numberOf(chat.seed),
    presencePenalty: numberOf(chat.presence_penalty),
    frequencyPenalty: numberOf(chat.frequency_penalty),
    responseMimeType: format === undefined ? undefined : "application/json",
    responseJsonSchema: format?.schema === undefined ? undefined : geminiSchema(format.schema),
    thinkingConfig: model.thinking.api === "level" ? { thinkingLevel: levels[effort] } : undefined
  })
}

/** Google's levels end at high (spec: Reasoning, rule 8). */
const levels = {
  none: "MINIMAL",
  minimal: "MINIMAL",
  low: "LOW",
  medium: "MEDIUM",
  high: "HIGH",
  xhigh: "HIGH",
  max: "HIGH"
} as const

/** A function without parameters has no schema: the vendor refuses an object without properties. */
const declaration = (tool: ReturnType<typeof toolsOf>[number]): JsonObject => {
  const parameters = geminiSchema(parametersOf(tool))
  const bare =
    Object.keys(objectOf(parameters.properties)).length === 0 && !("anyOf" in parameters) && !("$ref" in parameters)
  return compact({
    name: vendorName(tool.function.name),
    description: tool.function.description ?? undefined,
    parametersJsonSchema: bare ? undefined : parameters
  })
}

// Reply

const reply: Dialect["reply"] = (body, route) => {
  if (!isObject(body)) return Result.fail(misshapen)
  const outcome = outcomeOf(body)
  if (outcome === undefined && !Array.isArray(body.candidates)) return Result.fail(misshapen)
  if (outcome !== undefined && Result.isFailure(outcome)) return Result.fail(outcome.failure)
  const parts = partsOf(body)
  const toolCalls = parts.flatMap((part): ReadonlyArray<ToolCall> => {
    const call = callOf(part)
    return call === undefined ? [] : [makeCall(call.id, call.name, call.args, call.extra)]
  })
  return Result.succeed(
    makeAnswer({
      id: textOf(body.responseId),
      text: parts.map(textIn).join(""),
      toolCalls,
      finishReason: outcome?.success ?? "stop",
      usage: readUsage(objectOf(body.usageMetadata), route) ?? makeUsage({ prompt: 0, completion: 0 })
    })
  )
}

const candidateOf = (body: JsonObject): JsonObject => objectOf(arrayOf(body.candidates)[0])
const partsOf = (body: JsonObject): ReadonlyArray<JsonObject> =>
  arrayOf(objectOf(candidateOf(body).content).parts).filter(isObject)

/** Summaries of thoughts are no content. */
const textIn = (part: JsonObject): string => (part.thought === true ? "" : (textOf(part.text) ?? ""))

/** A call arrives whole; its ID is ours, because the vendor has none. */
const callOf = (part: JsonObject) => {
  if (!isObject(part.functionCall)) return undefined
  const signature = textOf(part.thoughtSignature)
  return {
    id: newCallId(),
    name: callerName(textOf(part.functionCall.name) ?? ""),
    args: JSON.stringify(part.functionCall.args ?? {}),
    extra: signature === undefined ? undefined : { google: { thought_signature: signature } }
  }
}

/** How the answer ended, if this says so: a finish reason, or a prompt that was blocked and has no candidate. */
const outcomeOf = (body: JsonObject): Result.Result<FinishReason, GatewayError> | undefined => {
  if (!partsOf(body).every((part) => isShallow(objectOf(part.functionCall).args))) return Result.fail(misshapen)
  const reason = textOf(candidateOf(body).finishReason)
  if (reason !== undefined && failures.has(reason)) {
    return Result.fail(upstreamFailure(`the model ended without a usable answer (${reason})`, "finish"))
  }
  if (reason !== undefined) return Result.succeed(finishReasons.get(reason) ?? "stop")
  return textOf(objectOf(body.promptFeedback).blockReason) === undefined ? undefined : Result.succeed("content_filter")
}

const failures: ReadonlySet<string> = new Set([
  "MALFORMED_FUNCTION_CALL",
  "MALFORMED_RESPONSE",
  "UNEXPECTED_TOOL_CALL",
  "TOO_MANY_TOOL_CALLS"
])
const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ["MAX_TOKENS", "length"],
  ["CONTINUATION", "length"],
  ["SAFETY", "content_filter"],
  ["RECITATION", "content_filter"],
  ["BLOCKLIST", "content_filter"],
  ["PROHIBITED_CONTENT", "content_filter"],
  ["SPII", "content_filter"],
  ["IMAGE_SAFETY", "content_filter"],
  ["IMAGE_PROHIBITED_CONTENT", "content_filter"],
  ["IMAGE_RECITATION", "content_filter"]
])

/** Thoughts are counted beside the candidates; cached tokens inside the prompt. */
const readUsage = (usage: JsonObject, route: Route): Usage | undefined => {
  const prompt = numberOf(usage.promptTokenCount)
  const answer = numberOf(usage.candidatesTokenCount)
  const thoughts = numberOf(usage.thoughtsTokenCount)
  if (prompt === undefined && answer === undefined && thoughts === undefined) return undefined
  return makeUsage({
    prompt: (prompt ?? 0) + (numberOf(usage.toolUsePromptTokenCount) ?? 0),
    completion: (answer ?? 0) + (thoughts ?? 0),
    cached: numberOf(usage.cachedContentTokenCount),
    reasoning: route.model.thinking.counted ? (thoughts ?? 0) : undefined
  })
}

// Stream

const stream = (route: Route): StreamReader => {
  let usage: JsonObject = {}
  let calls = 0
  let finish: FinishReason | undefined

  const read = (body: JsonObject): Result.Result<ReadonlyArray<Piece>, GatewayError> => {
    if (isObject(body.error)) return Result.fail(inBandError(body.error, route))
    // Counts come once, or as totals so far: the latest of each is right (vendor: usageMetadata).
    usage = { ...usage, ...objectOf(body.usageMetadata) }
    const outcome = outcomeOf(body)
    if (outcome !== undefined && Result.isFailure(outcome)) return Result.fail(outcome.failure)
    finish = outcome?.success ?? finish
    return Result.succeed(partsOf(body).flatMap(pieces))
  }

  const pieces = (part: JsonObject): ReadonlyArray<Piece> => {
    const text = textIn(part)
    if (text !== "") return [{ type: "text", text }]
    const call = callOf(part)
    if (call === undefined) return []
    const index = calls++
    return [
      { type: "call", index, id: call.id, name: call.name, extra: call.extra },
      { type: "arguments", index, text: call.args },
      { type: "call-end", index }
    ]
  }

  const seen = () => readUsage(usage, route)
  return {
    step: (event) => Result.flatMap(parseEvent(event.data, true), read),
    end: () =>
      finish === undefined
        ? Result.fail(cut)
        : Result.succeed({ pieces: [], ending: { finishReason: finishOf(finish, calls), usage: seen() } }),
    // The vendor has no terminal event: counts may follow the finish reason, and the stream's end is its end.
    ended: () => false,
    usage: seen
  }
}

/** `code` may be missing in a stream; `status` is google.rpc's. */
const inBandError = (error: JsonObject, route: Route): GatewayError =>
  inBand(numberOf(error.code) ?? statuses.get(textOf(error.status) ?? "") ?? 502, textOf(error.message), route)

const statuses: ReadonlyMap<string, number> = new Map([
  ["INVALID_ARGUMENT", 400],
  ["FAILED_PRECONDITION", 400],
  ["OUT_OF_RANGE", 400],
  ["RESOURCE_EXHAUSTED", 429],
  ["DEADLINE_EXCEEDED", 504]
])

export const gemini: Dialect = { request, reply, stream }
