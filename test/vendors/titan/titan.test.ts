import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import { invalidBody } from "../../../src/catalog/UpstreamFault.ts"
import { describeTooLong, reply, request } from "../../../src/vendors/titan.ts"
import { failureOf } from "../support.ts"

const embedding = Array.from({ length: 1024 }, (_, at) => at / 1024)

it("asks for a unit vector of 1,024", () => {
  expect(request("a")).toEqual({ inputText: "a", dimensions: 1024, normalize: true })
})

describe("replies", () => {
  it("are a vector and a count", () => {
    const body = { embedding, inputTextTokenCount: 3, embeddingsByType: { float: embedding } }
    expect(Result.getOrThrow(reply(body))).toEqual({ embedding, tokens: 3 })
    expect(Result.getOrThrow(reply({ embedding, inputTextTokenCount: 2.6 })).tokens).toBe(3)
  })

  it.each([
    ["nothing", {}],
    ["no count", { embedding }],
    ["a count in words", { embedding, inputTextTokenCount: "3" }],
    ["no vector", { inputTextTokenCount: 3 }],
    ["a vector in words", { embedding: "x", inputTextTokenCount: 3 }],
    ["a short vector", { embedding: embedding.slice(1), inputTextTokenCount: 3 }],
    ["a long vector", { embedding: [...embedding, 0], inputTextTokenCount: 3 }],
    ["a vector with a hole", { embedding: [...embedding.slice(1), null], inputTextTokenCount: 3 }]
  ])("with %s are no answer", (_, body) => expect(failureOf(reply(body))).toEqual(invalidBody))
})

describe("a string that is too long", () => {
  const said = (found: string) =>
    `must be at most 8,192 tokens and 50,000 characters${found}; nothing is truncated, so split the text`
  it.each([
    [
      "400 Bad Request: Too many input tokens. Max input tokens: 8192, request input token count: 9000",
      said(" (this has 9000 tokens)")
    ],
    ["Malformed input request: expected maxLength: 50000, actual: 60000, please reformat your input", said("")],
    ["the model's API refused the request", undefined],
    ["token count: 7", undefined]
  ])("%j is %j", (message, expected) => expect(describeTooLong(message)).toBe(expected))
})
