/** OpenAI's chat completions, on Azure and on Bedrock, for models of closed and of open weights (vendor: OpenAI API). */
import { Result } from "effect"
import type { ChatRequest, FinishReason, Usage } from "../api/Chat.ts"
import type { ChatMessage, ContentPart, Tool, ToolCall } from "../api/ChatMessage.ts"
import type { GatewayError } from "../model/GatewayError.ts"
import type { Route } from "../model/Route.ts"
import { finishOf, makeAnswer, makeCall, makeUsage, newCallId } from "./answer.ts"
import type { Dialect, Piece, StreamReader } from "./Dialect.ts"
import { cut, inBand, misshapen } from "./failure.ts"
import {
  arrayOf,
  compact,
  isObject,
  type Json,
  type JsonObject,
  numberOf,
  objectOf,
  parseEvent,
  textOf
} from "./json.ts"
import { reasoningFilter } from "./reasoningTags.ts"
import { parametersOf, toolsOf } from "./schema.ts"
import { noFilter, type TextFilter } from "./textFilter.ts"
import { chatEffort, chatMaxTokens, takes } from "./thinking.ts"

// Request

/** Refused while the model thinks, where the catalog says so (spec: Reasoning, rule 5; vendor: reasoning models). */
const samplingFields = [
  "temperature",
  "top_p",
  "presence_penalty",
  "frequency_penalty",
  "logprobs",
  "top_logprobs",
  "logit_bias"
]
/** The gateway's own business, or the store's, which is never used. */
const ownFields = ["model", "messages", "max_tokens", "max_completion_tokens", "stream", "stream_options", "store", "n"]

const request: Dialect["request"] = (chat, { model, deployment }) => {
  const effort = chatEffort(chat, model)
  const thinks = effort !== "none"
  const dropped = new Set([...ownFields, "reasoning_effort", ...(takes(model.sampling, thinks) ? [] : samplingFields)])
  const noTools = toolsOf(chat).length === 0
  if (noTools) for (const field of ["tools", "tool_choice", "parallel_tool_calls"]) dropped.add(field)
  const forwarded = Object.entries(chat).filter(([name]) => !dropped.has(name))
  return Result.succeed(
    compact({
      ...withoutNulls(Object.fromEntries(forwarded)),
      model: deployment.model,
      messages: chat.messages.map(message),
      tools: noTools ? undefined : toolsOf(chat).map(tool),
      max_completion_tokens: chatMaxTokens(chat),
      reasoning_effort: model.thinking.api === "effort" ? effort : undefined,
      ...(effort === "minimal" && !noTools ? { parallel_tool_calls: false } : {}),
      ...(noTools || takes(model.forcedToolChoice, thinks) || !isForced(chat) ? {} : { tool_choice: "auto" }),
      // Usage is always asked for, because records need it.
      ...(chat.stream === true ? { stream: true, stream_options: { include_usage: true } } : {})
    })
  )
}

/** Parameters that are given must be a schema of type object with properties (vendor: OpenAI API, function calling). */
const tool = (tool: Tool): JsonObject => ({
  ...tool,
  function: withoutNulls({ ...tool.function, parameters: tool.function.parameters && parametersOf(tool) })
})

const isForced = (chat: ChatRequest): boolean =>
  chat.tool_choice === "required" || isObject(chat.tool_choice ?? undefined)

/** What a message may hold. SDKs keep notes of their own in it (`parsed`), and other vendors get theirs back in it. */
const messageFields = new Set(["role", "content", "name", "refusal", "tool_call_id"])

/** `developer` and `system` are not mixed; nulls and empty lists are left out. */
const message = (message: ChatMessage): JsonObject => {
  const kept = Object.entries(message).filter(([name]) => messageFields.has(name))
  const calls = message.role === "assistant" ? (message.tool_calls ?? []) : []
  return compact({
    ...withoutNulls(Object.fromEntries(kept)),
    role: message.role === "developer" ? "system" : message.role,
    ...(Array.isArray(message.content) ? { content: message.content.map(part) } : {}),
    tool_calls: calls.length === 0 ? undefined : calls.map(toolCall)
  })
}

/** Only the fields of the vendor's own: callers of several vendors mark parts for the others (`cache_control`). */
const part = (part: ContentPart): JsonObject => {
  if (part.type === "text") return { type: "text", text: part.text }
  if (part.type === "file") return part // no model of this dialect takes one
  const { url, detail } = part.image_url
  return { type: "image_url", image_url: compact({ url, detail: detail ?? undefined }) }
}

/** SDKs send null for what is absent, and the upstreams' schemas refuse it. */
const withoutNulls = (fields: { readonly [key: string]: Json | undefined }): JsonObject =>
  compact(Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, value ?? undefined])))

const toolCall = ({ id, function: { name, arguments: args } }: ToolCall): JsonObject => ({
  id,
  type: "function",
  function: { name, arguments: args }
})

// Reply

