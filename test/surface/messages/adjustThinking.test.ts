/** What becomes of the thinking of a native body, without a gateway. */
import { describe, expect, it } from "@effect/vitest"
import { adjustThinking } from "../../../src/surfaces/messagesThinking.ts"
import { Adjusted } from "../../../src/vendors/adjustments.ts"
import type { JsonObject } from "../../../src/wire/json.ts"
import { opus, sonnet, sonnetBedrock } from "../../vendors/support.ts"

const enabled = (budget_tokens: number) => ({ type: "enabled", budget_tokens })

describe("messages: budgeted models (docs/api.md#extended-thinking)", () => {
  const adjust = (
    body: JsonObject,
    facts: { betas?: ReadonlyArray<string>; counting?: boolean } = {},
    route = sonnet
  ) => {
    const before = JSON.stringify(body)
    const { deployment, model } = route
    const changes = new Adjusted()
    const sent = adjustThinking(
      body,
      { model, deployment, betas: facts.betas ?? [], counting: facts.counting ?? false },
      changes
    )
    expect(JSON.stringify(body)).toBe(before)
    return { body: sent, header: [...changes].join(", ") }
  }
  const interleaved = ["interleaved-thinking-2025-05-14"]

  it.each([
    [32_000, 8192, 7168, "budget_tokens:32000->7168"],
    [8192, 8192, 7168, "budget_tokens:8192->7168"],
    [8191, 8192, 8191, ""],
    [2048, 2048, 1024, "budget_tokens:2048->1024"],
    [2047, 2047, undefined, "thinking:dropped"],
    [1024, 1024, undefined, "thinking:dropped"],
    [1024, 1025, 1024, ""],
    [500, 1025, 1024, "budget_tokens:500->1024"],
    [500, 1024, undefined, "thinking:dropped"],
    [0, 8192, 1024, "budget_tokens:0->1024"],
    [-5, 8192, 1024, "budget_tokens:-5->1024"]
  ])("budget %i of %i", (budget, max_tokens, expected, header) => {
    const adjusted = adjust({ max_tokens, messages: [], thinking: enabled(budget) })
    expect(adjusted.body.thinking).toEqual(expected === undefined ? undefined : enabled(expected))
    expect(adjusted.header).toBe(header)
  })

  it("removes sampling and forced tools beside thinking, and leaves them where it is dropped", () => {
    const body = { max_tokens: 4096, temperature: 0.2, top_p: 0.9, top_k: 5, tool_choice: { type: "tool", name: "a" } }
    expect(adjust({ ...body, thinking: enabled(2048) })).toMatchObject({
      body: { max_tokens: 4096, tool_choice: { type: "auto" }, thinking: enabled(2048) },
      header: "temperature:removed, top_p:removed, top_k:removed, tool_choice:tool->auto"
    })
    expect(Object.keys(adjust({ ...body, thinking: enabled(2048) }).body).sort()).toEqual([
      "max_tokens",
      "thinking",
      "tool_choice"
    ])
    expect(adjust({ ...body, max_tokens: 1000, thinking: enabled(2048) })).toMatchObject({
      body: { ...body, max_tokens: 1000 },
      header: "thinking:dropped"
    })
  })

  it("keeps what else a forced choice says", () => {
    const tool_choice = { type: "any", disable_parallel_tool_use: true }
    const adjusted = adjust({ max_tokens: 4096, tool_choice, thinking: enabled(2048) })
    expect(adjusted.body.tool_choice).toEqual({ type: "auto", disable_parallel_tool_use: true })
    expect(adjusted.header).toBe("tool_choice:any->auto")
  })

  it.each([
    [{}],
    [{ thinking: { type: "disabled" } }],
    [{ thinking: null }],
    [{ thinking: "yes" }],
    [{ thinking: { type: "enabled" } }],
    [{ thinking: { type: "enabled", budget_tokens: "many" } }]
  ])("leaves %j as it is", (fields) => {
    const body = { max_tokens: 500, temperature: 0.2, tool_choice: { type: "any" }, ...fields }
    const changes = new Adjusted()
    expect(adjustThinking(body, { ...sonnet, betas: [], counting: false }, changes)).toBe(body)
    expect([...changes]).toEqual([])
  })

  it("honours a budget above max_tokens with the interleaved beta on cloud B only", () => {
    const body = { max_tokens: 8192, thinking: enabled(32_000) }
    expect(adjust(body, { betas: interleaved }, sonnetBedrock)).toMatchObject({ body, header: "" })
    expect(adjust(body, { betas: interleaved }, sonnet).header).toBe("budget_tokens:32000->7168")
    expect(adjust(body, { betas: ["other"] }, sonnetBedrock).header).toBe("budget_tokens:32000->7168")
    expect(adjust({ ...body, max_tokens: 10 }, { betas: interleaved }, sonnetBedrock).header).toBe("")
  })

  it.each([
    [undefined, 8192],
    ["low", 1024],
    ["high", 16_384],
    ["max", 16_384],
    ["unheard-of", 8192]
  ])("makes an adaptive block of effort %s a budget", (effort, budget) => {
    const body = {
      max_tokens: 20_000,
      thinking: { type: "adaptive" },
      ...(effort ? { output_config: { effort } } : {})
    }
    expect(adjust(body)).toMatchObject({ body: { thinking: enabled(budget) }, header: "thinking:adaptive->enabled" })
    expect(adjust(body, { counting: true }).body).toEqual({ max_tokens: 20_000, thinking: enabled(budget) })
  })

  it("fits the budget of an adaptive block too", () => {
    const thinking = { type: "adaptive" }
    expect(adjust({ max_tokens: 4096, thinking }).header).toBe("thinking:adaptive->enabled, budget_tokens:8192->3072")
    expect(adjust({ max_tokens: 1500, thinking })).toMatchObject({ header: "thinking:dropped" })
  })

  it("does not read max_tokens for a count, and raises a small budget", () => {
    const body = { max_tokens: 10, temperature: 1, tool_choice: { type: "any" }, output_config: { effort: "low" } }
    expect(adjust({ ...body, thinking: enabled(32_000) }, { counting: true }).body).toEqual({
      max_tokens: 10,
      tool_choice: { type: "auto" },
      thinking: enabled(32_000)
    })
    expect(adjust({ ...body, thinking: enabled(5) }, { counting: true }).body.thinking).toEqual(enabled(1024))
    // Bedrock's count has a max_tokens above it, which the model's largest output limits.
    expect(adjust({ ...body, thinking: enabled(100_000) }, { counting: true }).body.thinking).toEqual(enabled(63_999))
  })

  it("forwards adaptive thinking untouched, and counts without it", () => {
    const body = {
      max_tokens: 10,
      thinking: { type: "adaptive" },
      tool_choice: { type: "any" },
      output_config: { effort: "low" }
    }
    const facts = { ...opus, betas: [] }
    expect(adjustThinking(body, { ...facts, counting: false }, new Adjusted())).toBe(body)
    // A forced tool is counted as it is sent beside a budget.
    for (const [thinking, type] of [
      [body.thinking, "any"],
      [enabled(9), "auto"]
    ] as const) {
      expect(adjustThinking({ ...body, thinking }, { ...facts, counting: true }, new Adjusted())).toEqual({
        max_tokens: 10,
        tool_choice: { type }
      })
    }
  })

  it.each([
    [9, "low"],
    [1024, "low"],
    [8191, "low"],
    [8192, "medium"],
    [16_384, "high"],
    [31_999, "high"],
    [32_768, "xhigh"],
    [200_000, "max"]
  ])("makes an effort of a budget of %i on adaptive models: %s", (budget, effort) => {
    expect(adjust({ max_tokens: 10, thinking: { ...enabled(budget), display: "omitted" } }, {}, opus)).toEqual({
      body: { max_tokens: 10, thinking: { type: "adaptive", display: "omitted" }, output_config: { effort } },
      header: `thinking:enabled->adaptive, budget_tokens:${budget}->${effort}`
    })
  })

  it("keeps the effort that is there, and frees a forced tool", () => {
    const config = { output_config: { effort: "xhigh", format: {} } }
    const forced = { tool_choice: { type: "tool", name: "f", disable_parallel_tool_use: true } }
    expect(adjust({ ...config, ...forced, thinking: enabled(1024) }, {}, opus)).toMatchObject({
      body: {
        ...config,
        thinking: { type: "adaptive" },
        tool_choice: { type: "auto", disable_parallel_tool_use: true }
      },
      header: "thinking:enabled->adaptive, tool_choice:tool->auto"
    })
  })

  it.each([{ type: "enabled" }, { type: "enabled", budget_tokens: "9" }, { type: "disabled" }, null])(
    "leaves %j to the vendor",
    (thinking) => {
      const body = { thinking }
      expect(adjust(body, {}, opus).body).toBe(body)
    }
  )
})
