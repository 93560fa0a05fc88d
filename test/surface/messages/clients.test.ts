/** What real clients send to the messages surface beyond what the clouds take, and what becomes of it (docs/api.md#messages). */
import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { cacheLastBlock, mergeTurns } from "../../../src/surfaces/messageTurns.ts"
import { Adjusted } from "../../../src/vendors/adjustments.ts"
import { type Json, type JsonObject, objectOf } from "../../../src/wire/json.ts"
import { message } from "../../support/claude.ts"
import { post } from "../../support/http.ts"
import { sharedGateway } from "../../support/shared.ts"

const gateway = sharedGateway()
const sent = () => JSON.parse(gateway.calls().at(-1)?.body ?? "null")
const models = ["claude-sonnet-4-5:il2", "claude-sonnet-4-5:il5", "claude-opus-4-7:il2", "claude-sonnet-5:il5"]

/** Answers 200, and gives what was sent and what was named. */
const create = async (body: object, headers: Record<string, string> = {}, path = "/v1/messages") => {
  const got = await post(`${gateway.url}${path}`, body, headers)
  assert.strictEqual(got.status, 200, got.text)
  return {
    body: sent(),
    betas: gateway.calls().at(-1)?.headers["anthropic-beta"] ?? sent().anthropic_beta?.join() ?? "",
    named: got.headers.get("x-gateway-adjusted")?.split(", ") ?? []
  }
}

const text = (said: string, extra: object = {}) => ({ type: "text", text: said, ...extra })
const user = (...content: ReadonlyArray<unknown>) => ({ role: "user", content })
const mark = { type: "ephemeral", ttl: "1h" }
const schema = { type: "object", properties: { city: { type: "string" } } }
const tool = { name: "get_weather", description: "Weather", input_schema: schema }
const use = { type: "tool_use", id: "toolu_1", name: "get_weather", input: {} }
const result = (content: unknown = "12 degrees") => ({ type: "tool_result", tool_use_id: "toolu_1", content })

