import { describe, expect, it } from "@effect/vitest"
import { call, chat, dialect, flash, opus, opusBedrock, say, sonnet, sonnetBedrock, tool } from "../support.ts"

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

  it("are the vendor's own where the catalog leaves them and the schema is strict", () => {
    const body = say(opus, format(true))
    expect(body.output_config).toEqual({ effort: "medium", format: { type: "json_schema", schema } })
    expect(body).not.toHaveProperty("system")
  })

  it("are an instruction elsewhere", () => {
    for (const body of [say(opus, format(false)), say(opusBedrock, format(true)), say(sonnet, format(true))]) {
      expect(body.system).toContain(JSON.stringify(schema))
      expect(JSON.stringify(body.output_config ?? {})).not.toContain("format")
    }
    expect(say(sonnet, { response_format: { type: "json_object" } }).system).toContain("one JSON object")
    expect(say(sonnet, { response_format: { type: "text" } })).not.toHaveProperty("system")
  })
})

it("never changes the request", () => {
  const request = chat({ tools: [tool("f", { properties: {} })], messages: [user("a"), user("b")] })
  const before = structuredClone(request)
  dialect(sonnet).request(request, sonnet)
  expect(request).toEqual(before)
})
