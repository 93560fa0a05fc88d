import { assert, describe, it } from "@effect/vitest"
import { message } from "../../support/claude.ts"
import { cloudStatuses } from "../../support/cloudStatuses.ts"
import { cloudsAt, startGateway } from "../../support/gateway.ts"
import { eventsIn, type Got, post } from "../../support/http.ts"
import { sharedGateway } from "../../support/shared.ts"

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

const gateway = sharedGateway()

const create = (body: unknown, headers: Record<string, string> = {}) =>
  post(`${gateway.url}/v1/messages`, body, headers)
/** The last body that reached a cloud. */
const sent = () => JSON.parse(gateway.calls().at(-1)?.body ?? "null")

const refused = (got: Got, status: number, type: string, text: RegExp) => {
  assert.strictEqual(got.status, status, got.text)
  assert.match(got.headers.get("content-type") ?? "", /^application\/json/)
  assert.deepStrictEqual(Object.keys(got.json), ["type", "error"])
  assert.strictEqual(got.json.type, "error")
  assert.strictEqual(got.json.error.type, type)
  assert.match(got.json.error.message, text)
  assert.match(got.headers.get("x-request-id") ?? "", uuid)
}

describe("the three fields that are checked", () => {
  const base = message("claude-sonnet-4-5:il5")
  const cases: ReadonlyArray<readonly [name: string, body: unknown, text: RegExp]> = [
    ["no JSON", "{", /not valid JSON/],
    ["empty body", "", /empty/],
    ["an array", [], /request body/],
    ["a string", '"hi"', /request body/],
    ["null", "null", /request body/],
    ["model missing", { ...base, model: undefined }, /model/],
    ["model null", { ...base, model: null }, /model/],
    ["model a number", { ...base, model: 7 }, /model/],
    ["model empty", { ...base, model: "" }, /model|level/],
    ["model unknown", { ...base, model: "claude-nothing:il5" }, /claude-nothing/],
    ["model bare", { ...base, model: "claude-sonnet-4-5" }, /level/],
    ["level unknown", { ...base, model: "claude-sonnet-4-5:il9" }, /il9/],
    ["level above the authorized one", { ...base, model: "claude-sonnet-4-5:il6" }, /il6/],
    ["level twice", { ...base, model: "claude-sonnet-4-5:il5+itar+itar" }, /claude-sonnet-4-5:il5/],
    ["trailing space", { ...base, model: "claude-sonnet-4-5:il5 " }, /il5/],
    ["two colons", { ...base, model: "claude-sonnet-4-5::il5" }, /il5/],
    ["full-width colon", { ...base, model: "claude-sonnet-4-5：il5" }, /level|model/],
    ["capitals", { ...base, model: "claude-sonnet-4-5:IL5" }, /IL5/],
    ["another vendor's model", { ...base, model: "gemini-3-flash:il2" }, /\/v1\/chat\/completions/],
    ["a GPT-class model", { ...base, model: "gpt-5.1:il5" }, /\/v1\/chat\/completions/],
    ["an embedding model", { ...base, model: "titan-embed-text-v2:il5" }, /\/v1\/embeddings/],
    ["messages missing", { ...base, messages: undefined }, /messages/],
    ["messages null", { ...base, messages: null }, /messages/],
    ["messages empty", { ...base, messages: [] }, /messages/],
    ["messages a string", { ...base, messages: "hi" }, /messages/],
    ["max_tokens missing", { ...base, max_tokens: undefined }, /max_tokens/],
    ["max_tokens null", { ...base, max_tokens: null }, /max_tokens/],
    ["max_tokens 0", { ...base, max_tokens: 0 }, /max_tokens/],
    ["max_tokens negative", { ...base, max_tokens: -1 }, /max_tokens/],
    ["max_tokens a fraction", { ...base, max_tokens: 1.5 }, /max_tokens/],
    ["max_tokens a string", { ...base, max_tokens: "100" }, /max_tokens/],
    ["max_tokens beyond 2^53", JSON.stringify(base).replace("2000", "9007199254740993"), /max_tokens/],
    ["stream a string", { ...base, stream: "yes" }, /stream/]
  ]
  for (const [name, body, text] of cases) {
    it(`400 for ${name}`, async () => {
      const before = gateway.calls().length
      refused(await create(body), 400, "invalid_request_error", text)
      assert.strictEqual(gateway.calls().length, before, "nothing goes upstream")
    })
  }

  it("does not repeat what was sent", async () => {
    const got = await create({ ...base, max_tokens: "the secret word" })
    assert.notMatch(got.text, /secret word/)
  })
})

