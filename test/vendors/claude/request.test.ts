import { describe, expect, it } from "@effect/vitest"
import { arrayOf, objectOf } from "../../../src/wire/json.ts"
import {
  adjusted,
  call,
  chat,
  dialect,
  flash,
  opus,
  opusBedrock,
  say,
  sonnet,
  sonnetBedrock,
  tool
} from "../support.ts"

const user = (content: string) => ({ role: "user", content })
const text = (text: string) => ({ type: "text", text })

describe("parameters", () => {
  it.each([
    [{ temperature: 1.5, top_p: 0.5 }, { temperature: 1 }],
    [{ top_p: 0.5 }, { top_p: 0.5 }],
    [{ stop: "x" }, { stop_sequences: ["x"] }],
    [{ stop: ["x", "", " ", "y"] }, { stop_sequences: ["x", "y"] }],
    [{ stop: [] }, {}],
    [{ tools: [], tool_choice: "auto" }, {}],
    [{ user: "u" }, { metadata: { user_id: "u" } }],
    [{ seed: 1, n: 1, store: true, stream: true, logit_bias: {}, stream_options: { include_usage: true } }, {}]
  ])("%j", (fields, expected) => {
    expect(say(sonnet, { ...fields, reasoning_effort: "none" })).toEqual({
      max_tokens: 4096,
      messages: [{ role: "user", content: [text("hi")] }],
      ...expected
    })
  })

  it("leave the user out on cloud B", () => expect(say(sonnetBedrock, { user: "u" })).not.toHaveProperty("metadata"))

  it.each([
    [undefined, undefined, undefined],
    ["auto", undefined, { type: "auto" }],
    ["none", false, { type: "none" }],
    ["required", undefined, { type: "any" }],
    [{ type: "function", function: { name: "f" } }, undefined, { type: "tool", name: "f" }],
    [undefined, false, { type: "auto", disable_parallel_tool_use: true }],
    ["required", false, { type: "any", disable_parallel_tool_use: true }],
    ["auto", true, { type: "auto" }]
  ])("tool choice %j with parallel calls %j", (tool_choice, parallel_tool_calls, expected) => {
    const fields = { tool_choice: tool_choice ?? null, parallel_tool_calls: parallel_tool_calls ?? null }
    expect(say(sonnet, { tools: [tool("f")], reasoning_effort: "none", ...fields }).tool_choice).toEqual(expected)
  })

  it.each([
    [undefined, { type: "object", properties: {} }],
    [{}, { type: "object", properties: {} }],
    [{ type: "object" }, { type: "object", properties: {} }],
    [{ properties: { a: {} } }, { type: "object", properties: { a: {} } }]
  ])("a tool of parameters %j", (parameters, input_schema) => {
    expect(say(sonnet, { tools: [tool("f", parameters)] }).tools).toEqual([{ name: "f", input_schema }])
  })
})

it("defines the tools of a history that has none any more, without letting them be called", () => {
  const calls = [call("x", "f", "{}"), call("y", "f", "{}"), call("z", "g", "{}")]
  const body = say(sonnet, { messages: [user("a"), { role: "assistant", tool_calls: calls }], tool_choice: "auto" })
  const input_schema = { type: "object", properties: {} }
  expect(body.tools).toEqual([
    { name: "f", input_schema },
    { name: "g", input_schema }
  ])
  expect(body.tool_choice).toEqual({ type: "none" })
})

it("takes messages of any number of parts", () => {
  const content = Array.from({ length: 200_000 }, () => ({ type: "text", text: "a" }))
  for (const route of [sonnet, flash]) {
    const body = say(route, { messages: [user("a"), { role: "user", content }] })
    expect(JSON.stringify(body).length).toBeGreaterThan(200_000)
  }
})