describe.each(models)("%s", (model) => {
  it("automatic caching marks the last block", async () => {
    const { body, named } = await create(message(model, "hi", { cache_control: mark }))
    assert.notProperty(body, "cache_control")
    assert.deepStrictEqual(body.messages, [user(text("hi", { cache_control: mark }))])
    assert.deepStrictEqual(named, ["cache_control:request->block"])
  })

  it("messages of one role in a row are one turn, and results come first", async () => {
    const messages = [
      user(text("a")),
      { role: "user", content: "b" },
      { role: "assistant", content: [use] },
      { role: "user", content: "Here it is" },
      user(result())
    ]
    const { body, named } = await create({ ...message(model), messages, tools: [tool] })
    assert.deepStrictEqual(body.messages, [
      user(text("a"), text("b")),
      { role: "assistant", content: [use] },
      user(result(), text("Here it is"))
    ])
    assert.deepStrictEqual(named, ["messages:merged"])
  })

  it("an answer that ends in thinking, or says nothing, is taken back", async () => {
    const thinks = { max_tokens: 4000, thinking: { type: model.includes("sonnet-4-5") ? "enabled" : "adaptive" } }
    if (thinks.thinking.type === "enabled") Object.assign(thinks.thinking, { budget_tokens: 1024 })
    const asks = ["[sandbox: length]", "[sandbox: refuse]", "[sandbox: redacted] [sandbox: refuse]"]
    const requests = asks.flatMap((ask) => [message(model, `Hello ${ask}`, thinks), message(model, `Hello ${ask}`)])
    for (const request of requests) {
      const { json } = await post(`${gateway.url}/v1/messages`, request)
      const said = { role: "assistant", content: json.content }
      const types = json.content.map((block: JsonObject) => block.type)
      const ends = types.findLastIndex((type: string) => !type.includes("thinking")) + 1
      for (const last of [[], [user(text("go on"))]]) {
        const messages = [...request.messages, said, ...last]
        // The vendor takes no answer to go on with while it thinks.
        if (last.length === 0 && ends > 0) continue
        const { body, named } = await create({ ...request, messages })
        const back = body.messages.flatMap(({ role, content }: JsonObject) => (role === "assistant" ? content : []))
        assert.deepStrictEqual(back, json.content.slice(0, ends))
        assert.strictEqual(named.includes("messages.content.thinking:removed"), ends < types.length)
      }
    }
  })

  it("thinking of an answer that comes back in several messages is kept", async () => {
    const budget = model.includes("sonnet-4-5") ? { type: "enabled", budget_tokens: 1024 } : { type: "adaptive" }
    const request = message(model, "Hello [sandbox: tool=get_weather args={}]", {
      ...{ max_tokens: 4000, thinking: budget, tools: [tool] }
    })
    const { json } = await post(`${gateway.url}/v1/messages`, request)
    const said = json.content.map((block: JsonObject) => ({ role: "assistant", content: [block] }))
    const { id } = json.content.at(-1)
    const back = user({ ...result(), tool_use_id: id })
    const { body, named } = await create({ ...request, messages: [...request.messages, ...said, back] })
    assert.include(
      json.content.map((block: JsonObject) => block.type),
      "thinking"
    )
    assert.deepStrictEqual(body.messages[1], { role: "assistant", content: json.content })
    assert.deepStrictEqual(named, ["messages:merged"])
  })

  it("turns on both sides of an answer that is nothing but thinking are one", async () => {
    const thought = { role: "assistant", content: [{ type: "thinking", thinking: "a", signature: "b" }] }
    const { body, named } = await create({ ...message(model), messages: [user(text("a")), thought, user(text("b"))] })
    assert.deepStrictEqual(body.messages, [user(text("a"), text("b"))])
    assert.deepStrictEqual(named, ["messages.content.thinking:removed", "messages:merged"])
  })

  it("thinking that has lost its signature is left out", async () => {
    const thought = { type: "thinking", thinking: "a", signature: "" }
    const messages = [user(text("a")), { role: "assistant", content: [thought, text("b"), use] }, user(result())]
    const budget = model.includes("sonnet-4-5") ? { type: "enabled", budget_tokens: 1024 } : { type: "adaptive" }
    const request = { ...message(model), max_tokens: 4000, thinking: budget, messages, tools: [tool] }
    const { body, named } = await create(request)
    assert.deepStrictEqual(body.messages[1], { role: "assistant", content: [text("b"), use] })
    assert.deepStrictEqual(named, ["messages.content.thinking:removed"])
  })

  const search = { type: "tool_search_tool_regex_20251119", name: "tool_search_tool_regex" }
  const deferred = { ...tool, defer_loading: true }
  const searching = message(model, "hi", { tools: [search, deferred] })
  const beta = "tool-search-tool-2025-10-19"

  it("the search among tools brings its beta along", async () => {
    const { body, betas, named } = await create(searching)
    assert.deepStrictEqual(body.tools, [search, deferred])
    assert.strictEqual(betas, beta)
    assert.deepStrictEqual(named, [`anthropic-beta:unset->${beta}`])
  })

  it.each([beta, "advanced-tool-use-2025-11-20"])("is sent as asked for by %s", async (asked) => {
    const { body, betas, named } = await create(searching, { "anthropic-beta": asked })
    assert.deepStrictEqual([body.tools, betas, named], [[search, deferred], beta, []])
  })

  it("a tool whose input is to be streamed as it is made brings the beta along where there is one, and loses its field", async () => {
    const streaming = "fine-grained-tool-streaming-2025-05-14"
    const ask = (eager: boolean, headers = {}) =>
      create(message(model, "hi", { tools: [tool, { ...tool, name: "b", eager_input_streaming: eager }] }), headers)
    const removed = "tools.eager_input_streaming:removed"
    const isBedrock = model.endsWith("il5")
    for (const [{ body, betas, named }, sent, changes] of [
      [await ask(true), isBedrock, [...(isBedrock ? [`anthropic-beta:unset->${streaming}`] : []), removed]],
      [await ask(false), false, []],
      [
        await ask(true, { "anthropic-beta": streaming }),
        isBedrock,
        [...(isBedrock ? [] : [`anthropic-beta.${streaming}:removed`]), removed]
      ]
    ] as const) {
      assert.deepStrictEqual(body.tools, [tool, { ...tool, name: "b" }])
      assert.strictEqual(betas, sent ? streaming : "")
      assert.deepStrictEqual(named, [...changes])
    }
  })

  it("what a search found comes back with its beta", async () => {
    const found = [{ type: "tool_reference", tool_name: "get_weather" }]
    const messages = [user(text("a")), { role: "assistant", content: [use] }, user(result(found))]
    const { body, betas } = await create({ ...message(model), messages, tools: [deferred] })
    assert.deepStrictEqual(body.messages, messages)
    assert.strictEqual(betas, beta)
  })

  it("what a compaction left comes back with its beta, and is not counted where that is not taken", async () => {
    const left = { type: "compaction", content: "Earlier: a." }
    const messages = [user(text("a")), { role: "assistant", content: [left, text("b")] }, user(text("c"))]
    const { body, betas } = await create({ ...message(model), messages })
    assert.deepStrictEqual([body.messages, betas], [messages, "compact-2026-01-12"])
    const got = await post(`${gateway.url}/v1/messages/count_tokens`, { model, messages })
    if (model === "claude-sonnet-5:il5") return assert.match(got.text, /Token counting is not yet available/)
    assert.strictEqual(got.status, 200, got.text)
    assert.strictEqual(got.headers.get("x-gateway-adjusted"), "messages.content.compaction:removed")
  })

  const clear = { type: "clear_thinking_20251015", keep: "all" }
  const compact = { type: "compact_20260112" }
  it.each([
    [[clear, compact], { edits: [compact] }],
    [[clear], undefined],
    [[compact], { edits: [compact] }]
  ])("of edits of the context those of the compaction are sent: %j", async (edits, sent) => {
    const given = message(model, "hi", { context_management: { edits } })
    const { body, betas, named } = await create(given, { "anthropic-beta": "compact-2026-01-12" })
    assert.strictEqual(betas, "compact-2026-01-12")
    assert.deepStrictEqual(body.context_management, sent)
    const gone = ["context_management.edits.clear_thinking_20251015:removed"]
    assert.deepStrictEqual(named, edits.includes(clear as never) ? gone : [])
  })

  it.each([
    ["a list", ["context-1m-2025-08-07", "novel-2030-01-01"]],
    ["a text", "context-1m-2025-08-07,novel-2030-01-01"],
    ["a text in a list", ["context-1m-2025-08-07, novel-2030-01-01"]]
  ])("betas of the body are read from %s", async (_, anthropic_beta) => {
    const { betas, named } = await create(message(model, "hi", { anthropic_beta }))
    assert.strictEqual(betas, "context-1m-2025-08-07")
    assert.deepStrictEqual(named, ["anthropic-beta.novel-2030-01-01:removed"])
  })

  it.each([7, { a: 1 }, [7], [["context-1m-2025-08-07"]]])(
    "betas that are none are named: %j",
    async (anthropic_beta) => {
      const { named } = await create(message(model, "hi", { anthropic_beta }))
      assert.deepStrictEqual(named, ["anthropic_beta:removed"])
    }
  )

  const thinking = { type: model.includes("sonnet-4-5") ? "enabled" : "adaptive", display: "updates" }
  const budget = thinking.type === "enabled" ? { budget_tokens: 1024 } : {}
  /** What a client sends with a beta, and where it is in the request. */
  const owned: ReadonlyArray<readonly [beta: string, field: string, extra: Readonly<Record<string, unknown>>]> = [
    ["thinking-display-updates-2026-08-18", "thinking.display", { thinking: { ...thinking, ...budget } }],
    ["context-management-2025-06-27", "context_management", { context_management: { edits: [{}] } }],
    ["cache-diagnosis-2026-04-07", "diagnostics", { diagnostics: { previous_message_id: "msg_1" } }],
    ["user-profiles-2026-09-04", "user_profile_id", { user_profile_id: "u" }]
  ]
  it.each(owned)("what belongs to %s goes with it", async (beta, field, extra) => {
    const { named } = await create(message(model, "hi", extra), { "anthropic-beta": beta })
    assert.sameMembers(named, [`anthropic-beta.${beta}:removed`, `${field}:removed`])
  })

  it.each([
    ["memory", { type: "memory_20250818" }, "context-management-2025-06-27"],
    [
      "computer",
      { type: "computer_20250124", display_width_px: 800, display_height_px: 600 },
      "computer-use-2025-01-24"
    ],
    [
      "computer",
      { type: "computer_20251124", display_width_px: 800, display_height_px: 600 },
      "computer-use-2025-11-24"
    ]
  ])("a tool goes with its beta: %s, %j", async (name, kind, beta) => {
    const given = message(model, "hi", { tools: [{ name, ...kind }] })
    for (const headers of [{}, { "anthropic-beta": beta }]) {
      const { body, betas, named } = await create(given, headers)
      assert.deepStrictEqual([body.tools, betas], [[{ name, ...kind }], beta])
      assert.deepStrictEqual(named, "anthropic-beta" in headers ? [] : [`anthropic-beta:unset->${beta}`])
    }
  })

  it("thinking and sampling are as the model takes them", async () => {
    const asked = { thinking: { type: "enabled", budget_tokens: 1024 }, temperature: 1, top_k: null }
    const { body, named } = await create(message(model, "hi", asked))
    const adaptive = !model.includes("sonnet-4-5")
    assert.strictEqual(body.thinking.type, adaptive ? "adaptive" : "enabled")
    assert.deepStrictEqual(named, adaptive ? ["temperature:removed"] : [])
    assert.doesNotHaveAnyKeys(body, ["temperature", "top_k"])
  })

  it("blocks of a beta that is not there go, and messages of which nothing is left", async () => {
    const added = { type: "tool_addition", tool: { type: "tool_reference", name: "get_weather" } }
    const messages = [user(text("a")), { role: "system", content: [added] }, user(text("b"))]
    const { body, named } = await create({ ...message(model), messages, tools: [tool] })
    assert.deepStrictEqual(body.messages, [user(text("a"), text("b"))])
    assert.deepStrictEqual(named, ["messages.content.tool_addition:removed", "messages:merged"])
  })
})

