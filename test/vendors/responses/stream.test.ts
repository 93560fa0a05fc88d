import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import { cut, invalidBody, refused, unreadable } from "../../../src/catalog/UpstreamFault.ts"
import { responsesFault } from "../../../src/vendors/faults.ts"
import type { Json, JsonObject } from "../../../src/wire/json.ts"
import { superlinear, type Work } from "../../support/growth.ts"
import { callEvents, ending, functionCall, responseOf, textEvents, textItem } from "../../support/responses.ts"
import { dialect, eventOf, failureOf, folded, foldedAnswer, hear, hearStream, terra } from "../support.ts"

const json = (value: unknown): JsonObject => JSON.parse(JSON.stringify(value))
const events = (...given: ReadonlyArray<unknown>): ReadonlyArray<Json> => given.flat().map(json)
const refusal = { ...textItem(""), content: [{ type: "refusal", refusal: "no" }] }

describe("streams", () => {
  it.each([
    ["pieces", [...textEvents(0, ["a", "b"]), ...callEvents(1, ['{"a":', "1}"])]],
    ["no pieces, only whole items", [...textEvents(0, []).slice(0, 1), { type: "response.in_progress" }]],
    ["the whole response only", []],
    ["arguments before their call", callEvents(1, ["{}"]).slice(1, 2)]
  ])("of %s say what the whole reply says", (_, before) => {
    const output = [textItem("ab"), functionCall(1, '{"a":1}')]
    const heard = Result.getOrThrow(hearStream(terra, events(before, ending(output))))
    expect(folded(heard)).toEqual(foldedAnswer(hear(terra, json(responseOf(output)))))
    expect(heard.pieces.filter(({ type }) => type === "call-end")).toHaveLength(1)
    expect(heard.ending.finishReason).toBe("tool_calls")
  })

  it("give a call without arguments an empty object, unless it was cut", () => {
    for (const [status, text] of [
      ["completed", "{}"],
      ["incomplete", ""]
    ] as const) {
      const item = { ...functionCall(0, ""), status }
      const said = { type: "response.output_item.done", output_index: 0, item }
      for (const before of [[said], []]) {
        const heard = Result.getOrThrow(hearStream(terra, events(before, ending([item]))))
        expect(folded(heard).calls.map((call) => call.arguments)).toEqual([text])
      }
      const whole = foldedAnswer(hear(terra, json(responseOf([item]))))
      expect(whole.calls.map((call) => call.arguments)).toEqual([text])
    }
  })

  it("put a gap between messages, streamed or not, and none between parts", () => {
    const parts = [
      { type: "output_text", text: "a" },
      { type: "output_text", text: "b" }
    ]
    const output = [{ ...textItem(""), content: parts }, textItem(""), textItem("c")]
    const heard = Result.getOrThrow(hearStream(terra, events(textEvents(0, ["a", "b"]), ending(output))))
    expect(folded(heard).text).toBe("ab\n\nc")
    expect(hear(terra, json(responseOf(output))).message.content).toBe("ab\n\nc")
  })

  it("of many citations take time in proportion", async () => {
    const citation = { type: "url_citation", url: "u" }
    const hearing =
      (size: number): Work =>
      (step) => {
        const part = { type: "output_text", text: "", annotations: [citation] }
        const body = json(responseOf([{ ...textItem(""), content: Array.from({ length: size }, () => part) }]))
        step("hear", () => expect(hear(terra, body).message.annotations).toHaveLength(size))
      }
    expect(await superlinear(hearing, 4000)).toEqual([])
  })

  it("show a refusal", () => {
    const said = { type: "response.refusal.delta", output_index: 0, delta: "no" }
    for (const before of [[said], []]) {
      expect(Result.getOrThrow(hearStream(terra, events(before, ending([refusal])))).pieces).toEqual([
        { type: "refusal", text: "no" }
      ])
    }
    expect(hear(terra, json(responseOf([refusal])))).toMatchObject({ message: { content: null, refusal: "no" } })
  })

  it.each([
    [{ reason: "max_output_tokens" }, "length"],
    [{ reason: "content_filter" }, "content_filter"]
  ])("incomplete by %j", (incomplete_details, reason) => {
    const end = ending([textItem("a")], "incomplete", { incomplete_details })
    expect(Result.getOrThrow(hearStream(terra, events(end))).ending.finishReason).toBe(reason)
    expect(hear(terra, json(end.response)).finishReason).toBe(reason)
  })

  it("end with their own last event, else they are cut, and say nothing after it", () => {
    const reader = dialect(terra).stream(terra)
    for (const event of textEvents(0, ["a"])) reader.step(eventOf(json(event)), [])
    reader.step(eventOf("[DONE]"), [])
    expect(reader.ended()).toBe(false)
    expect(failureOf(reader.end([]))).toEqual(cut)
    reader.step(eventOf(json(ending([textItem("a")]))), [])
    expect(reader.ended()).toBe(true)
    const late: Array<never> = []
    for (const event of textEvents(3, ["late"])) expect(reader.step(eventOf(json(event)), late)).toBeUndefined()
    expect(late).toEqual([])
    expect(Result.getOrThrow(reader.end([])).finishReason).toBe("stop")
  })

  it("are unreadable where an event is", () => {
    for (const data of ["<html>", "null", "[]", ""]) expect(failureOf(hearStream(terra, [data]))).toEqual(unreadable)
  })

  it.each<[string, JsonObject, object]>([
    ["an error", { type: "error", code: "rate_limit_exceeded", message: "m" }, refused(429, "m")],
    ["a nested error", { type: "error", error: { code: "invalid_prompt", message: "m" } }, refused(400, "m")],
    [
      "a failure",
      { type: "response.failed", response: { error: { code: "server_error", message: "m" } } },
      refused(500, "m")
    ]
  ])("%s after text is no success", (_, event, fault) => {
    expect(failureOf(hearStream(terra, events(textEvents(0, ["a"]), event)))).toEqual(fault)
  })
})

