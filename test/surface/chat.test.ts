/** Chat completions: what is asked, what is refused, what an answer holds (spec: POST /v1/chat/completions, Errors, Limits). */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { chat, functionTool, sixModels } from "../support/chat.ts"
import { type Gateway, startGateway } from "../support/gateway.ts"
import { type Got, post } from "../support/http.ts"

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

let gateway: Gateway
beforeAll(async () => {
  gateway = await startGateway()
})
afterAll(() => gateway.stop())

const create = (body: unknown, headers: Record<string, string> = {}) =>
  post(`${gateway.url}/v1/chat/completions`, body, headers)
const sent = () => JSON.parse(gateway.calls().at(-1)?.body ?? "null")

const refused = (got: Got, status: number, type: string, text: RegExp) => {
  assert.strictEqual(got.status, status, got.text)
  assert.match(got.headers.get("content-type") ?? "", /^application\/json/)
  assert.deepStrictEqual(Object.keys(got.json), ["error"])
  assert.deepStrictEqual(Object.keys(got.json.error), ["type", "message"])
  assert.strictEqual(got.json.error.type, type)
  assert.match(got.json.error.message, text)
  assert.match(got.headers.get("x-request-id") ?? "", uuid)
}
const ok = (got: Got) => {
  assert.strictEqual(got.status, 200, got.text.slice(0, 500))
  return got.json
}

const model = "claude-sonnet-4-5:il5"
const base = chat(model)
const user = { role: "user", content: "hi" }
const call = (id: string, args = "{}", name = "f") => ({ id, type: "function", function: { name, arguments: args } })

