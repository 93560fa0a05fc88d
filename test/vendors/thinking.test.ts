import { describe, expect, it } from "@effect/vitest"
import type { Effort } from "../../src/catalog/Catalog.ts"
import { nearestEffort } from "../../src/vendors/thinking.ts"
import { azure, call, flash, opus, oss, asked as request, routeOf, say, sonnet, terra, tool } from "./support.ts"

const enabled = (budget_tokens: number) => ({ type: "enabled", budget_tokens })

describe("chat: effort and budget of a budgeted model (docs/api.md#reasoning, rule 3)", () => {
  it.each([
    [{}, enabled(8192), 12_288],
    [{ reasoning_effort: "low" }, enabled(1024), 5120],
    [{ reasoning_effort: "minimal" }, enabled(1024), 5120],
    [{ reasoning_effort: "medium" }, enabled(8192), 12_288],
    [{ reasoning_effort: "high" }, enabled(16_384), 20_480],
    [{ reasoning_effort: "xhigh" }, enabled(16_384), 20_480],
    [{ reasoning_effort: "max" }, enabled(16_384), 20_480],
    [{ reasoning_effort: null, max_tokens: null }, enabled(8192), 12_288],
    [{ reasoning_effort: "none" }, undefined, 4096],
    [{ reasoning_effort: "none", max_tokens: 50_000 }, undefined, 50_000],
    [{ max_tokens: 1024 }, undefined, 1024],
    [{ max_tokens: 1 }, undefined, 1],
    [{ max_tokens: 1025 }, enabled(1024), 1025],
    [{ max_tokens: 2047 }, enabled(1024), 2047],
    [{ max_tokens: 2048 }, enabled(1024), 2048],
    [{ max_tokens: 2049 }, enabled(1025), 2049],
    [{ max_tokens: 9216 }, enabled(8192), 9216],
    [{ max_tokens: 9215 }, enabled(8191), 9215],
    [{ max_tokens: 64_000 }, enabled(8192), 64_000],
    [{ max_completion_tokens: 4096 }, enabled(3072), 4096],
    [{ max_completion_tokens: 4096, max_tokens: 9 }, enabled(3072), 4096]
  ])("%j", (fields, thinking, maxTokens) => {
    const body = say(sonnet, fields)
    expect(body.thinking).toEqual(thinking)
    expect(body.max_tokens).toBe(maxTokens)
    expect(body.output_config).toBeUndefined()
  })

  it("keeps the default within what the model can write", () => {
    const body = say(routeOf("claude-sonnet-4-5", "vertex", { maxOutputTokens: 8192 }), { reasoning_effort: "high" })
    expect([body.max_tokens, body.thinking]).toEqual([8192, enabled(7168)])
  })
})

describe("chat: an adaptive model", () => {
  it.each([
    [{}, { type: "adaptive" }, { effort: "medium" }, 12_288],
    [{ reasoning_effort: "minimal" }, { type: "adaptive" }, { effort: "low" }, 5120],
    [{ reasoning_effort: "xhigh" }, { type: "adaptive" }, { effort: "xhigh" }, 36_864],
    [{ reasoning_effort: "max" }, { type: "adaptive" }, { effort: "max" }, 69_632],
    [{ reasoning_effort: "none" }, { type: "disabled" }, undefined, 4096],
    [{ max_tokens: 1024 }, { type: "adaptive" }, { effort: "medium" }, 1024],
    [{ max_tokens: 1 }, { type: "adaptive" }, { effort: "medium" }, 1],
    [{ max_tokens: 1025 }, { type: "adaptive" }, { effort: "medium" }, 1025]
  ])("%j", (fields, thinking, outputConfig, maxTokens) => {
    const body = say(opus, fields)
    expect(body.thinking).toEqual(thinking)
    expect(body.output_config).toEqual(outputConfig)
    expect(body.max_tokens).toBe(maxTokens)
  })
})

describe("chat: sampling and forced tools (docs/api.md#reasoning, rules 5 and 6)", () => {
  const asked = { temperature: 0.3, tools: [tool("a")], tool_choice: "required" }
  it.each([
    [sonnet, "low", undefined, { type: "auto" }],
    [sonnet, "none", 0.3, { type: "any" }],
    [opus, "low", undefined, { type: "auto" }],
    [opus, "none", undefined, { type: "any" }],
    [azure, "low", undefined, "required"],
    [azure, "none", 0.3, "required"],
    [terra, "low", undefined, "required"],
    [terra, "none", 0.3, "required"],
    [oss, "low", 0.3, "required"]
  ])("%# effort %s", (route, reasoning_effort, temperature, choice) => {
    const body = say(route, { ...asked, reasoning_effort })
    expect(body.temperature).toBe(temperature)
    expect(body.tool_choice).toEqual(choice)
  })

  it("a tool turn without its thinking is a turn without thinking", () => {
    const messages = [
      { role: "user", content: "hi" },
      { role: "assistant", content: null, tool_calls: [call("a", "a", "{}")] },
      { role: "tool", tool_call_id: "a", content: "1" }
    ]
    const body = say(sonnet, { ...asked, messages })
    expect(body).not.toHaveProperty("thinking")
    expect([body.temperature, body.tool_choice, body.max_tokens]).toEqual([0.3, { type: "any" }, 12_288])
  })
})

