import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { signThinking } from "../../src/sandbox/signature.ts"
import { body, bot, call, image, result, SONNET, thinking, tools, user } from "./claudeRequests.ts"
import { bedrock, claude, dataIn, messageIn, PNG, post } from "./support.ts"

/** A signed thought, which stood in this place of its reply. */
const thoughtAt = (place?: string) => ({
  type: "thinking",
  thinking: "x",
  signature: signThinking("x", `a seed ${place}`, place)
})
const use = (id: string) => [{ type: "tool_use", id, name: "look_up", input: {} }]
const used = (id: string) => bot(use(id))
const resultOf = (tool_use_id: string) => ({ ...result, tool_use_id })

const marked = { cache_control: { type: "ephemeral" } }
const closed = { type: "object", additionalProperties: false }
const bounded = { type: "integer", minimum: 1 }

/** So many strict tools, each with a closed schema. */
const strictTools = (count: number, more: () => object) => ({
  tools: Array.from({ length: count }, (_, at) => ({
    name: `tool${at}`,
    strict: true,
    input_schema: { ...closed, ...more() }
  }))
})
/** So many properties, in a schema. */
const several =
  (count: number, property: object, required = false) =>
  () => {
    const names = Array.from({ length: count }, (_, at) => `p${at}`)
    return { properties: Object.fromEntries(names.map((name) => [name, property])), required: required ? names : [] }
  }

