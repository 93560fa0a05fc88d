import { describe, expect, it } from "@effect/vitest"
import { answerSchema } from "../../../src/vendors/gemini/schema.ts"
import { arrayOf, type Json, type JsonObject, objectOf } from "../../../src/wire/json.ts"
import { adjusted, asked, call, flash, hear, refusal, routeOf, say, tool } from "../support.ts"

const user = (content: string) => ({ role: "user", content })
const result = (tool_call_id: string, content: string) => ({ role: "tool", tool_call_id, content })
const skip = "skip_thought_signature_validator"
const contents = (...messages: ReadonlyArray<object>) => say(flash, { messages }).contents
const config = (fields: object): JsonObject => {
  const { thinkingConfig: _, ...rest } = say(flash, fields).generationConfig as { [key: string]: Json }
  return rest
}

const returned = (content: string) => {
  const history = [user("a"), { role: "assistant", content: null, tool_calls: [call("x", "f", "{}")] }]
  const last = contents(...history, result("x", content)) as ReadonlyArray<{
    readonly parts: ReadonlyArray<JsonObject>
  }>
  return objectOf(last.at(-1)?.parts[0]?.functionResponse).response
}

it.each([
  ['{"output":"a","exit_code":1}', { output: { output: "a", exit_code: 1 } }],
  ['{"output":"a","error":null}', { output: { output: "a", error: null } }],
  ['{"output":"a"}', { output: "a" }],
  ['{"error":"a"}', { error: "a" }],
  ["{}", {}]
])("the result %s is the response %j", (content, response) => expect(returned(content)).toEqual(response))

