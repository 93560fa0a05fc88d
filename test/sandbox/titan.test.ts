/** Titan's vectors: equal texts have equal ones, related texts near ones, and every text has one of length 1. */
import { assert, describe, it } from "@effect/vitest"
import type { JsonObject } from "../../src/sandbox/json.ts"
import { embedTitan } from "../../src/sandbox/titan.ts"

const numbers = (value: unknown): ReadonlyArray<number> => (Array.isArray(value) ? value.map(Number) : [])
const vectorOf = (inputText: string, over: JsonObject = {}) => numbers(embedTitan({ inputText, ...over }).embedding)
const product = (a: ReadonlyArray<number>, b: ReadonlyArray<number>) =>
  a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0)
const nearness = (a: string, b: string, over: JsonObject = {}) => product(vectorOf(a, over), vectorOf(b, over))

const dimensions = [256, 512, 1024]

describe("a vector", () => {
  it.each(dimensions)("of %i dimensions has as many, and length 1", (dimensions) => {
    for (const text of ["A lighthouse on a rock", "…", "水"]) {
      assert.lengthOf(vectorOf(text, { dimensions }), dimensions)
      assert.closeTo(nearness(text, text, { dimensions }), 1, 1e-9)
    }
  })

  it.each(dimensions)("of %i dimensions is near to that of a related text only", (dimensions) => {
    const near = (a: string, b: string) => nearness(a, b, { dimensions })
    assert.strictEqual(near("The Lighthouse!", "the lighthouse"), near("the lighthouse", "the lighthouse"))
    assert.isAbove(near("model", "models"), 0.6)
    assert.isAbove(near("weather in Rome", "the weather of Rome"), 0.7)
    for (const [a, b] of [
      ["weather in Rome", "a quick sort"],
      ["model", "quay"],
      ["up", "in"],
      ["a", "…"]
    ] as const)
      assert.isBelow(Math.abs(near(a, b)), 0.25, `${a}, ${b}`)
  })

  it("counts the characters of a text, and not their halves", () => {
    assert.throws(() => embedTitan({ inputText: "👍".repeat(30_000) }), /Too many input tokens/)
    assert.throws(() => embedTitan({ inputText: "👍".repeat(50_001) }), /maxLength: 50000, actual: 50001/)
  })

  it("spreads a word over several dimensions, so that one that is shared by chance counts little", () => {
    assert.isBelow(Math.max(...vectorOf("a").map(Math.abs)), 0.5)
  })

  it("comes in the types that are asked for, and not normalized where it is not to be", () => {
    const inputText = "weather in Rome"
    const embedding = vectorOf(inputText)
    const embeddingsByType = { float: embedding, binary: embedding.map((value) => (value > 0 ? 1 : 0)) }
    const both = embedTitan({ inputText, embeddingTypes: ["binary", "float"] })
    assert.deepStrictEqual<unknown>(both, { embedding, embeddingsByType, inputTextTokenCount: 3 })
    assert.notProperty(embedTitan({ inputText, embeddingTypes: ["binary"] }), "embedding")
    assert.isAbove(Math.hypot(...vectorOf(inputText, { normalize: false })), 2)
  })
})
