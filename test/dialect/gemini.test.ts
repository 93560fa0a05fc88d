import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import { geminiSchema } from "../../src/dialect/geminiSchema.ts"
import type { Json, JsonObject } from "../../src/dialect/json.ts"
import { call, dialect, failureOf, flash, hear, hearStream, refusal, routeOf, say, tool } from "./support.ts"

const user = (content: string) => ({ role: "user", content })
const result = (tool_call_id: string, content: string) => ({ role: "tool", tool_call_id, content })
const skip = "skip_thought_signature_validator"
const contents = (...messages: ReadonlyArray<object>) => say(flash, { messages }).contents
const config = (fields: object): JsonObject => {
  const { thinkingConfig: _, ...rest } = say(flash, fields).generationConfig as { [key: string]: Json }
  return rest
}

describe("contents", () => {
  it("join roles and keep instructions apart", () => {
    const body = say(flash, {
      messages: [
        { role: "system", content: "one" },
        user("a"),
        { role: "developer", content: "two" },
        user("b"),
        user(""),
        { role: "assistant", content: "c" },
        { role: "assistant", content: "d" }
      ]
    })
    expect(body.systemInstruction).toEqual({ parts: [{ text: "one" }, { text: "two" }] })
    expect(body.contents).toEqual([
      { role: "user", parts: [{ text: "a" }, { text: "b" }] },
      { role: "model", parts: [{ text: "c" }, { text: "d" }] }
    ])
  })

  it("say instructions as the user where there is nothing else", () => {
    const body = say(flash, { messages: [{ role: "system", content: "go" }] })
    expect(body).not.toHaveProperty("systemInstruction")
    expect(body.contents).toEqual([{ role: "user", parts: [{ text: "go" }] }])
    expect(refusal(flash, { messages: [user("")] }).message).toBe("messages: at least one message must have content")
  })

  it("give all results of a turn at once, in the order of the calls, without IDs", () => {
    const signed = { google: { thought_signature: "c2ln" } }
    expect(
      contents(
        user("a"),
        { role: "assistant", content: "b", tool_calls: [call("x", "f", '{"n":1}', signed), call("y", "9g", "")] },
        result("y", '{"deep":[1]}'),
        user("and"),
        result("x", "[1]")
      )
    ).toEqual([
      { role: "user", parts: [{ text: "a" }] },
      {
        role: "model",
        parts: [
          { text: "b" },
          { functionCall: { name: "f", args: { n: 1 } }, thoughtSignature: "c2ln" },
          { functionCall: { name: "t.9g", args: {} } }
        ]
      },
      {
        role: "user",
        parts: [
          { functionResponse: { name: "f", response: { output: "[1]" } } },
          { functionResponse: { name: "t.9g", response: { deep: [1] } } }
        ]
      },
      { role: "user", parts: [{ text: "and" }] }
    ])
  })

  it("send the skip value on the first call of each turn whose signature is lost", () => {
    const turn = (id: string) => [
      { role: "assistant", tool_calls: [call(id, "f", "{}"), call(`${id}2`, "f", "{}")] },
      result(id, "1"),
      result(`${id}2`, "1")
    ]
    const said = JSON.stringify(contents(user("a"), ...turn("x"), ...turn("y")))
    expect(said.match(new RegExp(skip, "g"))).toHaveLength(2)
    expect(said).toContain(`{"functionCall":{"name":"f","args":{}},"thoughtSignature":"${skip}"}`)
  })

  it.each([
    [null],
    ["x"],
    [{ google: null }],
    [{ google: { thought_signature: 1 } }],
    [{ google: { thought_signature: "" } }]
  ])("%j is no signature", (extra_content) => {
    const message = { role: "assistant", tool_calls: [{ ...call("x", "f", "{}"), extra_content }] }
    expect(JSON.stringify(contents(user("a"), message, result("x", "1")))).toContain(skip)
  })

  it("use the latest call where an ID comes again", () => {
    const turn = (name: string) => [
      { role: "assistant", tool_calls: [call("call_0", name, "{}")] },
      result("call_0", name)
    ]
    expect(contents(user("a"), ...turn("f"), ...turn("g"))).toMatchObject([
      {},
      {},
      { parts: [{ functionResponse: { name: "f", response: { output: "f" } } }] },
      {},
      { parts: [{ functionResponse: { name: "g", response: { output: "g" } } }] }
    ])
  })

  it("refuse a result without its call, and arguments that are no object", () => {
    expect(refusal(flash, { messages: [user("a"), result("x", "1")] }).message).toMatch(
      /^messages\[1\]\.tool_call_id: /
    )
    const bad = { role: "assistant", tool_calls: [call("x", "f", "[1]")] }
    expect(refusal(flash, { messages: [user("a"), bad] }).message).toBe(
      "messages[1].tool_calls[0].function.arguments: must be a JSON object, at most 500 levels deep"
    )
  })
})