describe("what is refused", () => {
  const cases: ReadonlyArray<readonly [name: string, body: unknown, text: RegExp]> = [
    ["no JSON", "{", /not valid JSON/],
    ["an empty body", "", /empty/],
    ["an array", [], /request body/],
    ["model missing", { ...base, model: undefined }, /model/],
    ["model null", { ...base, model: null }, /model/],
    ["model bare", { ...base, model: "claude-sonnet-4-5" }, /claude-sonnet-4-5:il5/],
    ["model unknown", { ...base, model: "gpt-4o:il5" }, /gpt-4o/],
    ["level unknown", { ...base, model: "gpt-5.1:il9" }, /gpt-5\.1:il5/],
    ["level above the authorized one", { ...base, model: "gemini-3-flash:il5" }, /gemini-3-flash:il2/],
    ["itar where there is none", { ...base, model: "gpt-5.1:itar" }, /gpt-5\.1:il5/],
    ["capitals", { ...base, model: "gpt-5.1:IL5" }, /gpt-5\.1:il5/],
    ["an embedding model", { ...base, model: "titan-embed-text-v2:il5" }, /\/v1\/embeddings/],
    ["messages missing", { ...base, messages: undefined }, /messages/],
    ["messages null", { ...base, messages: null }, /messages/],
    ["messages empty", { ...base, messages: [] }, /messages.*at least one/],
    ["messages a string", { ...base, messages: "hi" }, /messages/],
    ["a message that is a string", { ...base, messages: ["hi"] }, /messages\[0\]/],
    ["an unknown role", { ...base, messages: [user, { role: "robot", content: "hi" }] }, /messages\[1\]/],
    ["a role missing", { ...base, messages: [{ content: "hi" }] }, /messages\[0\]/],
    ["content missing", { ...base, messages: [{ role: "user" }] }, /messages\[0\].*content/],
    ["content null", { ...base, messages: [{ role: "user", content: null }] }, /messages\[0\]\.content/],
    ["content a number", { ...base, messages: [{ role: "user", content: 3 }] }, /messages\[0\]\.content/],
    [
      "parts in a system message",
      { ...base, messages: [{ role: "system", content: [{ type: "text", text: "a" }] }, user] },
      /messages\[0\]\.content.*string/
    ],
    [
      "parts in an assistant message",
      { ...base, messages: [user, { role: "assistant", content: [{ type: "text", text: "a" }] }] },
      /messages\[1\]\.content.*string/
    ],
    [
      "parts in a tool message",
      { ...base, messages: [user, { role: "tool", tool_call_id: "a", content: [{ type: "text", text: "a" }] }] },
      /messages\[1\]\.content.*string/
    ],
    [
      "an unknown part",
      chat(model, [{ type: "text", text: "a" }, { type: "input_audio" }]),
      /content\[1\].*text, image_url or file/
    ],
    ["a text part without text", chat(model, [{ type: "text" }]), /content\[0\]/],
    ["an image part without a URL", chat(model, [{ type: "image_url", image_url: {} }]), /content\[0\]/],
    ["a file part without data", chat(model, [{ type: "file", file: { filename: "a.pdf" } }]), /content\[0\]/],
    [
      "an assistant message of nothing",
      { ...base, messages: [user, { role: "assistant", content: null }] },
      /messages\[1\]\.content/
    ],
    [
      "tool_call_id missing",
      { ...base, messages: [user, { role: "tool", content: "r" }] },
      /messages\[1\]\.tool_call_id/
    ],
    [
      "a call whose arguments are an object",
      {
        ...base,
        messages: [
          user,
          { role: "assistant", content: null, tool_calls: [{ ...call("a"), function: { name: "f", arguments: {} } }] }
        ]
      },
      /messages\[1\]\.tool_calls\[0\]\.function\.arguments/
    ],
    ["temperature below 0", { ...base, temperature: -0.1 }, /temperature: must be between 0 and 2/],
    ["temperature above 2", { ...base, temperature: 2.01 }, /temperature: must be between 0 and 2/],
    ["temperature a string", { ...base, temperature: "1" }, /temperature/],
    ["top_p above 1", { ...base, top_p: 1.01 }, /top_p: must be between 0 and 1/],
    ["top_p below 0", { ...base, top_p: -1 }, /top_p/],
    ["max_tokens 0", { ...base, max_tokens: 0 }, /max_tokens/],
    ["max_tokens a fraction", { ...base, max_tokens: 1.5 }, /max_tokens/],
    ["max_completion_tokens negative", { ...base, max_completion_tokens: -1 }, /max_completion_tokens/],
    ["stream a string", { ...base, stream: "true" }, /stream/],
    ["stream_options a boolean", { ...base, stream: true, stream_options: true }, /stream_options/],
    ["stop a number", { ...base, stop: 3 }, /stop: must be a string or an array of strings/],
    ["tools an object", { ...base, tools: {} }, /tools/],
    ["a tool of another type", { ...base, tools: [{ type: "web_search" }] }, /tools\[0\]\.type/],
    ["a tool without a name", { ...base, tools: [{ type: "function", function: {} }] }, /tools\[0\]\.function\.name/],
    ["parameters an array", { ...base, tools: [functionTool("f", [])] }, /tools\[0\]\.function\.parameters/],
    ["tool_choice unknown", { ...base, tools: [functionTool("f")], tool_choice: "any" }, /tool_choice: must be/],
    [
      "tool_choice without a name",
      { ...base, tools: [functionTool("f")], tool_choice: { type: "function" } },
      /tool_choice/
    ],
    ["an unknown effort", { ...base, reasoning_effort: "enormous" }, /reasoning_effort.*"low".*"medium".*"high"/],
    ["n of 2", { ...base, n: 2 }, /n: must be 1/],
    ["functions", { ...base, functions: [{ name: "f" }] }, /tools/],
    ["web search", { ...base, web_search_options: {} }, /boundary/],
    ["Azure's data sources", { ...base, data_sources: [{ type: "azure_search" }] }, /boundary/]
  ]
  for (const [name, body, text] of cases) {
    it(`400 for ${name}`, async () => {
      const before = gateway.calls().length
      refused(await create(body), 400, "invalid_request_error", text)
      assert.strictEqual(gateway.calls().length, before, "nothing goes upstream")
    })
  }

  it("says it in one line, without repeating the value", async () => {
    for (const [, body] of cases) {
      const { message } = (await create(body)).json.error
      assert.notMatch(message, /\n|enormous|robot/)
      assert.isBelow(message.length, 700)
    }
  })

  for (const path of ["a number", "NUL", "a lone surrogate"]) {
    it(`never 500 for a text with ${path}`, async () => {
      const text = { "a number": "12345678901234567890", NUL: "a\u0000b", "a lone surrogate": "a\ud800b" }[path]
      for (const id of sixModels) {
        const got = await create(chat(id, text))
        assert.include([200, 400], got.status, got.text)
      }
    })
  }

  it("403 for a missing or wrong key, before the body is looked at", async () => {
    for (const headers of [
      { "x-api-key": "" },
      { "x-api-key": "wrong" },
      { "x-api-key": "", authorization: "Bearer sandbox-key" }
    ]) {
      refused(await create("{", headers), 403, "authentication_error", /x-api-key/)
    }
    ok(await create(base, { authorization: "Bearer anything" }))
  })

  it("415 for another content type, in the same shape", async () => {
    refused(await create("hi", { "content-type": "text/plain" }), 415, "invalid_request_error", /application\/json/)
  })
})

