import { expect, it } from "@effect/vitest"
import { overlayUsage, tokensOf } from "../../../src/dialect/claude/usage.ts"

it.each([
  [{}, { input: 0, output: 0 }],
  [
    { input_tokens: "3", output_tokens: null },
    { input: 0, output: 0 }
  ],
  [
    { input_tokens: 3, output_tokens: 4 },
    { input: 3, output: 4 }
  ],
  [
    { input_tokens: 3, cache_read_input_tokens: 0, cache_creation_input_tokens: 5, output_tokens: 4 },
    { input: 8, output: 4 }
  ],
  [
    { input_tokens: 3, cache_read_input_tokens: 2, cache_creation_input_tokens: 5, output_tokens: 4 },
    { input: 10, output: 4, cached: 2 }
  ]
])("%j counts %j", (usage, tokens) => expect(tokensOf(usage)).toStrictEqual(tokens))

it.each([
  [{ a: 1 }, undefined, { a: 1 }],
  [{ a: 1 }, "x", { a: 1 }],
  [
    { a: 1, b: 2 },
    { a: null, b: 3, c: 4 },
    { a: 1, b: 3, c: 4 }
  ],
  [{ a: 5 }, { a: 0 }, { a: 0 }]
])("%j, then %j, is %j", (before, after, expected) => expect(overlayUsage(before, after)).toEqual(expected))
