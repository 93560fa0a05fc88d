/** Texts are found by place, and go back exactly there. */
import { assert, describe, it } from "@effect/vitest"
import type { Fields } from "../../src/contract/places.ts"
import { mayStandFor, textsOf, withTexts } from "../../src/guards/places.ts"
import { chat } from "../../src/surfaces/chat.ts"
import { embeddings } from "../../src/surfaces/embeddings.ts"
import { messages } from "../../src/surfaces/messages.ts"
import { responses } from "../../src/surfaces/responses.ts"
import type { Json, JsonObject } from "../../src/wire/json.ts"
import { rawJson } from "../../src/wire/parse.ts"

const image = "data:image/png;base64,iVBORw0KGgo="
const pdf = "data:application/pdf;base64,JVBERi0xLjcK"

interface Case {
  readonly fields: Fields
  readonly body: JsonObject
  /** Each text ends with its place. */
  readonly texts: ReadonlyArray<string>
}

/** Bodies in which every text of somebody's is `number:place`, and everything else is something else. */
const cases: Readonly<Record<string, Case>> = {
  "a chat request": {
    fields: chat.guarded.request,
    body: {
      logprobs: true,
      model: "claude-sonnet-4-5:il5",
      user: "u1",
      metadata: { team: "x" },
      messages: [
        { role: "system", content: "1:system" },
        { role: "developer", content: "2:system", name: "dev" },
        {
          role: "user",
          content: [
            { type: "text", text: "3:user" },
            { type: "image_url", image_url: { url: image, detail: "low" } },
            { type: "file", file: { filename: "4:user", file_data: pdf } }
          ]
        },
        {
          role: "assistant",
          content: "5:assistant",
          tool_calls: [{ id: "call_1", type: "function", function: { name: "get", arguments: '{"6":"arguments"}' } }],
          extra_content: {
            anthropic: {
              thinking_blocks: [{ type: "thinking", thinking: "7:thinking", signature: "sig" }],
              // What its places hold goes to the cloud with the blocks.
              order: [
                { type: "thinking" },
                { type: "text", length: 11, citations: [{ type: "char_location", cited_text: "9:assistant" }] },
                { type: "tool_use", id: "call_1", note: "10:assistant" }
              ]
            }
          }
        },
        { role: "tool", tool_call_id: "call_1", content: "8:tool" },
        { role: "user", content: "" }
      ],
      tools: [{ type: "function", function: { name: "get", description: "no text of a caller's", parameters: {} } }]
    },
    texts: [
      ...["1:system", "2:system", "3:user", "4:user", "5:assistant", '{"6":"arguments"}', "7:thinking"],
      ...["9:assistant", "10:assistant", "8:tool"]
    ]
  },
  "sources that a reply names": {
    fields: messages.guarded.reply,
    body: {
      content: [
        {
          type: "text",
          text: "1:assistant",
          citations: [
            { type: "char_location", cited_text: "2:assistant", document_title: "3:assistant", document_index: 0 }
          ]
        }
      ]
    },
    texts: ["1:assistant", "2:assistant", "3:assistant"]
  },
  "annotations of a chat reply": {
    fields: chat.guarded.reply,
    body: {
      choices: [
        {
          message: {
            role: "assistant",
            content: "1:assistant",
            annotations: [
              { type: "url_citation", url_citation: { title: "2:assistant", url: "https://x.example/3:assistant" } }
            ]
          }
        }
      ]
    },
    texts: ["1:assistant", "2:assistant", "https://x.example/3:assistant"]
  },
  "a messages request": {
    fields: messages.guarded.request,
    body: {
      model: "claude-sonnet-4-5:il5",
      system: [{ type: "text", text: "1:system", cache_control: { type: "ephemeral" } }],
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "2:user" },
            { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } },
            {
              type: "document",
              title: "3:user",
              context: "4:user",
              source: { type: "text", media_type: "text/plain", data: "5:user" }
            },
            { type: "document", source: { type: "content", content: [{ type: "text", text: "6:user" }] } }
          ]
        },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "7:thinking", signature: "sig" },
            { type: "redacted_thinking", data: "EmwKAhgBEgy" },
            { type: "text", text: "8:assistant" },
            {
              type: "tool_use",
              id: "toolu_1",
              name: "mail",
              input: { type: "9:arguments", to: ["10:arguments"], n: 1 }
            }
          ]
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "toolu_1", content: [{ type: "text", text: "11:tool" }] },
            { type: "tool_result", tool_use_id: "toolu_2", content: "12:tool" }
          ]
        },
        { role: "user", content: "13:user" }
      ]
    },
    texts: [
      ...["1:system", "2:user", "3:user", "4:user", "5:user", "6:user", "7:thinking", "8:assistant"],
      ...['{"type":"9:arguments","to":["10:arguments"],"n":1}', "11:tool", "12:tool", "13:user"]
    ]
  },
  "a responses request": {
    fields: responses.guarded.request,
    body: {
      model: "gpt-5.1:il5",
      instructions: "1:system",
      input: [
        { role: "developer", content: "2:system" },
        {
          type: "message",
          role: "user",
          content: [
            { type: "input_text", text: "3:user" },
            { type: "input_image", image_url: image },
            { type: "input_file", filename: "4:user", file_data: pdf }
          ]
        },
        { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "5:thinking" }] },
        { type: "message", role: "assistant", content: [{ type: "output_text", text: "6:assistant" }] },
        { type: "function_call", call_id: "c1", name: "get", arguments: '{"7":"arguments"}' },
        { type: "function_call_output", call_id: "c1", output: "8:tool" },
        { type: "custom_tool_call", call_id: "c2", name: "sql", input: "9:arguments" },
        { type: "custom_tool_call_output", call_id: "c2", output: [{ type: "input_text", text: "10:tool" }] },
        { type: "shell_call", call_id: "c3", action: { commands: ["11:arguments"] } },
        { type: "shell_call_output", call_id: "c3", output: [{ stdout: "12:tool", stderr: "" }] }
      ]
    },
    texts: [
      ...["1:system", "2:system", "3:user", "4:user", "5:thinking", "6:assistant", '{"7":"arguments"}', "8:tool"],
      ...["9:arguments", "10:tool", '{"commands":["11:arguments"]}', "12:tool"]
    ]
  },
  "an embeddings request": {
    fields: embeddings.guarded.request,
    body: { model: "titan-embed-text-v2:il5", input: ["1:user", "2:user"], user: "u1" },
    texts: ["1:user", "2:user"]
  },
  "a chat reply": {
    fields: chat.guarded.reply,
    body: {
      id: "chatcmpl-1",
      choices: [
        {
          index: 0,
          message: {
            role: "assistant",
            content: "1:assistant",
            refusal: null,
            tool_calls: [{ id: "call_1", type: "function", function: { name: "get", arguments: '{"2":"arguments"}' } }]
          },
          logprobs: null,
          finish_reason: "stop"
        }
      ]
    },
    texts: ["1:assistant", '{"2":"arguments"}']
  },
  "a message": {
    fields: messages.guarded.reply,
    body: {
      id: "msg_1",
      type: "message",
      role: "assistant",
      content: [
        { type: "thinking", thinking: "1:thinking", signature: "sig" },
        { type: "text", text: "2:assistant" },
        {
          type: "tool_use",
          id: "toolu_1",
          name: "get",
          input: { city: "3:arguments", big: rawJson("12345678901234567890") as Json }
        }
      ]
    },
    texts: ["1:thinking", "2:assistant", '{"city":"3:arguments","big":12345678901234567890}']
  },
  "a response": {
    fields: responses.guarded.reply,
    body: {
      id: "resp_1",
      object: "response",
      instructions: "the caller's",
      output: [
        { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "1:thinking" }] },
        {
          type: "message",
          id: "m",
          role: "assistant",
          content: [{ type: "output_text", text: "2:assistant", logprobs: [{}] }]
        },
        { type: "function_call", id: "f", call_id: "c", name: "get", arguments: '{"3":"arguments"}' }
      ]
    },
    texts: ["1:thinking", "2:assistant", '{"3":"arguments"}']
  }
}

