/** Anthropic's Messages API: what is answered, whole or in a stream (vendor: Messages API, stream events). */
import { Result } from "effect"
import type { ChatRequest, FinishReason, Usage } from "../api/Chat.ts"
import type { ToolCall } from "../api/ChatMessage.ts"
import type { GatewayError } from "../model/GatewayError.ts"
import type { Route } from "../model/Route.ts"
import { finishOf, makeAnswer, makeCall, makeUsage } from "./answer.ts"
import { isThinking } from "./claudeMessages.ts"
import type { Dialect, Piece, StreamReader } from "./Dialect.ts"
import { cut, inBand, misshapen } from "./failure.ts"
import {
  arrayOf,
  isObject,
  isShallow,
  type Json,
  type JsonObject,
  numberOf,
  objectOf,
  parseEvent,
  textOf
} from "./json.ts"
import { jsonFenceFilter } from "./jsonFence.ts"
import { jsonFormat } from "./schema.ts"
import { noFilter, type TextFilter } from "./textFilter.ts"

// Reply

export const reply: Dialect["reply"] = (body, route, chat) => {
  if (!isObject(body) || !Array.isArray(body.content)) return Result.fail(misshapen)
  const filter = filterFor(chat)
  let text = ""
  let thinking: Array<JsonObject> = []
  let extra: JsonObject | undefined
  const toolCalls: Array<ToolCall> = []
  for (const block of arrayOf(body.content).filter(isObject)) {
    if (block.type === "text") text += textOf(block.text) ?? ""
    else if (isThinking(block)) thinking.push(block)
    else if (block.type === "tool_use") {
      if (!isShallow(block.input)) return Result.fail(misshapen)
      const own = thinkingExtra(thinking)
      thinking = []
      if (toolCalls.length === 0) extra = own
      toolCalls.push(makeCall(textOf(block.id) ?? "", textOf(block.name) ?? "", JSON.stringify(block.input ?? {}), own))
    }
  }
  return Result.succeed(
    makeAnswer({
      id: textOf(body.id),
      text: filter.push(text) + filter.end(),
      toolCalls,
      finishReason: finishReasons.get(textOf(body.stop_reason) ?? "") ?? "stop",
      usage: readUsage(objectOf(body.usage), route) ?? makeUsage({ prompt: 0, completion: 0 }),
      extra
    })
  )
}

/** JSON that was asked for in words may come in a fence all the same. */
const filterFor = (chat: ChatRequest | undefined): TextFilter =>
  chat === undefined || jsonFormat(chat) === undefined ? noFilter : jsonFenceFilter()

const thinkingExtra = (blocks: ReadonlyArray<JsonObject>): JsonObject | undefined =>
  blocks.length === 0 ? undefined : { anthropic: { thinking_blocks: blocks } }

const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ["tool_use", "tool_calls"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["refusal", "content_filter"]
])

/** Cached and newly cached input is input too; the vendor counts them apart (pitfalls: 16). */
const readUsage = (usage: JsonObject, route: Route): Usage | undefined => {
  const input = numberOf(usage.input_tokens)
  const output = numberOf(usage.output_tokens)
  if (input === undefined && output === undefined) return undefined
  const cached = numberOf(usage.cache_read_input_tokens)
  return makeUsage({
    prompt: (input ?? 0) + (cached ?? 0) + (numberOf(usage.cache_creation_input_tokens) ?? 0),
    completion: output ?? 0,
    cached,
    reasoning: route.model.thinking.counted
      ? numberOf(objectOf(usage.output_tokens_details).thinking_tokens)
      : undefined
  })
}

// Stream

/** A content block that is being streamed, by the vendor's index. */
type Open =
  | { readonly type: "call"; readonly index: number; readonly input: Json | undefined; empty: boolean }
  | { readonly type: "thinking"; readonly block: { [key: string]: Json } }

