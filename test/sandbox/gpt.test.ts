import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { dataIn, messageIn, openai, PNG, post } from "./support.ts"

const OSS = "openai.gpt-oss-120b-1:0"
const user = (content: unknown) => ({ role: "user", content })
const chat = (over: object = {}) => ({ model: "gpt-5.1", messages: [user("Hello")], ...over })
const named = (name: string) => ({ type: "function", function: { name } })
const toolCall = { id: "call_1", type: "function", function: { name: "look_up", arguments: "{}" } }
const assistant = { role: "assistant", content: null, tool_calls: [toolCall] }
const image = (url: string) => user([{ type: "image_url", image_url: { url } }])

const strictFormat = (schema: object) => ({
  response_format: { type: "json_schema", json_schema: { name: "x", strict: true, schema } }
})
const closed = (properties: object, required = Object.keys(properties)) => ({
  type: "object",
  properties,
  required,
  additionalProperties: false
})

const refused: ReadonlyArray<readonly [string, object, RegExp, ("azure" | "bedrock")?]> = [
  ["an unknown parameter", { foo: 1 }, /Unknown parameter: 'foo'/],
  ["metadata of what is not stored", { metadata: { a: "b" } }, /'metadata' parameter is only allowed when 'store'/],
  [
    "a strict format that is open",
    strictFormat({ type: "object", properties: {} }),
    /^Invalid schema for response_format 'x': In context=\(\), 'additionalProperties' is required to be supplied and/
  ],
  [
    "a strict format with a property that may be missing",
    strictFormat(closed({ a: closed({ b: { type: "string" } }, []) })),
    /In context=\('properties', 'a'\), 'required' is required to be supplied and .* Missing 'b'\.$/
  ],
  [
    "a strict function with the length of a text",
    {
      tools: [
        {
          type: "function",
          function: { name: "f", strict: true, parameters: closed({ a: { type: "string", minLength: 1 } }) }
        }
      ]
    },
    /^Invalid schema for function 'f': In context=\('properties', 'a'\), 'minLength' is not permitted\.$/
  ],
  [
    "a long key of the cache",
    { prompt_cache_key: "k".repeat(65) },
    /^Invalid 'prompt_cache_key': string too long.+ 65/
  ],
  [
    "a format with a name of other letters",
    { response_format: { type: "json_schema", json_schema: { name: "a b", schema: closed({}) } } },
    /^Invalid 'response_format\.json_schema\.name': string does not match pattern\./
  ],
  ["max_tokens", { max_tokens: 5 }, /'max_tokens' is not supported/],
  [
    "too high a limit",
    { max_completion_tokens: 1e9 },
    /^max_tokens is too large: 1000000000. This model supports at most \d+ completion tokens/
  ],
  ["sampling while it reasons", { reasoning_effort: "low", top_p: 0.5 }, /'top_p' is not supported/],
  [
    "sampling of a model that reasons by default",
    { model: "us-gov.openai.gpt-5.6-terra", temperature: 1 },
    /'temperature' is not supported/,
    "bedrock"
  ],
  ["a stop sequence while it reasons", { reasoning_effort: "low", stop: ["x"] }, /'stop' is not supported/],
  [
    "tools beside reasoning, from GPT-5.4 on",
    {
      model: "us-gov.openai.gpt-5.6-terra",
      tools: [{ type: "function", function: { name: "look_up", parameters: { type: "object", properties: {} } } }]
    },
    /use \/v1\/responses or set reasoning_effort to 'none'/,
    "bedrock"
  ],
  [
    "too many alternatives",
    { logprobs: true, top_logprobs: 21 },
    /^Invalid 'top_logprobs': integer above .+ <= 20, but got \d+ instead\.$/
  ],
  ["an effort it has not", { reasoning_effort: "minimal" }, /'minimal' is not supported/],
  ["no reasoning on gpt-oss", { model: OSS, reasoning_effort: "none" }, /'none' is not supported/, "bedrock"],
  ["logit_bias on gpt-oss", { model: OSS, logit_bias: {} }, /'logit_bias' is not supported/, "bedrock"],
  [
    "images on gpt-oss",
    { model: OSS, messages: [image(`data:image/png;base64,${PNG}`)] },
    /does not support image/,
    "bedrock"
  ],
  ["n on Bedrock", { model: OSS, n: 2 }, /'n' is not supported/, "bedrock"],
  ["a file", { messages: [user([{ type: "file", file: { file_data: "x" } }])] }, /does not support file content/],
  ["an image by URL", { messages: [image("https://example.gov/a.png")] }, /Only data URIs/],
  [
    "an image that is none",
    { messages: [image("data:image/png;base64,aGVsbG8=")] },
    /does not represent a valid image/
  ],
  [
    "system beside developer",
    { messages: [{ role: "system", content: "a" }, { role: "developer", content: "b" }, user("c")] },
    /cannot be mixed/
  ],
  [
    "a call without its result",
    { messages: [user("a"), assistant, user("b")] },
    /must be followed by tool messages.*call_1/
  ],
  [
    "a long ID of a call",
    { messages: [user("a"), { ...assistant, tool_calls: [{ ...toolCall, id: "x".repeat(41) }] }] },
    /^Invalid 'messages\[1\]\.tool_calls\[0\]\.id': string too long\. .+ maximum length 40, but got .+ length 41 instead\.$/
  ],
  [
    "a name of other letters",
    { messages: [{ ...user("a"), name: "Bob Smith" }] },
    /^Invalid 'messages\[0\]\.name': string does not match pattern\./
  ],
  [
    "a result without its call",
    { messages: [user("a"), { role: "tool", tool_call_id: "x", content: "b" }] },
    /must be a response to a preceeding message/
  ],
  [
    "a field in a message",
    { messages: [user("a"), { role: "assistant", content: "b", extra_content: {} }, user("c")] },
    /Unknown parameter: 'messages\[1\].extra_content'/
  ],
  ["null content", { messages: [user(null)] }, /expected a string, got null/],
  ["a tool choice without tools", { tool_choice: "auto" }, /only allowed when 'tools' are specified/],
  ["parallel calls without tools", { parallel_tool_calls: true }, /'parallel_tool_calls' is only allowed when 'tools'/],
  [
    "a name with a blank",
    { tools: [named("a b")] },
    /^Invalid 'tools\[0\].function.name': string does not match pattern/
  ],
  [
    "a choice of a tool there is not",
    { tools: [named("a")], tool_choice: named("b") },
    /^Tool choice 'b' not found in 'tools' parameter\.$/
  ],
  [
    "a tool with a union",
    { tools: [{ type: "function", function: { name: "a", parameters: { type: "object", anyOf: [] } } }] },
    /^Invalid schema for function 'a': schema must have type 'object' and not have 'oneOf'/
  ],
  ["five stop sequences", { stop: ["a", "b", "c", "d", "e"] }, /^Invalid 'stop': array too long/],
  ["an empty list of tools", { tools: [] }, /empty array/],
  [
    "stream options without a stream",
    { stream_options: { include_usage: true } },
    /only allowed when 'stream' is enabled/
  ],
  ["JSON without the word", { response_format: { type: "json_object" } }, /must contain the word 'json'/]
]