describe("parameters", () => {
  it.each([
    [{ max_tokens: 9 }, { maxOutputTokens: 9 }],
    [{ max_completion_tokens: 9, max_tokens: 8 }, { maxOutputTokens: 9 }],
    [
      { temperature: 1.5, top_p: 0.5, seed: 3, presence_penalty: 0.1, frequency_penalty: 0.2 },
      { temperature: 1.5, topP: 0.5, seed: 3, presencePenalty: 0.1, frequencyPenalty: 0.2 }
    ],
    [{ stop: "x" }, { stopSequences: ["x"] }],
    [{ stop: ["x", ""] }, { stopSequences: ["x"] }],
    [{ stop: null, seed: null, user: "u", logit_bias: {} }, {}],
    [{ response_format: { type: "json_object" } }, { responseMimeType: "application/json" }],
    [
      {
        response_format: { type: "json_schema", json_schema: { name: "x", schema: { type: "object", $schema: "x" } } }
      },
      { responseMimeType: "application/json", responseJsonSchema: { type: "object" } }
    ],
    [{ response_format: { type: "text" } }, {}]
  ])("%j", (fields, expected) => expect(config(fields)).toEqual(expected))

  it.each([
    [undefined, "MEDIUM"],
    ["none", "MINIMAL"],
    ["minimal", "MINIMAL"],
    ["low", "LOW"],
    ["medium", "MEDIUM"],
    ["high", "HIGH"],
    ["xhigh", "HIGH"],
    ["max", "HIGH"]
  ])("effort %s is level %s", (effort, thinkingLevel) => {
    const body = say(flash, { reasoning_effort: effort ?? null })
    expect(body.generationConfig).toEqual({ thinkingConfig: { thinkingLevel } })
  })

  it("the lowest level a model has stands for none, and xhigh is never sent", () => {
    const thinking = { ...flash.model.thinking, efforts: ["low", "high", "xhigh"] as const }
    const route = routeOf("gemini-3-flash", "vertex", { thinking })
    const level = (reasoning_effort: string) => say(route, { reasoning_effort }).generationConfig
    expect(level("none")).toEqual({ thinkingConfig: { thinkingLevel: "LOW" } })
    expect(level("max")).toEqual({ thinkingConfig: { thinkingLevel: "HIGH" } })
  })

  it.each([
    [undefined, "AUTO"],
    ["auto", "AUTO"],
    ["required", "AUTO"],
    [{ type: "function", function: { name: "f" } }, "AUTO"],
    ["none", "NONE"]
  ])("tool choice %j is %s", (choice, mode) => {
    const body = say(flash, { tools: [tool("f")], tool_choice: choice ?? null })
    expect(body.toolConfig).toEqual({ functionCallingConfig: { mode } })
  })

  it("no tools is no tool field", () => {
    const body = say(flash, { tools: [], tool_choice: "none" })
    expect(body).not.toHaveProperty("tools")
    expect(body).not.toHaveProperty("toolConfig")
  })

  it.each([
    ["f", "f"],
    ["_f", "_f"],
    ["1f", "t.1f"],
    ["-f", "t.-f"]
  ])("the name %s goes as %s and comes back", (name, sent) => {
    const tools = say(flash, { tools: [tool(name)] }).tools
    expect(tools).toEqual([{ functionDeclarations: [{ name: sent }] }])
    const parts = [{ functionCall: { name: sent } }]
    expect(hear(flash, { candidates: [{ content: { parts } }] }).toolCalls[0]?.function).toEqual({
      name,
      arguments: "{}"
    })
  })
})