describe.each(Object.entries(cases))("%s", (_, { body, fields, texts }) => {
  const placed = textsOf(fields, body)

  it("has its texts in order, each by its place", () => {
    assert.deepStrictEqual(
      placed.map(({ text }) => text),
      texts
    )
    for (const { place, text } of placed) assert.match(text, new RegExp(`:"?${place}`))
  })

  it("is the same where its texts are", () => {
    assert.strictEqual(withTexts(fields, body, texts), body)
  })

  it("has other texts in exactly their places", () => {
    const mark = "[redacted] "
    const others = texts.map((text) => text.replace(/(?=(?:system|user|assistant|tool|arguments|thinking)\b)/g, mark))
    const changed = JSON.stringify(withTexts(fields, body, others))
    const expected = JSON.stringify(body)
      // A changed thought would not fit its signature.
      .replace('"signature":"sig"', '"signature":""')
      .replace('"logprobs":[{}]', '"logprobs":[]')
    assert.strictEqual(changed.replaceAll(mark, ""), expected)
    assert.strictEqual(changed.split(mark).length, others.join("").split(mark).length)
  })

  it("takes no other number of texts", () => {
    assert.strictEqual(withTexts(fields, body, [...texts, "one more"]), body)
    assert.strictEqual(withTexts(fields, body, texts.slice(1)), body)
  })
})

