import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import type { Json, JsonObject } from "../../src/dialect/json.ts"
import { azure, call, dialect, failureOf, hear, hearStream, oss } from "./support.ts"

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
      content: null,
      finishReason: "tool_calls",
      toolCalls: [call("call_1", "f", '{ "a" :1}')]
    })
  })

  it("count reasoning only where the catalog says so", () => {
    expect(hear(azure, choice({ content: "a" })).usage).toEqual({
      prompt_tokens: 5,
      completion_tokens: 3,
      total_tokens: 8,
      completion_tokens_details: { reasoning_tokens: 2 }
    })
    expect(hear(oss, choice({ content: "a" })).usage).not.toHaveProperty("completion_tokens_details")
  })

  it.each([
    ["stop", "stop"],
    ["length", "length"],
    ["content_filter", "content_filter"],
    ["function_call", "tool_calls"],
    ["unheard_of", "stop"],
    ["constructor", "stop"]
  ])("%s is %s", (reason, expected) =>
    expect(hear(azure, choice({ content: "a" }, reason)).finishReason).toBe(expected)
  )

  it("show a refusal", () => {
    expect(hear(azure, choice({ content: null, refusal: "no" }))).toMatchObject({ content: null, refusal: "no" })
  })

  it.each([
    ["<reasoning>hm</reasoning>a", "a"],
    ["<reasoning>a</reasoning>b<reasoning>c</reasoning>d", "bd"],
    ["<reasoning>never closed", ""],
    ["a < b <reason> c", "a < b <reason> c"],
    ["a <reasoning", "a <reasoning"],
    ["</reasoning>a", "</reasoning>a"],
    ["<<reasoning>x</<reasoning></reasoning>y", "<y"]
  ])("%j reads %j", (content, expected) => {
    expect(hear(oss, choice({ content })).content).toBe(expected)
    expect(hear(azure, choice({ content })).content).toBe(content)
  })

  it.each(["call_0", "call_12", "0", "", "fc_7"])("make the ID %j of open weights unique", (id) => {
    const ids = [1, 2].map(
      () => hear(oss, choice({ content: null, tool_calls: [call(id, "f", "{}")] })).toolCalls[0]?.id
    )
    expect(new Set(ids).size).toBe(2)
    for (const made of ids) expect(made).toMatch(/^call_[0-9a-f]{24}$/)
  })

  it("leave other IDs alone", () => {
    expect(hear(oss, choice({ content: null, tool_calls: [call("call_Ab12Cd34", "f", "{}")] })).toolCalls[0]?.id).toBe(
      "call_Ab12Cd34"
    )
  })

  it.each([[null], ["<html>"], [{}], [{ choices: [] }], [{ Output: {}, Version: "1.0" }], [{ choices: [{}] }]])(
    "%j is no answer",
    (body) => {
      const error = failureOf(dialect(azure).reply(body, azure))
      expect(error).toMatchObject({ reason: "upstream", code: "shape" })
    }
  )
})

describe("streams", () => {
  const delta = (delta: Json, finish_reason: string | null = null): JsonObject => ({
    id: "c",
    choices: [{ index: 0, delta, finish_reason }]
  })
  const part = (index: number, fields: JsonObject): JsonObject => ({ index, ...fields })

  it("survive Azure's filter chunks", () => {
    const events = [
      { id: "", choices: [], prompt_filter_results: [{}] },
      delta({ role: "assistant", content: "" }),
      delta({ content: "a" }),
      { id: "", choices: [{ index: 0, finish_reason: null, content_filter_results: {}, content_filter_offsets: {} }] },
      delta({}, "stop"),
      { id: "", choices: [{ index: 0, finish_reason: null, content_filter_results: {} }] },
      {
        id: "c",
        choices: [],
        usage: { prompt_tokens: 1, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 1 } }
      },
      { id: "c", choices: [], usage: null },
      "[DONE]",
      "[DONE]"
    ]
    expect(Result.getOrThrow(hearStream(azure, events))).toEqual({
      pieces: [{ type: "text", text: "a" }],
      ending: {
        finishReason: "stop",
        usage: {
          prompt_tokens: 1,
          completion_tokens: 1,
          total_tokens: 2,
          prompt_tokens_details: { cached_tokens: 1 },
          completion_tokens_details: { reasoning_tokens: 0 }
        }
      }
    })
  })

  it("keep interleaved calls apart, with indexes of our own", () => {
    const events = [
      delta({ tool_calls: [part(3, { id: "x", type: "function", function: { name: "f", arguments: "" } })] }),
      delta({ tool_calls: [part(7, { id: "y", function: { name: "g", arguments: '{"b"' } })] }),
      delta({
        tool_calls: [part(3, { function: { arguments: '{"a"' } }), part(7, { function: { arguments: ":2}" } })]
      }),
      delta({ tool_calls: [part(3, { function: { arguments: ":1}" } })] }),
      delta({}, "stop"),
      "[DONE]"
    ]
    const { pieces, ending } = Result.getOrThrow(hearStream(azure, events))
    expect(pieces).toEqual([
      { type: "call", index: 0, id: "x", name: "f" },
      { type: "call", index: 1, id: "y", name: "g" },
      { type: "arguments", index: 1, text: '{"b"' },
      { type: "arguments", index: 0, text: '{"a"' },
      { type: "arguments", index: 1, text: ":2}" },
      { type: "arguments", index: 0, text: ":1}" },
      { type: "call-end", index: 0 },
      { type: "call-end", index: 1 }
    ])
    expect(ending.finishReason).toBe("tool_calls")
  })

  it("show a refusal", () => {
    expect(
      Result.getOrThrow(hearStream(azure, [delta({ refusal: "no" }), delta({}, "stop"), "[DONE]"])).pieces
    ).toEqual([{ type: "refusal", text: "no" }])
  })

  it("end with a finish reason and [DONE], else they are cut", () => {
    const reader = dialect(azure).stream(azure)
    reader.step({ data: JSON.stringify(delta({ content: "a" })) })
    expect(failureOf(reader.end())).toMatchObject({ code: "cut" })
    reader.step({ data: JSON.stringify(delta({}, "length")) })
    expect(reader.ended()).toBe(false)
    expect(failureOf(reader.end())).toMatchObject({ code: "cut" })
    reader.step({ data: "[DONE]" })
    expect(reader.ended()).toBe(true)
    expect(Result.getOrThrow(reader.end()).ending.finishReason).toBe("length")
    expect(failureOf(hearStream(azure, [delta({ content: "a" }), "[DONE]"]))).toMatchObject({ code: "cut" })
  })

  it.each<[JsonObject, string]>([
    [{ code: "429", message: "m" }, "rate-limit"],
    [{ type: "rate_limit_error" }, "rate-limit"],
    [{ type: "invalid_request_error", message: "bad" }, "invalid"],
    [{ code: "content_filter", message: "bad" }, "invalid"],
    [{ status: 400, message: "bad" }, "invalid"],
    [{ code: 504 }, "timeout"],
    [{ type: "server_error" }, "upstream"],
    [{ code: "DeploymentNotFound", message: "deployments/secret" }, "upstream"]
  ])("the in-band error %j is %s", (error, reason) => {
    const failure = failureOf(hearStream(azure, [delta({ content: "a" }), { error }]))
    expect(failure).toMatchObject({ reason, code: "in-band" })
    expect(failure.message).not.toContain("secret")
  })
})
