import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import { cut, invalidBody, refused, unreadable } from "../../../src/catalog/UpstreamFault.ts"
import type { Piece } from "../../../src/vendors/Dialect.ts"
import { type JsonObject, textOf } from "../../../src/wire/json.ts"
import { dialect, eventOf, failureOf, flash, hearStream } from "../support.ts"

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
    expect(ending).toMatchObject({ finishReason: "tool_calls", usage: { input: 1, output: 2 } })
    const again = Result.getOrThrow(hearStream(flash, events)).pieces.flatMap((piece) =>
      piece.type === "call" ? [piece.id] : []
    )
    expect(new Set([...ids, ...again]).size).toBe(4)
    for (const id of ids) expect(id).toMatch(/^call_[0-9a-f]{24}$/)
  })

  it("keep arguments' numbers as they were written, and gather usage from events", () => {
    const data =
      '{"candidates":[{"content":{"parts":[{"text":"a"},{"functionCall":{"name":"f","args":{"n":12345678901234567890}}}]}}]}'
    const reader = dialect(flash).stream(flash)
    const pieces: Array<Piece> = []
    expect(reader.step(eventOf(data), pieces)).toBeUndefined()
    expect(pieces.map(({ type }) => type)).toEqual(["text", "call", "arguments", "call-end"])
    expect(pieces[2]).toEqual({ type: "arguments", index: 0, text: '{"n":12345678901234567890}' })
    expect(reader.usage()).toBeUndefined()
    reader.step(eventOf({ usageMetadata: { promptTokenCount: 2 } }), pieces)
    expect(reader.usage()).toMatchObject({ input: 2, output: 0 })
    expect(reader.ended()).toBe(false)
  })

  it("show nothing of an event that cannot be printed", () => {
    const args = `{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`
    const data = `{"candidates":[{"content":{"parts":[{"text":"a"},{"functionCall":{"name":"f","args":${args}}}]}}]}`
    const pieces: Array<Piece> = []
    expect(dialect(flash).stream(flash).step(eventOf(data), pieces)).toEqual(invalidBody)
    expect(pieces).toEqual([])
  })

  it.each(["<html>", "null", "[]", ""])("an event %j is the upstream's fault", (data) => {
    expect(failureOf(hearStream(flash, [data]))).toEqual(unreadable)
  })

  it("without a finish reason are cut", () => {
    expect(failureOf(hearStream(flash, [part({ text: "a" })]))).toEqual(cut)
  })

  it.each<[JsonObject, number]>([
    [{ code: 429, status: "RESOURCE_EXHAUSTED" }, 429],
    [{ status: "RESOURCE_EXHAUSTED" }, 429],
    [{ status: "INVALID_ARGUMENT", message: "bad" }, 400],
    [{ status: "FAILED_PRECONDITION" }, 400],
    [{ status: "OUT_OF_RANGE" }, 400],
    [{ status: "DEADLINE_EXCEEDED" }, 504],
    [{ status: "UNAVAILABLE" }, 503],
    [{ status: "UNAUTHENTICATED" }, 401],
    [{ status: "PERMISSION_DENIED" }, 403],
    [{ status: "NOT_FOUND" }, 404],
    [{ status: "constructor" }, 500],
    [{ code: 403, message: "projects/secret" }, 403],
    // Not a status of HTTP: it would be a series of its own in the metrics.
    [{ code: 8, status: "RESOURCE_EXHAUSTED" }, 429],
    [{ code: 12_345_678 }, 500],
    [{ code: 429.5 }, 500],
    [{ code: -1 }, 500],
    [{}, 500]
  ])("the in-band error %j stands for %i", (error, status) => {
    const fault = failureOf(hearStream(flash, [part({ text: "a" }), { error }]))
    expect(fault).toEqual(refused(status, textOf(error.message)))
  })
})
