/** What the clouds refuse, and what they take, that no other test asks of them. */
import { assert, layer } from "@effect/vitest"
import { Array as Arr, Effect, Result } from "effect"
import { shippedCatalog } from "../../src/catalog/CatalogStore.ts"
import { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { bedrock, claude, gemini, messageIn, open, openai, post, type Target } from "./support.ts"

const sonnet = "claude-sonnet-4-5@20250929"
const govSonnet = "us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0"
const titan = "amazon.titan-embed-text-v2:0"

const onVertex = (over: object) => ({
  anthropic_version: "vertex-2023-10-16",
  max_tokens: 100,
  messages: [{ role: "user", content: "a" }],
  ...over
})
const onGemini = (over: object) => ({ contents: [{ role: "user", parts: [{ text: "a" }] }], ...over })
const inChat = (over: object) => ({ model: "gpt-5.1", messages: [{ role: "user", content: "a" }], ...over })
const inResponses = (over: object) => ({ model: "gpt-5.1", input: "a", ...over })
const many = <A>(count: number, at: (n: number) => A) => Array.from({ length: count }, (_, n) => at(n))
const closed = { type: "object", properties: {}, required: [], additionalProperties: false }
const marked = (ttl?: string) => [{ type: "text", text: "a", cache_control: { type: "ephemeral", ttl } }]
const saying = (content: string) => ({ messages: [{ role: "user", content }] })
const tool = (over: object) => ({ tools: [{ name: "t", input_schema: { type: "object" }, ...over }] })

const refused: ReadonlyArray<readonly [Target, body: unknown, message: RegExp]> = [
  [bedrock(govSonnet), "{", /^Malformed input request/],
  [bedrock(govSonnet), { anthropic_beta: "a" }, /anthropic_beta: Input should be a valid list/],
  [
    bedrock(govSonnet.replace("us-gov.", ""), "count-tokens"),
    { input: { invokeModel: { body: "e3s=" } } },
    /^The body of the invokeModel input is not valid JSON/
  ],
  [
    bedrock(govSonnet.replace("us-gov.", "")),
    onVertex({ anthropic_version: "bedrock-2023-05-31" }),
    /^Invocation of model ID anthropic\.claude-sonnet-4-5-20250929-v1:0 with on-demand throughput isn’t supported/
  ],
  ...[
    [{ normalize: "yes" }, /#\/normalize: expected type: Boolean/] as const,
    [{ embeddingTypes: "binary" }, /#\/embeddingTypes: expected type: JSONArray/] as const
  ].map(([over, message]) => [bedrock(titan), { inputText: "a", ...over }, message] as const),
  ...(["chat/completions", "responses"] as const).flatMap((path) => {
    const body = path === "responses" ? inResponses : inChat
    return [
      [openai(path), body({ service_tier: 5 }), /^Invalid value: '5'\. Supported values are: 'auto', 'default'/],
      [openai(path), body({ temperature: "x" }), /^Invalid type for 'temperature': expected a number/],
      [openai(path), body({ top_logprobs: { toString: "x" } }), /^Invalid type for 'top_logprobs': expected a number/]
    ] as const
  }),
  ...[
    [
      { metadata: Object.fromEntries(many(17, (n) => [n, "a"])) },
      /^Invalid 'metadata': too many properties\./
    ] as const,
    [{ tools: many(129, (n) => ({ type: "function", name: `f${n}` })) }, /^Invalid 'tools': array too long\./] as const
  ].map(([over, message]) => [openai("responses"), inResponses(over), message] as const),
  ...[{ type: "array", items: { type: "string" } }, { anyOf: [closed] }].flatMap((schema) => {
    const named = { name: "x", strict: true, schema }
    const words =
      /^Invalid schema for response_format 'x': schema must be a JSON Schema of 'type: "object"', got 'type: "(?:array|None)"'\.$/
    return [
      [openai("chat/completions"), inChat({ response_format: { type: "json_schema", json_schema: named } }), words],
      [openai("responses"), inResponses({ text: { format: { type: "json_schema", ...named } } }), words]
    ] as const
  }),
  ...[" ", [{ type: "text", text: "\n" }]].map(
    (system) => [claude(sonnet), onVertex({ system }), /^system: text content blocks must contain non-whi/] as const
  ),
  ...[
    { system: marked(), messages: [{ role: "user", content: marked("1h") }] },
    { messages: [{ role: "user", content: [...marked("1h"), ...marked("5m"), ...marked("1h")] }] }
  ].map((over) => [claude(sonnet), onVertex(over), /a ttl='1h' cache_control block must not come after/] as const),
  [openai("responses"), inResponses({ include: ["nope"] }), /^Invalid value: 'nope'\. Supported values are: 'file_/],
  ...["document", "search_result"].map((type) => {
    const source = type === "document" ? { type: "text", media_type: "text/plain", data: "a" } : "a"
    const block = { type, source, citations: { x: 1 }, ...(type === "document" ? {} : { title: "a", content: [] }) }
    const body = onVertex({ messages: [{ role: "user", content: [block] }] })
    return [claude(sonnet), body, /\.citations\.x: Extra inputs are not permitted$/] as const
  }),
  ...[undefined, "foo", 5].map(
    (name) =>
      [
        claude(sonnet),
        onVertex({ tools: [{ type: "bash_20250124", name }] }),
        /^tools\.0\.bash_20250124\.name: Input should be 'bash'$/
      ] as const
  ),
  [bedrock(titan), {}, /^Malformed input request: #: required key \[inputText\] not found/],
  [bedrock(titan), { inputText: 5 }, /^Malformed input request: #\/inputText: expected type: String/],
  [bedrock(titan, "invoke-with-response-stream"), { inputText: "a" }, /doesn't support this operation/],
  [bedrock(titan), { inputText: "a", embeddingTypes: ["int8"] }, /not a valid enum value/],
  [
    gemini("streamGenerateContent?alt=sse"),
    onGemini({ generationConfig: { responseLogprobs: true, logprobs: 1 } }),
    /Logprobs is not supported/
  ],
  [openai("chat/completions"), "{", /could not parse the JSON body/],
  [openai("chat/completions"), inChat({ messages: "a" }), /^Invalid type for 'messages': expected an array of objects/],
  [openai("chat/completions"), inChat({ messages: [{ role: "user", content: 5 }] }), /^Invalid type for 'messages/],
  [openai("responses"), inResponses({ background: true }), /Background mode is not available/],
  [openai("responses"), { model: "gpt-5.1" }, /^Missing required parameter: 'input'/],
  [
    openai("responses"),
    inResponses({ instructions: "Answer in JSON.", text: { format: { type: "json_object" } } }),
    /^Response input messages must contain the word 'json'/
  ],
  [
    openai("responses"),
    inResponses({ tools: [{ type: "function", name: "f", parameters: { type: "object" } }] }),
    /^Invalid schema for function 'f': In context=\(\), object schema missing properties\.$/
  ],
  ...[{ type: "array" }, { type: ["null", "array"], prefixItems: [{}] }].map(
    (t) =>
      [
        openai("responses"),
        inResponses({ tools: [{ type: "function", name: "f", parameters: { type: "object", properties: { t } } }] }),
        /^Invalid schema for function 'f': In context=\('properties', 't'\), array schema missing items\.$/
      ] as const
  ),
  ...["filter[id]", "größe", "", "x".repeat(65)].map(
    (name) =>
      [
        claude(sonnet),
        onVertex(tool({ input_schema: { type: "object", properties: { [name]: {} } } })),
        /^tools\.0\.custom\.input_schema\.properties: Property keys should match pattern '\^\[a-zA-Z0-9_\.-\]\{1,64\}\$'$/
      ] as const
  ),
  ...[{ items: [{}] }, { type: "any" }, { exclusiveMinimum: true }, { required: true }, { enum: "x" }].map(
    (wrong) =>
      [
        claude(sonnet),
        onVertex(tool({ input_schema: { type: "object", properties: { a: { anyOf: [wrong] } } } })),
        /^tools\.0\.custom\.input_schema: JSON schema is invalid\. It must match JSON Schema draft 2020-12/
      ] as const
  ),
  ...[{ properties: {} }, { type: "string" }, { $ref: "#/$defs/a" }].map(
    (parametersJsonSchema) =>
      [
        gemini(),
        onGemini({ tools: [{ functionDeclarations: [{ name: "f", parametersJsonSchema }] }] }),
        /`f` functionDeclaration parameters schema should be of type OBJECT\.$/
      ] as const
  ),
  ...[{ pattern: "a" }, { $ref: "#/$defs/a", description: "A" }, { type: "array", items: { const: 1 } }].map(
    (responseJsonSchema) =>
      [
        gemini(),
        onGemini({ generationConfig: { responseMimeType: "application/json", responseJsonSchema } }),
        /^Request contains an invalid argument\.$/
      ] as const
  ),
  [
    claude(sonnet),
    onVertex(tool({ type: "bash_20250124", name: "bash", cache_control: { type: "forever" } })),
    /cache_control\.type/
  ],
  [
    claude(sonnet),
    onVertex(
      tool({
        strict: true,
        input_schema: {
          type: "object",
          additionalProperties: false,
          properties: { a: { type: "array", items: { type: "object" } } }
        }
      })
    ),
    /^tools\.0\.custom: For 'object' type/
  ],
  [
    bedrock(govSonnet),
    onVertex({ anthropic_version: "bedrock-2023-05-31", metadata: { user_id: '{"id":"a"}' } }),
    /Request metadata contains a value that violates the regular expression/
  ]
]

const taken: ReadonlyArray<readonly [Target, body: unknown]> = [
  [claude(sonnet), onVertex({ system: marked("1h"), messages: [{ role: "user", content: marked() }] })],
  [claude(sonnet), onVertex({ system: marked(), messages: [{ role: "user", content: marked("5m") }] })],
  [claude(sonnet), onVertex({ system: [{ type: "text", text: "a", cache_control: null }] })],
  [
    claude(sonnet),
    onVertex({
      messages: [
        {
          role: "user",
          content: [{ type: "document", source: { type: "text", media_type: "text/plain", data: "a b c" } }]
        }
      ]
    })
  ],
  [
    openai("chat/completions"),
    inChat({
      messages: [
        { role: "assistant", content: [{ type: "refusal", refusal: "no" }] },
        { role: "user", content: "a" }
      ]
    })
  ],
  [
    openai("responses"),
    inResponses({
      text: { format: { type: "text" } },
      input: [
        { type: "message", role: "assistant", content: [{ type: "refusal", refusal: "no" }] },
        { role: "user", content: "a" }
      ]
    })
  ]
]

/** The shipped models with other facts, and what these make impossible. */
const { models } = Result.getOrThrow(shippedCatalog)
const other = Arr.map(models, (model) => ({
  ...{ ...model, forcedToolChoice: "never" as const, thinking: { ...model.thinking, optional: false } },
  deployments: Arr.map(model.deployments, (deployment) => ({ ...deployment, logprobs: false }))
}))
const impossible: typeof refused = [
  [
    claude(sonnet),
    onVertex({ thinking: { type: "disabled" } }),
    /^"thinking.type.disabled" is not supported for this model\.$/
  ],
  [
    claude(sonnet),
    onVertex({ ...tool({}), tool_choice: { type: "any" } }),
    /^tool_choice forces tool use is not supported for this model\.$/
  ],
  [gemini(), onGemini({ generationConfig: { responseLogprobs: true } }), /Logprobs is not supported for this model\.$/]
]

layer(Sandbox.layer({ pace: 0, catalog: () => ({ models: other }) }))("models with other facts", (it) => {
  it.effect.each(impossible)("refuse %j %j", ([target, body, message]) =>
    Effect.gen(function* () {
      const got = yield* post(target, body)
      assert.strictEqual(got.status, 400, got.text)
      assert.match(messageIn(got), message)
    })
  )
})

layer(Sandbox.layer({ pace: 0 }))("the clouds", (it) => {
  it.effect.each(refused)("refuse %j %j", ([target, body, message]) =>
    Effect.gen(function* () {
      const got = yield* post(target, body)
      assert.strictEqual(got.status, 400, got.text)
      assert.match(messageIn(got), message)
    })
  )

  it.effect("refuse more than 25,000,000 bytes on Bedrock", () =>
    Effect.gen(function* () {
      const content = "a".repeat(25_000_000)
      const long = { anthropic_version: "bedrock-2023-05-31", messages: [{ role: "user", content }] }
      const got = yield* post(bedrock(govSonnet), onVertex(long))
      assert.strictEqual(got.status, 400, got.text.slice(0, 200))
      assert.match(messageIn(got), /^1 validation error detected: Value at 'body' failed to satisfy constraint: Member/)
    })
  )

  const onBedrock = { anthropic_version: "bedrock-2023-05-31" }
  it.effect.each<readonly [Target, most: number, (text: string) => object, RegExp]>([
    [
      claude(sonnet),
      200_000,
      (text) => onVertex(saying(text)),
      /^prompt is too long: 2000\d\d tokens > 200000 maximum$/
    ],
    [
      bedrock(govSonnet),
      200_000,
      (text) => onVertex({ ...onBedrock, ...saying(text) }),
      /Input is too long for requested model\.$/
    ],
    [
      bedrock(govSonnet),
      1_000_000,
      (text) => onVertex({ ...onBedrock, anthropic_beta: ["context-1m-2025-08-07"], ...saying(text) }),
      /Input is too long for requested model\.$/
    ],
    [
      gemini(),
      1_048_576,
      (text) => onGemini({ contents: [{ role: "user", parts: [{ text }] }] }),
      /the input token count is 10485\d\d but model only supports up to 1048576\. Reduce/
    ],
    [
      openai("chat/completions"),
      272_000,
      (text) => inChat(saying(text)),
      /^Input tokens exceed .* in 2720\d\d tokens\./
    ],
    [openai("responses"), 272_000, (input) => inResponses({ input }), /^Your input exceeds the context window of this/]
  ])("refuse what is too long for the model: %j, %d", ([target, most, body, message]) =>
    Effect.gen(function* () {
      // A sign is a token; a message has some more.
      const got = yield* post(target, body(",".repeat(most)))
      assert.strictEqual(got.status, 400)
      assert.match(messageIn(got), message)
      if (target.cloud === "azure") assert.strictEqual(got.json.error.code, "context_length_exceeded")
      assert.strictEqual((yield* post(target, body(",".repeat(most - 100)))).status, 200)
    })
  )

  it.effect("stream Gemini's replies as one array where no events are asked for", () =>
    Effect.gen(function* () {
      const got = yield* post(gemini("streamGenerateContent"), onGemini({}))
      const replies: ReadonlyArray<object> = JSON.parse(got.text)
      assert.isAbove(replies.length, 1)
      for (const reply of replies) assert.property(reply, "candidates")
    })
  )

  it.effect.each(taken)("take %j %j", ([target, body]) =>
    Effect.gen(function* () {
      const got = yield* post(target, body)
      assert.strictEqual(got.status, 200, got.text)
    })
  )

  it.effect.each([claude(sonnet), openai("responses")])("refuse GET of %j", (target) =>
    Effect.gen(function* () {
      const { status } = yield* open(target, "", { method: "GET", body: null })
      assert.strictEqual(status, 405)
    })
  )
})