describe("a whole reply", () => {
  it.each([
    [{}, invalidBody],
    [{ object: "response" }, invalidBody],
    [responseOf([], { status: "in_progress" }), invalidBody],
    [responseOf([], { status: "failed", error: { code: "rate_limit_exceeded", message: "m" } }), refused(429, "m")]
  ])("%j is no answer", (body, fault) => expect(failureOf(dialect(terra).reply(json(body), terra))).toEqual(fault))
})

describe("an error event of the responses API", () => {
  it.each<[JsonObject, number, string]>([
    [{ code: "rate_limit_exceeded", message: "m" }, 429, "m"],
    [{ code: "too_many_requests", message: "m" }, 429, "m"],
    [{ code: "invalid_prompt", message: "bad" }, 400, "bad"],
    [{ code: "invalid_image_format", message: "no image" }, 400, "no image"],
    [{ code: "bio_policy", message: "no" }, 400, "no"],
    [{ type: "invalid_request_error", code: "unsupported_value", message: "bad" }, 400, "bad"],
    [{ type: "error", error: { type: "invalid_request_error", code: null, message: "bad" } }, 400, "bad"],
    [{ code: "server_error", message: "deployments/secret" }, 500, "deployments/secret"],
    [{ code: "timeout", message: "m" }, 504, "m"],
    [{ code: "constructor" }, 500, "the model failed"],
    [{ code: "503" }, 503, "the model failed"],
    [{ code: { valueOf: 1, toString: 1 } }, 500, "the model failed"],
    [{ code: null, message: null }, 500, "the model failed"],
    [{}, 500, "the model failed"]
  ])("%j stands for %i", (detail, status, message) => {
    expect(responsesFault(detail)).toEqual(refused(status, message))
  })

  it("says what clients decide by", () => {
    for (const [code, topic] of [
      ["context_length_exceeded", "context-length"],
      ["content_filter", "content-filter"]
    ] as const)
      expect(responsesFault({ code, message: "m" })).toEqual(refused(400, "m", undefined, topic))
  })
})
