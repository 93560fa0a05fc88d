/** Builds the whole reply from the events of its stream, and reads the text and the calls out of them. */
import type { ChatCompletion, ChatCompletionChunk, Message, Response } from "./contract.ts"
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

type Writable<A> = { -readonly [K in keyof A]: A[K] }
type Fields = Record<string, unknown>

export const chatAccumulator = (): Accumulator<ChatCompletionChunk, ChatCompletion> => {
  const calls: Array<{ id: string; name: string; arguments: string; rest: Fields }> = []
  let first: ChatCompletionChunk | undefined
  let content = ""
  let spoke = false
  let tokens: ReadonlyArray<unknown> | undefined
  let finish: ChatCompletion["choices"][number]["finish_reason"] | undefined
  const message: Fields = {}
  const rest: Fields = {}
  const call = (id: string, name: string, args: string) => ({ id, name, arguments: args })

  return {
    add: (chunk) => {
      first ??= chunk
      const { choices, id: _, object: __, created: ___, model: ____, ...others } = chunk
      Object.assign(rest, others)
      for (const { delta, finish_reason, logprobs } of choices) {
        finish = finish_reason ?? finish
        if (logprobs?.content) tokens = [...(tokens ?? []), ...logprobs.content]
        const { content: piece, tool_calls, role: _, ...more } = delta
        if (typeof piece === "string") {
          content += piece
          spoke ||= piece !== ""
        }
        for (const [name, value] of Object.entries(more)) {
          // What else is a text comes in pieces too.
          const before = message[name]
          message[name] = typeof before === "string" && typeof value === "string" ? before + value : value
        }
        for (const { index, id, function: said, type: _, ...more } of tool_calls ?? []) {
          calls[index] ??= { ...call("", "", ""), rest: {} }
          const made = calls[index]
          made.id ||= id ?? ""
          made.name += said?.name ?? ""
          made.arguments += said?.arguments ?? ""
          Object.assign(made.rest, more)
        }
      }
    },
    textOf: ({ choices }) => choices[0]?.delta.content ?? "",
    final: () => {
      if (first === undefined) return undefined
      const { id, created, model } = first
      const made = calls.filter((call) => call !== undefined)
      const toolCalls = made.map(({ id, name, arguments: args, rest }) => ({
        id,
        type: "function" as const,
        function: { name, arguments: args },
        ...rest
      }))
      const choice = {
        index: 0,
        message: {
          ...message,
          role: "assistant" as const,
          content: spoke || made.length === 0 ? content : null,
          ...(made.length === 0 ? {} : { tool_calls: toolCalls })
        },
        ...(tokens === undefined ? {} : { logprobs: { content: tokens } }),
        finish_reason: finish ?? ("stop" as const)
      }
      // A stream tells its usage where `include_usage` asked for it.
      const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }
      return {
        usage,
        ...rest,
        id,
        object: "chat.completion",
        created,
        model,
        choices: [choice]
      } as unknown as ChatCompletion
    },
    toolCalls: () => calls.filter((made) => made !== undefined).map((made) => call(made.id, made.name, made.arguments))
  }
}

export const messagesAccumulator = (): Accumulator<MessageStreamEvent, Message> => {
  let message: Writable<Message> | undefined
  const blocks: Array<Fields> = []
  /** The JSON text of each tool's input. */
  const inputs: Array<string> = []
  const grow = (block: Fields, field: string, piece: string) => {
    block[field] = `${block[field] ?? ""}${piece}`
  }

  return {
    add: (event) => {
      switch (event.type) {
        case "message_start":
          message = { ...event.message }
          return
        case "content_block_start":
          blocks[event.index] = { ...event.content_block }
          return
        case "content_block_delta": {
          const { delta, index } = event
          blocks[index] ??= {}
          const block = blocks[index]
          if (delta.type === "text_delta") grow(block, "text", delta.text)
          else if (delta.type === "thinking_delta") grow(block, "thinking", delta.thinking)
          else if (delta.type === "signature_delta") grow(block, "signature", delta.signature)
          else if (delta.type === "input_json_delta") inputs[index] = (inputs[index] ?? "") + delta.partial_json
          else if (delta.type === "citations_delta") {
            block.citations = [...(Array.isArray(block.citations) ? block.citations : []), delta.citation]
          }
          return
        }
        case "content_block_stop": {
          const [block, input] = [blocks[event.index], inputs[event.index]]
          if (block !== undefined && input !== undefined) block.input = parsed(input)
          return
        }
        case "message_delta":
          if (message !== undefined) {
            Object.assign(message, event.delta)
            message.usage = { ...message.usage, ...event.usage }
          }
          return
        case "gateway_governance":
          if (message !== undefined) message.x_gateway_governance = event.x_gateway_governance
      }
    },
    textOf: (event) =>
      event.type === "content_block_delta" && event.delta.type === "text_delta" ? event.delta.text : "",
    final: () =>
      message && ({ ...message, content: blocks.filter((block) => block !== undefined) } as unknown as Message),
    toolCalls: () =>
      blocks.flatMap((block, index) =>
        block?.type === "tool_use"
          ? [
              {
                id: String(block.id),
                name: String(block.name),
                arguments: inputs[index] ?? JSON.stringify(block.input ?? {})
              }
            ]
          : []
      )
  }
}

/** A tool's input; one that is no JSON stays text. */
const parsed = (input: string): unknown => {
  try {
    return input === "" ? {} : JSON.parse(input)
  } catch {
    return input
  }
}

export const responsesAccumulator = (): Accumulator<ResponseStreamEvent, Response> => {
  let response: Response | undefined
  return {
    add: (event) => {
      if ("response" in event) response = event.response as Response
    },
    textOf: (event) => (event.type === "response.output_text.delta" ? event.delta : ""),
    final: () => response,
    toolCalls: () =>
      (response?.output ?? []).flatMap((item) =>
        item.type === "function_call"
          ? [{ id: item.call_id, name: item.name, arguments: item.arguments }]
          : item.type === "custom_tool_call"
            ? [{ id: item.call_id, name: item.name, arguments: item.input }]
            : []
      )
  }
}
