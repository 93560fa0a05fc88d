/** What nobody means to send is refused or answered: it is never a fault of the sandbox. */
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { planOf } from "../../src/sandbox/answer.ts"
import { readDirectives } from "../../src/sandbox/directives.ts"
import { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { schemaSample } from "../../src/sandbox/schemaSample.ts"
import { fragments } from "../../src/sandbox/tokens.ts"
import { readTurn } from "../../src/sandbox/turn.ts"
import { processorTime } from "../support/processorTime.ts"
import { body, SONNET, user } from "./claudeRequests.ts"
import { bedrock, claude, dataIn, gemini, messageIn, openai, post, type Target } from "./support.ts"

/** What a template cannot print. */
const unprintable = { toString: 1, valueOf: 1 }
const deep = `{"a":${"[".repeat(30_000)}${"]".repeat(30_000)}}`

const chat = (over: object) => ({ model: "gpt-5.1", messages: [user("Hello")], ...over })
const responses = (over: object) => ({ model: "gpt-5.1", input: "Hello", ...over })
const ask = (over: object) => ({ contents: [{ role: "user", parts: [{ text: "a" }] }], ...over })
const answered = (output: unknown) =>
  responses({
    input: [
      user("a"),
      { type: "function_call", call_id: "call_1", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "call_1", output }
    ]
  })
const says = (text: string) => chat({ messages: [user(text)] })
const fills = (schema: object) =>
  chat({ response_format: { type: "json_schema", json_schema: { name: "n", schema: { type: "object", ...schema } } } })

const completions = openai("chat/completions")
const odd: ReadonlyArray<readonly [string, Target, unknown, number]> = [
  ["a version that is an object", claude(SONNET), body({ anthropic_version: unprintable }), 400],
  [
    "dimensions that are an object",
    bedrock("amazon.titan-embed-text-v2:0"),
    { inputText: "a", dimensions: unprintable },
    400
  ],
  ["dimensions that are a text", bedrock("amazon.titan-embed-text-v2:0"), { inputText: "a", dimensions: "256" }, 400],
  ["a limit that is an object", gemini(), ask({ generationConfig: { maxOutputTokens: unprintable } }), 400],
  ["an effort that is an object", completions, chat({ reasoning_effort: unprintable }), 400],
  ["a previous response that is an object", openai("responses"), responses({ previous_response_id: unprintable }), 400],
  ["a result whose type is an object", openai("responses"), answered([{ type: unprintable }]), 200],
  ["a deep result", openai("responses"), answered(deep), 200],
  ["a deep body", openai("responses"), deep, 400],
  ["deep arguments", completions, says(`[sandbox: tool=f args=${deep}]`), 200],
  ["an exception that all objects know", completions, says("[sandbox: exception=toString]"), 500],
  [
    "a format that all objects know",
    completions,
    fills({ properties: { a: { type: "string", format: "toString" } } }),
    200
  ],
  ["a length that no string has", completions, fills({ properties: { a: { type: "string", minLength: 1e9 } } }), 200],
  ["a path that is badly encoded, of Vertex AI", { cloud: "vertex", path: "/v1/%zz" }, {}, 404],
  ["a path that is badly encoded, of Bedrock", { cloud: "bedrock", path: "/model/%zz/invoke" }, {}, 400]
]

layer(Sandbox.layer({ pace: 0 }))("odd input", (it) => {
  it.effect.each(odd)("%s", ([, target, sent, status]) =>
    Effect.gen(function* () {
      const got = yield* post(target, sent)
      assert.notInclude(got.text, "sandbox fault")
      assert.strictEqual(got.status, status, got.text)
    })
  )

  it.effect("heeds a wait only where it is a number", () =>
    Effect.gen(function* () {
      for (const wait of ["’", "soon", "1.5"]) {
        const got = yield* post(completions, says(`[sandbox: status=429 retry-after=${wait}]`))
        assert.deepStrictEqual([got.status, got.headers.get("retry-after")], [429, null])
      }
    })
  )

  it.effect("names a block by a name that all objects know", () =>
    Effect.gen(function* () {
      const got = yield* post(claude(SONNET), body({ messages: [user([{ type: "toString" }])] }))
      assert.match(messageIn(got), /^messages.0.content.0: Input tag 'toString' found/)
    })
  )

  it.effect("takes null for what is absent", () =>
    Effect.gen(function* () {
      const nothing = { parallel_tool_calls: null, logit_bias: null, tools: null, n: null }
      const model = "openai.gpt-oss-120b-1:0"
      assert.strictEqual((yield* post(openai("chat/completions", "bedrock"), chat({ model, ...nothing }))).status, 200)
    })
  )

  it.effect("calls what has no parameters without any", () =>
    Effect.gen(function* () {
      const tools = [{ type: "function", function: { name: "f" } }]
      const call = yield* post(completions, chat({ tools, tool_choice: "required" }))
      assert.strictEqual(call.json.choices[0].message.tool_calls[0].function.arguments, "{}")
      const declared = { tools: [{ functionDeclarations: [{ name: "f" }] }] }
      const contents = [{ role: "user", parts: [{ text: "[sandbox: tool=f]" }] }]
      const [candidate] = (yield* post(gemini(), { contents, ...declared })).json.candidates
      assert.deepStrictEqual([candidate.finishReason, candidate.content.parts[0].functionCall], ["STOP", { name: "f" }])
      const bash = { tools: [{ type: "bash_20250124", name: "bash" }], tool_choice: { type: "any" } }
      const { text } = yield* post(claude(SONNET, "streamRawPredict"), body({ ...bash, stream: true }))
      assert.deepStrictEqual(
        dataIn(text).flatMap(({ delta }) => delta?.partial_json ?? []),
        [""]
      )
    })
  )

  it.effect("gives a custom tool a text", () =>
    Effect.gen(function* () {
      const tools = [{ type: "custom", name: "run" }]
      const got = yield* post(openai("responses"), responses({ tools, tool_choice: "required" }))
      assert.strictEqual(got.json.output[0].input, "Hello")
    })
  )

  it.effect("checks twenty thousand calls and their results as fast as they are read", () =>
    Effect.gen(function* () {
      const ids = Array.from({ length: 20_000 }, (_, index) => `call_${index}`)
      const tool_calls = ids.map((id) => ({ id, type: "function", function: { name: "f", arguments: "{}" } }))
      const results = ids.map((id) => ({ role: "tool", tool_call_id: id, content: "x" }))
      const { user: before, system: beside } = process.cpuUsage()
      const asked = { role: "assistant", content: null, tool_calls }
      const got = yield* post(completions, chat({ messages: [user("a"), asked, ...results] }))
      assert.match(messageIn(got), /^Input tokens exceed/)
      const { user: after, system: since } = process.cpuUsage()
      assert.isBelow((after + since - before - beside) / 1000, 2000)
    })
  )
})

describe("time", () => {
  it("is linear in directives that never match", () => {
    assert.isBelow(
      processorTime(() => readDirectives("[sandbox: {]".repeat(40_000))),
      1000
    )
  })

  it("is bounded for schemas that hold themselves many times", () => {
    const properties = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`p${index}`, { $ref: "#" }]))
    const list = { type: "array", minItems: 20, items: { $ref: "#" } }
    for (const schema of [{ type: "object", properties }, list])
      assert.isBelow(
        processorTime(() => schemaSample(schema, "x")),
        1000
      )
  })

  it("of a delay is at most what a timer takes", () => {
    assert.strictEqual(readDirectives("[sandbox: delay=9999999999s]").delay, 2 ** 31 - 1)
  })
})

describe("characters of two UTF-16 units", () => {
  const smiles = "😀".repeat(300)
  const planned = (over: object) => {
    const asked = { model: "m", instructions: "", tools: [], choice: "auto", format: undefined, thinks: false } as const
    const messages = [{ role: "user", parts: [{ text: `a${smiles}` }] }] as const
    return planOf(readTurn(messages, { ...asked, limit: undefined, stops: [], ...over }).turn)
  }

  it("are not cut in two", () => {
    assert.isTrue(fragments(`{"a":"${smiles}"}`).every((piece) => piece.isWellFormed()))
    assert.isTrue(planned({}).text.isWellFormed())
    const schema = { type: "object", properties: { q: { type: "string", maxLength: 8 } } }
    assert.isTrue(planned({ format: schema }).text.isWellFormed())
    const tools = [{ name: "f", description: "", schema: { ...schema, properties: { q: { type: "string" } } } }]
    for (const limit of [5, 6, 7]) {
      const [call] = planned({ tools, choice: "required", limit }).calls
      assert.isTrue(call?.json.isWellFormed() ?? true)
    }
  })
})