describe("chat: a tool loop of a client that keeps no thinking", () => {
  const extra = { anthropic: { thinking_blocks: [{ type: "thinking", thinking: "hm", signature: "s" }] } }
  const user = { role: "user", content: "hi" }
  const result = (tool_call_id: string) => ({ role: "tool", tool_call_id, content: "1" })
  const calls = (id: string, extra_content?: object) => ({
    role: "assistant",
    content: null,
    tool_calls: [call(id, "f", "{}")],
    ...(extra_content === undefined ? {} : { extra_content })
  })
  const said = { role: "assistant", content: "done" }

  const loops: ReadonlyArray<readonly [string, ReadonlyArray<object>, boolean]> = [
    ["a call without its thinking", [user, calls("a"), result("a")], false],
    ["the same with words of the user's", [user, calls("a"), result("a"), user], false],
    ["a call with its thinking", [user, calls("a", extra), result("a")], true],
    ["a loop that began with thinking", [user, calls("a", extra), result("a"), calls("b"), result("b")], true],
    ["a loop that began without", [user, calls("a"), result("a"), calls("b"), result("b")], false],
    [
      "a new loop behind one with thinking",
      [user, calls("a", extra), result("a"), said, user, calls("b"), result("b")],
      false
    ],
    ["words of the user's within a loop", [user, calls("a", extra), result("a"), user, calls("b"), result("b")], false],
    ["a turn that is over", [user, calls("a"), result("a"), said, user], true],
    ["no history", [user], true]
  ]

  it.each(loops)(
    "%s: a budgeted model thinks where the vendor takes it, and else it is named",
    (_, messages, thinks) => {
      const { adjusted, body } = request(sonnet, { messages })
      expect(body.thinking !== undefined).toBe(thinks)
      expect(adjusted.includes("reasoning_effort:unset->none")).toBe(!thinks)
      expect(body.max_tokens).toBe(12_288)
      const asking = request(sonnet, { messages, reasoning_effort: "high" })
      expect(asking.body.thinking !== undefined).toBe(thinks)
      expect(asking.body.max_tokens).toBe(20_480)
      expect(asking.adjusted.includes("reasoning_effort:high->none")).toBe(!thinks)
      expect(request(sonnet, { messages, reasoning_effort: "none" }).adjusted.join()).not.toContain("reasoning_effort")
    }
  )

  it.each(loops)("%s: an adaptive model thinks", (_, messages) => {
    for (const max_tokens of [undefined, 4096, 1024, 16]) {
      const { adjusted, body } = request(opus, { messages, ...(max_tokens === undefined ? {} : { max_tokens }) })
      expect(body.thinking).toEqual({ type: "adaptive" })
      expect(body.output_config).toEqual({ effort: "medium" })
      expect(adjusted.join()).not.toContain("reasoning_effort")
    }
  })

  it("a budget that does not fit is named for the default effort too", () => {
    expect(request(sonnet, { max_tokens: 1024 }).adjusted).toContain("reasoning_effort:unset->none")
    expect(request(sonnet, { max_tokens: 1025 }).adjusted.join()).not.toContain("reasoning_effort")
    expect(request(sonnet, { max_tokens: 1024, reasoning_effort: "low" }).adjusted).toContain(
      "reasoning_effort:low->none"
    )
  })
})

describe("the nearest effort", () => {
  const efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const
  const nearest = (route: typeof azure) => efforts.map((effort) => nearestEffort(effort, route.model))
  it.each([
    [azure, ["none", "low", "low", "medium", "high", "high", "high"]],
    [terra, ["none", "low", "low", "medium", "high", "xhigh", "xhigh"]],
    [oss, ["low", "low", "low", "medium", "high", "high", "high"]],
    [flash, ["minimal", "minimal", "low", "medium", "high", "high", "high"]],
    [
      routeOf("gemini-3-flash", "vertex", {
        thinking: { ...flash.model.thinking, efforts: ["low", "high"] as ReadonlyArray<Effort> }
      }),
      ["low", "low", "low", "high", "high", "high", "high"]
    ]
  ])("%#", (route, expected) => expect(nearest(route)).toEqual(expected))
})