layer(Sandbox.layer({ pace: 0 }))("simulated GPT", (it) => {
  for (const [what, over, message, cloud = "azure"] of refused) {
    it.effect(`refuses ${what}`, () =>
      Effect.gen(function* () {
        const got = yield* post(openai("chat/completions", cloud), chat(over))
        assert.strictEqual(got.status, 400, got.text)
        assert.match(messageIn(got), message)
      })
    )
  }

  it.effect("takes bounds, formats and defaults in strict schemas", () =>
    Effect.gen(function* () {
      const text = { type: "string", format: "date", pattern: "^2" }
      const list = { type: "array", minItems: 1, items: { type: "number", minimum: 1, multipleOf: 2, default: 4 } }
      const got = yield* post(openai("chat/completions"), chat(strictFormat(closed({ text, list }))))
      assert.strictEqual(got.status, 200, got.text)
    })
  )

  it.effect("puts gpt-oss's reasoning inline, its tags split, and numbers its calls", () =>
    Effect.gen(function* () {
      const body = chat({
        model: OSS,
        temperature: 0.5,
        max_tokens: 500,
        stream: true,
        messages: [user("[sandbox: text=hi] [sandbox: tool=t]")]
      })
      const got = yield* post(openai("chat/completions", "bedrock"), body)
      assert.include(got.text, "\r\n\r\n")
      const deltas = dataIn(got.text).map(({ choices }) => choices[0].delta)
      const pieces = deltas.map(({ content }) => content ?? "")
      assert.match(pieces.join(""), /^<reasoning>.+<\/reasoning>hi$/)
      assert.isFalse(pieces.some((piece) => piece.includes("reasoning>") && piece.includes("<")))
      assert.strictEqual(deltas.find(({ tool_calls: calls }) => calls)?.tool_calls[0].id, "call_0")
    })
  )

  it.effect("has as many alternatives of each token as are asked for", () =>
    Effect.gen(function* () {
      interface Token {
        readonly token: string
        readonly top_logprobs: ReadonlyArray<Token>
      }
      const named = (tokens: ReadonlyArray<Token>) =>
        tokens.map(({ token, top_logprobs }) => [token, ...top_logprobs.map(({ token }) => token)])
      const asked = { reasoning_effort: "none", logprobs: true, messages: [user("[sandbox: text=Hi there]")] }
      for (const [top_logprobs, expected] of [
        [undefined, [["Hi "], ["there"]]],
        [
          2,
          [
            ["Hi ", "Hi ", "other0"],
            ["there", "there", "other0"]
          ]
        ]
      ]) {
        const whole = yield* post(openai("chat/completions"), chat({ ...asked, top_logprobs }))
        assert.deepStrictEqual(named(whole.json.choices[0].logprobs.content), expected)
        const streamed = yield* post(openai("chat/completions"), chat({ ...asked, top_logprobs, stream: true }))
        const likely = dataIn(streamed.text).flatMap(({ choices }) => choices[0]?.logprobs?.content ?? [])
        assert.deepStrictEqual(named(likely), expected)
      }
    })
  )

  it.effect("names the in-stream error", () =>
    Effect.gen(function* () {
      const asked = (name: string) => chat({ stream: true, messages: [user(`[sandbox: exception=${name} after=1]`)] })
      const error = (name: string) =>
        Effect.map(post(openai("chat/completions"), asked(name)), ({ text }) => dataIn(text).at(-1).error)
      assert.strictEqual((yield* error("throttlingException")).code, "rate_limit_exceeded")
      assert.strictEqual((yield* error("internalServerException")).type, "server_error")
    })
  )

  it.effect("ends as it was asked to", () =>
    Effect.gen(function* () {
      const finish = (over: object) =>
        Effect.map(post(openai("chat/completions"), chat(over)), ({ json }) => json.choices[0].finish_reason)
      assert.strictEqual(yield* finish({ max_completion_tokens: 3 }), "length")
      assert.strictEqual(yield* finish({ messages: [user("[sandbox: refuse]")] }), "content_filter")
      assert.strictEqual(yield* finish({ stop: "You" }), "stop")
      const whole = yield* post(openai("chat/completions"), chat({ messages: [user("[sandbox: filter-prompt]")] }))
      const safe = { filtered: false, severity: "safe" }
      const jailbreak = { filtered: true, detected: true }
      assert.deepStrictEqual(whole.json.error, {
        message:
          "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry.",
        ...{ type: null, param: "prompt", code: "content_filter", status: 400 },
        innererror: {
          code: "ResponsibleAIPolicyViolation",
          content_filter_result: { hate: safe, self_harm: safe, sexual: safe, violence: safe, jailbreak }
        }
      })
      const own = chat({ model: OSS, messages: [user("[sandbox: filter-prompt]")] })
      const unfiltered = yield* post(openai("chat/completions", "bedrock"), own)
      assert.strictEqual(unfiltered.json.choices[0].finish_reason, "content_filter")
    })
  )

  it.effect("needs credentials, an existing deployment and an existing route", () =>
    Effect.gen(function* () {
      const target = openai("chat/completions")
      assert.strictEqual((yield* post(target, chat(), { authorization: "Bearer wrong" })).status, 401)
      const { error } = (yield* post(target, chat({ model: "gpt-9" }))).json
      assert.strictEqual(error.code, "DeploymentNotFound")
      assert.match(error.message, /^The API deployment for this resource does not exist\./)
      assert.strictEqual((yield* post({ ...target, path: "/openai/v1/nothing" }, chat())).status, 404)
      assert.strictEqual(
        (yield* post(openai("chat/completions", "bedrock"), chat())).json.error.code,
        "model_not_found"
      )
    })
  )
})