it("a system message is the user's where the answer behind it is nothing but thinking", async () => {
  const thought = { role: "assistant", content: [{ type: "thinking", thinking: "a", signature: "b" }] }
  const messages = [user(text("a")), { role: "system", content: "s" }, thought, user(text("b"))]
  const { body, named } = await create({ ...message("claude-opus-4-8:il2"), messages })
  const reminder = text("<system-reminder>\ns\n</system-reminder>")
  assert.deepStrictEqual(body.messages, [user(text("a"), reminder, text("b"))])
  assert.deepStrictEqual(named, ["messages.content.thinking:removed", "messages.role:system->user", "messages:merged"])
})

describe("where counting has no beta", () => {
  const search = { type: "tool_search_tool_bm25_20251119", name: "tool_search_tool_bm25" }
  const found = [{ type: "tool_reference", tool_name: "get_weather" }]
  const messages = [user(text("a")), { role: "assistant", content: [use] }, user(result(found))]

  it.each(["claude-sonnet-4-5:il2", "claude-sonnet-4-5:il5"])("%s: the search and what it found go", async (model) => {
    const tools = [search, { ...tool, defer_loading: true }]
    const tool_choice = { type: "tool", name: search.name }
    const { named } = await create(
      { model, messages, tools, tool_choice, cache_control: mark, novel: 1 },
      {},
      "/v1/messages/count_tokens"
    )
    assert.deepStrictEqual(named, [
      `tools.${search.type}:removed`,
      "tool_choice:removed",
      "messages.content.content.tool_reference:removed",
      "novel:removed",
      "tools.defer_loading:removed"
    ])
  })
})