describe("keys", () => {
  for (const [name, headers] of [
    ["missing", { "x-api-key": "" }],
    ["wrong", { "x-api-key": "nonsense" }],
    ["very long", { "x-api-key": "k".repeat(8000) }],
    ["only as a bearer", { "x-api-key": "", authorization: "Bearer sandbox-key" }]
  ] as const) {
    it(`401 for a key that is ${name}`, async () => {
      refused(await create("{", headers), 401, "authentication_error", /x-api-key/)
    })
  }

  it("ignores Authorization beside a good key", async () => {
    const got = await create(message("claude-sonnet-4-5:il5"), { authorization: "Bearer whatever" })
    assert.strictEqual(got.status, 200)
  })

  it("takes no key from the query", async () => {
    const got = await post(`${gateway.url}/v1/messages?x-api-key=sandbox-key`, message("claude-sonnet-4-5:il5"), {
      "x-api-key": ""
    })
    refused(got, 401, "authentication_error", /x-api-key/)
  })

  it("logs no key", () => {
    assert.notMatch(gateway.logs.join("\n"), /sandbox-key|nonsense|kkkkk/)
  })
})

describe("what the model's API refuses or fails at", () => {
  for (const model of ["claude-sonnet-4-5:il2", "claude-sonnet-4-5:il5"]) {
    for (const stream of [false, true]) {
      for (const [directive, status, type, retryAfter] of cloudStatuses) {
        it(`${model}${stream ? ", streamed" : ""}: ${directive} is ${status}`, async () => {
          const got = await create(message(model, `[sandbox: status=${directive}]`, { stream }))
          refused(got, status, type, /./)
          assert.strictEqual(got.headers.get("retry-after"), retryAfter)
          assert.notMatch(got.text, /sandbox-project|us-gov\.anthropic|20250929|arn:/)
        })
      }
    }

    it(`${model}: passes on what the model's API says is wrong`, async () => {
      for (const name of ["temperature", "top_p", "top_k"]) {
        const got = await create(message(model, "hi", { [name]: -1 }))
        refused(got, 400, "invalid_request_error", new RegExp(name))
        assert.strictEqual(got.headers.get("x-gateway-served-level"), model.split(":")[1])
      }
    })
  }
})

describe("a reply", () => {
  for (const [model, servedBy] of [
    ["claude-sonnet-4-5:il2", "sandbox-vertex/us-east5"],
    ["claude-sonnet-4-5:fedramp-high", "sandbox-vertex/us-east5"],
    ["claude-sonnet-4-5:il4", "sandbox-bedrock/us-gov-west-1"],
    ["claude-sonnet-4-5:il5", "sandbox-bedrock/us-gov-west-1"],
    ["claude-sonnet-4-5:itar", "sandbox-bedrock/us-gov-west-1"],
    ["claude-sonnet-4-5:fedramp-high+itar", "sandbox-bedrock/us-gov-west-1"],
    ["claude-opus-4-7:il2", "sandbox-vertex/us-east5"]
  ] as const) {
    const base = model.slice(0, model.lastIndexOf(":"))
    const level = model.slice(base.length + 1)

    it(`${model}: JSON, with the base model and the headers`, async () => {
      const got = await create(message(model, "What is a fjord?"))
      assert.strictEqual(got.status, 200)
      assert.strictEqual(got.json.type, "message")
      assert.strictEqual(got.json.role, "assistant")
      assert.strictEqual(got.json.model, base)
      assert.strictEqual(got.json.stop_reason, "end_turn")
      assert.isAbove(got.json.usage.input_tokens, 0)
      assert.notProperty(got.json, "x_gateway_governance")
      assert.strictEqual(got.headers.get("x-gateway-served-model"), base)
      assert.strictEqual(got.headers.get("x-gateway-served-by"), servedBy)
      assert.strictEqual(got.headers.get("x-gateway-served-level"), level)
      assert.isNull(got.headers.get("x-gateway-thinking-adjusted"))
      assert.match(got.headers.get("x-request-id") ?? "", uuid)
      assert.strictEqual(got.headers.get("request-id"), got.headers.get("x-request-id"))
      assert.match(got.headers.get("link") ?? "", /rel="terms-of-service"/)
    })

    it(`${model}: a stream that says the same`, async () => {
      const whole = await create(message(model, "What is a fjord?"))
      const got = await create(message(model, "What is a fjord?", { stream: true }))
      assert.strictEqual(got.status, 200)
      assert.match(got.headers.get("content-type") ?? "", /^text\/event-stream/)
      assert.strictEqual(got.headers.get("x-gateway-served-model"), base)
      assert.strictEqual(got.headers.get("x-gateway-served-by"), servedBy)
      assert.match(got.headers.get("x-request-id") ?? "", uuid)
      const events = eventsIn(got.text)
      for (const event of events) assert.strictEqual(event.event, event.json.type)
      assert.strictEqual(events[0]?.json.message.model, base)
      assert.strictEqual(events.map(({ json }) => json.delta?.text ?? "").join(""), whole.json.content[0].text)
      assert.deepStrictEqual(events.at(-1)?.json, { type: "message_stop" })
      assert.strictEqual(events.at(-2)?.json.usage.output_tokens, whole.json.usage.output_tokens)
    })
  }

  it("has an ID of its own, whatever the caller's says", async () => {
    const got = await create(message("claude-sonnet-4-5:il5"), { "x-request-id": "mine" })
    const again = await create(message("claude-sonnet-4-5:il5"))
    assert.match(got.headers.get("x-request-id") ?? "", uuid)
    assert.notStrictEqual(got.headers.get("x-request-id"), again.headers.get("x-request-id"))
  })

  it("carries no metrics of the cloud", async () => {
    const got = await create(message("claude-sonnet-4-5:il5", "hi", { stream: true }))
    assert.notMatch(got.text, /amazon/)
  })
})

