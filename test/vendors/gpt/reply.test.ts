import { describe, expect, it } from "@effect/vitest"
import { invalidBody } from "../../../src/catalog/UpstreamFault.ts"
import type { Json, JsonObject } from "../../../src/wire/json.ts"
import { azure, call, dialect, failureOf, hear, oss } from "../support.ts"

const choice = (message: Json, finish_reason: string = "stop"): JsonObject => ({
  id: "chatcmpl-1",
  choices: [{ index: 0, message, finish_reason, content_filter_results: {} }],
  usage: {
    prompt_tokens: 5,
    completion_tokens: 3,
    total_tokens: 8,
    completion_tokens_details: { reasoning_tokens: 2 }
  },
  prompt_filter_results: []
})

describe("replies", () => {
  it("keep arguments and IDs as they came, and say tool_calls", () => {
    const answer = hear(
      azure,
      choice({ role: "assistant", content: "", tool_calls: [call("call_1", "f", '{ "a" :1}')] })
    )
    expect(answer).toMatchObject({
      message: { content: null, tool_calls: [call("call_1", "f", '{ "a" :1}')] },
      finishReason: "tool_calls"
    })
  })

  it("keep calls apart that have one index", () => {
    const calls = ["call_1", "call_2"].map((id) => ({ index: 0, ...call(id, "f", "{}") }))
    expect(hear(azure, choice({ content: null, tool_calls: calls })).message.tool_calls).toEqual([
      call("call_1", "f", "{}"),
      call("call_2", "f", "{}")
    ])
  })

  it("count reasoning only where the catalog says so", () => {
    expect(hear(azure, choice({ content: "a" })).usage).toEqual({ input: 5, output: 3, reasoning: 2 })
    expect(hear(oss, choice({ content: "a" })).usage.reasoning).toBeUndefined()
  })

  it("show a refusal", () => {
    expect(hear(azure, choice({ content: null, refusal: "no" }))).toMatchObject({
      message: { content: null, refusal: "no" }
    })
  })

  it.each([
    ["<reasoning>hm</reasoning>a", "a"],
    ["<reasoning>a</reasoning>b<reasoning>c</reasoning>d", "b<reasoning>c</reasoning>d"],
    ["<reasoning>a</reasoning>\n\n<reasoning>b</reasoning>", "<reasoning>b</reasoning>"],
    ["<reasoning>a</reasoning> \r\n\t\n  b\n\nc", "  b\n\nc"],
    ["<reasoning>a</reasoning> b", " b"],
    ["<reasoning></reasoning>\n\n", ""],
    ["a\n<reasoning>b</reasoning>c", "a\n<reasoning>b</reasoning>c"],
    ["<reasoning>never closed", ""],
    ["a < b <reason> c", "a < b <reason> c"],
    ["a <reasoning", "a <reasoning"],
    ["</reasoning>a", "</reasoning>a"],
    ["<<reasoning>x</reasoning>y", "<<reasoning>x</reasoning>y"],
    ["<reasoning>x</<reasoning></reasoning>y", "y"]
  ])("%j reads %j", (content, expected) => {
    expect(hear(oss, choice({ content })).message.content).toBe(expected)
    expect(hear(azure, choice({ content })).message.content).toBe(content)
  })

  it.each(["call_0", "call_12", "0", "", "fc_7"])("make the ID %j of open weights unique", (id) => {
    const ids = [1, 2].map(
      () => hear(oss, choice({ content: null, tool_calls: [call(id, "f", "{}")] })).message.tool_calls?.[0]?.id
    )
    expect(new Set(ids).size).toBe(2)
    for (const made of ids) expect(made).toMatch(/^call_[0-9a-f]{24}$/)
  })

  it("leave other IDs alone", () => {
    expect(
      hear(oss, choice({ content: null, tool_calls: [call("call_Ab12Cd34", "f", "{}")] })).message.tool_calls?.[0]?.id
    ).toBe("call_Ab12Cd34")
  })

  it.each([
    [{}],
    [{ choices: "<html>" }],
    [{ choices: [] }],
    [{ choices: [null] }],
    [{ Output: {}, Version: "1.0" }],
    [{ choices: [{}] }]
  ])("%j is no answer", (body) => expect(failureOf(dialect(azure).reply(body, azure))).toEqual(invalidBody))
})