const roles = fc.constantFrom("user", "assistant", "system")
const block = fc.oneof(
  fc.record({ type: fc.constant("text"), text: fc.string({ minLength: 1 }) }),
  fc.record({ type: fc.constant("tool_result"), tool_use_id: fc.string() }),
  fc.record({ type: fc.constant("tool_use"), id: fc.string() })
)
const conversation = fc.array(
  fc.record({ role: roles, content: fc.oneof(fc.string({ minLength: 1 }), fc.array(block, { minLength: 1 })) }),
  { minLength: 1 }
)
const blocksOf = (content: Json | undefined): ReadonlyArray<Json> =>
  Array.isArray(content) ? content : [{ type: "text", text: content ?? null }]
const messagesOf = (body: JsonObject) => (body.messages as ReadonlyArray<JsonObject>) ?? []

describe("any conversation", () => {
  it("is merged into turns that alternate, without losing a block", () => {
    fc.assert(
      fc.property(conversation, (messages) => {
        const named = new Adjusted()
        const body = { messages: messages as ReadonlyArray<Json> }
        const merged = messagesOf(mergeTurns(body, named))
        for (const [at, { role }] of merged.entries()) assert.notStrictEqual(role, merged[at - 1]?.role)
        const all = (list: ReadonlyArray<JsonObject>) => list.flatMap(({ content }) => blocksOf(content))
        assert.sameDeepMembers([...all(merged)], [...all(messagesOf(body))])
        assert.strictEqual(named.size > 0, merged.length < messages.length)
        for (const { content, role } of merged.filter((one) => !messages.includes(one as never))) {
          if (role !== "user") continue
          const types = blocksOf(content).map((one) => objectOf(one).type)
          assert.isBelow(types.lastIndexOf("tool_result"), types.filter((type) => type === "tool_result").length)
        }
      })
    )
  })

  it("has at most four marks, and the last one is as far back as it must be", () => {
    fc.assert(
      fc.property(conversation, fc.nat(6), (messages, marks) => {
        const system = Array.from({ length: marks }, () => text("s", { cache_control: mark }))
        const named = new Adjusted()
        const { cache_control, ...got } = cacheLastBlock(
          { system, messages: messages as ReadonlyArray<Json>, cache_control: mark },
          named
        )
        assert.isUndefined(cache_control)
        const count = JSON.stringify(got).split('"cache_control":').length - 1
        assert.strictEqual(count, marks < 4 ? marks + 1 : marks)
        if (marks < 4) {
          assert.deepStrictEqual(objectOf(blocksOf(messagesOf(got).at(-1)?.content).at(-1)).cache_control, mark)
        }
        assert.deepStrictEqual([...named], [marks < 4 ? "cache_control:request->block" : "cache_control:removed"])
      })
    )
  })

  it.each<readonly [string, ReadonlyArray<Json>, ReadonlyArray<Json> | undefined]>([
    [
      "thinking and empty texts take none",
      [text("a"), text(""), { type: "thinking", thinking: "t" }],
      [text("a", { cache_control: mark }), text(""), { type: "thinking", thinking: "t" }]
    ],
    ["one that is there is enough", [text("a", { cache_control: mark })], undefined],
    ["nothing takes one", [text("")], undefined]
  ])("%s", (_, content, expected) => {
    const named = new Adjusted()
    const body = { messages: [{ role: "user", content }] }
    const got = cacheLastBlock({ ...body, cache_control: mark }, named)
    assert.deepStrictEqual(got, expected === undefined ? body : { messages: [{ role: "user", content: expected }] })
    assert.strictEqual(named.has("cache_control:removed"), expected === undefined)
  })

  it("asks for nothing with null", () => {
    assert.deepStrictEqual(cacheLastBlock({ cache_control: null }, new Adjusted()), {})
  })
})