describe("limits: N passes, N + 1 does not", () => {
  const history = (count: number) =>
    Array.from({ length: count }, (_, n) => (n % 2 === 0 ? user : { role: "assistant", content: "ok" }))
  const withCalls = (count: number, id = (n: number) => `c${n}`) => ({
    ...base,
    reasoning_effort: "none",
    messages: [
      user,
      { role: "assistant", content: null, tool_calls: Array.from({ length: count }, (_, n) => call(id(n))) },
      ...Array.from({ length: count }, (_, n) => ({ role: "tool", tool_call_id: id(n), content: "r" }))
    ],
    tools: [functionTool("f")]
  })
  const tools = (count: number) => ({ ...base, tools: Array.from({ length: count }, (_, n) => functionTool(`f${n}`)) })
  const rows: ReadonlyArray<readonly [string, (n: number) => unknown, number, RegExp]> = [
    ["messages", (n) => ({ ...base, messages: history(n) }), 2047, /^messages: at most 2,048 messages/],
    ["tools", tools, 128, /^tools: at most 128 tools/],
    ["tool calls of a message", (n) => withCalls(n), 128, /^messages\[1\]\.tool_calls: at most 128 tool calls/],
    [
      "characters of a tool_call_id",
      (n) => withCalls(1, () => "i".repeat(n)),
      256,
      /^messages\[[12]\]\.(tool_call_id|tool_calls\[0\]\.id): at most 256 characters/
    ],
    [
      "characters of a tool's name",
      (n) => ({ ...base, tools: [functionTool("ok"), functionTool("n".repeat(n))] }),
      64,
      /^tools\[1\]\.function\.name: must be 1 to 64 characters/
    ],
    [
      "characters of a tool's description",
      (n) => ({ ...base, tools: [functionTool("f", {}, { description: "d".repeat(n) })] }),
      65_536,
      /^tools\[0\]\.function\.description: at most 65,536 characters/
    ],
    ["bytes of a user's text", (n) => chat(model, "t".repeat(n)), 2_097_152, /^messages\[0\]\.content.*2 MiB/],
    [
      "bytes of a system text",
      (n) => ({ ...base, messages: [{ role: "system", content: "t".repeat(n) }, user] }),
      2_097_152,
      /^messages\[0\]\.content.*2 MiB/
    ],
    [
      "bytes of an assistant's text",
      (n) => ({ ...base, messages: [user, { role: "assistant", content: "t".repeat(n) }, user] }),
      2_097_152,
      /^messages\[1\]\.content.*2 MiB/
    ]
  ]
  for (const [name, body, limit, text] of rows) {
    it(name, async () => {
      ok(await create(body(limit)))
      // A history must end with a user's turn for this model, so that its last even count is not tried.
      refused(await create(body(name === "messages" ? 2049 : limit + 1)), 400, "invalid_request_error", text)
    })
  }

  it("2,048 messages", async () => {
    ok(await create({ ...base, messages: [{ role: "system", content: "s" }, ...history(2047)] }))
  })

  it("text is counted in bytes of UTF-8", async () => {
    ok(await create(chat(model, "é".repeat(1_048_576))))
    refused(await create(chat(model, `${"é".repeat(1_048_576)}a`)), 400, "invalid_request_error", /2 MiB/)
  })

  it("names of tools: nothing but letters, digits, _ and -", async () => {
    for (const name of ["", "a b", "a.b", "ä", "a/b", "a\n", "n".repeat(65)]) {
      refused(
        await create({ ...base, tools: [functionTool(name)] }),
        400,
        "invalid_request_error",
        /^tools\[0\]\.function\.name: must be 1 to 64 characters/
      )
    }
    for (const id of sixModels) ok(await create({ ...chat(id), tools: [functionTool("-9_aZ"), functionTool("0")] }))
  })

  it("temperature, top_p: both ends", async () => {
    for (const id of sixModels) {
      for (const extra of [
        { temperature: 0 },
        { temperature: 2 },
        { top_p: 0 },
        { top_p: 1 },
        { temperature: 1, top_p: 0.5 }
      ]) {
        for (const reasoning_effort of [undefined, "none"])
          ok(await create(chat(id, "hi", { ...extra, reasoning_effort })))
      }
    }
  })

  it("413 for a body over its limit", async () => {
    refused(await create(" ".repeat(20_971_521)), 413, "invalid_request_error", /20971520/)
  })
})

