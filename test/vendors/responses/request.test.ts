import { describe, expect, it } from "@effect/vitest"
import { adjusted, azure, call, routeOf, say, terra, tool } from "../support.ts"

describe("requests", () => {
  it("ask for nothing that is kept", () => {
    expect(say(terra, { store: false, stream: true, metadata: null, user: "u", n: 1 })).toEqual({
      model: "us-gov.openai.gpt-5.6-terra",
      input: [{ type: "message", role: "user", content: "hi" }],
      store: false,
      reasoning: { effort: "medium" },
      user: "u",
      stream: true
    })
  })

  it("never pass what only the responses API has", () => {
    const own = {
      ...{
        previous_response_id: "resp_1",
        conversation: "c",
        background: true,
        include: ["reasoning.encrypted_content"]
      },
      ...{
        prompt: { id: "p" },
        instructions: "i",
        text: {},
        reasoning: { effort: "low" },
        input: "x",
        truncation: "auto"
      },
      ...{ context_management: [], max_output_tokens: 1, max_tool_calls: 1 }
    }
    expect(say(terra, own)).toEqual(say(terra, {}))
  })

  it.each([
    ["none", true],
    ["high", false],
    [null, false]
  ])("at effort %s sampling passes: %s", (reasoning_effort, taken) => {
    const body = say(terra, { temperature: 0.3, top_p: 0.5, logprobs: true, top_logprobs: 2, reasoning_effort })
    const { temperature, top_p, top_logprobs, include } = body
    expect({ temperature, top_p, top_logprobs, include }).toEqual(
      taken ? { temperature: 0.3, top_p: 0.5, top_logprobs: 2, include: ["message.output_text.logprobs"] } : {}
    )
  })

  it("are not strict about tools unless they say so", () => {
    const { tools } = say(terra, {
      tools: [
        tool("f"),
        { type: "function", function: { name: "g", strict: true, parameters: { properties: { a: {} } } } }
      ]
    })
    const nothing = { type: "object", properties: {} }
    expect(tools).toEqual([
      { type: "function", name: "f", parameters: nothing, strict: false },
      { type: "function", name: "g", parameters: { type: "object", properties: { a: {} } }, strict: true }
    ])
  })

  it.each([
    ["auto", "auto"],
    ["none", "none"],
    ["required", "required"],
    [
      { type: "function", function: { name: "f" } },
      { type: "function", name: "f" }
    ],
    [null, undefined]
  ])("choose tools by %j", (tool_choice, said) => {
    expect(say(terra, { tools: [tool("f")], tool_choice }).tool_choice).toEqual(said)
    expect(say(terra, { tool_choice })).not.toHaveProperty("tool_choice")
  })

  it("do not ask for parallel calls at minimal effort", () => {
    const thinking = { ...terra.model.thinking, efforts: ["minimal", "low"] as const }
    const route = routeOf("gpt-5.6-terra", "bedrock", { thinking })
    const fields = { reasoning_effort: "minimal", parallel_tool_calls: true, tools: [tool("f")] }
    expect(say(route, fields).parallel_tool_calls).toBe(false)
    expect(adjusted(route, fields)).toEqual(["parallel_tool_calls:true->false"])
  })

  it("take back what a model called a tool that there was not", () => {
    const messages = [{ role: "assistant", content: null, tool_calls: [call("x", "functions.get", "{}")] }]
    expect(say(terra, { messages }).input).toMatchObject([{ type: "function_call", name: "functions_get" }])
    expect(say(azure, { messages }).messages).toMatchObject([{ tool_calls: [call("x", "functions_get", "{}")] }])
  })

  it.each([terra, azure])("%# name a schema as the API takes it", (route) => {
    const sent = (name: string) =>
      JSON.stringify(say(route, { response_format: { type: "json_schema", json_schema: { name, schema: {} } } }))
    expect(sent("Spam-1_x")).toContain('"name":"Spam-1_x"')
    expect(sent("é".repeat(65))).toContain(`"name":"${"_".repeat(64)}"`)
  })

  it.each([
    [terra, 64],
    [azure, 40]
  ])(
    "%# shorten IDs of calls the same way in call and result, and only where they must: above %s",
    (route, longest) => {
      const ids = ["x".repeat(longest), `${"x".repeat(longest)}1`, `${"x".repeat(longest)}2`, "y".repeat(256)]
      const messages = [
        { role: "assistant", content: null, tool_calls: ids.map((id) => call(id, "f", "{}")) },
        ...ids.map((tool_call_id) => ({ role: "tool", tool_call_id, content: "" }))
      ]
      const sent = [...JSON.stringify(say(route, { messages })).matchAll(/id":"(\w+)"/g)].map(([, id = ""]) => id)
      expect(sent.slice(0, 4)).toEqual(sent.slice(4))
      expect(new Set(sent).size).toBe(4)
      expect(sent[0]).toBe(ids[0])
      for (const id of sent) expect(id.length).toBeLessThanOrEqual(longest)
    }
  )
})
