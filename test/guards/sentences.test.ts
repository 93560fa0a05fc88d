/** Where a text that comes in pieces may be cut. */
import { assert, describe, it } from "@effect/vitest"
import { lastCut, lastSentenceEnd } from "../../src/guards/sentences.ts"

describe("the end of a sentence", () => {
  it.each([
    ["", "One. Two", 5],
    ["One.", " Two", 1],
    ["", "3.14", undefined],
    ["", 'He said "no." Then', 14],
    ["x", "a\n\nb", 3],
    ["", "好。他", 2],
    ["", "no end", undefined],
    ["One. ", "Two", undefined]
  ])("after %j in %j is at %s", (before, piece, end) => {
    assert.strictEqual(lastSentenceEnd(before, piece), end)
  })
})

describe("a text without such an end", () => {
  it.each([
    ["a b", 4_000, undefined],
    ["a b", 4_001, 2],
    ["a b ", 4_001, 4],
    [" b", 4_001, 1],
    ["ab", 8_000, undefined],
    ["ab", 8_001, 2],
    ["A. b c", 8_001, 3]
  ])("of which %j is held is cut, at %i characters in all, at %s", (piece, size, end) => {
    assert.strictEqual(lastCut("", piece, size), end)
  })
})
