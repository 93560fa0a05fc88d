import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import { withoutMetrics } from "../../../src/catalog/Tokens.ts"
import { overlayUsage, tokensOf } from "../../../src/vendors/claude/usage.ts"
import type { JsonObject } from "../../../src/wire/json.ts"
import { hearStream, sonnetBedrock } from "../support.ts"

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
    { input: 8, output: 4, cacheWrites: 5 }
  ],
  [
    { input_tokens: 3, cache_read_input_tokens: 2, cache_creation_input_tokens: 5, output_tokens: 4 },
    { input: 10, output: 4, cached: 2, cacheWrites: 5 }
  ],
  [
    {
      input_tokens: 3,
      cache_creation_input_tokens: 5,
      cache_creation: { ephemeral_5m_input_tokens: 1, ephemeral_1h_input_tokens: 4 },
      output_tokens: 4
    },
    { input: 8, output: 4, cacheWrites: 5, cacheWrites1h: 4 }
  ],
  [
    {
      ...{ input_tokens: 3, cache_read_input_tokens: 2, output_tokens: 4 },
      iterations: [
        { type: "compaction", input_tokens: 100, cache_read_input_tokens: 50, output_tokens: 9 },
        { type: "message", input_tokens: 3, cache_read_input_tokens: 2, output_tokens: 4 }
      ]
    },
    { input: 155, output: 13, cached: 52 }
  ]
])("%j counts %j", (usage, tokens) => expect(tokensOf(usage)).toStrictEqual(tokens))

it.each([
  [{ input_tokens: 1 }, undefined, { input_tokens: 1 }],
  [{ input_tokens: 1 }, "x", { input_tokens: 1 }],
  [
    { input_tokens: 1, output_tokens: 2 },
    { input_tokens: null, output_tokens: 3, cache_read_input_tokens: 4, service_tier: "standard" },
    { input_tokens: 1, output_tokens: 3, cache_read_input_tokens: 4 }
  ],
  [{ input_tokens: 5 }, { input_tokens: 0 }, { input_tokens: 0 }],
  [{ output_tokens: 1 }, { iterations: [] }, { output_tokens: 1, iterations: [] }]
])("%j, then %j, is %j", (before, after, expected) => expect(overlayUsage(before, after)).toEqual(expected))

describe("Bedrock's own counts", () => {
  const counts = { inputTokenCount: 5, outputTokenCount: 7, cacheReadInputTokenCount: 1 }
  const metrics = { "amazon-bedrock-invocationMetrics": counts }

  it("fill what the events of a stream do not count", () => {
    const events = (usage: JsonObject) => [
      { type: "message_start", message: { usage } },
      { type: "message_stop", ...metrics }
    ]
    const usageOf = (usage: JsonObject) => Result.getOrThrow(hearStream(sonnetBedrock, events(usage))).ending.usage
    expect(usageOf({})).toMatchObject({ input: 6, output: 7 })
    expect(usageOf({ input_tokens: 50, output_tokens: null })).toMatchObject({ input: 51, output: 7 })
    // What the beginning says of output is not what was said.
    expect(usageOf({ input_tokens: 50, output_tokens: 1 })).toMatchObject({ input: 51, output: 7 })
  })

  it("fill the usage of a whole message, and are no part of it", () => {
    expect(withoutMetrics({ type: "message", ...metrics })).toEqual({
      type: "message",
      usage: { input_tokens: 5, output_tokens: 7, cache_read_input_tokens: 1 }
    })
    const counted = { type: "message", usage: { input_tokens: 1, output_tokens: 2, cache_read_input_tokens: 0 } }
    expect(withoutMetrics({ ...counted, ...metrics })).toEqual(counted)
  })
})
