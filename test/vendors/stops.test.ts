/** Stop sequences that the gateway watches for itself (docs/decisions.md#stop-sequences). */
import { describe, expect, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { stopFilter } from "../../src/vendors/stopFilter.ts"
import type { Json, JsonObject } from "../../src/wire/json.ts"
import { processorTime } from "../support/processorTime.ts"
import { callEvents, ending, functionCall, responseOf, textEvents, textItem } from "../support/responses.ts"
import {
  azure,
  chat,
  dialect,
  eventOf,
  flash,
  folded,
  hearStream,
  oss,
  refusal,
  say,
  sonnet,
  terra
} from "./support.ts"

const fragment = Schema.Literals(["a", "b", "ab", "ba", "aab", "\n", " "])
const text = Schema.Array(fragment)
const sequences = Schema.Array(fragment).check(Schema.isMinLength(1), Schema.isMaxLength(3))

/** What the filter should do, said another way: the sequence that is complete first, and of two the longer. */
const cutAt = (whole: string, stops: ReadonlyArray<string>): string => {
  for (let end = 1; end <= whole.length; end++) {
    const found = stops.filter((stop) => whole.slice(0, end).endsWith(stop)).map(({ length }) => length)
    if (found.length > 0) return whole.slice(0, end - Math.max(...found))
  }
  return whole
}

describe("the filter", () => {
  it.prop("ends before the sequence, wherever the text is cut", { text, sequences }, ({ text, sequences }) => {
    const whole = text.join("")
    for (const pieces of [text, [whole], [...whole]]) {
      const filter = stopFilter(sequences)
      const shown = pieces.map(filter.push).join("")
      expect(shown + filter.end()).toBe(cutAt(whole, sequences))
      expect(filter.stopped()).toBe(sequences.some((stop) => whole.includes(stop)))
      expect(filter.push("more")).toBe(filter.stopped() ? "" : cutAt("more", sequences))
    }
  })

  it.prop("a whole text is cut at the same place", { text, sequences }, ({ text, sequences }) => {
    const [filter, whole] = [stopFilter(sequences), text.join("")]
    // A text longer than every sequence is searched as a whole.
    const long = `${"-".repeat(100)}${whole}`
    const shown = filter.push(long)
    expect(filter.stopped() ? shown : shown + filter.end()).toBe(cutAt(long, sequences))
    expect(filter.stopped()).toBe(sequences.some((stop) => long.includes(stop)))
  })

  it("a whole text takes little time", () => {
    const whole = "lorem ipsum dolor sit amet, ".repeat(250_000)
    const stops = Array.from({ length: 16 }, (_, at) => `lorem ${at}`)
    for (const end of ["", "lorem 7"]) {
      const filter = stopFilter(stops)
      expect(processorTime(() => filter.push(whole + end))).toBeLessThan(750)
      expect(filter.stopped()).toBe(end !== "")
    }
  })

  it("takes as many sequences as there are", () => {
    const filter = stopFilter(Array.from({ length: 200_000 }, (_, at) => `stop ${at}.`))
    expect(filter.push("go on, stop 7. and more")).toBe("go on, ")
  })

  it("takes no longer for sequences that a text nearly has at every place", () => {
    const half = "a".repeat(490)
    const filter = stopFilter(Array.from({ length: 256 }, (_, at) => `${half}b${at}${half}`))
    const whole = "a".repeat(200_000)
    expect(processorTime(() => filter.push(whole))).toBeLessThan(500)
    expect(filter.end()).toBe(half)
  })

  it("takes time that is linear in the text and the sequence", () => {
    const filter = stopFilter([`${"a".repeat(1_000_000)}b`])
    const time = processorTime(() => {
      for (let at = 0; at < 2000; at++) filter.push("a".repeat(1000))
    })
    expect(time).toBeLessThan(2000)
  })
})

const json = (value: unknown): JsonObject => JSON.parse(JSON.stringify(value))

describe("a dialect whose vendor takes none", () => {
  const asked = chat({ stop: ["END"] })
  const output = [textItem("one END two"), functionCall(1, "{}")]
  const all = [...textEvents(0, ["one ", "E", "ND two"]), ...callEvents(1, ["{}"]), ending(output)].map(json)

  it("does not send them", () => {
    expect(say(terra, { stop: "END", reasoning_effort: "none" })).not.toHaveProperty("stop")
    expect(say(azure, { stop: "END", reasoning_effort: "low" })).not.toHaveProperty("stop")
    expect(say(azure, { stop: "END", reasoning_effort: "none" }).stop).toBe("END")
  })

  it("does not send empty ones", () => {
    expect(say(azure, { stop: ["", "a", "b", "c", "d"], reasoning_effort: "none" }).stop).toEqual(["a", "b", "c", "d"])
    expect(say(oss, { stop: "" })).not.toHaveProperty("stop")
  })

  it("takes a bounded number of bounded length", () => {
    for (const stop of [Array.from({ length: 257 }, (_, at) => `s${at}`), ["x".repeat(1001)]]) {
      expect(refusal(terra, { stop })).toMatchObject({ reason: "invalid", message: expect.stringMatching(/^stop: /) })
      expect(say(azure, { stop, reasoning_effort: "none" }).stop).toEqual(stop.slice(0, 4))
    }
    expect(say(terra, { stop: Array.from({ length: 16 }, () => "x".repeat(1000)) })).not.toHaveProperty("stop")
  })

  it("ends a stream before the sequence, and does not wait for the upstream", () => {
    const reader = dialect(terra).stream(terra, asked)
    const pieces: Array<{ readonly type: string; readonly text?: string }> = []
    let events = 0
    for (const event of all) {
      if (reader.ended()) break
      events++
      expect(reader.step(eventOf(event), pieces as never)).toBeUndefined()
    }
    expect([events, reader.stopped?.()]).toEqual([4, true])
    expect(pieces).toEqual([{ type: "text", text: "one " }])
    expect(Result.getOrThrow(reader.end([])).finishReason).toBe("stop")
  })

  it("cuts a whole answer", () => {
    const answer = Result.getOrThrow(dialect(terra).reply(json(responseOf(output)), terra, asked))
    expect(answer.message).toStrictEqual({ role: "assistant", content: "one ", refusal: null })
    expect(answer.finishReason).toBe("stop")
  })

  it("shows all of what has no sequence, held back or not", () => {
    const said: ReadonlyArray<Json> = [
      ...textEvents(0, ["one E", "N"]),
      ...callEvents(1, ["{}"]),
      ending([textItem("one EN"), functionCall(1, "{}")])
    ].map(json)
    const heard = Result.getOrThrow(hearStream(terra, said, asked))
    expect(folded(heard)).toMatchObject({ text: "one EN", finishReason: "tool_calls" })
    expect(heard.pieces.map(({ type }) => type)).toEqual(["text", "text", "call", "arguments", "call-end"])
  })

  it("watches beside reasoning only, where the vendor takes them without", () => {
    const body = { choices: [{ message: { content: "one END two" }, finish_reason: "stop" }] }
    const say = (reasoning_effort: string) =>
      Result.getOrThrow(dialect(azure).reply(body, azure, chat({ stop: "END", reasoning_effort }))).message.content
    expect([say("low"), say("none")]).toEqual(["one ", "one END two"])
  })

  it("watches for those above the four that GPT takes", () => {
    const asked = { stop: ["Q1", "Q2", "Q3", "Q4", "END"], reasoning_effort: "none" }
    const body = { choices: [{ message: { content: "one END two" }, finish_reason: "stop" }] }
    for (const route of [azure, oss]) {
      expect(say(route, asked).stop).toEqual(["Q1", "Q2", "Q3", "Q4"])
      expect(Result.getOrThrow(dialect(route).reply(body, route, chat(asked))).message.content).toBe("one ")
    }
  })

  it("watches for whitespace on Claude, streamed and not", () => {
    const stop = ["END", "\n\n"]
    expect(say(sonnet, { stop }).stop_sequences).toEqual(["END"])
    const content = [
      { type: "text", text: "one\n\ntwo" },
      { type: "tool_use", id: "t", name: "f", input: {} }
    ]
    const cut = Result.getOrThrow(dialect(sonnet).reply({ content, stop_reason: "tool_use" }, sonnet, chat({ stop })))
    expect(cut.message).toStrictEqual({ role: "assistant", content: "one", refusal: null })
    expect(cut.finishReason).toBe("stop")
    const events = ["one\n", "\ntwo"].map((text) => ({
      type: "content_block_delta",
      index: 0,
      delta: { type: "text_delta", text }
    }))
    const heard = Result.getOrThrow(hearStream(sonnet, events, chat({ stop })))
    expect(heard).toMatchObject({ pieces: [{ text: "one" }], ending: { finishReason: "stop" } })
  })

  it("watches for those that are too many for Gemini", () => {
    const stop = ["1", "2", "3", "4", "5", "6"]
    expect(say(flash, { stop }).generationConfig).toMatchObject({ stopSequences: stop.slice(0, 5) })
    const event = { candidates: [{ content: { parts: [{ text: "a 6 b" }] }, finishReason: "STOP" }] }
    const heard = Result.getOrThrow(hearStream(flash, [event], chat({ stop })))
    expect(heard).toMatchObject({ pieces: [{ text: "a " }], ending: { finishReason: "stop" } })
  })

  it("end an answer that fails after them, streamed and not", () => {
    const ending = { usage: { input: 2, output: 3 }, finishReason: "stop" }
    const stop = ["1", "2", "3", "4", "5", "6"]
    const event = {
      candidates: [{ content: { parts: [{ text: "a 6 b" }] }, finishReason: "MALFORMED_FUNCTION_CALL" }],
      usageMetadata: { promptTokenCount: 2, candidatesTokenCount: 3 }
    }
    expect(Result.getOrThrow(dialect(flash).reply(event, flash, chat({ stop })))).toMatchObject({
      ...ending,
      message: { content: "a " }
    })
    expect(Result.isFailure(dialect(flash).reply(event, flash))).toBe(true)
    expect(Result.getOrThrow(hearStream(flash, [event], chat({ stop })))).toMatchObject({
      pieces: [{ text: "a " }],
      ending: { finishReason: "stop" }
    })
    const broken = {
      content: [{ type: "text", text: "a\n\nb" }],
      stop_reason: "malformed_tool_use",
      usage: { input_tokens: 2, output_tokens: 3 }
    }
    expect(Result.getOrThrow(dialect(sonnet).reply(broken, sonnet, chat({ stop: "\n\n" })))).toMatchObject({
      ...ending,
      message: { content: "a" }
    })
  })
})
