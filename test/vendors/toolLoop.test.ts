/**
 * A caller that uses OpenAI's own library and echoes the message: nothing the vendor needs back is lost
 * (docs/decisions.md#tool-loops-that-survive-thinking).
 */
import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import OpenAI from "openai"
import { chatAccumulator } from "../../src/client/accumulate.ts"
import type { ChatCompletionChunk } from "../../src/client/contract.ts"
import { chunkWriter, renderCompletion } from "../../src/surfaces/chatReply.ts"
import { arrayOf, type Json, type JsonObject, objectOf } from "../../src/wire/json.ts"
import { chunksOf, flash, hear, hearStream, say, sonnet } from "./support.ts"

/** OpenAI's client before an upstream that answers this text. */
const client = (body: string, type: string) =>
  new OpenAI({
    apiKey: "unused",
    baseURL: "http://gateway.invalid/v1",
    maxRetries: 0,
    fetch: () => Promise.resolve(new Response(body, { headers: { "content-type": type } }))
  })
const heading = { id: "chatcmpl-1", created: 1, model: "m:il2" }
const question = { role: "user", content: "hi" } as const
const params = { model: "m:il2", messages: [question] }

const thinking = { type: "thinking", thinking: 'hm …\n"x"', signature: "c2ln+/==" }
const use = { type: "tool_use", id: "toolu_1", name: "f", input: { a: "é" } }
const claude = {
  body: { content: [thinking, use], stop_reason: "tool_use", usage: { input_tokens: 1, output_tokens: 2 } },
  events: [
    { type: "message_start", message: { usage: { input_tokens: 1, output_tokens: 1 } } },
    { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: thinking.thinking } },
    { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: thinking.signature } },
    { type: "content_block_stop", index: 0 },
    { type: "content_block_start", index: 1, content_block: { ...use, input: {} } },
    { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: '{"a":"é' } },
    { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: '"}' } },
    { type: "content_block_stop", index: 1 },
    { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 2 } },
    { type: "message_stop" }
  ]
}
const called = {
  candidates: [
    {
      content: { parts: [{ functionCall: { name: "f", args: { a: "é" } }, thoughtSignature: "c2ln" }] },
      finishReason: "STOP"
    }
  ],
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, thoughtsTokenCount: 1 }
}
const gemini = { body: called, events: [called] }

describe.each([
  [
    "Claude",
    sonnet,
    claude,
    (body: Json) =>
      expect(body).toMatchObject({
        thinking: { type: "enabled" },
        messages: [{}, { content: [thinking, use] }, { content: [{ type: "tool_result", tool_use_id: "toolu_1" }] }]
      })
  ],
  [
    "Gemini",
    flash,
    gemini,
    (body: Json) =>
      expect(body).toMatchObject({
        contents: [
          {},
          { parts: [{ functionCall: { name: "f", args: { a: "é" } }, thoughtSignature: "c2ln" }] },
          { parts: [{ functionResponse: { name: "f", response: { output: "done" } } }] }
        ]
      })
  ]
])("%s", (_, route, upstream, check) => {
  const follow = (message: OpenAI.ChatCompletionMessage | undefined, usage: OpenAI.CompletionUsage | undefined) => {
    expect(usage?.total_tokens).toBe(3)
    expect(message?.tool_calls?.[0]).toMatchObject({
      type: "function",
      function: { name: "f", arguments: '{"a":"é"}' }
    })
    const result = { role: "tool", tool_call_id: message?.tool_calls?.[0]?.id, content: "done" }
    check(say(route, { messages: [question, JSON.parse(JSON.stringify(message)), result] }))
  }

  it("unstreamed", async () => {
    const completion = renderCompletion(hear(route, upstream.body), heading)
    const read = await client(JSON.stringify(completion), "application/json").chat.completions.create(params)
    follow(read.choices[0]?.message, read.usage)
  })

  it("streamed", async () => {
    const { pieces, ending } = Result.getOrThrow(hearStream(route, upstream.events))
    const writer = chunkWriter({ ...heading, includeUsage: true })
    const text = [...chunksOf(writer, pieces, ending), "[DONE]"].map((data) => `data: ${data}\n\n`).join("")
    const read = await client(text, "text/event-stream").chat.completions.stream(params).finalChatCompletion()
    follow(read.choices[0]?.message, read.usage)
    expect(read.choices[0]?.finish_reason).toBe("tool_calls")
  })
})

describe("the signature of a text of Gemini's", () => {
  const part = (parts: ReadonlyArray<JsonObject>, finishReason?: string): JsonObject => ({
    candidates: [{ content: { parts }, ...(finishReason === undefined ? {} : { finishReason }) }]
  })
  const signed = { thoughtSignature: "c2lnVA==" }
  const functionCall = { name: "f", args: {} }
  const use = { functionCall, thoughtSignature: "c2ln" }
  const answers: ReadonlyArray<readonly [string, JsonObject, ReadonlyArray<JsonObject>, ReadonlyArray<JsonObject>]> = [
    [
      "alone",
      part([{ text: "Hello.", ...signed }], "STOP"),
      [part([{ text: "Hel" }]), part([{ text: "lo." }]), part([{ text: "", ...signed }], "STOP")],
      [{ text: "Hello.", ...signed }]
    ],
    [
      "before a call",
      part([{ text: "Hello.", ...signed }, use], "STOP"),
      [part([{ text: "Hello.", ...signed }]), part([use], "STOP")],
      [{ text: "Hello.", ...signed }, use]
    ],
    [
      "without a text",
      part([{ text: "", ...signed }], "STOP"),
      [part([{ text: "", ...signed }], "STOP")],
      [{ text: "", ...signed }]
    ],
    // That of a thought's summary is no text's.
    [
      "absent",
      part([{ text: "hm", thought: true, ...signed }, { text: "Hello." }], "STOP"),
      [part([{ text: "hm", thought: true, ...signed }]), part([{ text: "Hello." }], "STOP")],
      [{ text: "Hello." }]
    ]
  ]

  it.each(answers)("%s", (_, body, events, expected) => {
    const whole = renderCompletion(hear(flash, body), heading).choices[0]?.message
    const { pieces, ending } = Result.getOrThrow(hearStream(flash, events))
    const { add, final } = chatAccumulator()
    for (const data of chunksOf(chunkWriter({ ...heading, includeUsage: true }), pieces, ending)) {
      add(JSON.parse(data) as ChatCompletionChunk)
    }
    for (const message of [whole, final()?.choices[0]?.message]) {
      const echoed: JsonObject = objectOf(JSON.parse(JSON.stringify(message)))
      const results = arrayOf(echoed.tool_calls).map((call) => ({
        role: "tool",
        tool_call_id: objectOf(call).id,
        content: "done"
      }))
      const sent = say(flash, { messages: [question, echoed, ...(results.length === 0 ? [question] : results)] })
      expect(objectOf(arrayOf(sent.contents)[1]).parts).toEqual(expected)
    }
  })
})
