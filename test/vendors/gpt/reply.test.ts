import { describe, expect, it } from "@effect/vitest"
import { invalidBody } from "../../../src/catalog/UpstreamFault.ts"
import { makeUsage } from "../../../src/surfaces/chatReply.ts"
import type { Json, JsonObject } from "../../../src/wire/json.ts"
import { azure, call, dialect, failureOf, hear, oss, terra } from "../support.ts"

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

  it.each([azure, terra])("count what was written to a cache ($model.id)", (route) => {
    const details = { cached_tokens: 0, cache_write_tokens: 4 }
    const chat = { ...choice({ content: "a" }), usage: { prompt_tokens: 5, prompt_tokens_details: details } }
    const usage = { input_tokens: 5, input_tokens_details: details }
    const body = route === terra ? { object: "response", status: "completed", output: [], usage } : chat
    const tokens = hear(route, body).usage
    expect(tokens).toMatchObject({ input: 5, cached: 0, cacheWrites: 4 })
    expect(makeUsage(tokens).prompt_tokens_details).toEqual(details)
  })

  it("may have no message, where a filter took it", () => {
    const body = (finish_reason: string) => ({ choices: [{ index: 0, finish_reason }] })
    expect(hear(azure, body("content_filter"))).toMatchObject({
      message: { content: "" },
      finishReason: "content_filter"
    })
    expect(failureOf(dialect(azure).reply(body("stop"), azure))).toEqual(invalidBody)
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
