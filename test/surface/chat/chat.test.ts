/** Chat completions: what an answer holds, and how models think (docs/api.md#chat-completions). */
import { assert, describe, it } from "@effect/vitest"
import { chat, functionTool, ok, uuid } from "../../support/chat.ts"
import { sixModels } from "../../support/chatKinds.ts"
import { call, model, sharedChat, user } from "../../support/chatSurface.ts"

const { create, sent } = sharedChat()

describe("an answer", () => {
  for (const id of sixModels) {
    const name = id.slice(0, id.lastIndexOf(":"))

    it(`${id} has the fields of a completion`, async () => {
      const got = await create(chat(id, "What is a fjord?"))
      const json = ok(got)
      const told = Object.keys(json).filter((key) => !["service_tier", "system_fingerprint"].includes(key))
      assert.deepStrictEqual(told, ["id", "object", "created", "model", "choices", "usage"])
      assert.match(json.id, /^chatcmpl-/)
      assert.strictEqual(json.object, "chat.completion")
      assert.closeTo(json.created, Date.now() / 1000, 5)
      assert.strictEqual(json.model, id)
      assert.strictEqual(json.choices.length, 1)
      const [choice] = json.choices
      assert.deepStrictEqual(Object.keys(choice), ["index", "message", "logprobs", "finish_reason"])
      assert.strictEqual(choice.index, 0)
      assert.strictEqual(choice.message.role, "assistant")
      assert.match(choice.message.content, /^You asked about a fjord\./)
      assert.notProperty(choice.message, "tool_calls")
      assert.strictEqual(choice.finish_reason, "stop")
      const { prompt_tokens, completion_tokens, total_tokens, completion_tokens_details } = json.usage
      assert.isAbove(prompt_tokens, 0)
      assert.isAbove(completion_tokens, 0)
      assert.strictEqual(total_tokens, prompt_tokens + completion_tokens)
      // docs/api.md#chat-answers.
      if (/^(claude|gpt-oss)/.test(id)) assert.isUndefined(completion_tokens_details)
      else {
        assert.isAbove(completion_tokens_details.reasoning_tokens, 0)
        assert.isBelow(completion_tokens_details.reasoning_tokens, completion_tokens)
      }
      assert.strictEqual(got.headers.get("x-gateway-served-model"), name)
      assert.strictEqual(got.headers.get("x-gateway-served-level"), id.slice(name.length + 1))
      assert.match(got.headers.get("x-gateway-served-by") ?? "", /^sandbox-(vertex|bedrock|azure)\/[a-z0-9-]+$/)
      assert.match(got.headers.get("x-request-id") ?? "", uuid)
      assert.match(got.headers.get("link") ?? "", /rel="terms-of-service"/)
      assert.notMatch(got.text, /<reasoning>|upstream|us-gov|sandbox-project/)
    })

    it(`${id}: finish reasons`, async () => {
      const finish = async (content: string, extra = {}) => ok(await create(chat(id, content, extra))).choices[0]
      assert.strictEqual((await finish("hi")).finish_reason, "stop")
      const short = await finish("Tell me about fjords.", { max_tokens: 30, reasoning_effort: "none" })
      assert.strictEqual(short.finish_reason, "length")
      assert.isString(short.message.content)
      const stopped = await finish("[sandbox: text=one two END three]", { stop: "END", reasoning_effort: "none" })
      assert.deepStrictEqual([stopped.finish_reason, stopped.message.content.trim()], ["stop", "one two"])
      const called = await finish("[sandbox: tool=f]", { tools: [functionTool("f")] })
      assert.strictEqual(called.finish_reason, "tool_calls")
      assert.isNull(called.message.content)
      assert.strictEqual(called.message.tool_calls[0].function.arguments, "{}")
      const filtered = await finish("[sandbox: refuse]")
      assert.strictEqual(filtered.finish_reason, "content_filter")
      // A conversation goes on after that, with the message as it was given.
      for (const message of [filtered.message, { role: "assistant", content: null, refusal: "No." }]) {
        ok(await create({ model: id, messages: [user, message, user] }))
      }
    })

    it(`${id}: cached tokens are prompt tokens`, async () => {
      const plain = ok(await create(chat(id, "word ".repeat(300)))).usage
      const { usage } = ok(await create(chat(id, `${"word ".repeat(300)}[sandbox: cached=100]`)))
      assert.strictEqual(usage.prompt_tokens_details.cached_tokens, 100)
      assert.isAtLeast(usage.prompt_tokens, plain.prompt_tokens)
    })

    it(`${id}: small oddities are fine`, async () => {
      ok(
        await create({
          model: id,
          messages: [
            { role: "system", content: "" },
            { role: "system", content: "Be brief." },
            { role: "developer", content: "Be kind." },
            {
              role: "user",
              content: [
                { type: "text", text: "" },
                { type: "text", text: "hi" }
              ],
              name: null
            },
            { role: "user", content: "there" },
            { role: "assistant", content: "", tool_calls: null },
            { role: "assistant", content: "hello", tool_calls: [], refusal: null },
            { role: "user", content: "" },
            { role: "user", content: "and now?" }
          ],
          temperature: null,
          top_p: null,
          max_tokens: null,
          max_completion_tokens: null,
          stream: null,
          stream_options: null,
          stop: null,
          tools: null,
          tool_choice: null,
          reasoning_effort: null,
          n: null,
          response_format: null,
          user: null,
          seed: null,
          functions: null
        })
      )
      ok(await create(chat(id, "hi", { stop: ["END", ""], tools: [] })))
      ok(await create(chat(id, "hi", { tools: [], tool_choice: "auto", parallel_tool_calls: true })))
      ok(await create(chat(id, "hi", { max_completion_tokens: 2000, max_tokens: 5 })))
      ok(await create({ model: id, messages: [{ role: "system", content: "Say hi." }] }))
      ok(await create({ model: id, messages: [user, { role: "assistant", content: "ok" }, user], stop: [] }))
    })

    it(`${id}: what other clients and vendors leave in messages and parts is no error`, async () => {
      const part = { type: "text", text: "hi", cache_control: { type: "ephemeral" } }
      const noted = {
        role: "assistant",
        content: "ok",
        parsed: { a: 1 },
        annotations: [],
        audio: null,
        reasoning_content: "hm"
      }
      const used = { ...call("a1"), index: 0, function: { name: "f", arguments: "{}", parsed_arguments: {} } }
      ok(
        await create({
          model: id,
          messages: [
            { role: "user", content: [part], name: "me", id: "m1" },
            { ...noted, tool_calls: [used] },
            { role: "tool", tool_call_id: "a1", content: "r", name: "f", status: "success" },
            noted,
            user
          ],
          tools: [functionTool("f")]
        })
      )
    })

    it(`${id}: every effort is taken`, async () => {
      for (const reasoning_effort of ["none", "minimal", "low", "medium", "high", "xhigh", "max"]) {
        ok(await create(chat(id, "hi", { reasoning_effort })))
      }
    })

    it(`${id}: JSON as asked for`, async () => {
      const schema = {
        type: "object",
        properties: { city: { type: "string" }, days: { type: "integer" } },
        required: ["city", "days"],
        additionalProperties: false
      }
      for (const strict of [true, false]) {
        const json_schema = { name: "plan", schema, strict }
        const { choices } = ok(
          await create(chat(id, "A trip, as JSON", { response_format: { type: "json_schema", json_schema } }))
        )
        assert.hasAllKeys(JSON.parse(choices[0].message.content), ["city", "days"])
      }
      const loose = ok(await create(chat(id, "A trip, as JSON", { response_format: { type: "json_object" } })))
      assert.isObject(JSON.parse(loose.choices[0].message.content))
      ok(await create(chat(id, "A trip", { response_format: { type: "text" } })))
    })
  }

  it("a filtered prompt: Azure's 400, Gemini's completion", async () => {
    const refusal = await create(chat("gpt-5.1:il5", "[sandbox: filter-prompt]"))
    assert.strictEqual(refusal.status, 400)
    assert.include(refusal.json.error, { type: "invalid_request_error", code: "content_filter" })
    const blocked = ok(await create(chat("gemini-3-flash:il2", "[sandbox: filter-prompt]")))
    assert.strictEqual(blocked.choices[0].finish_reason, "content_filter")
    assert.strictEqual(blocked.usage.completion_tokens, 0)
  })
})