/** What is wrong with a body, and the words that the vendor refuses it with. */
const refused: ReadonlyArray<readonly [string, object, RegExp, string?]> = [
  ["an unknown field", { foo: 1 }, /^foo: Extra inputs are not permitted$/],
  ["a model in the body", { model: SONNET }, /^model: Extra inputs/],
  ["no version", { anthropic_version: undefined }, /anthropic_version: Field required/],
  ["no limit", { max_tokens: undefined }, /max_tokens: Field required/],
  ["too high a limit", { max_tokens: 64_001 }, /64001 > 64000/],
  ["messages that are no list", { messages: "a" }, /^messages: Input should be a valid list$/],
  ["a message that is none", { messages: ["a"] }, /^messages.0: Input should be a valid dictionary$/],
  ["no messages", { messages: [] }, /at least one message is required/],
  ["a small budget", { thinking: { type: "enabled", budget_tokens: 1023 } }, /greater than or equal to 1024/],
  [
    "a budget at the limit",
    { thinking: { type: "enabled", budget_tokens: 4000 } },
    /`max_tokens` must be greater than/
  ],
  ["sampling with thinking", { thinking, temperature: 0.5 }, /`temperature` may only be set to 1/],
  ["top_k with thinking", { thinking, top_k: 5 }, /`top_k` must be unset/],
  ["a low top_p with thinking", { thinking, top_p: 0.9 }, /^`top_p` must be greater than or equal to 0.95/],
  ["both kinds of sampling", { temperature: 0.5, top_p: 0.5 }, /cannot both be specified/],
  [
    "a forced tool with thinking",
    { thinking, tools, tool_choice: { type: "any" } },
    /Thinking may not be enabled when tool_choice forces/
  ],
  [
    "no thinking at a high effort",
    { thinking: { type: "disabled" }, output_config: { effort: "max" } },
    /^"thinking.type.disabled" is not supported for this model with effort max\.$/,
    "claude-opus-5"
  ],
  ["a choice of a tool there is not", { tools, tool_choice: { type: "tool", name: "b" } }, /^Tool 'b' not found in/],
  [
    "a tool with a union",
    { tools: [{ name: "a", input_schema: { type: "object", oneOf: [] } }] },
    /^tools\.0\.custom\.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level$/
  ],
  ["a field in metadata", { metadata: { user_id: "a", foo: 1 } }, /^metadata.foo: Extra inputs/],
  ["a tool choice without tools", { tool_choice: { type: "auto" } }, /only be specified while providing tools/],
  ["adaptive thinking on a budgeted model", { thinking: { type: "adaptive" } }, /adaptive thinking is not supported/],
  ["a budget on an adaptive model", { thinking }, /"thinking.type.enabled" is not supported/, "claude-opus-4-7"],
  [
    "sampling on an adaptive model",
    { temperature: 1 },
    /`temperature` is deprecated for this model/,
    "claude-opus-4-7"
  ],
  ["an effort it has not", { output_config: { effort: "huge" } }, /output_config.effort/, "claude-opus-4-7"],
  ["an effort on a budgeted model", { output_config: { effort: "low" } }, /output_config: Extra inputs/],
  ["two turns of one role", { messages: [user("a"), user("b")] }, /roles must alternate/],
  ["a system role", { messages: [{ role: "system", content: "a" }] }, /Input should be 'user' or 'assistant'/],
  ["an empty text", { messages: [user([{ type: "text", text: "" }])] }, /must be non-empty/],
  ["a blank text", { messages: [user("  ")] }, /non-whitespace/],
  [
    "a field in a block",
    { messages: [user([{ type: "text", text: "a", foo: 1 }])] },
    /messages.0.content.0.text.foo: Extra inputs/
  ],
  ["a wrong image type", { messages: [image("image/jpeg")] }, /appears to be a image\/png image/],
  ["an image that is none", { messages: [image("image/png", "aGVsbG8gd29ybGQ=")] }, /Could not process image/],
  [
    "an image by URL",
    { messages: [user([{ type: "image", source: { type: "url", url: "https://x" } }])] },
    /URL sources are not supported/
  ],
  [
    "a PDF that is none",
    { messages: [user([{ type: "document", source: { type: "base64", media_type: "application/pdf", data: PNG } }])] },
    /PDF specified was not valid/
  ],
  [
    "a call without its result",
    { tools, messages: [user("a"), call, user("b")] },
    /`tool_use` ids were found without `tool_result`.*toolu_1/
  ],
  ["a result without its call", { tools, messages: [user([result])] }, /unexpected `tool_use_id`/],
  [
    "a result after text",
    { tools, messages: [user("a"), call, user([{ type: "text", text: "b" }, result])] },
    /must come before other content/
  ],
  [
    "a call without thinking",
    { tools, thinking, messages: [user("a"), call, user([result])] },
    /Expected `thinking` or `redacted_thinking`, but found `tool_use`/
  ],
  [
    "a loop of tools that began without thinking",
    { tools, thinking, messages: [user("a"), call, user([result]), used("toolu_2"), user([resultOf("toolu_2")])] },
    /^messages\.3\.content\.0\.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`/
  ],
  [
    "an ID of two calls",
    { tools, messages: [user("a"), call, user([result]), call, user([result])] },
    /^messages\.3\.content\.0: `tool_use` ids must be unique$/
  ],
  [
    "thinking at the end of a message",
    { tools, thinking, messages: [user("a"), bot([thoughtAt(), ...use("toolu_1"), thoughtAt()]), user([result])] },
    /^messages\.1: The final block in an assistant message cannot be `thinking`\.$/
  ],
  ...["claude-opus-4-7", SONNET].flatMap((model) =>
    (
      [
        ["moved before a text", [thoughtAt("0 0 0"), thoughtAt("1 1 0"), { type: "text", text: "b" }], 1],
        ["without the one before it", [{ type: "text", text: "b" }, thoughtAt("1 1 0")], 1],
        ["in another order", [thoughtAt("1 0 0"), thoughtAt("0 0 0")], 0]
      ] as const
    ).map(
      ([what, blocks, at]) =>
        [
          `thinking ${what} (${model})`,
          {
            tools,
            thinking: model === SONNET ? thinking : { type: "adaptive" },
            messages: [user("a"), bot([...blocks, ...use("toolu_1")]), user([result])]
          },
          new RegExp(
            `^messages\\.1\\.content\\.${at}: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be modified\\. These`
          ),
          model
        ] as const
    )
  ),
  [
    "a forged thought",
    {
      messages: [
        user("a"),
        { role: "assistant", content: [{ type: "thinking", thinking: "x", signature: "AAAA" }] },
        user("b")
      ]
    },
    /Invalid `signature`/
  ],
  [
    "a prefill on a newer model",
    { messages: [user("a"), { role: "assistant", content: "b" }] },
    /does not support assistant message prefill/,
    "claude-opus-4-7"
  ],
  [
    "a cache scope",
    { system: [{ type: "text", text: "a", cache_control: { type: "ephemeral", scope: "global" } }] },
    /scope: Extra inputs/
  ],
  [
    "a search among tools without its beta",
    { tools: [{ type: "tool_search_tool_regex_20251119", name: "tool_search_tool_regex" }] },
    /^tools\.0: Input tag 'tool_search_tool_regex_20251119' found using 'type' does not match any of the expected tags/
  ],
  [
    "what a search found without its beta",
    {
      tools,
      messages: [user("a"), call, user([{ ...result, content: [{ type: "tool_reference", tool_name: "a" }] }])]
    },
    /^messages\.2\.content\.0\.tool_result\.content\.0: Input tag 'tool_reference' found using 'type' does not match/
  ],
  [
    "a display it has not",
    { thinking: { ...thinking, display: "all" } },
    /^thinking\.enabled\.display: Input should be/
  ],
  [
    "updates without their beta",
    { thinking: { ...thinking, display: "updates" } },
    /^thinking\.enabled\.display: Input should be 'summarized' or 'omitted'$/
  ],
  [
    "a mark of the request itself",
    { cache_control: { type: "ephemeral" } },
    /^cache_control: Extra inputs are not permitted$/
  ],
  ["a deferred tool", { tools: [{ ...tools[0], defer_loading: true }] }, /tools.0.custom.defer_loading: Extra inputs/],
  ["a block of no type", { messages: [user([{ type: "sound" }])] }, /^messages.0.content.0: Input tag 'sound' found/],
  [
    "a text that is none",
    { messages: [user([{ type: "text", text: 1 }])] },
    /0.text.text: Input should be a valid string/
  ],
  [
    "a system prompt that is none",
    { system: [{ type: "text", text: 1 }] },
    /system.0.text: Input should be a valid string/
  ],
  ["a tool without a schema", { tools: [{ name: "a" }] }, /^tools.0.custom.input_schema: Field required$/],
  [
    "a tool whose input has no type",
    { tools: [{ ...tools[0], input_schema: { properties: {} } }] },
    /^tools.0.custom.input_schema.type: Field required$/
  ],
  [
    "a tool whose input is no object",
    { tools: [{ ...tools[0], input_schema: { type: "array" } }] },
    /^tools.0.custom.input_schema.type: Input should be 'object'$/
  ],
  [
    "a bound that cannot be enforced",
    { tools: [{ ...tools[0], strict: true, input_schema: { ...closed, properties: { a: bounded } } }] },
    /^tools.0.custom: For 'integer' type, property 'minimum' is not supported$/
  ],
  [
    "a format that is not enforced",
    strictTools(1, several(1, { type: "string", format: "regex" })),
    /property 'format'/
  ],
  ...[
    { properties: { a: { $ref: "#" } } },
    { $defs: { a: { ...closed, properties: { b: { $ref: "#/$defs/a" } } } } },
    { $defs: { a: { anyOf: [{ $ref: "#/$defs/b" }] }, b: { type: "array", items: { $ref: "#/$defs/a" } } } }
  ].map(
    (more) =>
      [
        `a schema that refers to itself (${JSON.stringify(more)})`,
        strictTools(1, () => more),
        /^tools.0.custom: Invalid schema: Circular reference detected in schema definitions/
      ] as const
  ),
  ["21 strict tools", strictTools(21, () => ({})), /^Too many strict tools \(21\)/],
  ["25 properties that may be missing", strictTools(5, several(5, {})), /too many optional parameters \(25\)/],
  [
    "17 properties of several types",
    strictTools(1, several(17, { type: ["string", "null"] }, true)),
    /too many parameters with union types \(17 parameters/
  ],
  [
    "a reference among others",
    strictTools(1, () => ({ properties: { a: { allOf: [{ $ref: "#/$defs/a" }] } }, $defs: { a: closed } })),
    /^tools.0.custom: 'allOf' with '\$ref' is not supported$/
  ],
  [
    "an open object without a type",
    strictTools(1, several(1, { properties: {} })),
    /^tools.0.custom: For 'object' type, 'additionalProperties' must be/
  ],
  ...["someone@example.gov", "id of someone@example.gov"].map(
    (user_id) => [`the user ${user_id}`, { metadata: { user_id } }, /user_id appears to contain an email/] as const
  ),
  ...["+1 (202) 555-0100", "2025550100", "call 202-555-0100"].map(
    (user_id) => [`the user ${user_id}`, { metadata: { user_id } }, /user_id appears to contain a phone/] as const
  ),
  ["a long user", { metadata: { user_id: "u".repeat(257) } }, /^metadata.user_id: String should have at most 256/],
  [
    "five marks",
    {
      tools: [{ ...tools[0], ...marked }],
      system: [{ type: "text", text: "a", ...marked }],
      messages: [
        user("a"),
        call,
        user([
          { ...result, ...marked, content: [{ type: "text", text: "a", ...marked }] },
          { type: "text", text: "a", ...marked }
        ])
      ]
    },
    /^A maximum of 4 blocks with cache_control may be provided\. Found 5\.$/
  ],
  [
    "a mark on an empty text",
    { messages: [user([{ type: "text", text: "", cache_control: { type: "ephemeral" } }])] },
    /^messages.0.content.0.text: cache_control cannot be set for empty text blocks$/
  ],
  ["a tool that is none", { tools: ["a"] }, /^tools.0: Input should be a valid dictionary$/],
  ["an unknown tool", { tools: [{ type: "a", name: "a" }] }, /^tool type 'a' is not supported/],
  ["thinking that is no object", { thinking: true }, /^thinking: Input should be a valid dictionary$/],
  ["an unknown way to think", { thinking: { type: "enabledd" } }, /^thinking: Input tag 'enabledd' found/],
  ["an unknown choice", { tools, tool_choice: { type: "all" } }, /^tool_choice: Input tag 'all' found/],
  ["a limit that is no number", { max_tokens: "1" }, /^max_tokens: Input should be a valid integer$/],
  [
    "a blank stop sequence",
    { stop_sequences: [" "] },
    /^stop_sequences: each stop sequence must contain non-whitespace/
  ],
  ["two tools of one name", { tools: [tools[0], tools[0]] }, /Tool names must be unique/],
  ["sampling in the newest version", { anthropic_version: "2026-10-21", temperature: 1 }, /temperature: Extra inputs/]
]

layer(Sandbox.layer({ pace: 0 }))("what simulated Claude refuses", (it) => {
  for (const [what, over, message, model = SONNET] of refused) {
    it.effect(`refuses ${what}`, () =>
      Effect.gen(function* () {
        const got = yield* post(claude(model), body(over))
        assert.strictEqual(got.status, 400, got.text)
        assert.match(messageIn(got), message)
        assert.deepStrictEqual([got.json.type, got.json.error.type], ["error", "invalid_request_error"])
      })
    )
  }

  it.effect("takes thinking where it was, a loop that began with it, and histories without it where it adapts", () =>
    Effect.gen(function* () {
      const send = (model: string, ...messages: ReadonlyArray<object>) =>
        post(claude(model), body({ tools, thinking: model === SONNET ? thinking : { type: "adaptive" }, messages }))
      const text = { type: "text", text: "b" }
      const whole = bot([thoughtAt("0 0 0"), text, thoughtAt("1 1 0"), ...use("toolu_1"), text])
      const later = [used("toolu_2"), user([resultOf("toolu_2")])]
      const earlier = bot([thoughtAt("7 7 7"), text])
      for (const model of [SONNET, "claude-opus-4-7"]) {
        assert.strictEqual((yield* send(model, user("a"), whole, user([result]))).status, 200)
        assert.strictEqual((yield* send(model, user("a"), whole, user([result]), ...later)).status, 200)
        assert.strictEqual((yield* send(model, user("a"), earlier, user("c"), whole, user([result]))).status, 200)
      }
      assert.strictEqual((yield* send("claude-opus-4-7", user("a"), call, user([result]), ...later)).status, 200)
    })
  )

  it.effect("knows its betas, and fewer of them when it counts", () =>
    Effect.gen(function* () {
      const send = (beta: string, model = SONNET, over: object = {}) =>
        post(claude(model), body(over), { "anthropic-beta": beta })
      assert.strictEqual((yield* send("context-1m-2025-08-07, interleaved-thinking-2025-05-14")).status, 200)
      assert.match(
        messageIn(yield* send("unheard-of-2020-01-01")),
        /`unheard-of-2020-01-01` for the `anthropic-beta` header/
      )
      assert.strictEqual((yield* send("interleaved-thinking-2025-05-14", "claude-opus-4-7")).status, 400)
      const wide = { thinking: { type: "enabled", budget_tokens: 9000 } }
      assert.strictEqual((yield* send("interleaved-thinking-2025-05-14", SONNET, wide)).status, 200)
      const deferred = { tools: [{ ...tools[0], defer_loading: true }] }
      assert.strictEqual((yield* send("tool-search-tool-2025-10-19", SONNET, deferred)).status, 200)
      const found = [{ type: "tool_reference", tool_name: "look_up" }]
      const messages = [user("a"), call, user([{ ...result, content: found }])]
      assert.strictEqual((yield* send("tool-search-tool-2025-10-19", SONNET, { ...deferred, messages })).status, 200)
      const updates = { thinking: { ...thinking, display: "updates" } }
      assert.strictEqual((yield* send("thinking-display-updates-2026-08-18", SONNET, updates)).status, 200)
      for (const [beta, type, other] of [
        ["context-management-2025-06-27", "clear_thinking_20251015", "compact_20260112"],
        ["compact-2026-01-12", "compact_20260112", "clear_thinking_20251015"]
      ] as const) {
        const edit = (type: string) => send(beta, SONNET, { context_management: { edits: [{ type }] } })
        assert.strictEqual((yield* edit(type)).status, 200)
        assert.match(messageIn(yield* edit(other)), /^context_management.edits.0: Input tag/)
      }
      const { max_tokens: _, ...counted } = { ...body(), model: SONNET }
      const count = (beta: string) => post(claude("count-tokens"), counted, { "anthropic-beta": beta })
      assert.strictEqual((yield* count("interleaved-thinking-2025-05-14")).status, 200)
      assert.strictEqual((yield* count("context-1m-2025-08-07")).status, 400)
    })
  )

  it.effect("names the in-stream error", () =>
    Effect.gen(function* () {
      for (const [name, type] of [
        ["overloaded_error", "overloaded_error"],
        ["throttlingException", "rate_limit_error"],
        ["serviceUnavailableException", "overloaded_error"],
        ["internalServerException", "api_error"]
      ]) {
        const asked = body({ stream: true, messages: [user(`[sandbox: exception=${name} after=1]`)] })
        const events = dataIn((yield* post(claude(SONNET, "streamRawPredict"), asked)).text)
        assert.deepStrictEqual([events.length, events[1].error.type], [2, type])
      }
    })
  )

  it.effect("refuses on Bedrock what Bedrock refuses", () =>
    Effect.gen(function* () {
      const id = "us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0"
      const send = (over: object, model = id) =>
        post(bedrock(model), body({ anthropic_version: "bedrock-2023-05-31", ...over }))
      for (const over of [{ model: id }, { stream: true }, { service_tier: "auto" }]) {
        assert.match(
          messageIn(yield* send(over)),
          /^The model returned the following errors: \w+: Extra inputs are not permitted$/
        )
      }
      assert.strictEqual(messageIn(yield* send({ anthropic_beta: ["web-search-2025-03-05"] })), "invalid beta flag")
      assert.strictEqual(
        messageIn(
          yield* send({ anthropic_beta: ["interleaved-thinking-2025-05-14"] }, "us-gov.anthropic.claude-opus-4-7")
        ),
        "invalid beta flag"
      )
      assert.match(messageIn(yield* send({ temperature: null })), /found: Null/)
      assert.match(messageIn(yield* send({ output_config: { effort: "low" } })), /output_config.effort: Extra inputs/)
      const alone = { tools, tool_choice: { type: "auto", disable_parallel_tool_use: true } }
      const format = { type: "json_schema", schema: { type: "object", properties: {}, additionalProperties: false } }
      const open = { type: "json_schema", schema: { type: "object", properties: {} } }
      assert.match(messageIn(yield* send({ output_config: { format: open } })), /'additionalProperties' must be/)
      for (const over of [alone, { output_config: { format } }]) assert.strictEqual((yield* send(over)).status, 200)
      const wide = {
        thinking: { type: "enabled", budget_tokens: 9000 },
        anthropic_beta: ["interleaved-thinking-2025-05-14"]
      }
      assert.strictEqual((yield* send(wide)).status, 200)
    })
  )

  it.effect("counts on Bedrock only foundation models, and only the older ones", () =>
    Effect.gen(function* () {
      const input = {
        invokeModel: {
          body: Buffer.from(JSON.stringify(body({ anthropic_version: "bedrock-2023-05-31" }))).toString("base64")
        }
      }
      const count = (id: string) => post(bedrock(id, "count-tokens"), { input })
      assert.isAbove((yield* count("anthropic.claude-opus-4-7")).json.inputTokens, 0)
      for (const id of ["us-gov.anthropic.claude-opus-4-7", "anthropic.claude-opus-4-8", "anthropic.claude-sonnet-5"]) {
        assert.match(messageIn(yield* count(id)), /doesn't support counting tokens/)
      }
    })
  )
})
