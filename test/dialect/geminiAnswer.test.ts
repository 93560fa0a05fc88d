import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import type { JsonObject } from "../../src/dialect/json.ts"
import { dialect, failureOf, flash, hear, hearStream } from "./support.ts"

describe("replies", () => {
  const candidate = (finishReason: string | undefined, ...parts: ReadonlyArray<JsonObject>): JsonObject => ({
    candidates: [{ content: { role: "model", parts }, ...(finishReason === undefined ? {} : { finishReason }) }]
  })

  it.each([
    ["STOP", "stop"],
    ["MAX_TOKENS", "length"],
    ["SAFETY", "content_filter"],
    ["RECITATION", "content_filter"],
    ["SPII", "content_filter"],
    ["LANGUAGE", "stop"],
    ["UNHEARD_OF", "stop"]
  ])("%s is %s, streamed and not", (reason, expected) => {
    const body = candidate(reason, { text: "a" })
    expect(hear(flash, body).finishReason).toBe(expected)
    expect(Result.getOrThrow(hearStream(flash, [body])).ending.finishReason).toBe(expected)
  })

  it.each(["MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"])(
    "%s is the upstream's failure, streamed and not",
    (reason) => {
      const failures = [dialect(flash).reply(candidate(reason), flash), hearStream(flash, [candidate(reason)])]
      for (const failure of failures.map(failureOf)) {
        expect(failure).toMatchObject({ reason: "upstream", code: "finish" })
      }
    }
  )

  it("a blocked prompt is filtered content", () => {
    const blocked = { promptFeedback: { blockReason: "SAFETY" }, usageMetadata: { promptTokenCount: 3 } }
    expect(hear(flash, blocked)).toMatchObject({ content: null, finishReason: "content_filter", toolCalls: [] })
    const heard = Result.getOrThrow(hearStream(flash, [blocked, { usageMetadata: { trafficType: "ON_DEMAND" } }]))
    expect(heard).toMatchObject({ pieces: [], ending: { finishReason: "content_filter", usage: { prompt_tokens: 3 } } })
  })

  it("thoughts are counted but not shown", () => {
    const body = {
      ...candidate("STOP", { text: "hidden", thought: true }, { text: "a" }, { text: "", thoughtSignature: "s" }),
      usageMetadata: {
        promptTokenCount: 10,
        toolUsePromptTokenCount: 1,
        cachedContentTokenCount: 4,
        candidatesTokenCount: 2,
        thoughtsTokenCount: 5
      }
    }
    const answer = hear(flash, body)
    expect(answer.content).toBe("a")
    expect(answer.usage).toEqual({
      prompt_tokens: 11,
      completion_tokens: 7,
      total_tokens: 18,
      prompt_tokens_details: { cached_tokens: 4 },
      completion_tokens_details: { reasoning_tokens: 5 }
    })
  })

  it.each([[null], ["<html>"], [{}], [{ usageMetadata: {} }]])("%j is no answer", (body) => {
    const error = failureOf(dialect(flash).reply(body, flash))
    expect(error).toMatchObject({ reason: "upstream", code: "shape" })
  })
})

describe("streams", () => {
  const part = (part: JsonObject, more: JsonObject = {}): JsonObject => ({
    candidates: [{ content: { parts: [part] }, ...more }]
  })

  it("give each call its own index and ID, and say tool_calls though the vendor says stop", () => {
    const events = [
      { usageMetadata: { trafficType: "ON_DEMAND" } },
      part({ functionCall: { name: "f", args: { n: 1 } }, thoughtSignature: "c2ln" }),
      part({ functionCall: { name: "f" } }),
      part({ text: "" }, { finishReason: "STOP" }),
      { usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 } },
      { usageMetadata: { candidatesTokenCount: 2, trafficType: "ON_DEMAND" } }
    ]
    const { pieces, ending } = Result.getOrThrow(hearStream(flash, events))
    const ids = pieces.flatMap((piece) => (piece.type === "call" ? [piece.id] : []))
    expect(pieces).toEqual([
      { type: "call", index: 0, id: ids[0], name: "f", extra: { google: { thought_signature: "c2ln" } } },
      { type: "arguments", index: 0, text: '{"n":1}' },
      { type: "call-end", index: 0 },
      { type: "call", index: 1, id: ids[1], name: "f" },
      { type: "arguments", index: 1, text: "{}" },
      { type: "call-end", index: 1 }
    ])
    expect(ending).toMatchObject({ finishReason: "tool_calls", usage: { prompt_tokens: 1, completion_tokens: 2 } })
    const again = Result.getOrThrow(hearStream(flash, events)).pieces.flatMap((piece) =>
      piece.type === "call" ? [piece.id] : []
    )
    expect(new Set([...ids, ...again]).size).toBe(4)
    for (const id of ids) expect(id).toMatch(/^call_[0-9a-f]{24}$/)
  })

  it("without a finish reason are cut", () => {
    expect(failureOf(hearStream(flash, [part({ text: "a" })]))).toMatchObject({ code: "cut" })
  })

  it.each<[JsonObject, string]>([
    [{ code: 429, status: "RESOURCE_EXHAUSTED" }, "rate-limit"],
    [{ status: "RESOURCE_EXHAUSTED" }, "rate-limit"],
    [{ status: "INVALID_ARGUMENT", message: "bad" }, "invalid"],
    [{ status: "DEADLINE_EXCEEDED" }, "timeout"],
    [{ status: "UNAVAILABLE" }, "upstream"],
    [{ code: 403, message: "projects/secret" }, "upstream"],
    [{}, "upstream"]
  ])("the in-band error %j is %s", (error, reason) => {
    const failure = failureOf(hearStream(flash, [part({ text: "a" }), { error }]))
    expect(failure).toMatchObject({ reason, code: "in-band" })
    expect(failure.message).not.toContain("secret")
  })
})