describe("reasoning", () => {
  const claude = async (extra: Record<string, unknown>, id = model) => {
    ok(await create(chat(id, "hi", extra)))
    return sent()
  }

  it.each([
    [{ reasoning_effort: "low" }, 1024, 5120],
    [{ reasoning_effort: "medium" }, 8192, 12_288],
    [{}, 8192, 12_288],
    [{ reasoning_effort: "high" }, 16_384, 20_480],
    [{ reasoning_effort: "high", max_tokens: 8192 }, 7168, 8192],
    [{ reasoning_effort: "high", max_tokens: 2048 }, 1024, 2048],
    [{ reasoning_effort: "high", max_tokens: 1500 }, 1024, 1500],
    [{ reasoning_effort: "high", max_tokens: 1025 }, 1024, 1025],
    [{ max_tokens: 1024 }, undefined, 1024],
    [{ reasoning_effort: "none", max_tokens: 5000 }, undefined, 5000]
  ])("Claude, %o: budget %s of %s", async (extra, budget, max_tokens) => {
    const body = await claude(extra)
    assert.strictEqual(body.thinking?.budget_tokens, budget)
    assert.strictEqual(body.max_tokens, max_tokens)
  })

  it("Claude on the adaptive API", async () => {
    const on = await claude({ reasoning_effort: "high", temperature: 0.5 }, "claude-opus-4-7:il5")
    assert.deepStrictEqual([on.thinking.type, on.output_config.effort, on.temperature], ["adaptive", "high", undefined])
    const off = await claude({ reasoning_effort: "none" }, "claude-opus-4-7:il5")
    assert.deepStrictEqual([off.thinking?.type, off.output_config], ["disabled", undefined])
  })

  it("sampling is removed while it thinks, and kept where the model keeps it", async () => {
    const sampling = { temperature: 0.5 }
    for (const id of ["claude-sonnet-4-5:il2", "claude-sonnet-4-5:il5", "gpt-5.1:il5", "gpt-5.6-terra:il5"]) {
      assert.notProperty(await claude(sampling, id), "temperature", id)
      assert.strictEqual((await claude({ ...sampling, reasoning_effort: "none" }, id)).temperature, 0.5, id)
    }
    assert.strictEqual((await claude(sampling, "gpt-oss-120b:il5")).temperature, 0.5)
    const gemini = (await claude({ ...sampling, top_p: 0.3 }, "gemini-3-flash:il2")).generationConfig
    assert.deepStrictEqual([gemini.temperature, gemini.topP], [0.5, 0.3])
  })

  it.each([
    ["none", "MINIMAL"],
    ["low", "LOW"],
    ["medium", "MEDIUM"],
    [undefined, "MEDIUM"],
    ["high", "HIGH"],
    ["xhigh", "HIGH"]
  ])("Gemini: %s is %s", async (reasoning_effort, level) => {
    const body = await claude({ reasoning_effort }, "gemini-3-flash:il2")
    assert.strictEqual(body.generationConfig.thinkingConfig.thinkingLevel, level)
  })

  it.each([
    ["gpt-5.1:il5", "high"],
    ["gpt-5.6-terra:il5", "medium"],
    ["gpt-oss-120b:il5", "medium"]
  ])("%s: %s unless asked otherwise", async (id, effort) => {
    const sent = async (extra: Record<string, unknown>) => {
      const { reasoning, reasoning_effort } = await claude(extra, id)
      return reasoning_effort ?? reasoning.effort
    }
    assert.strictEqual(await sent({}), effort)
    assert.strictEqual(await sent({ reasoning_effort: "low" }), "low")
  })
})