describe("what passes through", () => {
  const extra = {
    system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }],
    top_k: 40,
    temperature: 0.1,
    stop_sequences: ["STOP", "\n\u2028END"],
    metadata: { user_id: "u-1" },
    tools: [
      { name: "get_weather", description: "Weather", input_schema: { type: "object", properties: { city: {} } } }
    ],
    tool_choice: { type: "auto" }
  }
  for (const [model, version] of [
    ["claude-sonnet-4-5:il2", "vertex-2023-10-16"],
    ["claude-sonnet-4-5:il5", "bedrock-2023-05-31"]
  ] as const) {
    it(`${model}: everything else, untouched`, async () => {
      const given = message(model, [{ type: "text", text: "häi \ud83d\ude00" }], extra)
      assert.strictEqual((await create(given)).status, 200)
      const { model: _, ...rest } = given
      assert.deepStrictEqual(sent(), { ...rest, anthropic_version: version })
    })

    it(`${model}: its version is the gateway's, unless the body says another`, async () => {
      await create(message(model), { "anthropic-version": "2023-06-01", "vendor-version": "2023-06-01" })
      assert.strictEqual(sent().anthropic_version, version)
      await create(message(model, "hi", { anthropic_version: "2026-10-21" }))
      assert.strictEqual(sent().anthropic_version, "2026-10-21")
      const both = { vendor_version: "2026-10-21", anthropic_version: "2023-06-01" }
      const got = await create(message(model, "hi", both))
      assert.strictEqual(got.headers.get("x-gateway-adjusted"), "vendor_version:removed")
      await create(message(model, "hi", { vendor_version: "2026-10-21" }))
      assert.strictEqual(sent().anthropic_version, "2026-10-21")
      assert.notProperty(sent(), "vendor_version")
    })
  }

  it("betas, but no more than a request needs", async () => {
    const base = message("claude-sonnet-4-5:il5")
    for (const anthropic_beta of ["b".repeat(16_384), ["b".repeat(8_192), "b".repeat(8_191)], "b,".repeat(8_000)]) {
      assert.strictEqual((await create({ ...base, anthropic_beta })).status, 200)
    }
    for (const anthropic_beta of ["b,".repeat(9000), ["b,".repeat(9000)], Array.from({ length: 9000 }, () => "b")]) {
      const got = await create({ ...base, anthropic_beta })
      refused(got, 400, "invalid_request_error", /^anthropic_beta: at most 16,384 characters$/)
    }
  })

  it("the exact form of an adaptive request", async () => {
    const thinking = { type: "adaptive", display: "summarized" }
    const output_config = { effort: "high" }
    for (const model of ["claude-opus-4-7:il2", "claude-opus-4-7:il5", "claude-opus-4-8:il2", "claude-opus-5:itar"]) {
      const got = await create(message(model, "hi", { thinking, output_config }))
      assert.strictEqual(got.status, 200, got.text)
      assert.isNull(got.headers.get("x-gateway-thinking-adjusted"))
      assert.deepStrictEqual(sent().thinking, thinking)
      assert.deepStrictEqual(sent().output_config, output_config)
    }
  })

  it("words and formats that the vendor may add: its API judges them", async () => {
    const marked = (cache_control: object) => ({ system: [{ type: "text", text: "Be brief.", cache_control }] })
    for (const [fields, text] of [
      [{ output_config: { effort: "huge" } }, /effort/],
      [{ output_config: { format: { type: "yaml" } } }, /format/],
      [marked({ type: "ephemeral", ttl: "1d" }), /ttl/],
      [marked({ type: "lasting" }), /cache_control/]
    ] as const) {
      refused(await create(message("claude-opus-4-7:il2", "hi", fields)), 400, "invalid_request_error", text)
      assert.deepInclude(sent(), fields)
    }
  })

  it("tool turns and thinking blocks, byte for byte", async () => {
    const tools = extra.tools
    const first = await create(
      message("claude-sonnet-4-5:il5", 'Look. [sandbox: tool=get_weather args={"city":"Oslo"}]', {
        tools,
        thinking: { type: "enabled", budget_tokens: 1024 }
      })
    )
    assert.strictEqual(first.json.stop_reason, "tool_use", first.text)
    const call = first.json.content.at(-1)
    const messages = [
      { role: "user", content: "Look." },
      { role: "assistant", content: first.json.content },
      { role: "user", content: [{ type: "tool_result", tool_use_id: call.id, content: "rain" }] }
    ]
    const second = await create({
      ...message("claude-sonnet-4-5:il5", "", { tools, thinking: { type: "enabled", budget_tokens: 1024 } }),
      messages
    })
    assert.strictEqual(second.status, 200, second.text)
    assert.match(second.json.content.at(-1).text, /rain/)
    assert.deepStrictEqual(sent().messages, messages)
  })
})