export const stream: Dialect["stream"] = (route, chat): StreamReader => {
  const filter = filterFor(chat)
  const open = new Map<number, Open>()
  let thinking: Array<JsonObject> = []
  let usage: { [key: string]: Json } = {}
  let calls = 0
  let stopReason: string | undefined
  let ended = false

  const start = (at: number, block: JsonObject): ReadonlyArray<Piece> => {
    if (block.type === "text") return texts(filter.push(textOf(block.text) ?? ""))
    if (isThinking(block)) {
      open.set(at, { type: "thinking", block: { ...block } })
      return []
    }
    if (block.type !== "tool_use") return []
    const index = calls++
    const extra = thinkingExtra(thinking)
    thinking = []
    open.set(at, { type: "call", index, input: isShallow(block.input) ? block.input : {}, empty: true })
    return [
      {
        type: "call",
        index,
        id: textOf(block.id) ?? "",
        name: textOf(block.name) ?? "",
        extra,
        messageExtra: index === 0 ? extra : undefined
      }
    ]
  }

  const delta = (at: number, change: JsonObject): ReadonlyArray<Piece> => {
    if (change.type === "text_delta") return texts(filter.push(textOf(change.text) ?? ""))
    const target = open.get(at)
    if (change.type === "input_json_delta" && target?.type === "call") {
      const text = textOf(change.partial_json) ?? ""
      if (text === "") return []
      target.empty = false
      return [{ type: "arguments", index: target.index, text }]
    }
    if (target?.type === "thinking") append(target.block, change)
    return []
  }

  const stop = (at: number): ReadonlyArray<Piece> => {
    const target = open.get(at)
    open.delete(at)
    if (target?.type === "thinking") thinking.push(target.block)
    if (target?.type !== "call") return []
    const { index, input, empty } = target
    const end: Piece = { type: "call-end", index }
    return empty ? [{ type: "arguments", index, text: JSON.stringify(input ?? {}) }, end] : [end]
  }

  const read = (event: JsonObject): Result.Result<ReadonlyArray<Piece>, GatewayError> => {
    switch (event.type) {
      case "message_start":
        usage = overlay(usage, objectOf(event.message).usage)
        return nothing
      case "content_block_start":
        return Result.succeed(start(numberOf(event.index) ?? 0, objectOf(event.content_block)))
      case "content_block_delta":
        return Result.succeed(delta(numberOf(event.index) ?? 0, objectOf(event.delta)))
      case "content_block_stop":
        return Result.succeed(stop(numberOf(event.index) ?? 0))
      case "message_delta":
        usage = overlay(usage, event.usage)
        stopReason = textOf(objectOf(event.delta).stop_reason) ?? stopReason
        return nothing
      case "message_stop":
        ended = true
        return nothing
      case "error": {
        const error = objectOf(event.error)
        return Result.fail(inBand(errorStatus.get(textOf(error.type) ?? "") ?? 502, textOf(error.message), route))
      }
      default:
        return nothing
    }
  }

  const seen = () => readUsage(usage, route)
  return {
    step: (event) => (ended ? nothing : Result.flatMap(parseEvent(event.data), read)),
    end: () =>
      ended
        ? Result.succeed({
            // A call that the vendor never closed is complete all the same.
            pieces: [...texts(filter.end()), ...[...open.keys()].flatMap(stop)],
            ending: { finishReason: finishOf(finishReasons.get(stopReason ?? "") ?? "stop", calls), usage: seen() }
          })
        : Result.fail(cut),
    ended: () => ended,
    usage: seen
  }
}

const nothing: Result.Result<ReadonlyArray<Piece>, GatewayError> = Result.succeed([])

const texts = (text: string): ReadonlyArray<Piece> => (text === "" ? [] : [{ type: "text", text }])

/** Later counts are totals and replace earlier ones; a null says nothing (pitfalls: 16). */
const overlay = (usage: JsonObject, later: Json | undefined): JsonObject => ({
  ...usage,
  ...Object.fromEntries(Object.entries(objectOf(later)).filter(([, value]) => value !== null))
})

/** Thinking and its signature arrive in fragments, and must be given back exactly. */
const append = (block: { [key: string]: Json }, change: JsonObject): void => {
  for (const name of ["thinking", "signature"]) {
    const text = textOf(change[name])
    if (text !== undefined) block[name] = (textOf(block[name]) ?? "") + text
  }
}

const errorStatus: ReadonlyMap<string, number> = new Map([
  ["invalid_request_error", 400],
  ["request_too_large", 413],
  ["rate_limit_error", 429],
  ["overloaded_error", 529],
  ["timeout_error", 504]
])
