import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { bedrock, claude, dataIn, messageIn, PDF, PNG, post } from "./support.ts"

const SONNET = "claude-sonnet-4-5@20250929"
const user = (content: unknown) => ({ role: "user", content })
const body = (over: object = {}) => ({
  anthropic_version: "vertex-2023-10-16",
  max_tokens: 4000,
  messages: [user("Hello")],
  ...over
})
const tools = [{ name: "look_up", description: "", input_schema: { type: "object", properties: {} } }]
const thinking = { type: "enabled", budget_tokens: 1024 }
const call = { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "look_up", input: {} }] }
const result = { type: "tool_result", tool_use_id: "toolu_1", content: "found" }
const image = (media_type: string, data = PNG) =>
  user([{ type: "image", source: { type: "base64", media_type, data } }])

/** What is wrong with a body, and the words that the vendor refuses it with. */
const refused: ReadonlyArray<readonly [string, object, RegExp, string?]> = [
  ["an unknown field", { foo: 1 }, /^foo: Extra inputs are not permitted$/],
  ["a model in the body", { model: SONNET }, /^model: Extra inputs/],
  ["no version", { anthropic_version: undefined }, /anthropic_version: Field required/],
  ["no limit", { max_tokens: undefined }, /max_tokens: Field required/],
  ["too high a limit", { max_tokens: 64_001 }, /64001 > 64000/],
  ["no messages", { messages: [] }, /at least one message is required/],
  ["a small budget", { thinking: { type: "enabled", budget_tokens: 1023 } }, /greater than or equal to 1024/],
  [
    "a budget at the limit",
    { thinking: { type: "enabled", budget_tokens: 4000 } },
    /`max_tokens` must be greater than/
  ],
  ["sampling with thinking", { thinking, temperature: 0.5 }, /`temperature` may only be set to 1/],
  ["top_k with thinking", { thinking, top_k: 5 }, /`top_k` must be unset/],
  ["both kinds of sampling", { temperature: 0.5, top_p: 0.5 }, /cannot both be specified/],
  [
    "a forced tool with thinking",
    { thinking, tools, tool_choice: { type: "any" } },
    /Thinking may not be enabled when tool_choice forces/
  ],
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
  ["an assistant first", { messages: [{ role: "assistant", content: "a" }] }, /first message must use the "user" role/],
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
  ["a deferred tool", { tools: [{ ...tools[0], defer_loading: true }] }, /tools.0.custom.defer_loading: Extra inputs/],
  ["two tools of one name", { tools: [tools[0], tools[0]] }, /Tool names must be unique/],
  ["sampling in the newest version", { anthropic_version: "2026-10-21", temperature: 1 }, /temperature: Extra inputs/]
]