const reply: Dialect["reply"] = (body, route) => {
  const choice = isObject(body) ? arrayOf(body.choices)[0] : undefined
  if (!isObject(body) || !isObject(choice) || !isObject(choice.message)) return Result.fail(misshapen)
  const said = choice.message
  const filter = filterFor(route)
  const toolCalls = arrayOf(said.tool_calls)
    .filter(isObject)
    .map((call) => {
      const { name, arguments: args } = objectOf(call.function)
      return makeCall(uniqueId(call.id, route), textOf(name) ?? "", textOf(args) ?? "")
    })
  return Result.succeed(
    makeAnswer({
      id: textOf(body.id),
      text: filter.push(textOf(said.content) ?? "") + filter.end(),
      refusal: textOf(said.refusal),
      toolCalls,
      finishReason: finishReasons.get(textOf(choice.finish_reason) ?? "") ?? "stop",
      usage: readUsage(body.usage, route) ?? makeUsage({ prompt: 0, completion: 0 })
    })
  )
}

const filterFor = ({ model }: Route): TextFilter => (model.thinking.tagged === true ? reasoningFilter() : noFilter)

/** Open-weight models' IDs may be positional (`call_0`), and come again in the next turn; ours do not. */
const uniqueId = (id: Json | undefined, { model }: Route): string => {
  const given = textOf(id) ?? ""
  return given === "" || (model.thinking.tagged === true && /^[a-z]*[-_:]?\d{1,4}$/i.test(given)) ? newCallId() : given
}

const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ["length", "length"],
  ["tool_calls", "tool_calls"],
  ["function_call", "tool_calls"],
  ["content_filter", "content_filter"]
])

const readUsage = (body: Json | undefined, route: Route): Usage | undefined => {
  if (!isObject(body)) return undefined
  return makeUsage({
    prompt: numberOf(body.prompt_tokens) ?? 0,
    completion: numberOf(body.completion_tokens) ?? 0,
    cached: numberOf(objectOf(body.prompt_tokens_details).cached_tokens),
    reasoning: route.model.thinking.counted
      ? (numberOf(objectOf(body.completion_tokens_details).reasoning_tokens) ?? 0)
      : undefined
  })
}

// Stream

const stream = (route: Route): StreamReader => {
  const filter = filterFor(route)
  /** Our index of each of the upstream's. */
  const calls = new Map<number, number>()
  let finish: FinishReason | undefined
  let usage: Usage | undefined
  let ended = false

  const callPieces = (delta: JsonObject, position: number): ReadonlyArray<Piece> => {
    const theirs = numberOf(delta.index) ?? position
    const called = objectOf(delta.function)
    const known = calls.get(theirs)
    const index = known ?? calls.size
    const text = textOf(called.arguments) ?? ""
    const args: ReadonlyArray<Piece> = text === "" ? [] : [{ type: "arguments", index, text }]
    if (known !== undefined) return args
    calls.set(theirs, index)
    return [{ type: "call", index, id: uniqueId(delta.id, route), name: textOf(called.name) ?? "" }, ...args]
  }

  const read = (chunk: JsonObject): Result.Result<ReadonlyArray<Piece>, GatewayError> => {
    if (isObject(chunk.error)) return Result.fail(inBandError(chunk.error, route))
    // Counts come in a chunk of their own; content filter results in chunks without choices or delta (pitfalls: 19).
    usage = readUsage(chunk.usage, route) ?? usage
    const choice = arrayOf(chunk.choices)[0]
    if (!isObject(choice)) return nothing
    const delta = objectOf(choice.delta)
    const reason = textOf(choice.finish_reason)
    if (reason !== undefined) finish = finishReasons.get(reason) ?? "stop"
    const pieces: Array<Piece> = []
    const text = filter.push(textOf(delta.content) ?? "")
    if (text !== "") pieces.push({ type: "text", text })
    const refusal = textOf(delta.refusal) ?? ""
    if (refusal !== "") pieces.push({ type: "refusal", text: refusal })
    for (const [position, call] of arrayOf(delta.tool_calls).filter(isObject).entries()) {
      pieces.push(...callPieces(call, position))
    }
    return Result.succeed(pieces)
  }

  return {
    step: (event) => {
      if (event.data === "[DONE]") ended = true
      return ended ? nothing : Result.flatMap(parseEvent(event.data), read)
    },
    end: () => {
      if (!ended || finish === undefined) return Result.fail(cut)
      const text = filter.end()
      return Result.succeed({
        pieces: [
          ...(text === "" ? [] : [{ type: "text", text } as const]),
          ...[...calls.values()].map((index) => ({ type: "call-end", index }) as const)
        ],
        ending: { finishReason: finishOf(finish, calls.size), usage }
      })
    },
    ended: () => ended,
    usage: () => usage
  }
}

const nothing: Result.Result<ReadonlyArray<Piece>, GatewayError> = Result.succeed([])

const inBandError = (error: JsonObject, route: Route): GatewayError => {
  const kind = `${textOf(error.type) ?? ""} ${textOf(error.code) ?? ""}`
  const named = /rate_limit|RateLimit|throttl|\b429\b/i.test(kind)
    ? 429
    : /invalid_request|validation|content_filter|\b400\b/i.test(kind)
      ? 400
      : 502
  return inBand(numberOf(error.status) ?? numberOf(error.code) ?? named, textOf(error.message), route)
}

export const gpt: Dialect = { request, reply, stream }
