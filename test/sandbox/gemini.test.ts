import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { gemini, messageIn, PDF, PNG, post } from "./support.ts"

const user = (...parts: ReadonlyArray<unknown>) => ({ role: "user", parts })
const model = (...parts: ReadonlyArray<unknown>) => ({ role: "model", parts })
const ask = (text: string, over: object = {}) => ({ contents: [user({ text })], ...over })
const skip = "skip_thought_signature_validator"
const call = (name = "f", thoughtSignature: string | undefined = skip) => ({
  functionCall: { name, args: {} },
  thoughtSignature
})
const response = (name = "f") => ({ functionResponse: { name, response: { output: "x" } } })
const declare = (over: object) => ({ tools: [{ functionDeclarations: [{ name: "f", ...over }] }] })
const config = (generationConfig: object) => ask("a", { generationConfig })
const media = (mimeType: string, data: string) => ({
  contents: [user({ inlineData: { mimeType, data } }, { text: "See?" })]
})

const refused: ReadonlyArray<readonly [string, object, RegExp]> = [
  ["an unknown field", ask("a", { foo: 1 }), /Unknown name "foo": Cannot find field/],
  ["an unknown nested field", config({ foo: 1 }), /Unknown name "foo" at 'generation_config'/],
  ...["presencePenalty", "frequencyPenalty"].map(
    (name) => [`a ${name}`, config({ [name]: 0.5 }), /^Penalty is not enabled for this model$/] as const
  ),
  [
    "a seed beyond 32 bits",
    config({ seed: 2 ** 31 }),
    /^Invalid value at 'generation_config.seed' \(TYPE_INT32\), 2147483648$/
  ],
  [
    "two functions of one name",
    ask("a", { tools: ["f", "g", "f"].map((name) => ({ functionDeclarations: [{ name }] })) }),
    /^Duplicate function declaration found: f$/
  ],
  ["contents that are no list", { contents: "a" }, /^Invalid value at 'contents'$/],
  ["an unknown field of a choice", ask("a", { toolConfig: { mode: "ANY" } }), /Unknown name "mode" at 'tool_config'/],
  [
    "an unknown mode",
    ask("a", { toolConfig: { functionCallingConfig: { mode: "SOME" } } }),
    /^Invalid value at 'tool_config.function_calling_config.mode': "SOME"$/
  ],
  [
    "a text that is none",
    { contents: [user({ text: 1 })] },
    /^Invalid value at 'contents\[0\].parts\[0\].text' \(TYPE_S/
  ],
  [
    "a system instruction that is none",
    ask("a", { systemInstruction: { parts: [{ text: 1 }] } }),
    /^Invalid value at 'system_instruction.parts\[0\].text' \(TYPE_S/
  ],
  ["a configuration that is none", ask("a", { generationConfig: 5 }), /^Invalid value at 'generation_config'$/],
  ["no parts", { contents: [user()] }, /^Unable to submit request because it must include at least one parts field/],
  ["a call of the user", { contents: [user(call())] }, /function call parts are in a model turn/],
  [
    "a response of the model",
    { contents: [user({ text: "a" }), model(response())] },
    /function response parts are in a user turn/
  ],
  [
    "a response to another call",
    { contents: [user({ text: "a" }), model(call()), user(response("g"))] },
    /function response names match the function calls/
  ],
  ["two kinds of data", { contents: [user({ text: "a", ...call() })] }, /oneof field 'data' must have one/],
  ["a topP over 1", config({ topP: 1.1 }), /topP value outside/],
  ["too high a limit", config({ maxOutputTokens: 1e9 }), /maxOutputTokens value of 1000000000 but/],
  ["two candidates", config({ candidateCount: 2 }), /Multiple candidates is not enabled/],
  ["no contents", { contents: [] }, /at least one contents field/],
  ["a wrong role", { contents: [{ role: "assistant", parts: [{ text: "a" }] }] }, /valid role: user, model/],
  [
    "two turns of one role",
    { contents: [user({ text: "a" }), user({ text: "b" })] },
    /alternate between user and model/
  ],
  ["an end with the model", { contents: [user({ text: "a" }), model({ text: "b" })] }, /end with a user role/],
  ["an empty text", ask(""), /empty text parameter/],
  [
    "fewer responses than calls",
    { contents: [user({ text: "a" }), model(call(), call("g")), user(response())] },
    /number of function response parts is equal/
  ],
  ["a response without a call", { contents: [user(response())] }, /immediately after a function call turn/],
  [
    "a call without a signature",
    { contents: [user({ text: "a" }), model({ functionCall: { name: "f" } }), user(response())] },
    /missing a thought_signature/
  ],
  [
    "the placeholder that only the Gemini API takes",
    { contents: [user({ text: "a" }), model(call("f", "context_engineering_is_the_way_to_go")), user(response())] },
    /Thought signature is not valid/
  ],
  [
    "a forged signature",
    { contents: [user({ text: "a" }), model(call("f", "AAAA")), user(response())] },
    /Thought signature is not valid/
  ],
  [
    "a response that is no object",
    { contents: [user({ text: "a" }), model(call()), user({ functionResponse: { name: "f", response: "x" } })] },
    /protobuf.Struct/
  ],
  [
    "a forged signature of a text",
    { contents: [user({ text: "a" }), model({ text: "b", thoughtSignature: "AAAA" }), user({ text: "c" })] },
    /^Thought signature is not valid\.$/
  ],
  [
    "a function without a name",
    { tools: [{ functionDeclarations: [{}] }] },
    /^Invalid function name at 'tools\[0\].function_declarations\[0\].name'/
  ],
  ["a name that begins with a digit", ask("a", declare({ name: "1f" })), /Invalid function name/],
  [
    "both kinds of parameters",
    ask("a", declare({ parameters: { type: "OBJECT" }, parametersJsonSchema: {} })),
    /only one of 'parameters'/
  ],
  [
    "JSON Schema in OpenAPI parameters",
    ask("a", declare({ parameters: { type: "OBJECT", $defs: {} } })),
    /Unknown name "\$defs"/
  ],
  ["an empty list of tools", ask("a", { tools: [{}] }), /must have one initialized field/],
  [
    "a level and a budget",
    config({ thinkingConfig: { thinkingLevel: "LOW", thinkingBudget: 5 } }),
    /only one of thinking budget and thinking level/
  ],
  ["an unknown level", config({ thinkingConfig: { thinkingLevel: "XHIGH" } }), /Thinking level XHIGH is not supported/],
  ["a temperature over 2", config({ temperature: 2.1 }), /temperature value outside/],
  ["six stop sequences", config({ stopSequences: ["a", "b", "c", "d", "e", "f"] }), /too many stop sequences/],
  ["a schema without JSON", config({ responseJsonSchema: {} }), /only supported with response_mime_type/],
  [
    "two schemas",
    config({ responseMimeType: "application/json", responseSchema: {}, responseJsonSchema: {} }),
    /^Only one of response_schema and response_json_schema can be set/
  ],
  ["alternatives without probabilities", config({ logprobs: 1 }), /logprobs is set but responseLogprobs is not/],
  ["data that is no base64", media("image/png", "?"), /inline_data.data' \(TYPE_BYTES\), Base64 decoding failed$/],
  ["a PDF that is none", media("application/pdf", PNG), /^The document has no pages\.$/],
  ["an image that is none", media("image/png", "aGVsbG8="), /Unable to process input image/],
  ["a type it does not take", media("image/svg+xml", PNG), /mimeType parameter with value image\/svg\+xml/]
]

layer(Sandbox.layer({ pace: 0 }))("simulated Gemini", (it) => {
  for (const [what, body, message] of refused) {
    it.effect(`refuses ${what}`, () =>
      Effect.gen(function* () {
        const got = yield* post(gemini(), body)
        assert.deepStrictEqual([got.status, got.json.error.status], [400, "INVALID_ARGUMENT"], got.text)
        assert.match(messageIn(got), message)
      })
    )
  }

  it.effect("takes MINIMAL where the model has such a level, and does not think", () =>
    Effect.gen(function* () {
      const minimal = config({ thinkingConfig: { thinkingLevel: "MINIMAL" } })
      const usage = (yield* post(gemini(), minimal)).json.usageMetadata
      assert.notProperty(usage, "thoughtsTokenCount")
    })
  )

  it.effect("holds only the current turn to its signatures", () =>
    Effect.gen(function* () {
      const old = [
        user({ text: "a" }),
        model({ functionCall: { name: "f" } }),
        user(response()),
        model({ text: "b" }),
        user({ text: "c" })
      ]
      assert.strictEqual((yield* post(gemini(), { contents: old })).status, 200)
    })
  )

  it.effect("lets the user speak right after the responses", () =>
    Effect.gen(function* () {
      const contents = [user({ text: "a" }), model(call()), user(response()), user({ text: "What is a quay?" })]
      const got = yield* post(gemini(), { contents })
      assert.match(got.json.candidates[0].content.parts[0].text, /quay/)
    })
  )

  it.effect("shows thoughts when asked", () =>
    Effect.gen(function* () {
      const got = yield* post(gemini(), config({ thinkingConfig: { includeThoughts: true } }))
      assert.isTrue(got.json.candidates[0].content.parts[0].thought)
    })
  )

  it.effect("ends as it was asked to", () =>
    Effect.gen(function* () {
      const reason = (text: string, generationConfig = {}) =>
        Effect.map(post(gemini(), ask(text, { generationConfig })), ({ json }) => json.candidates[0])
      const tight = yield* reason("a", { maxOutputTokens: 3 })
      assert.deepStrictEqual([tight.finishReason, tight.content.parts], ["MAX_TOKENS", []])
      assert.strictEqual((yield* reason("[sandbox: refuse]")).finishReason, "SAFETY")
      const { json } = yield* post(gemini(), ask("[sandbox: filter-prompt]"))
      assert.deepStrictEqual([json.promptFeedback, json.candidates], [{ blockReason: "PROHIBITED_CONTENT" }, undefined])
      assert.strictEqual((yield* reason("[sandbox: tool=f args=broken]")).finishReason, "MALFORMED_FUNCTION_CALL")
      assert.strictEqual(
        (yield* reason("[sandbox: text=one two]", { stopSequences: [" two"] })).content.parts[0].text,
        "one"
      )
    })
  )

  it.effect("sees files, and knows its models and methods", () =>
    Effect.gen(function* () {
      const got = yield* post(gemini(), media("application/pdf", PDF))
      assert.match(got.json.candidates[0].content.parts[0].text, /a PDF document of 15 bytes/)
      assert.strictEqual((yield* post(gemini("generateContent", "gemini-0"), ask("a"))).json.error.status, "NOT_FOUND")
      assert.strictEqual((yield* post(gemini("sing"), ask("a"))).status, 404)
    })
  )
})