describe("an answer", () => {
  for (const id of sixModels) {
    const name = id.slice(0, id.lastIndexOf(":"))

    it(`${id} has the fields of a completion`, async () => {
      const got = await create(chat(id, "What is a fjord?"))
      const json = ok(got)
      assert.deepStrictEqual(Object.keys(json), ["id", "object", "created", "model", "choices", "usage"])
      assert.match(json.id, /^chatcmpl-/)
      assert.strictEqual(json.object, "chat.completion")
      assert.closeTo(json.created, Date.now() / 1000, 5)
      assert.strictEqual(json.model, id)
      assert.strictEqual(json.choices.length, 1)
      const [choice] = json.choices
      assert.deepStrictEqual(Object.keys(choice), ["index", "message", "finish_reason"])
      assert.strictEqual(choice.index, 0)
      assert.strictEqual(choice.message.role, "assistant")
      assert.match(choice.message.content, /^You asked about a fjord\./)
      assert.notProperty(choice.message, "tool_calls")
      assert.strictEqual(choice.finish_reason, "stop")
      const { prompt_tokens, completion_tokens, total_tokens, completion_tokens_details } = json.usage
      assert.isAbove(prompt_tokens, 0)
      assert.isAbove(completion_tokens, 0)
      assert.strictEqual(total_tokens, prompt_tokens + completion_tokens)
      // Spec: Reasoning token usage.
      if (/^(claude|gpt-oss)/.test(id)) assert.isUndefined(completion_tokens_details)
      else {
        assert.isAbove(completion_tokens_details.reasoning_tokens, 0)
        assert.isBelow(completion_tokens_details.reasoning_tokens, completion_tokens)
      }
      assert.strictEqual(got.headers.get("x-gateway-served-model"), name)
      assert.strictEqual(got.headers.get("x-gateway-served-level"), id.slice(name.length + 1))
      assert.match(got.headers.get("x-gateway-served-by") ?? "", /^(vertex|bedrock|azure)\/[a-z0-9-]+$/)
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
        if (!id.startsWith("claude")) assert.hasAllKeys(JSON.parse(choices[0].message.content), ["city", "days"])
      }
      ok(await create(chat(id, "A trip, as JSON", { response_format: { type: "json_object" } })))
      ok(await create(chat(id, "A trip", { response_format: { type: "text" } })))
    })
  }

  it("a filtered prompt: Azure's 400, Gemini's completion", async () => {
    refused(await create(chat("gpt-5.1:il5", "[sandbox: filter-prompt]")), 400, "invalid_request_error", /./)
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
    assert.strictEqual((await claude({}, id)).reasoning_effort, effort)
    assert.strictEqual((await claude({ reasoning_effort: "low" }, id)).reasoning_effort, "low")
  })
})

describe("what a cloud refuses or fails at", () => {
  const rows: ReadonlyArray<readonly [string, number, string, string | null]> = [
    ["400", 400, "invalid_request_error", null],
    ["413", 400, "invalid_request_error", null],
    ["422", 400, "invalid_request_error", null],
    ["401", 502, "api_error", null],
    ["403", 502, "api_error", null],
    ["404", 502, "api_error", null],
    ["408", 504, "api_error", null],
    ["429 retry-after=7", 429, "rate_limit_error", "7"],
    ["429", 429, "rate_limit_error", null],
    ["500", 502, "api_error", null],
    ["503", 502, "api_error", null],
    ["529", 502, "api_error", null]
  ]
  for (const id of sixModels) {
    for (const stream of [false, true]) {
      it(`${id}${stream ? ", streamed" : ""}: statuses`, async () => {
        for (const [directive, status, type, retryAfter] of rows) {
          const got = await create(chat(id, `[sandbox: status=${directive}]`, { stream }))
          refused(got, status, type, /./)
          assert.strictEqual(got.headers.get("retry-after"), retryAfter)
          assert.notMatch(got.text, /sandbox-project|us-gov\.|openai\.gpt|20250929|arn:|preview/)
        }
      })

      it(`${id}${stream ? ", streamed" : ""}: redirects, HTML, bodies cut and garbled`, async () => {
        for (const fault of ["redirect", "html", ...(stream ? [] : ["cut after=0", "garbage after=0"])]) {
          refused(await create(chat(id, `[sandbox: ${fault}]`, { stream })), 502, "api_error", /./)
        }
      })
    }
  }
})
