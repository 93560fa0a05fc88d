/**
 * Tool calls and their results, paired the same way for every vendor (docs/api.md#tool-use), and the JSON in them. Vendors want
 * each result behind its call, one result for a call, and no ID twice in a conversation. Callers keep IDs of several vendors, some
 * of which count from 0 in each turn. Some vendors take and answer arguments and results as values: those of a request are parsed ahead, in
 * slices (docs/api.md#limits), and are kept by the object that holds them.
 */
import { Result } from "effect"
import { type GatewayError, invalid } from "../catalog/GatewayError.ts"
import type { ChatRequest } from "../contract/Chat.ts"
import type { ChatMessage, MessageOf, ToolCall } from "../contract/ChatMessage.ts"
import { getOrInsert } from "../wire/getOrInsert.ts"
import type { Json, JsonObject } from "../wire/json.ts"
import { isShallowInSlices, parseObject } from "../wire/parse.ts"
import { printText } from "../wire/print.ts"
import type { Slices } from "../wire/slices.ts"
import type { Adjusted } from "./adjustments.ts"
import { digestId } from "./answer.ts"
import { isBlank } from "./chatRequest.ts"

export interface JsonText {
  /** The call or message that it belongs to; none where it is sent as it is. */
  readonly holder?: object
  readonly text: string
  /** Its place in the request, for errors. */
  readonly path: string
  /** Whether it stays a text where it holds too much. */
  readonly optional: boolean
}

/** What was parsed ahead, by its holder; `value` is undefined where the text is no object, or one nested too deep. */
const parsedAhead = new WeakMap<object, { readonly value: JsonObject | undefined }>()

export const keepParsed = (holder: object, value: JsonObject | undefined): void =>
  void parsedAhead.set(holder, { value })

/** Keeps what was parsed ahead also for a copy of its holder. */
const copyParsed = (holder: object, copy: object): void => {
  const known = parsedAhead.get(holder)
  if (known !== undefined) parsedAhead.set(copy, known)
}

/** The object that a text is, parsed ahead or now; undefined where it is none. */
export const parsedObject = (holder: object, text: string): JsonObject | undefined => {
  const known = parsedAhead.get(holder)
  return known === undefined ? parseObject(text) : known.value
}

