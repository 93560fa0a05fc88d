/** What the typed client lets nobody write: each of these is a mistake that a compiler can see. `tsc` judges them; nothing runs. */
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import type { MessageStreamEvent, ModelFor, PromiseClient, ResponseStreamEvent } from "../../src/Client.ts"
import type { Client } from "../../src/EffectClient.ts"

declare const client: PromiseClient
declare const effect: Client

const hello = [{ role: "user", content: "Hi" }] as const
const gpt = { model: "gpt-5.1:il5", input: "Hi" } as const
const claude = { model: "claude-sonnet-4-5:il5", max_tokens: 100, messages: hello } as const
const chat = { model: "claude-sonnet-4-5:il5", messages: hello } as const

/** Never called: the compiler has read them. */
const responsesMistakes = () => [
  // @ts-expect-error nothing is stored
  client.responses.create({ ...gpt, store: true }),
  // @ts-expect-error instructions are text
  client.responses.create({ ...gpt, instructions: 5 }),
  // @ts-expect-error a choice is a word or names a tool
  client.responses.create({ ...gpt, tool_choice: 5 }),
  // @ts-expect-error not one of the words
  client.responses.create({ ...gpt, tool_choice: "always" }),
  // @ts-expect-error there are no earlier responses
  client.responses.create({ ...gpt, previous_response_id: "resp_1" }),
  // @ts-expect-error nothing runs in the background
  client.responses.create({ ...gpt, background: true }),
  // @ts-expect-error there are no conversations
  client.responses.create({ ...gpt, conversation: "conv_1" }),
  // @ts-expect-error a misspelt type of item
  client.responses.create({ ...gpt, input: [{ type: "massage", role: "user", content: "Hi" }] }),
  // @ts-expect-error no such role
  client.responses.create({ ...gpt, input: [{ type: "message", role: "robot", content: "Hi" }] }),
  // @ts-expect-error no such type of part
  client.responses.create({ ...gpt, input: [{ role: "user", content: [{ type: "text", text: "Hi" }] }] }),
  // @ts-expect-error an output names the call that it answers
  client.responses.create({ ...gpt, input: [{ type: "function_call_output", output: "21" }] }),
  // @ts-expect-error tools of the cloud are refused
  client.responses.create({ ...gpt, tools: [{ type: "web_search" }] }),
  // @ts-expect-error the chat format nests its functions, this one does not
  client.responses.create({ ...gpt, tools: [{ type: "function", function: { name: "f" } }] }),
  // @ts-expect-error an effort is a word
  client.responses.create({ ...gpt, reasoning: { effort: 3 } }),
  // @ts-expect-error a number of tokens
  client.responses.create({ ...gpt, max_output_tokens: "many" }),
  // @ts-expect-error values of metadata are text
  client.responses.create({ ...gpt, metadata: { a: 1 } }),
  // @ts-expect-error no such format
  client.responses.create({ ...gpt, text: { format: { type: "xml" } } }),
  // @ts-expect-error a word
  client.responses.create({ ...gpt, truncation: true }),
  // @ts-expect-error a yes or no
  client.responses.create({ ...gpt, parallel_tool_calls: "yes" }),
  // @ts-expect-error input is required
  client.responses.create({ model: "gpt-5.1:il5" }),
  // @ts-expect-error the same mistakes in the Effect face
  effect.responses.create({ ...gpt, store: true })
]

const messagesMistakes = () => [
  // @ts-expect-error a misspelt type
  client.messages.create({ ...claude, thinking: { type: "enabledd", budget_tokens: 1024 } }),
  // @ts-expect-error a budget is a number
  client.messages.create({ ...claude, thinking: { type: "enabled", budget_tokens: "all" } }),
  // @ts-expect-error thinking is an object
  client.messages.create({ ...claude, thinking: true }),
  // @ts-expect-error max_tokens is required
  client.messages.create({ model: "claude-sonnet-4-5:il5", messages: hello }),
  // @ts-expect-error no such role
  client.messages.create({ ...claude, messages: [{ role: "robot", content: "Hi" }] }),
  // @ts-expect-error a misspelt type of block
  client.messages.create({ ...claude, messages: [{ role: "user", content: [{ type: "txt", text: "Hi" }] }] }),
  client.messages.create({
    ...claude,
    // @ts-expect-error URLs are not fetched
    messages: [{ role: "user", content: [{ type: "image", source: { type: "url", url: "https://a" } }] }]
  }),
  // @ts-expect-error a tool has a schema of its input
  client.messages.create({ ...claude, tools: [{ name: "f" }] }),
  // @ts-expect-error tools of the cloud are refused
  client.messages.create({ ...claude, tools: [{ type: "web_search_20250305", name: "web_search" }] }),
  // @ts-expect-error the other format's word
  client.messages.create({ ...claude, tool_choice: "auto" }),
  // @ts-expect-error the other format's name for it
  client.messages.create({ ...claude, tool_choice: { type: "required" } }),
  // @ts-expect-error a list of texts
  client.messages.create({ ...claude, stop_sequences: "END" }),
  // @ts-expect-error a whole number
  client.messages.create({ ...claude, top_k: "40" }),
  // @ts-expect-error an effort is a word
  client.messages.create({ ...claude, output_config: { effort: 3 } }),
  // @ts-expect-error text or blocks
  client.messages.create({ ...claude, system: { text: "Be brief." } }),
  // @ts-expect-error the same where tokens are counted
  client.messages.countTokens({ ...claude, messages: [{ role: "robot", content: "Hi" }] })
]

