import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import { cut, refused, topicOf, unreadable } from "../../../src/catalog/UpstreamFault.ts"
import { type Json, type JsonObject, textOf } from "../../../src/wire/json.ts"
import { azure, dialect, eventOf, failureOf, folded, foldedAnswer, hear, hearStream, oss } from "../support.ts"

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
        usage: { input: 1, output: 1, cached: 1, reasoning: 0 }
      }
    })
  })

  it.each([azure, oss])("give a call without arguments an empty object, unless it was cut", (route) => {
    const called = { id: "x", type: "function", function: { name: "f", arguments: "" } }
    for (const [word, text] of [
      ["tool_calls", "{}"],
      ["stop", "{}"],
      ["length", ""]
    ] as const) {
      const calls = [part(0, called), part(1, { ...called, function: { name: "g", arguments: "{}" } })]
      const heard = hearStream(route, [delta({ tool_calls: calls }), delta({}, word), "[DONE]"])
      const given = folded(Result.getOrThrow(heard)).calls.map((call) => call.arguments)
      expect(given).toEqual([text, "{}"])
      const whole = hear(route, { choices: [{ index: 0, message: { tool_calls: calls }, finish_reason: word }] })
      expect(foldedAnswer(whole).calls.map((call) => call.arguments)).toEqual([text, "{}"])
    }
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
      { type: "arguments", index: 0, text: ":1}" }
    ])
    expect(ending.finishReason).toBe("tool_calls")
  })

  it("another ID on an index begins another call", () => {
    const events = [
      delta({ tool_calls: [part(0, { id: "x", function: { name: "f", arguments: '{"a":' } })] }),
      delta({ tool_calls: [part(0, { id: "z", function: { arguments: "1}" } })] }),
      delta({ tool_calls: [part(0, { id: "y", function: { name: "g", arguments: '{"b":' } })] }),
      delta({ tool_calls: [part(0, { id: "", function: { arguments: "2}" } })] }),
      delta({}, "tool_calls"),
      "[DONE]"
    ]
    expect(folded(Result.getOrThrow(hearStream(azure, events))).calls).toEqual([
      { name: "f", arguments: '{"a":1}' },
      { name: "g", arguments: '{"b":2}' }
    ])
  })

  it("show a refusal", () => {
    expect(
      Result.getOrThrow(hearStream(azure, [delta({ refusal: "no" }), delta({}, "stop"), "[DONE]"])).pieces
    ).toEqual([{ type: "refusal", text: "no" }])
  })

  it("end with a finish reason and [DONE], else they are cut", () => {
    const reader = dialect(azure).stream(azure)
    reader.step(eventOf(delta({ content: "a" })), [])
    expect(failureOf(reader.end([]))).toEqual(cut)
    reader.step(eventOf(delta({}, "length")), [])
    expect(reader.ended()).toBe(false)
    expect(failureOf(reader.end([]))).toEqual(cut)
    reader.step(eventOf("[DONE]"), [])
    expect(reader.ended()).toBe(true)
    expect(Result.getOrThrow(reader.end([])).finishReason).toBe("length")
    expect(failureOf(hearStream(azure, [delta({ content: "a" }), "[DONE]"]))).toEqual(cut)
  })

  it.each(["<html>", "null", "[]", ""])("an event %j is the upstream's fault", (data) => {
    expect(failureOf(hearStream(azure, [data]))).toEqual(unreadable)
  })

  it.each<[JsonObject, number]>([
    [{ code: "429", message: "m" }, 429],
    [{ code: "503" }, 503],
    [{ type: "rate_limit_error" }, 429],
    [{ type: "invalid_request_error", message: "bad" }, 400],
    [{ code: "content_filter", message: "bad" }, 400],
    [{ code: "context_length_exceeded", message: "too long" }, 400],
    [{ status: 400, message: "bad" }, 400],
    [{ code: 504 }, 504],
    // Not a status of HTTP: it would be a series of its own in the metrics.
    [{ status: 12_345_678, code: 429 }, 429],
    [{ code: 12_345_678 }, 500],
    [{ status: 200 }, 500],
    [{ type: "timeout_error" }, 504],
    [{ code: "DEADLINE_EXCEEDED" }, 504],
    [{ type: "server_error" }, 500],
    [{ code: "DeploymentNotFound", message: "deployments/secret" }, 500]
  ])("the in-band error %j stands for %i", (error, status) => {
    const fault = failureOf(hearStream(azure, [delta({ content: "a" }), { error }]))
    expect(fault).toEqual(refused(status, textOf(error.message), undefined, topicOf(error)))
  })
})