describe("JSON answers", () => {
  const schema = { type: "object", properties: { a: { type: "string" } }, required: ["a"], additionalProperties: false }
  const format = (strict: boolean) => ({
    response_format: { type: "json_schema", json_schema: { name: "x", strict, schema } }
  })

  it("are the vendor's own where the deployment takes them and the schema can be enforced", () => {
    for (const strict of [true, false]) {
      const body = say(opus, format(strict))
      expect(body.output_config).toEqual({ effort: "medium", format: { type: "json_schema", schema } })
      expect(body).not.toHaveProperty("system")
    }
    expect(say(sonnetBedrock, format(true)).output_config).toEqual({ format: { type: "json_schema", schema } })
  })

  it("are an instruction elsewhere", () => {
    for (const body of [say(opusBedrock, format(true)), say(sonnet, format(true))]) {
      expect(body.system).toContain(JSON.stringify(schema))
      expect(JSON.stringify(body.output_config ?? {})).not.toContain("format")
    }
    expect(say(sonnet, { response_format: { type: "json_object" } }).system).toContain("one JSON object")
    expect(say(sonnet, { response_format: { type: "text" } })).not.toHaveProperty("system")
  })

  const closed = (fields: object) => ({ type: "object", additionalProperties: false, ...fields })
  it.each<[string, object, boolean]>([
    ["a closed object", closed({ properties: { a: { type: "string", enum: ["x"], format: "date" } } }), true],
    ["an open object", { type: "object", properties: {} }, false],
    ["an open object inside", closed({ properties: { a: { type: "object", properties: {} } } }), false],
    ["a keyword that is not enforced", closed({ properties: { a: { type: "string", minLength: 1 } } }), false],
    ["a property of that name", closed({ properties: { minLength: { type: "integer" } } }), true],
    ["a format that is not enforced", closed({ properties: { a: { type: "string", format: "phone" } } }), false],
    ["objects to choose from", closed({ properties: { a: { enum: [{ b: 1 }] } } }), false],
    ["few items", closed({ properties: { a: { type: "array", minItems: 1, items: {} } } }), true],
    ["many items", closed({ properties: { a: { type: "array", minItems: 2, items: {} } } }), false],
    ["a definition", closed({ $defs: { a: {} }, properties: { a: { $ref: "#/$defs/a" } } }), true],
    ["itself", closed({ properties: { a: { $ref: "#" } } }), false],
    [
      "definitions in a circle",
      closed({ $defs: { a: { anyOf: [{ $ref: "#/$defs/b" }] }, b: { anyOf: [{ $ref: "#/$defs/a" }] } } }),
      false
    ],
    ["a schema elsewhere", closed({ properties: { a: { $ref: "https://example.com/a" } } }), false]
  ])("%s can be enforced: %s", (_, given, native) => {
    const response_format = { type: "json_schema", json_schema: { name: "x", strict: true, schema: given } }
    expect("format" in objectOf(say(opus, { response_format }).output_config)).toBe(native)
  })
})

describe("marks of the prompt cache", () => {
  const mark = { type: "ephemeral", ttl: "1h" }
  const cache_control = mark
  it("are where other gateways take them", () => {
    const body = say(sonnet, {
      reasoning_effort: "none",
      messages: [
        { role: "system", content: "Be brief.", cache_control },
        { role: "system", content: "Be kind." },
        {
          role: "user",
          content: [
            { type: "text", text: "a", cache_control },
            { type: "text", text: "b" }
          ]
        },
        { role: "assistant", content: "c", tool_calls: [{ ...call("t1", "f", "{}"), cache_control }] },
        { role: "tool", tool_call_id: "t1", content: "d", cache_control },
        { role: "user", content: "e", cache_control }
      ],
      tools: [
        { ...tool("f"), cache_control },
        { type: "function", function: { name: "g", cache_control } }
      ]
    })
    expect(body.system).toEqual([
      { type: "text", text: "Be brief.", cache_control },
      { type: "text", text: "Be kind." }
    ])
    expect(body.messages).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "a", cache_control },
          { type: "text", text: "b" }
        ]
      },
      {
        role: "assistant",
        content: [
          { type: "text", text: "c" },
          { type: "tool_use", id: "t1", name: "f", input: {}, cache_control }
        ]
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "t1", content: "d", cache_control },
          { type: "text", text: "e", cache_control }
        ]
      }
    ])
    expect(arrayOf(body.tools).map((tool) => objectOf(tool).cache_control)).toEqual([mark, mark])
  })

  it("are left out where they are none, and named where the vendor keeps prompts by itself", () => {
    const plain = say(sonnet, { messages: [{ role: "system", content: "x", cache_control: null }, user("a")] })
    expect(plain.system).toBe("x")
    expect(adjusted(flash, { messages: [{ role: "user", content: "a", cache_control }] })).toEqual([
      "cache_control:removed"
    ])
  })
})

it("says what is in a history, whoever made it", () => {
  const messages = [
    user("a"),
    { role: "assistant", content: null, refusal: "No." },
    user("b"),
    { role: "assistant", content: null, tool_calls: [call("c.1", "functions.get", "{}")] },
    { role: "tool", tool_call_id: "c.1", content: "x" }
  ]
  const claude = arrayOf(say(sonnet, { reasoning_effort: "none", messages }).messages).map(objectOf)
  expect(claude[1]).toEqual({ role: "assistant", content: [{ type: "text", text: "No." }] })
  expect(objectOf(arrayOf(claude[3]?.content)[0]).name).toBe("functions_get")
  const gemini = arrayOf(say(flash, { messages }).contents).map(objectOf)
  expect(gemini[1]).toEqual({ role: "model", parts: [{ text: "No." }] })
  expect(objectOf(objectOf(arrayOf(gemini[3]?.parts)[0]).functionCall).name).toBe("functions.get")
})

it("never changes the request", () => {
  const request = chat({ tools: [tool("f", { properties: {} })], messages: [user("a"), user("b")] })
  const before = structuredClone(request)
  dialect(sonnet).request(request, sonnet)
  expect(request).toEqual(before)
})