describe("URL sources", () => {
  const source = { type: "url", url: "https://example.com/cat.png" }
  const image = { type: "image", source }
  for (const [name, content, path] of [
    ["an image", [{ type: "text", text: "see" }, image], /^messages\.0\.content\.1\.source: /],
    ["a document", [{ type: "document", source }], /^messages\.0\.content\.0\.source: /],
    ["inside a tool result", [{ type: "tool_result", tool_use_id: "t", content: [image] }], /content\.0\.content\.0/],
    [
      "inside a document's content",
      [{ type: "document", source: { type: "content", content: [image] } }],
      /content\.0\.source\.content\.0/
    ]
  ] as const) {
    for (const path_ of ["/v1/messages", "/v1/messages/count_tokens"]) {
      it(`400 for ${name} on ${path_}`, async () => {
        const before = gateway.calls().length
        const got = await post(`${gateway.url}${path_}`, message("claude-sonnet-4-5:il5", content))
        refused(got, 400, "invalid_request_error", /URL/)
        assert.match(got.json.error.message, path)
        assert.strictEqual(gateway.calls().length, before)
      })
    }
  }

  it("passes data that only looks like a source", async () => {
    const input = { content: [image], source }
    const messages = [
      { role: "user", content: "Look." },
      { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "get", input }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "ok" }] }
    ]
    const got = await create({ ...message("claude-sonnet-4-5:il5"), messages })
    assert.strictEqual(got.status, 200, got.text)
    assert.deepStrictEqual(sent().messages, messages)
  })

  it("400 for a file source, which names data outside the request", async () => {
    const got = await create(
      message("claude-sonnet-4-5:il5", [{ type: "image", source: { type: "file", file_id: "file_1" } }])
    )
    assert.strictEqual(got.status, 400)
  })
})

describe("a conversation that the server would hold", () => {
  for (const path of ["/v1/messages", "/v1/messages/count_tokens"]) {
    it(`is refused on ${path} with the vendor's own code, at which its clients send all of it`, async () => {
      for (const thread of [{ type: "create" }, { type: "continue", previous_message_id: "msg_1" }]) {
        const before = gateway.calls().length
        const got = await post(`${gateway.url}${path}`, message("claude-sonnet-4-5:il5", "hi", { thread }))
        refused(got, 400, "invalid_request_error", /^thread/)
        assert.deepStrictEqual(got.json.error.details, {
          error_code: "thread_unsupported_request",
          unsupported: ["thread"]
        })
        assert.strictEqual(gateway.calls().length, before)
      }
    })
  }
  it("is none where the field is null", async () => {
    assert.strictEqual((await create(message("claude-sonnet-4-5:il5", "hi", { thread: null }))).status, 200)
    assert.notProperty(sent(), "thread")
  })
})

describe("a cloud that is not configured", () => {
  it("has no models", async () => {
    const { VERTEX_PROJECT: _, ...clouds } = cloudsAt("http://127.0.0.1:1")
    const without = await startGateway({ settings: clouds })
    try {
      const got = await post(`${without.url}/v1/messages`, message("claude-sonnet-4-5:il2"))
      refused(got, 400, "invalid_request_error", /claude-sonnet-4-5/)
      assert.notMatch(got.json.error.message, /claude-sonnet-4-5:il2\b.*would work/)
    } finally {
      await without.stop()
    }
  })
})