describe("schemas", () => {
  it.each<[JsonObject, JsonObject]>([
    [{ type: "string", minLength: 1, pattern: "x", default: "y", $schema: "z", examples: [] }, { type: "string" }],
    [{ const: 1 }, { enum: [1] }],
    [
      { type: "array", items: { type: "string", maxLength: 1 }, minItems: 1, uniqueItems: true },
      { type: "array", items: { type: "string" }, minItems: 1 }
    ],
    [
      { type: "object", properties: { pattern: { not: {} } }, additionalProperties: false },
      { type: "object", properties: { pattern: {} }, additionalProperties: false }
    ],
    [{ anyOf: [{ type: "null" }, { const: "a" }] }, { anyOf: [{ type: "null" }, { enum: ["a"] }] }],
    [
      { definitions: { A: { pattern: "x" } }, properties: { a: { $ref: "#/definitions/A", description: "d" } } },
      { $defs: { A: {} }, properties: { a: { $ref: "#/$defs/A" } } }
    ],
    [
      {
        allOf: [
          { properties: { a: {} }, required: ["a"] },
          { properties: { b: {} }, required: ["b", "a"] }
        ]
      },
      { properties: { a: {}, b: {} }, required: ["a", "b"] }
    ],
    [{ properties: { ["__proto__"]: { type: "string" } } }, { properties: { ["__proto__"]: { type: "string" } } }]
  ])("%j", (schema, expected) => {
    const before = JSON.stringify(schema)
    expect(geminiSchema(schema)).toEqual(expected)
    expect(JSON.stringify(schema)).toBe(before)
  })

  it("are bounded in depth", () => {
    let schema: JsonObject = { type: "string" }
    for (let depth = 0; depth < 10_000; depth++) schema = { items: schema }
    expect(JSON.stringify(geminiSchema(schema)).length).toBeLessThan(1000)
  })
})

describe("replies", () => {
  const candidate = (finishReason: string | undefined, ...parts: ReadonlyArray<JsonObject>): JsonObject => ({
    candidates: [{ content: { role: "model", parts }, ...(finishReason === undefined ? {} : { finishReason }) }]
  })

  it.each([
    ["STOP", "stop"],
    ["MAX_TOKENS", "length"],
    ["SAFETY", "content_filter"],
    ["RECITATION", "content_filter"],
    ["SPII", "content_filter"],
    ["LANGUAGE", "stop"],
    ["UNHEARD_OF", "stop"]
  ])("%s is %s, streamed and not", (reason, expected) => {
    const body = candidate(reason, { text: "a" })
    expect(hear(flash, body).finishReason).toBe(expected)
    expect(Result.getOrThrow(hearStream(flash, [body])).ending.finishReason).toBe(expected)
  })

  it.each(["MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"])(
    "%s is the upstream's failure, streamed and not",
    (reason) => {
      const failures = [dialect(flash).reply(candidate(reason), flash), hearStream(flash, [candidate(reason)])]
      for (const failure of failures.map(failureOf)) {
        expect(failure).toMatchObject({ reason: "upstream", code: "finish" })
      }
    }
  )

  it("a blocked prompt is filtered content", () => {
    const blocked = { promptFeedback: { blockReason: "SAFETY" }, usageMetadata: { promptTokenCount: 3 } }
    expect(hear(flash, blocked)).toMatchObject({ content: null, finishReason: "content_filter", toolCalls: [] })
    const heard = Result.getOrThrow(hearStream(flash, [blocked, { usageMetadata: { trafficType: "ON_DEMAND" } }]))
    expect(heard).toMatchObject({ pieces: [], ending: { finishReason: "content_filter", usage: { prompt_tokens: 3 } } })
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
    expect(answer.content).toBe("a")
    expect(answer.usage).toEqual({
      prompt_tokens: 11,
      completion_tokens: 7,
      total_tokens: 18,
      prompt_tokens_details: { cached_tokens: 4 },
      completion_tokens_details: { reasoning_tokens: 5 }
    })
  })

  it.each([[null], ["<html>"], [{}], [{ usageMetadata: {} }]])("%j is no answer", (body) => {
    const error = failureOf(dialect(flash).reply(body, flash))
    expect(error).toMatchObject({ reason: "upstream", code: "shape" })
  })
})