describe("references", () => {
  it.each(['{"$ref":"#/a"}', '{"a":[{"b":{"$ref" : "#/a"}}]}', '{"a":{"\\u0024ref":"#/a"}}', '{"$ref":null}'])(
    "in a result, %s, are text",
    (content) => expect(returned(content)).toEqual({ output: content })
  )

  it.each(['{"a":"$ref"}', '{"$refs":1}', '{"a":"\\"$ref\\": 1"}', '{"ref":"#/a"}'])("%s is none", (content) =>
    expect(returned(content)).toEqual(JSON.parse(content))
  )

  const place = { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
  const sent = (parameters: JsonObject) => {
    const given = { tools: [tool("f", parameters)] }
    const [declared] = arrayOf(objectOf(arrayOf(say(flash, given).tools)[0]).functionDeclarations)
    return [objectOf(declared).parametersJsonSchema, adjusted(flash, given)]
  }

  it("at the root of a tool's parameters are what they lead to", () => {
    const $defs = {
      Place: place,
      Alias: { $ref: "#/$defs/Place", description: "an alias" },
      "a/b~c": place,
      "a b": place,
      "100%": place
    }
    expect(sent({ $ref: "#/$defs/Place", $defs })).toEqual([{ ...place, $defs }, []])
    for (const name of ["a~1b~0c", "a%20b", "a b", "100%25", "100%"])
      expect(sent({ $ref: `#/$defs/${name}`, $defs })).toEqual([{ ...place, $defs }, []])
    expect(sent({ $ref: "#/$defs/Alias", $defs })).toEqual([{ ...place, description: "an alias", $defs }, []])
    expect(sent({ $ref: "#/definitions/P", definitions: { P: place } })).toEqual([
      { ...place, definitions: { P: place } },
      []
    ])
    const beside = { $ref: "#/$defs/Place", description: "own", properties: { to: {} }, required: ["to"], $defs }
    expect(sent(beside)).toEqual([
      {
        ...place,
        description: "own",
        properties: { ...place.properties, to: {} },
        required: ["city", "to"],
        $defs
      },
      []
    ])
  })

  it.each(["#/$defs/none", "https://a.example/b", "#anchor", "#/$defs/Place/type", 5])(
    "that lead nowhere (%s) go, and are named",
    ($ref) => {
      expect(sent({ $ref, properties: { a: {} }, $defs: { Place: place } })).toEqual([
        { type: "object", properties: { a: {} }, $defs: { Place: place } },
        ["tools.function.parameters.$ref:removed"]
      ])
    }
  )

  it("that lead in a circle come to an end", () => {
    expect(sent({ $ref: "#", properties: { a: {} } })[0]).toEqual({ type: "object", properties: { a: {} } })
    const $defs = { A: { $ref: "#/$defs/B", properties: { a: {} } }, B: { $ref: "#/$defs/A" } }
    expect(sent({ $ref: "#/$defs/A", $defs })[0]).toEqual({ type: "object", properties: { a: {} }, $defs })
  })

  it("elsewhere in a tool's parameters stay", () => {
    const parameters = { type: "object", properties: { a: { $ref: "#/$defs/Place" } }, $defs: { Place: place } }
    expect(sent(parameters)).toEqual([parameters, []])
  })
})

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

  it("let the user begin where the history begins with the assistant", () => {
    expect(contents({ role: "assistant", content: "Hello!" }, user("hi"))).toEqual([
      { role: "user", parts: [{ text: "(The assistant speaks first.)" }] },
      { role: "model", parts: [{ text: "Hello!" }] },
      { role: "user", parts: [{ text: "hi" }] }
    ])
  })

  it("leave the word to the user where the user says nothing", () => {
    const said = asked(flash, {
      messages: [user("a"), { role: "assistant", content: "b" }, user("")]
    })
    expect(arrayOf(said.body.contents).at(-1)).toEqual({ role: "user", parts: [{ text: "(The user says nothing.)" }] })
    expect(said.adjusted).toContain("messages.content:empty->stand-in")
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

  it("leave a signature with its call, where a client copied it to the message", () => {
    const signed = { google: { thought_signature: "c2ln" } }
    const copied = (content: string | null) =>
      arrayOf(
        contents(
          user("a"),
          { role: "assistant", content, tool_calls: [call("x", "f", "{}", signed)], extra_content: signed },
          result("x", "1")
        )
      )[1]
    const functionCall = { name: "f", args: {} }
    expect(copied(null)).toEqual({ role: "model", parts: [{ functionCall, thoughtSignature: "c2ln" }] })
    expect(copied("b")).toEqual({
      role: "model",
      parts: [{ text: "b" }, { functionCall, thoughtSignature: "c2ln" }]
    })
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
    [{ google: { thought_signature: "" } }],
    [{ google: { thought_signature: "context_engineering_is_the_way_to_go" } }]
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
    expect(hear(flash, { candidates: [{ content: { parts } }] }).message.tool_calls?.[0]?.function).toEqual({
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
    expect(answerSchema(schema, () => {})).toEqual(expected)
    expect(JSON.stringify(schema)).toBe(before)
  })

  const A = { type: "string" }
  it.each<[JsonObject, JsonObject, ReadonlyArray<string>]>([
    // Beside a reference nothing else may stand.
    [{ description: "d", allOf: [{ $ref: "#/$defs/A" }] }, { $ref: "#/$defs/A" }, ["description"]],
    [
      { $ref: "#/definitions/A", const: 1, $schema: "x", definitions: { A } },
      { $ref: "#/$defs/A", $defs: { A } },
      ["const"]
    ],
    [{ allOf: [{ $ref: "#/$defs/A" }, { $ref: "#/$defs/B" }] }, { $ref: "#/$defs/A" }, ["$ref"]],
    [
      { allOf: [{ $ref: "#/$defs/A" }, { properties: { a: {} }, required: ["a"] }], $defs: { A } },
      { $ref: "#/$defs/A", $defs: { A } },
      ["properties", "required"]
    ],
    // A list of items.
    [
      { items: [{ type: "string", pattern: "x" }, { exclusiveMinimum: 0 }] },
      { prefixItems: [{ type: "string" }, {}] },
      ["pattern", "exclusiveMinimum"]
    ],
    // What several parts say.
    [{ anyOf: [A], allOf: [{ anyOf: [{}] }, { anyOf: [A] }] }, { anyOf: [A] }, ["anyOf"]],
    [{ title: "own", allOf: [{ title: "other", type: "string" }] }, { title: "own", type: "string" }, ["title"]],
    [
      {
        properties: { kind: A, a: { required: ["x"] } },
        allOf: [{ properties: { kind: { const: "x" }, a: { required: ["y"], pattern: "z" } } }]
      },
      { properties: { kind: { type: "string", enum: ["x"] }, a: { required: ["x", "y"] } } },
      ["pattern"]
    ],
    [{ enum: ["x", "y"], const: "x" }, { enum: ["x"] }, []],
    [{ const: "x", enum: ["x", "y"], allOf: [{ enum: ["z", "x"] }] }, { enum: ["x"] }, []],
    [{ $defs: { A, B: A }, definitions: { A: {}, B: A } }, { $defs: { A, B: A } }, ["$defs"]]
  ])("%j loses only what is named", (schema, expected, named) => {
    const dropped: Array<string> = []
    expect(answerSchema(schema, (keyword) => dropped.push(keyword))).toEqual(expected)
    expect(dropped).toEqual(named)
  })

  it("are bounded in depth", () => {
    let schema: JsonObject = { type: "string" }
    for (let depth = 0; depth < 10_000; depth++) schema = { items: schema }
    expect(JSON.stringify(answerSchema(schema, () => {})).length).toBeLessThan(1000)
  })
})

it("takes a tool's parameters as they are", () => {
  const parameters = {
    type: "object",
    properties: { a: { type: "string", pattern: "^x", minLength: 1, default: "x", not: { const: "y" } } },
    allOf: [{ required: ["a"] }]
  }
  const body = say(flash, { tools: [tool("f", { $schema: "http://json-schema.org/draft-07/schema#", ...parameters })] })
  const [declared] = arrayOf(objectOf(arrayOf(body.tools)[0]).functionDeclarations)
  expect(objectOf(declared).parametersJsonSchema).toEqual(parameters)
})

it.each<[JsonObject, boolean]>([
  [{}, false],
  [{ type: "object", properties: {}, required: [], additionalProperties: false }, false],
  [{ type: "object", properties: {}, additionalProperties: true }, true],
  [{ type: "object", additionalProperties: { type: "string" } }, true],
  [{ type: "object", anyOf: [{ required: ["a"] }] }, true]
])("a tool of parameters %j has a schema: %s", (parameters, has) => {
  const [declared] = arrayOf(
    objectOf(arrayOf(say(flash, { tools: [tool("f", parameters)] }).tools)[0]).functionDeclarations
  )
  expect("parametersJsonSchema" in objectOf(declared)).toBe(has)
})

it("names what it leaves out of an answer's schema", () => {
  const schema = { type: "object", $schema: "x", properties: { a: { type: "string", minLength: 1 } } }
  const response_format = { type: "json_schema", json_schema: { name: "x", schema } }
  expect(adjusted(flash, { response_format })).toEqual(["response_format.minLength:removed"])
})

describe("the vendor's own IDs of calls", () => {
  const answered = (id: string | undefined) =>
    hear(flash, {
      candidates: [
        {
          content: { parts: [{ functionCall: { name: "f", args: {}, ...(id === undefined ? {} : { id }) } }] },
          finishReason: "STOP"
        }
      ]
    }).message.tool_calls ?? []
  const replayed = (given: ReturnType<typeof answered>) => {
    const messages = [
      { role: "user", content: "a" },
      { role: "assistant", content: null, tool_calls: given },
      { role: "tool", tool_call_id: given[0]?.id, content: "x" }
    ]
    const [, model, user] = arrayOf(say(flash, { messages }).contents).map(objectOf)
    const first = (content: JsonObject | undefined) => objectOf(arrayOf(content?.parts)[0])
    return [objectOf(first(model).functionCall).id, objectOf(first(user).functionResponse).id]
  }

  it("go both ways, whatever their length", () => {
    expect(answered("fc-1")[0]?.id).toBe("fc-1")
    for (const id of ["fc-1", "x".repeat(400)]) expect(replayed(answered(id))).toEqual([id, id])
    const [long] = answered("x".repeat(400))
    expect(long?.id).toMatch(/^call_[0-9a-f]{48}$/)
    expect(long?.id).toBe(answered("x".repeat(400))[0]?.id)
  })

  it("are not sent where there were none", () => {
    for (const id of [undefined, ""]) expect(replayed(answered(id))).toEqual([undefined, undefined])
  })
})
