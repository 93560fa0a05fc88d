import { describe, expect, it } from "@effect/vitest"
import { azure, call, oss, routeOf, say, tool } from "../support.ts"

const user = { role: "user", content: "hi" }

describe("requests", () => {
  it("replace the model and the gateway's own fields, and forward the rest", () => {
    const body = say(azure, {
      max_tokens: 9,
      n: 1,
      store: false,
      stream: true,
      stream_options: { include_usage: false, include_obfuscation: true },
      user: "u",
      metadata: { a: "b" },
      seed: 1,
      service_tier: null,
      response_format: { type: "json_object" },
      stop: ["x"],
      reasoning_effort: "none"
    })
    expect(body).toEqual({
      model: "gpt-5.1",
      messages: [user],
      max_completion_tokens: 9,
      reasoning_effort: "none",
      stream: true,
      stream_options: { include_usage: true },
      user: "u",
      metadata: { a: "b" },
      seed: 1,
      response_format: { type: "json_object" },
      stop: ["x"]
    })
    expect(say(oss, {}).model).toBe("openai.gpt-oss-120b-1:0")
    expect(say(oss, { stream: false })).not.toHaveProperty("stream")
  })

  const sampling = {
    temperature: 1,
    top_p: 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    logprobs: true,
    top_logprobs: 1,
    logit_bias: {}
  }
  it.each([
    [azure, "none", true],
    [azure, "low", false],
    [azure, undefined, false],
    [oss, "high", true]
  ])("%# sampling at effort %s: %s", (route, effort, kept) => {
    const body = say(route, { ...sampling, reasoning_effort: effort ?? null })
    // Of gpt-oss they would show the reasoning.
    const shown = Object.keys(sampling).filter((name) => route !== oss || !name.endsWith("logprobs"))
    for (const name of Object.keys(sampling)) expect(name in body).toBe(kept && shown.includes(name))
  })

  it("always name an effort", () => {
    expect([azure, oss].map((route) => say(route, {}).reasoning_effort)).toEqual(["high", "medium"])
    expect(say(oss, { reasoning_effort: "none" }).reasoning_effort).toBe("low")
  })

  it("do not ask for parallel calls at minimal effort", () => {
    const thinking = { ...azure.model.thinking, efforts: ["minimal", "low"] as const }
    const route = routeOf("gpt-5.1", "azure", { thinking })
    const fields = { reasoning_effort: "minimal", parallel_tool_calls: true }
    expect(say(route, { ...fields, tools: [tool("f")] }).parallel_tool_calls).toBe(false)
    expect(say(route, fields)).not.toHaveProperty("parallel_tool_calls")
  })

  it("clean messages and tools of what the upstreams refuse", () => {
    const extra = { anthropic: { thinking_blocks: [] } }
    const body = say(azure, {
      messages: [
        { role: "developer", content: "d", name: "n" },
        { role: "system", content: "s" },
        { role: "assistant", content: "a", tool_calls: [], refusal: null, extra_content: extra },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ ...call("x", "f", " { }", extra), type: null }],
          audio: null
        },
        { role: "tool", tool_call_id: "x", content: "" }
      ],
      tools: [{ type: "function", function: { name: "f", description: null, parameters: null, strict: null } }]
    })
    expect(body.messages).toEqual([
      { role: "system", content: "d", name: "n" },
      { role: "system", content: "s" },
      { role: "assistant", content: "a" },
      { role: "assistant", tool_calls: [call("x", "f", " { }")] },
      { role: "tool", tool_call_id: "x", content: "" }
    ])
    expect(body.tools).toEqual([tool("f")])
    expect(JSON.stringify(body)).not.toContain("null")
  })

  it("have no tool fields without tools", () => {
    const body = say(azure, { tools: [], tool_choice: "auto", parallel_tool_calls: true })
    expect(Object.keys(body).sort()).toEqual(["messages", "model", "reasoning_effort"])
  })
})