describe("streams", () => {
  const part = (part: JsonObject, more: JsonObject = {}): JsonObject => ({
    candidates: [{ content: { parts: [part] }, ...more }]
  })

  it("give each call its own index and ID, and say tool_calls though the vendor says stop", () => {
    const events = [
      { usageMetadata: { trafficType: "ON_DEMAND" } },
      part({ functionCall: { name: "f", args: { n: 1 } }, thoughtSignature: "c2ln" }),
      part({ functionCall: { name: "f" } }),
      part({ text: "" }, { finishReason: "STOP" }),
      { usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 } },
      { usageMetadata: { candidatesTokenCount: 2, trafficType: "ON_DEMAND" } }
    ]
    const { pieces, ending } = Result.getOrThrow(hearStream(flash, events))
    const ids = pieces.flatMap((piece) => (piece.type === "call" ? [piece.id] : []))
    expect(pieces).toEqual([
      { type: "call", index: 0, id: ids[0], name: "f", extra: { google: { thought_signature: "c2ln" } } },
      { type: "arguments", index: 0, text: '{"n":1}' },
      { type: "call-end", index: 0 },
      { type: "call", index: 1, id: ids[1], name: "f" },
      { type: "arguments", index: 1, text: "{}" },
      { type: "call-end", index: 1 }
    ])
    expect(ending).toMatchObject({ finishReason: "tool_calls", usage: { prompt_tokens: 1, completion_tokens: 2 } })
    const again = Result.getOrThrow(hearStream(flash, events)).pieces.flatMap((piece) =>
      piece.type === "call" ? [piece.id] : []
    )
    expect(new Set([...ids, ...again]).size).toBe(4)
    for (const id of ids) expect(id).toMatch(/^call_[0-9a-f]{24}$/)
  })

  it("without a finish reason are cut", () => {
    expect(failureOf(hearStream(flash, [part({ text: "a" })]))).toMatchObject({ code: "cut" })
  })

  it.each<[JsonObject, string]>([
    [{ code: 429, status: "RESOURCE_EXHAUSTED" }, "rate-limit"],
    [{ status: "RESOURCE_EXHAUSTED" }, "rate-limit"],
    [{ status: "INVALID_ARGUMENT", message: "bad" }, "invalid"],
    [{ status: "DEADLINE_EXCEEDED" }, "timeout"],
    [{ status: "UNAVAILABLE" }, "upstream"],
    [{ code: 403, message: "projects/secret" }, "upstream"],
    [{}, "upstream"]
  ])("the in-band error %j is %s", (error, reason) => {
    const failure = failureOf(hearStream(flash, [part({ text: "a" }), { error }]))
    expect(failure).toMatchObject({ reason, code: "in-band" })
    expect(failure.message).not.toContain("secret")
  })
})
