/** Messages to Claude that its clouds refuse, and what is near to them and taken. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Sandbox } from "../../src/sandbox/Sandbox.ts"
import { body, bot, call, image, result, SONNET, tools, user } from "./claudeRequests.ts"
import { claude, messageIn, PNG, post } from "./support.ts"

const system = { role: "system", content: "Be brief." }
const OPUS = "claude-opus-4-8"
/** Over the limit in base64, which is what counts, and not as it is decoded. */
const large = Buffer.concat([Buffer.from(PNG, "base64"), Buffer.alloc(3_932_160)]).toString("base64")

const refused: ReadonlyArray<readonly [string, ReadonlyArray<object>, RegExp, string?]> = [
  [
    "a call of the user",
    [user(call.content)],
    /^messages.0.content.0: `tool_use` blocks can only be in `assistant` mess/
  ],
  [
    "a result of the assistant",
    [user("a"), bot([result])],
    /^messages.1.content.0: `tool_result` blocks can only be in `u/
  ],
  ["a message without blocks", [user([])], /^messages.0: all messages must have non-empty content$/],
  [
    "two results of one call",
    [user("a"), call, user([result, result])],
    /^messages.2: each tool_use must have a single result/
  ],
  [
    "a strange block in a result",
    [user("a"), call, user([{ ...result, content: [{ type: "sound" }] }])],
    /^messages.2.content.0.tool_result.content.0: Input tag 'sound' found/
  ],
  [
    "an image that is no base64",
    [image("image/png", "?")],
    /^messages.0.content.0.image.source.base64: invalid base64 data$/
  ],
  ["an image over 5 MB", [image("image/png", large)], /: image exceeds 5 MB maximum: 5242976 bytes > 5242880 bytes$/],
  [
    "blanks at the end of a prefill",
    [user("a"), bot("b ")],
    /^messages: final assistant content cannot end with trailing/
  ],
  ["a system message first", [system, user("a")], /^messages.0: use the top-level 'system' parameter/, OPUS],
  [
    "a system message after the assistant",
    [user("a"), bot("b"), system],
    /^messages.2: role 'system' must follow a user message$/,
    OPUS
  ],
  [
    "a system message before the user",
    [user("a"), system, user("b")],
    /^messages.1: role 'system' must be last or before 'assistant'$/,
    OPUS
  ]
]

const found = { type: "search_result", source: "handbook", title: "A", content: [{ type: "text", text: "b" }] }

const taken: ReadonlyArray<readonly [string, object, string?]> = [
  ["a prefill", { messages: [user("a"), bot("b")] }],
  ["a greeting of the assistant", { messages: [bot("a"), user("b")] }],
  [
    "a forced tool with adaptive thinking",
    { tools, thinking: { type: "adaptive" }, tool_choice: { type: "any" } },
    OPUS
  ],
  ["a result without content", { tools, messages: [user("a"), call, user([{ ...result, content: undefined }])] }],
  ["a system message last", { messages: [user("a"), system] }, OPUS],
  ["a system message before the assistant", { messages: [user("a"), system, bot("b"), user("c")] }, OPUS],
  ["a tool that is cached", { tools: [{ ...tools[0], cache_control: { type: "ephemeral", ttl: "1h" } }] }],
  ["metadata", { metadata: { user_id: "a" } }],
  ["a search result", { messages: [user([found])] }],
  ["a search result of a tool", { tools, messages: [user("a"), call, user([{ ...result, content: [found] }])] }]
]

layer(Sandbox.layer({ pace: 0 }))("simulated Claude", (it) => {
  it.effect.each(refused)("refuses %s", ([, messages, message, model = SONNET]) =>
    Effect.gen(function* () {
      const got = yield* post(claude(model), body({ tools, messages }))
      assert.strictEqual(got.status, 400, got.text)
      assert.match(messageIn(got), message)
    })
  )

  it.effect.each(taken)("takes %s", ([, over, model = SONNET]) =>
    Effect.gen(function* () {
      const got = yield* post(claude(model), body(over))
      assert.strictEqual(got.status, 200, got.text)
    })
  )

  it.effect.each([
    ["browser", "read_page"],
    ["computer", "screenshot"]
  ] as const)("calls a tool of the %s toolset, and reads its result", ([family, name]) =>
    Effect.gen(function* () {
      const tools = [{ type: `${family}_toolset_20260801` }]
      const asked = user("Look at it.")
      const { json } = yield* post(claude(SONNET), body({ tools, tool_choice: { type: "any" }, messages: [asked] }))
      const [call] = json.content
      assert.deepInclude(call, { type: "tool_use", name, toolset_name: family })
      const shown = { type: "browser_state", tabs: [{ tab_id: "1", title: "A", url: "https://a.example" }] }
      const answer = { type: "tool_result", tool_use_id: call.id, toolset_name: family, content: [shown] }
      const next = yield* post(claude(SONNET), body({ tools, messages: [asked, bot(json.content), user([answer])] }))
      assert.include(next.json.content[0].text, `The tool ${name} answered`)
    })
  )
})