const chatMistakes = () => [
  // @ts-expect-error a model has a level
  client.chat.completions({ ...chat, model: "claude-sonnet-4-5" }),
  // @ts-expect-error no such level
  client.chat.completions({ ...chat, model: "claude-sonnet-4-5:il6" }),
  // @ts-expect-error a number
  client.chat.completions({ ...chat, temperature: "0.2" }),
  // @ts-expect-error no such role
  client.chat.completions({ ...chat, messages: [{ role: "robot", content: "Hi" }] }),
  // @ts-expect-error only users may send parts
  client.chat.completions({ ...chat, messages: [{ role: "system", content: [{ type: "text", text: "Hi" }] }] }),
  // @ts-expect-error a tool message names the call
  client.chat.completions({ ...chat, messages: [{ role: "tool", content: "21" }] }),
  // @ts-expect-error no such format
  client.chat.completions({ ...chat, response_format: { type: "json" } }),
  // @ts-expect-error no such effort
  client.chat.completions({ ...chat, reasoning_effort: "huge" }),
  // @ts-expect-error functions are nested here
  client.chat.completions({ ...chat, tools: [{ type: "function", name: "f" }] }),
  // @ts-expect-error one choice
  client.chat.completions({ ...chat, n: 2 }),
  // @ts-expect-error a whole number
  client.chat.completions({ ...chat, seed: "7" }),
  // @ts-expect-error text
  client.embeddings.create({ model: "titan-embed-text-v2:il5", input: [1, 2] }),
  // @ts-expect-error no such encoding
  client.embeddings.create({ model: "titan-embed-text-v2:il5", input: "a", encoding_format: "int8" }),
  // @ts-expect-error a call that does not stream
  client.chat.completions({ ...chat, stream: true })
]

/** What must compile: unknown fields pass, and so does null for what is absent. */
const rightOnes = () => [
  client.chat.completions({ ...chat, some_new_field: { a: 1 }, temperature: null, seed: 7 }),
  client.messages.create({ ...claude, context_management: { edits: [] }, system: [{ type: "text", text: "Hi" }] }),
  client.messages.create({
    ...claude,
    tools: [
      { name: "f", input_schema: { type: "object" } },
      { type: "bash_20250124", name: "bash" }
    ],
    tool_choice: { type: "tool", name: "f" }
  }),
  client.responses.create({ ...gpt, store: false, previous_response_id: null, service_tier: "auto" }),
  client.responses.create({
    ...gpt,
    input: [
      { role: "user", content: [{ type: "input_text", text: "Hi" }] },
      { type: "function_call_output", call_id: "c", output: "21" }
    ],
    tool_choice: { type: "function", name: "f" }
  }),
  client.chat.completions({ ...chat, model: "my-own-model:il4+itar" })
]

describe("the types of the client", () => {
  it("refuse what the compiler has been shown above", () => {
    for (const shown of [responsesMistakes, messagesMistakes, chatMistakes, rightOnes]) assert.isFunction(shown)
  })

  it("tell the events of streams apart", () => {
    expectTypeOf<Extract<MessageStreamEvent, { type: "content_block_stop" }>["index"]>().toEqualTypeOf<number>()
    expectTypeOf<
      Extract<ResponseStreamEvent, { type: "response.output_text.delta" }>["delta"]
    >().toEqualTypeOf<string>()
    const readMessage = (event: MessageStreamEvent): string => {
      if (event.type === "content_block_delta" && event.delta.type === "text_delta") return event.delta.text
      // @ts-expect-error no such event
      if (event.type === "content_block_dleta") return ""
      return event.type === "message_delta" ? String(event.usage.output_tokens) : event.type
    }
    const readResponse = (event: ResponseStreamEvent): string => {
      if (event.type === "response.completed") return event.response.output[0]?.type ?? ""
      if (event.type === "response.output_item.done" && event.item.type === "function_call") return event.item.arguments
      // @ts-expect-error a delta of no text has none
      return event.type === "response.created" ? event.delta : event.type
    }
    assert.isFunction(readMessage)
    assert.isFunction(readResponse)
  })

  it("let what a model said go back into the next request", () => {
    const again = async () => {
      const { choices } = await client.chat.completions(chat)
      const [choice] = (await client.chat.stream(chat).finalMessage()).choices
      const { content, role } = await client.messages.create(claude)
      const { output } = await client.responses.create(gpt)
      return [
        client.chat.completions({ ...chat, messages: [...hello, ...choices.map(({ message }) => message)] }),
        client.chat.completions({ ...chat, messages: choice === undefined ? hello : [...hello, choice.message] }),
        client.messages.create({ ...claude, messages: [...hello, { role, content }] }),
        client.responses.create({ ...gpt, input: [...output, { role: "user", content: "Go on." }] })
      ]
    }
    assert.isFunction(again)
  })

  it("offer the models of the shipped catalog, and take any other name with a level", () => {
    expectTypeOf<Extract<ModelFor<"chat">, "gemini-3-flash:il2">>().toEqualTypeOf<"gemini-3-flash:il2">()
    expectTypeOf<Extract<ModelFor<"messages">, "gemini-3-flash:il2">>().toBeNever()
    expectTypeOf<"my-own-model:il4">().toExtend<ModelFor<"responses">>()
    expectTypeOf<"my-own-model">().not.toExtend<ModelFor<"responses">>()
  })
})
