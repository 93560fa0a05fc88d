/** Builds the whole reply from the events of its stream, and reads the text and the calls out of them. */
import { readObject } from "../wire/json.ts"
import type {
  ChatCompletion,
  ChatCompletionChunk,
  ContentBlock,
  Message,
  ResponseObject,
  ToolCall
} from "./contract.ts"
import type { MessageStreamEvent, ResponseStreamEvent } from "./events.ts"

/** A call that a model made, the same for every format. */
export interface StreamedToolCall {
  /** What the answer names: `tool_call_id`, `tool_use_id`, `call_id`. */
  readonly id: string
  readonly name: string
  /** JSON text, as the model wrote it; it may not be valid. */
  readonly arguments: string
}

/** What a format knows of its own stream. */
export interface Accumulator<Event, Final> {
  readonly add: (event: Event) => void
  /** The text that an event adds to the answer. */
  readonly textOf: (event: Event) => string
  /** The reply so far; undefined before its first event. */
  readonly final: () => Final | undefined
  readonly toolCalls: () => ReadonlyArray<StreamedToolCall>
}

type Fields = Record<string, unknown>

/** Texts that come whole; all others come in pieces. */
const wholeTexts: ReadonlySet<string> = new Set(["id", "type", "role"])

/** Adds a piece to what it is a piece of: texts and lists grow, any other value replaces the one before. */
const append = (target: Fields, piece: object): void => {
  for (const [name, value] of Object.entries(piece)) {
    const before = Object.hasOwn(target, name) ? target[name] : undefined
    if (Array.isArray(value)) {
      const list: Array<unknown> = Array.isArray(before) ? before : []
      for (const item of value) list.push(item)
      target[name] = list
    } else if (typeof value === "string" && typeof before === "string") {
      target[name] = wholeTexts.has(name) ? before || value : before + value
    } else if (value !== null || before === undefined) target[name] = value
  }
}

/** The fields of both, where a later null takes nothing away. */
const merge = <A extends object>(before: A, later: object): A => {
  const told = Object.entries(later).filter(([name, value]) => value !== null || !Object.hasOwn(before, name))
  return { ...before, ...Object.fromEntries(told) }
}

export const chatAccumulator = (): Accumulator<ChatCompletionChunk, ChatCompletion> => {
  let first: ChatCompletionChunk | undefined
  let reply: ChatCompletionChunk | undefined
  const message: Fields & { content?: string | null } = {}
  const logprobs: Fields & { content?: ReadonlyArray<unknown> | null } = {}
  /** By index, in the order in which they began: a list with an index that a server made up may be endless. */
  const calls = new Map<number, ToolCall>()
  let finish: ChatCompletion["choices"][number]["finish_reason"] = "stop"

  return {
    add: (chunk) => {
      first ??= chunk
      reply = merge(reply ?? chunk, chunk)
      for (const choice of chunk.choices) {
        const { tool_calls, ...piece } = choice.delta
        append(message, piece)
        append(logprobs, choice.logprobs ?? {})
        finish = choice.finish_reason ?? finish
        for (const { index, function: part, ...call } of tool_calls ?? []) {
          const known = calls.get(index) ?? { id: "", type: "function", function: { name: "", arguments: "" } }
          calls.set(index, known)
          append(known, call)
          append(known.function, part ?? {})
        }
      }
    },
    textOf: ({ choices }) => choices[0]?.delta.content ?? "",
    final: () => {
      if (first === undefined || reply === undefined) return undefined
      const { id, created, model } = first
      const toolCalls = [...calls.values()]
      const choice = {
        index: 0,
        message: {
          ...message,
          role: "assistant" as const,
          content: message.content || (toolCalls.length === 0 ? "" : null),
          ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls })
        },
        ...(logprobs.content ? { logprobs } : {}),
        finish_reason: finish
      }
      // A stream reports its usage where `include_usage` asked for it.
      const usage = reply.usage ?? { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }
      return { ...reply, id, object: "chat.completion", created, model, choices: [choice], usage }
    },
    toolCalls: () =>
      Array.from(calls.values(), ({ id, function: { name, arguments: text } }) => ({ id, name, arguments: text }))
  }
}

export const messagesAccumulator = (): Accumulator<MessageStreamEvent, Message> => {
  let message: Message | undefined
  /** By index, in the order in which they began. */
  const blocks = new Map<number, ContentBlock>()
  /** The JSON text of each tool's input. */
  const inputs = new Map<number, string>()

  return {
    add: (event) => {
      if (event.type === "message_start") message = event.message
      else if (event.type === "content_block_start") blocks.set(event.index, structuredClone(event.content_block))
      else if (event.type === "content_block_delta") {
        const { delta, index } = event
        const block = blocks.get(index)
        const { type: _, ...piece } = delta
        if (delta.type === "input_json_delta") inputs.set(index, (inputs.get(index) ?? "") + delta.partial_json)
        else if (block !== undefined)
          append(block, delta.type === "citations_delta" ? { citations: [delta.citation] } : piece)
      } else if (event.type === "content_block_stop") {
        const [block, input] = [blocks.get(event.index), inputs.get(event.index)]
        if (block !== undefined && input !== undefined) append(block, { input: parsed(input) })
      } else if (message !== undefined && event.type === "message_delta") {
        message = { ...merge(message, event.delta), usage: merge(message.usage, event.usage) }
      } else if (message !== undefined && event.type === "gateway_governance") {
        message = { ...message, x_gateway_governance: event.x_gateway_governance }
      } else if (message !== undefined && event.type === "gateway_guards") {
        message = { ...message, x_gateway_guards: event.x_gateway_guards }
      }
    },
    textOf: (event) =>
      event.type === "content_block_delta" && event.delta.type === "text_delta" ? event.delta.text : "",
    final: () => message && { ...message, content: [...blocks.values()] },
    toolCalls: () =>
      [...blocks].flatMap(([index, block]) =>
        block.type === "tool_use"
          ? [{ id: block.id, name: block.name, arguments: inputs.get(index) ?? JSON.stringify(block.input) }]
          : []
      )
  }
}

/** A tool's input. One that is no object, as the token limit cuts it, stands as text under one key: the message can be given back. */
const parsed = (input: string): object => readObject(input || "{}") ?? { arguments: input }

/** The call that an item is, named as the gateway's flags name it. */
const callsIn = (item: ResponseObject["output"][number]): ReadonlyArray<StreamedToolCall> => {
  switch (item.type) {
    case "function_call":
      return [{ id: item.call_id, name: item.name, arguments: item.arguments }]
    case "custom_tool_call":
      return [{ id: item.call_id, name: item.name, arguments: item.input }]
    case "local_shell_call":
      return [{ id: item.call_id, name: "local_shell", arguments: JSON.stringify(item.action) }]
    case "shell_call":
      return [{ id: item.call_id, name: "shell", arguments: JSON.stringify(item.action) }]
    case "apply_patch_call":
      return [{ id: item.call_id, name: "apply_patch", arguments: JSON.stringify(item.operation) }]
    default:
      return []
  }
}

export const responsesAccumulator = (): Accumulator<ResponseStreamEvent, ResponseObject> => {
  let response: ResponseObject | undefined
  return {
    add: (event) => {
      if ("response" in event) response = event.response as ResponseObject
    },
    textOf: (event) => (event.type === "response.output_text.delta" ? event.delta : ""),
    final: () => response,
    toolCalls: () => (response?.output ?? []).flatMap(callsIn)
  }
}