describe("what a caller may write beside a text", () => {
  const chatOf = (message: JsonObject) => ({ fields: chat.guarded.request, body: { messages: [message] } })
  const messagesOf = (block: JsonObject) => ({
    fields: messages.guarded.request,
    body: { messages: [{ role: "user", content: [block] }] }
  })
  const schema = { type: "object", properties: { name: { type: "string", description: "word" } } }
  const format = { type: "json_schema", schema }
  const file = { type: "text", media_type: "text/plain", data: "word" }

  it.each([
    ["the reason of a flag", chatOf({ role: "user", content: "word", reason: "external_destination" })],
    ["that reason in a part", messagesOf({ type: "text", text: "word", reason: "external_destination" })],
    [
      "that reason in a call",
      messagesOf({ type: "tool_use", input: { text: "word", reason: "external_destination" } })
    ],
    ["the start of a data URI", chatOf({ role: "user", content: "data:text/plain,word" })],
    ["the same in an input", { fields: embeddings.guarded.request, body: { input: "data:text/plain,word" } }],
    ["a file without data", messagesOf({ type: "document", source: { ...file, file_data: null } })],
    ["the name of an argument", messagesOf({ type: "tool_use", input: { word: 1 } })],
    ["a number in a call", messagesOf({ type: "tool_use", input: { at: { word: 123456789 } } })],
    [
      "a schema on chat",
      {
        fields: chat.guarded.request,
        body: { response_format: { type: "json_schema", json_schema: { name: "x", schema } } }
      }
    ],
    ["a schema on messages", { fields: messages.guarded.request, body: { output_config: { effort: "low", format } } }],
    [
      "instructions for compaction",
      {
        fields: messages.guarded.request,
        body: { context_management: { edits: [{ type: "compact_20260112", instructions: "word" }] } }
      }
    ],
    ["the same as a beta", { fields: messages.guarded.request, body: { output_format: format } }],
    ["a schema on responses", { fields: responses.guarded.request, body: { text: { verbosity: "low", format } } }]
  ])("hides nothing: %s", (_, { body, fields }) => {
    const texts = textsOf(fields, body).map(({ text }) => text)
    assert.include(texts.join(), "word")
    const changed = withTexts(
      fields,
      body,
      texts.map((text) => text.replaceAll("word", "other"))
    )
    assert.strictEqual(JSON.stringify(changed), JSON.stringify(body).replaceAll("word", "other"))
  })
})

describe("arguments", () => {
  const asked = { place: "arguments", text: '{"to":"a@example.mil"}' } as const

  it("that were JSON stay JSON", () => {
    assert.isTrue(mayStandFor(asked, '{"to":"[email]"}'))
    assert.isFalse(mayStandFor(asked, "[arguments]"))
    assert.isTrue(mayStandFor({ place: "arguments", text: "select 1" }, "select [number]"))
    assert.isTrue(mayStandFor({ place: "user", text: "{}" }, "anything"))
  })
})