layer(Sandbox.layer({ pace: 0 }))("simulated Claude", (it) => {
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
      assert.match(
        messageIn(yield* send({ tools, tool_choice: { type: "auto", disable_parallel_tool_use: true } })),
        /disable_parallel_tool_use: Extra/
      )
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

  it.effect("counts what it bills, with tools and thinking", () =>
    Effect.gen(function* () {
      const variants = [
        {},
        { tools },
        { thinking },
        { tools, thinking },
        { tools, tool_choice: { type: "any" } },
        { messages: [image("image/png")] }
      ]
      const counts = new Set<number>()
      for (const variant of variants) {
        const whole = body(variant)
        const { max_tokens: _, ...counted } = whole
        const usage = (yield* post(claude(SONNET), whole)).json.usage.input_tokens
        assert.strictEqual(
          (yield* post(claude("count-tokens"), { ...counted, model: SONNET })).json.input_tokens,
          usage
        )
        counts.add(usage)
      }
      assert.strictEqual(counts.size, variants.length)
      assert.match(messageIn(yield* post(claude("count-tokens"), { ...body(), model: SONNET })), /max_tokens: Extra/)
    })
  )

  it.effect("gives thoughts that come back byte for byte, and hides them on newer models", () =>
    Effect.gen(function* () {
      const shown = (yield* post(claude(SONNET), body({ thinking }))).json.content[0]
      assert.match(shown.thinking, /Hello/)
      const replay = (block: unknown) =>
        post(
          claude(SONNET),
          body({
            messages: [user("a"), { role: "assistant", content: [block, { type: "text", text: "b" }] }, user("c")]
          })
        )
      assert.strictEqual((yield* replay(shown)).status, 200)
      assert.match(messageIn(yield* replay({ ...shown, thinking: `${shown.thinking} ` })), /Invalid `signature`/)
      const adaptive = { thinking: { type: "adaptive" } }
      const hidden = (yield* post(claude("claude-opus-4-7"), body(adaptive))).json.content[0]
      assert.strictEqual(hidden.thinking, "")
      assert.isAbove(hidden.signature.length, 20)
      const summarized = (yield* post(
        claude("claude-opus-4-7"),
        body({ thinking: { type: "adaptive", display: "summarized" } })
      )).json
      assert.isAbove(summarized.content[0].thinking.length, 10)
    })
  )

  it.effect("thinks unasked where the model does", () =>
    Effect.gen(function* () {
      const send = (over: object) =>
        post(bedrock("us-gov.anthropic.claude-sonnet-5"), body({ anthropic_version: "bedrock-2023-05-31", ...over }))
      assert.strictEqual((yield* send({})).json.content[0].type, "thinking")
      assert.strictEqual((yield* send({ thinking: { type: "disabled" } })).json.content[0].type, "text")
    })
  )

  it.effect("sees images and documents", () =>
    Effect.gen(function* () {
      const content = [
        { type: "image", source: { type: "base64", media_type: "image/png", data: PNG } },
        { type: "document", source: { type: "base64", media_type: "application/pdf", data: PDF } },
        { type: "text", text: "Compare these" }
      ]
      const got = yield* post(claude(SONNET), body({ messages: [user(content)] }))
      assert.match(got.json.content[0].text, /a PNG image of 70 bytes and a PDF document of 15 bytes/)
    })
  )

  it.effect("ends as it was asked to", () =>
    Effect.gen(function* () {
      const say = (text: string, over: object = {}) => post(claude(SONNET), body({ messages: [user(text)], ...over }))
      assert.strictEqual((yield* say("Hello", { max_tokens: 4 })).json.stop_reason, "max_tokens")
      const stopped = (yield* say("[sandbox: text=one two three]", { stop_sequences: ["two"] })).json
      assert.deepStrictEqual(
        [stopped.stop_reason, stopped.stop_sequence, stopped.content[0].text],
        ["stop_sequence", "two", "one "]
      )
      assert.strictEqual((yield* say("[sandbox: refuse]")).json.stop_reason, "refusal")
      assert.strictEqual((yield* say("[sandbox: cached=3]")).json.usage.cache_read_input_tokens, 3)
      assert.strictEqual((yield* say("[sandbox: redacted]", { thinking })).json.content[1].type, "redacted_thinking")
      assert.strictEqual((yield* say("[sandbox: length]")).json.stop_reason, "max_tokens")
    })
  )

  it.effect("ignores directives that are not the user's last word", () =>
    Effect.gen(function* () {
      const directive = "[sandbox: status=500]"
      const inResult = [user("a"), call, user([{ ...result, content: directive }])]
      assert.strictEqual((yield* post(claude(SONNET), body({ tools, messages: inResult }))).status, 200)
      const earlier = [user(directive), { role: "assistant", content: "b" }, user("c")]
      assert.strictEqual((yield* post(claude(SONNET), body({ messages: earlier }))).status, 200)
    })
  )

  it.effect("streams the documented sequence", () =>
    Effect.gen(function* () {
      const asked = body({
        stream: true,
        thinking,
        messages: [user('[sandbox: text=Hi] [sandbox: tool=t args={"a":1}] [sandbox: tool=u]')]
      })
      const got = yield* post(claude(SONNET, "streamRawPredict"), asked)
      const events = dataIn(got.text)
      const starts = events.filter(({ type }) => type === "content_block_start")
      assert.deepStrictEqual(
        starts.map(({ index, content_block }) => [index, content_block.type]),
        [
          [0, "thinking"],
          [1, "text"],
          [2, "tool_use"],
          [3, "tool_use"]
        ]
      )
      assert.strictEqual(new Set(starts.slice(2).map(({ content_block }) => content_block.id)).size, 2)
      assert.deepStrictEqual(
        events.filter(({ index, delta }) => index === 3 && delta).map(({ delta }) => delta.partial_json),
        [""]
      )
      assert.deepStrictEqual(
        events.slice(-2).map(({ type }) => type),
        ["message_delta", "message_stop"]
      )
      assert.strictEqual(got.headers.get("content-type"), "text/event-stream; charset=utf-8")
      assert.isTrue(
        got.text
          .split("\n\n")
          .filter(Boolean)
          .every((event) => /^event: \w+\ndata: /.test(event))
      )
    })
  )
})