/** Whether a result may be an object, for vendors that take one. */
export const isObjectText = (text: string): boolean => /^\s*\{/.test(text)

/** Every JSON text of a chat, in order. */
export const jsonTexts = ({ messages }: ChatRequest): ReadonlyArray<JsonText> =>
  messages.flatMap((message, at): ReadonlyArray<JsonText> => {
    const path = `messages[${at}]`
    if (message.role === "tool") {
      const { content } = message
      return isObjectText(content) ? [{ holder: message, text: content, path: `${path}.content`, optional: true }] : []
    }
    const calls = message.role === "assistant" ? (message.tool_calls ?? []) : []
    return calls.map((call, index) => ({
      holder: call,
      text: call.function.arguments,
      path: `${path}.tool_calls[${index}].function.arguments`,
      optional: false
    }))
  })

/**
 * A call's arguments as an object, which Claude and Gemini take; an empty one where the text is empty. A model may have written something
 * else, or its token limit may have cut them: a text that is no JSON object, or one nested too deep, is sent as it is under the key `arguments`.
 */
export const callInput = (call: ToolCall, adjusted: Adjusted): JsonObject => {
  const { arguments: text } = call.function
  if (isBlank(text)) return {}
  const input = parsedObject(call, text)
  if (input !== undefined) return input
  adjusted.changed("messages.tool_calls.function.arguments", "text", "object")
  return { arguments: text }
}

/** The text of a call's input, which Claude and Gemini answer as a value; undefined for one that is nested too deep to be printed. */
export function* inputText(input: Json | undefined): Slices<string | undefined> {
  return (yield* isShallowInSlices(input)) ? yield* printText(input ?? {}) : undefined
}

/** Calls of the open turn with the same ID, in order, and where their results are among the paired messages; `next` is the first without one. */
interface Slots {
  readonly slots: Array<{ readonly id: string; result: number | undefined }>
  next: number
}

/** The IDs that calls came with, where they got another. */
const originalIds = new WeakMap<ToolCall, string>()
export const originalId = (call: ToolCall): string => originalIds.get(call) ?? call.id

const withId = (call: ToolCall, id: string): ToolCall => {
  const copy = { ...call, id }
  originalIds.set(copy, call.id)
  copyParsed(call, copy)
  return copy
}

/** Two results as one: a text, also where one of them is an object. */
const joined = (first: MessageOf<"tool">, second: MessageOf<"tool">): MessageOf<"tool"> => {
  const mark = second.cache_control ?? first.cache_control
  const both = {
    ...first,
    content: `${first.content}\n\n${second.content}`,
    ...(mark === undefined ? {} : { cache_control: mark })
  }
  keepParsed(both, undefined)
  return both
}

/** IDs of calls that no call before them has: the same ones in each request of a conversation, so that prompt caches hold. */
const uniqueIds = () => {
  const used = new Map<string, number>()
  return (id: string): string => {
    let count = used.get(id) ?? 0
    let unique = id
    while (used.has(unique)) {
      unique = digestId(`${++count}:${id}`, 24)
    }
    used.set(id, count)
    if (unique !== id) used.set(unique, 0)
    return unique
  }
}

/**
 * Fails with `invalid` (400) for a result whose call is not in the assistant's turn before it. Calls that repeat an ID get one of their
 * own, and their results with them; several results of one call are joined, in order. A result that came after another message
 * stands before that.
 */
export const pairCalls = (chat: ChatRequest, adjusted: Adjusted): Result.Result<ChatRequest, GatewayError> => {
  const messages: Array<ChatMessage> = []
  /** Other messages of the open turn, which come after its results. */
  let later: Array<ChatMessage> = []
  const idOf = uniqueIds()
  let open = new Map<string, Slots>()
  /** Whether the open turn's calls are being answered: the next message of the assistant's begins a turn. */
  let answering = false

  const addCall = (call: ToolCall): ToolCall => {
    const id = idOf(call.id)
    getOrInsert(open, call.id, () => ({ slots: [], next: 0 })).slots.push({ id, result: undefined })
    if (id === call.id) return call
    adjusted.changed("messages.tool_calls.id", "repeated", "unique")
    return withId(call, id)
  }

  const addResult = (message: MessageOf<"tool">, { slots, next }: Slots): void => {
    const slot = slots[next] ?? slots.at(-1)
    if (slot === undefined) return
    const result = slot.id === message.tool_call_id ? message : { ...message, tool_call_id: slot.id }
    const before = slot.result === undefined ? undefined : messages[slot.result]
    if (slot.result === undefined || before?.role !== "tool") {
      if (result !== message) copyParsed(message, result)
      slot.result = messages.push(result) - 1
      return
    }
    adjusted.changed("messages.tool_call_id", "repeated", "joined")
    messages[slot.result] = joined(before, result)
  }

  for (const [at, message] of chat.messages.entries()) {
    if (message.role === "assistant") {
      for (const other of later) messages.push(other)
      later = []
      if (answering) open = new Map()
      answering = false
      messages.push(message.tool_calls ? { ...message, tool_calls: message.tool_calls.map(addCall) } : message)
    } else if (message.role === "tool") {
      answering = true
      const slots = open.get(message.tool_call_id)
      if (slots === undefined) {
        const id = JSON.stringify(message.tool_call_id)
        return Result.fail(
          invalid(`messages[${at}].tool_call_id: the assistant message before it has no tool call with the ID ${id}`)
        )
      }
      if (later.length > 0) adjusted.changed("messages.tool_call_id", "late", "after-call")
      addResult(message, slots)
      slots.next++
    } else {
      if (message.role === "user") answering = true
      later.push(message)
    }
  }
  for (const other of later) messages.push(other)
  return Result.succeed({ ...chat, messages })
}
