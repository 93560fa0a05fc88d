import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import { invalidBody } from "../../../src/catalog/UpstreamFault.ts"
import type { Json, JsonObject } from "../../../src/wire/json.ts"
import { dialect, failureOf, flash, hear, hearStream } from "../support.ts"

describe("replies", () => {
  const candidate = (finishReason: string | undefined, ...parts: ReadonlyArray<JsonObject>): JsonObject => ({
    candidates: [{ content: { role: "model", parts }, ...(finishReason === undefined ? {} : { finishReason }) }]
  })

  it("say how likely their tokens were, as OpenAI says it", () => {
    const a = { token: "a", tokenId: 0, logProbability: -0.5 }
    const b = { token: "b", tokenId: 1, logProbability: -1.5 }
    const logprobsOf = (logprobsResult: Json) =>
      hear(flash, { candidates: [{ content: { parts: [{ text: "ab" }] }, finishReason: "STOP", logprobsResult }] })
        .logprobs
    const first = { token: "a", logprob: -0.5, bytes: null }
    const second = { token: "b", logprob: -1.5, bytes: null }
    expect(logprobsOf({ chosenCandidates: [a, b], topCandidates: [{ candidates: [a, b] }, {}] })).toEqual({
      content: [
        { ...first, top_logprobs: [first, second] },
        { ...second, top_logprobs: [] }
      ],
      refusal: null
    })
    expect(logprobsOf({ chosenCandidates: [{ token: "a" }] })).toEqual({
      content: [{ token: "a", logprob: 0, bytes: null, top_logprobs: [] }],
      refusal: null
    })
    expect(logprobsOf(null)).toBeUndefined()
  })

  it("a blocked prompt is filtered content", () => {
    const blocked = { promptFeedback: { blockReason: "SAFETY" }, usageMetadata: { promptTokenCount: 3 } }
    const answer = hear(flash, blocked)
    expect(answer.message).toStrictEqual({ role: "assistant", content: "", refusal: null })
    expect(answer.finishReason).toBe("content_filter")
    const heard = Result.getOrThrow(hearStream(flash, [blocked, { usageMetadata: { trafficType: "ON_DEMAND" } }]))
    expect(heard).toMatchObject({ pieces: [], ending: { finishReason: "content_filter", usage: { input: 3 } } })
  })

  it.each([{ text: "" }, {}])("the signature of a text comes on an empty part behind it: %j", (part) => {
    const body = { ...candidate("STOP", { text: "a" }, { ...part, thoughtSignature: "s" }), usageMetadata: {} }
    expect(hear(flash, body).message.extra_content).toEqual({ google: { thought_signature: "s" } })
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
    expect(answer.message.content).toBe("a")
    expect(answer.usage).toEqual({ input: 11, output: 7, cached: 4, reasoning: 5 })
  })

  it.each([[{}], [{ candidates: [] }], [{ candidates: null }], [{ candidates: "<html>" }], [{ usageMetadata: {} }]])(
    "%j is no answer",
    (body) => expect(failureOf(dialect(flash).reply(body, flash))).toEqual(invalidBody)
  )
})
