import { createHash } from "node:crypto"
import { describe, expect, it } from "@effect/vitest"
import { arrayOf, objectOf } from "../../../src/wire/json.ts"
import {
  adjusted,
  asked,
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
    [{ seed: 1, n: 1, store: false, stream: true, logit_bias: {}, stream_options: { include_usage: true } }, {}]
  ])("%j", (fields, expected) => {
    expect(say(sonnet, { ...fields, reasoning_effort: "none" })).toEqual({
      max_tokens: 4096,
      messages: [{ role: "user", content: [text("hi")] }],
      ...expected
    })
  })

  const sha256 = (text: string) => createHash("sha256").update(text).digest("hex")
  it.each([
    ["u", true],
    ["user_0a1b_account__session_550e8400-e29b-41d4-a716-446655440000", true],
    ["550e8400-e29b-41d4-a716-446655440000", true],
    ["u".repeat(256), true],
    ["u".repeat(257), false],
    ["someone@example.gov", false],
    ["+1 (202) 555-0100", false],
    ["2025550100", false],
    ["202-555-0100", false],
    ['{"id":"a"}', false],
    ["J. Doe", false]
  ])("say the user %j as it is: %s", (id, plain) => {
    for (const route of [sonnet, sonnetBedrock]) {
      expect(say(route, { user: id }).metadata).toEqual({ user_id: plain ? id : sha256(id) })
    }
  })

  it("put the mark of an empty part on the one before it", () => {
    const cache_control = { type: "ephemeral" }
    const empty = { type: "text", text: " ", cache_control }
    const sent = (content: ReadonlyArray<object>) => {
      const { adjusted, body } = asked(sonnet, {
        reasoning_effort: "none",
        max_tokens: 9,
        messages: [{ role: "user", content }]
      })
      return [body.messages, adjusted]
    }
    const of = (...content: ReadonlyArray<object>) => [{ role: "user", content }]
    expect(sent([text("a"), empty, text("b")])).toEqual([of({ ...text("a"), cache_control }, text("b")), []])
    const long = { ...text("a"), cache_control: { type: "ephemeral", ttl: "1h" } }
    expect(sent([long, empty])).toEqual([of(long), []])
    expect(sent([empty, text("b")])).toEqual([of(text("b")), ["cache_control:removed"]])
    const messages = [
      { role: "system", content: "", cache_control },
      { role: "user", content: "b" }
    ]
    expect(adjusted(sonnet, { reasoning_effort: "none", max_tokens: 9, messages })).toEqual(["cache_control:removed"])
  })

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
  const content = Array.from({ length: 140_000 }, () => ({ type: "text", text: "a" }))
  for (const route of [sonnet, flash]) {
    const body = say(route, { messages: [user("a"), { role: "user", content }] })
    expect(JSON.stringify(body).length).toBeGreaterThan(140_000)
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

  const names = (count: number) => Array.from({ length: count }, (_, at) => `p${at}`)
  const several = (count: number, schema: object) => Object.fromEntries(names(count).map((name) => [name, schema]))
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
    ["no definition", closed({ $defs: { a: {} }, properties: { a: { $ref: "#/$defs/b" } } }), false],
    [
      "a definition by its escaped name",
      closed({ $defs: { "a/b c": {} }, properties: { a: { $ref: "#/$defs/a~1b%20c" } } }),
      true
    ],
    ...["a~1b c", "a/b%20c", "a~1b%20c"].map((name): [string, object, boolean] => [
      `a circle through ${name}`,
      closed({ $defs: { "a/b c": { items: { $ref: `#/$defs/${name}` } } } }),
      false
    ]),
    ["an open object without a type", closed({ properties: { a: { properties: {} } } }), false],
    ["an open object or null", closed({ properties: { a: { type: ["object", "null"] } } }), false],
    ["a reference among others", closed({ $defs: { a: {} }, allOf: [{ $ref: "#/$defs/a" }] }), false],
    ["24 properties that may be missing", closed({ properties: several(24, {}) }), true],
    ["25 properties that may be missing", closed({ properties: several(25, {}) }), false],
    ["25 properties that may not", closed({ properties: several(25, {}), required: names(25) }), true],
    ["16 unions", closed({ properties: several(16, { anyOf: [{}, {}] }) }), true],
    ["17 unions", closed({ properties: several(17, { type: ["string", "null"] }), required: names(17) }), false],
    ["a schema elsewhere", closed({ properties: { a: { $ref: "https://example.com/a" } } }), false]
  ])("%s can be enforced: %s", (_, given, native) => {
    const response_format = { type: "json_schema", json_schema: { name: "x", strict: true, schema: given } }
    expect("format" in objectOf(say(opus, { response_format }).output_config)).toBe(native)
  })

  it("share the limits with strict tools, which lose the word beyond them", () => {
    const strict = (count: number, schema: object) =>
      names(count).map((name) => ({ type: "function", function: { name, strict: true, parameters: closed(schema) } }))
    const taken = (fields: object) => {
      const { adjusted, body } = asked(sonnetBedrock, { reasoning_effort: "none", max_tokens: 9, ...fields })
      return [
        arrayOf(body.tools).filter((tool) => objectOf(tool).strict === true).length,
        "output_config" in body,
        adjusted
      ]
    }
    expect(taken({ tools: strict(20, {}) })).toEqual([20, false, []])
    const gone = "tools.function.strict:removed"
    expect(taken({ tools: strict(21, {}) })).toEqual([20, false, [gone]])
    const response_format = {
      type: "json_schema",
      json_schema: { name: "x", schema: closed({ properties: several(20, {}) }) }
    }
    const tools = strict(3, { properties: several(2, {}) })
    expect(taken({ response_format, tools })).toEqual([2, true, [gone]])
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
