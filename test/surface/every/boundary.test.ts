/** Requests that would reach outside the boundary are refused before anything goes upstream, and what is left out is named. */
import { assert, describe, it } from "@effect/vitest"
import { GatewayError, type Reason } from "../../../src/catalog/GatewayError.ts"
import { errorHeaders } from "../../../src/surfaces/errorResponse.ts"
import { chat, functionTool } from "../../support/chat.ts"
import { message } from "../../support/claude.ts"
import { eventsIn, post } from "../../support/http.ts"
import { ask, toolWith, weather } from "../../support/responses.ts"
import { sharedGateway } from "../../support/shared.ts"

const gateway = sharedGateway()

const send = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  post(gateway.url + path, body, headers)
const sent = () => JSON.parse(gateway.calls().at(-1)?.body ?? "null")

const refused = async (path: string, body: unknown, text: RegExp) => {
  const before = gateway.calls().length
  const got = await send(path, body)
  assert.strictEqual(got.status, 400, got.text)
  assert.strictEqual(got.json.error.type, "invalid_request_error")
  assert.match(got.json.error.message, text)
  assert.strictEqual(got.headers.get("x-should-retry"), "false")
  assert.strictEqual(gateway.calls().length, before, "nothing goes upstream")
}

const url = "https://example.com/a.png"
const outside = { type: "url", url }

describe("messages", () => {
  const claude = "claude-sonnet-4-5:il5"
  const cases: ReadonlyArray<readonly [name: string, extra: Readonly<Record<string, unknown>>, text: RegExp]> = [
    [
      "web search",
      { tools: [{ type: "web_search_20250305", name: "web_search" }] },
      /tools\.0 is "web_search_20250305"/
    ],
    [
      "web fetch",
      { tools: [{ type: "web_fetch_20250910", name: "web_fetch" }] },
      /"web_fetch_20250910" \("web_fetch"\)/
    ],
    ["code execution", { tools: [{ type: "code_execution_20250825", name: "code_execution" }] }, /code_execution/],
    ["MCP tools", { tools: [{ type: "mcp_toolset", mcp_server_name: "a" }] }, /mcp_toolset/],
    ["MCP servers", { mcp_servers: [{ type: "url", url: "https://mcp.example", name: "a" }] }, /mcp_servers/],
    ["a container", { container: "container_1" }, /container/],
    ["an image in the system text", { system: [{ type: "image", source: outside }] }, /^system\.0\.type: must be text/],
    [
      "content that is an object",
      { messages: [{ role: "user", content: { type: "image", source: outside } }] },
      /^messages\.0\.content: must be a string or an array/
    ],
    [
      "a source without a type",
      { messages: [{ role: "user", content: [{ type: "image", source: { url } }] }] },
      /source/
    ],
    [
      "a type in capitals",
      { messages: [{ role: "user", content: [{ type: "image", source: { type: "URL", url } }] }] },
      /source/
    ],
    [
      "S3",
      { messages: [{ role: "user", content: [{ type: "document", source: { type: "s3", uri: "s3://a/b" } }] }] },
      /source/
    ],
    [
      "Google's storage",
      { messages: [{ role: "user", content: [{ type: "image", source: { type: "gcs", uri: "gs://a" } }] }] },
      /source/
    ],
    [
      "a stored file",
      { messages: [{ role: "user", content: [{ type: "image", source: { type: "file", file_id: "f" } }] }] },
      /source/
    ]
  ]
  for (const path of ["/v1/messages", "/v1/messages/count_tokens"]) {
    for (const [name, extra, text] of cases) {
      it(`${path}: ${name}`, () => refused(path, message(claude, "hi", extra), text))
    }
  }

  it("tools that the caller executes pass, as they are", async () => {
    const tools = [
      { name: "get_weather", input_schema: { type: "object", properties: { image_url: { type: "string" } } } },
      { type: "custom", name: "get_source", input_schema: { type: "object", properties: { source: {} } } },
      { type: "bash_20250124", name: "bash" },
      { type: "text_editor_20250728", name: "str_replace_based_edit_tool" },
      { type: "computer_20250124", name: "computer", display_width_px: 800, display_height_px: 600 },
      { type: "memory_20250818", name: "memory" },
      // A toolset has no name of its own.
      { type: "browser_toolset_20260801", configs: { file_upload: { enabled: false } } },
      { type: "computer_toolset_20260801" },
      { type: "tool_search_tool_regex_20251119", name: "tool_search_tool_regex" }
    ]
    const got = await send("/v1/messages", message(claude, "hi", { tools }))
    assert.strictEqual(got.status, 200, got.text)
    assert.deepStrictEqual(sent().tools, tools)
    const betas = ["computer-use-2025-01-24", "context-management-2025-06-27", "tool-search-tool-2025-10-19"]
    assert.strictEqual(
      got.headers.get("x-gateway-adjusted"),
      betas.map((beta) => `anthropic-beta:unset->${beta}`).join(", ")
    )
  })

  it("what the caller's browser shows passes, as it is", async () => {
    const state = {
      type: "browser_state",
      tabs: [{ tab_id: "1", title: "A", url, active: true }],
      state_changes: [
        { type: "tab_opened", tab_id: "1" },
        { type: "download_started", download_id: "d", url }
      ]
    }
    const turns = (content: object) => [
      { role: "user", content: "hi" },
      {
        role: "assistant",
        content: [{ type: "tool_use", id: "t", name: "navigate", input: {}, toolset_name: "browser" }]
      },
      {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: "t", toolset_name: "browser", content: [content] }]
      }
    ]
    const tools = [{ type: "browser_toolset_20260801" }]
    const got = await send("/v1/messages", message(claude, "hi", { tools, messages: turns(state) }))
    assert.strictEqual(got.status, 200, got.text)
    assert.deepStrictEqual(sent().messages, turns(state))
    const image = { ...state, image_url: url }
    await refused("/v1/messages", message(claude, "hi", { tools, messages: turns(image) }), /content\.0\.image_url/)
  })
})

describe("responses", () => {
  const path = "/v1/responses"
  const inItem = (value: object) => ask([{ role: "user", content: "hi" }, value])
  const cases: ReadonlyArray<readonly [name: string, body: unknown, text: RegExp]> = [
    ["a stored prompt", ask("hi", { prompt: { id: "pmpt_1" } }), /^prompt: .*nothing is stored/],
    [
      "its variables",
      ask("hi", { prompt: { id: "p", variables: { a: { type: "input_image", image_url: url } } } }),
      /^prompt/
    ],
    ["an image as an item", inItem({ type: "input_image", image_url: url }), /^input\[1\]\.image_url/],
    ["a file as an item", inItem({ type: "input_file", file_url: url }), /^input\[1\]\.file_url/],
    ["a URL as a file's data", ask([{ role: "user", content: [{ type: "input_file", file_data: url }] }]), /file_data/],
    ["a video", ask([{ role: "user", content: [{ type: "input_video", video_url: url }] }]), /video_url/],
    [
      "content of a tool's output",
      inItem({
        type: "function_call_output",
        call_id: "c",
        output: [{ type: "message", content: [{ image_url: url }] }]
      }),
      /^input\[1\]\.output\[0\]\.content\[0\]\.image_url/
    ],
    [
      "instructions as a list",
      ask("hi", { instructions: [{ role: "user", content: [{ image_url: url }] }] }),
      /^instructions: must be a string/
    ],
    [
      "tools in instructions",
      ask("hi", { instructions: [{ type: "additional_tools", tools: [toolWith("webhook_url")] }] }),
      /^instructions: must be a string/
    ],
    ["a long cache", ask("hi", { prompt_cache_retention: "24h" }), /^prompt_cache_retention: .*nothing is stored/],
    ["a hosted shell", ask("hi", { tools: [{ type: "shell", environment: { type: "container_auto" } }] }), /"shell"/],
    ["a search that may reach the web", ask("hi", { tools: [{ type: "web_search" }] }), /"web_search"/],
    [
      "a choice with a hosted tool",
      ask("hi", { tools: [weather], tool_choice: { type: "mcp", server_label: "a" } }),
      /^tool_choice/
    ],
    [
      "a listed name in a namespace",
      ask("hi", { tools: [{ type: "namespace", name: "a", tools: [toolWith("webhook_url")] }] }),
      /'probe'.*'webhook_url'/
    ]
  ]
  for (const [name, body, text] of cases) it(name, () => refused(path, body, text))

  it("a cache in memory passes", async () => {
    const got = await send(path, ask("hi", { prompt_cache_retention: "in_memory" }))
    assert.strictEqual(got.status, 200, got.text)
    assert.strictEqual(sent().prompt_cache_retention, "in_memory")
  })

  for (const stream of [false, true]) {
    it(`a search that must not reach the web is left out and named${stream ? ", streamed" : ""}`, async () => {
      const search = { type: "web_search", external_web_access: false }
      const got = await send(path, ask("hi", { tools: [search, weather], stream }))
      assert.strictEqual(got.status, 200, got.text)
      assert.strictEqual(got.headers.get("x-gateway-adjusted"), "web_search:removed")
      assert.deepStrictEqual(sent().tools, [weather])
      const forced = await send(path, ask("hi", { tools: [search], tool_choice: "required", stream }))
      assert.strictEqual(forced.headers.get("x-gateway-adjusted"), "web_search:removed, tool_choice:removed")
      assert.notProperty(sent(), "tools")
      assert.notProperty(sent(), "tool_choice")
    })
  }

  it("what the screen has not read does not leave", async () => {
    const given = { ...weather, returns: toolWith("webhook_url").parameters }
    const choice = { type: "function", name: "get_weather", parameters: toolWith("webhook_url").parameters }
    const got = await send(path, ask("hi", { tools: [given], tool_choice: choice }))
    assert.strictEqual(got.status, 200, got.text)
    const named = "tools.function.returns:removed, tool_choice.parameters:removed"
    assert.strictEqual(got.headers.get("x-gateway-adjusted"), named)
    assert.deepStrictEqual(sent().tools, [weather])
    assert.deepStrictEqual(sent().tool_choice, { type: "function", name: "get_weather" })
  })

  it("a namespace: its tools are called by their names, and its own name goes back and forth", async () => {
    const tools = [{ type: "namespace", name: "mcp__city", description: "City", tools: [weather] }]
    const question = { role: "user", content: 'Weather? [sandbox: tool=get_weather args={"city":"https://a.example"}]' }
    const first = await send(path, ask([question], { tools }))
    assert.strictEqual(first.status, 200, first.text)
    const call = first.json.output.at(-1)
    assert.strictEqual(call.namespace, "mcp__city")
    assert.deepStrictEqual(first.json.x_gateway_governance.flags[0].destinations, ["https://a.example"])
    assert.deepStrictEqual(sent().tools, tools)
    const result = { type: "function_call_output", call_id: call.call_id, output: "12 degrees" }
    const second = await send(path, ask([question, call, result], { tools }))
    assert.strictEqual(second.status, 200, second.text)
    assert.strictEqual(sent().input[1].namespace, "mcp__city")
  })

  const locals = [
    [{ type: "local_shell" }, "local_shell", { command: ["curl", "https://a.example"] }, "action"],
    [{ type: "shell", environment: { type: "local" } }, "shell", { commands: ["curl https://a.example"] }, "action"],
    [{ type: "apply_patch" }, "apply_patch", { type: "update_file", diff: "+https://a.example" }, "operation"]
  ] as const
  for (const [tool, name, args, field] of locals) {
    for (const stream of [false, true]) {
      it(`${name}: its calls are flagged, and its results go back${stream ? ", streamed" : ""}`, async () => {
        const question = { role: "user", content: `Go [sandbox: tool=${name} args=${JSON.stringify(args)}]` }
        const first = await send(path, ask([question], { tools: [tool], stream }))
        assert.strictEqual(first.status, 200, first.text)
        const response = stream ? eventsIn(first.text).at(-1)?.json.response : first.json
        const call = response.output.at(-1)
        assert.strictEqual(call.type, `${name}_call`)
        assert.deepStrictEqual(call[field], args)
        assert.deepStrictEqual(
          response.x_gateway_governance.flags.map((flag: Record<string, unknown>) => [
            flag.tool_call_id,
            flag.tool_name
          ]),
          [[call.call_id, name]]
        )
        const result = { type: `${name}_call_output`, call_id: call.call_id, output: "done" }
        const second = await send(path, ask([question, call, result], { tools: [tool], stream }))
        assert.strictEqual(second.status, 200, second.text)
      })
    }
  }
})

describe("chat", () => {
  const path = "/v1/chat/completions"
  const forbidden = { type: "object", properties: { webhook_url: { type: "string" } } }

  for (const model of ["gpt-5.1:il5", "claude-sonnet-4-5:il5", "gemini-3-flash:il2"]) {
    it(`${model}: a long cache`, () =>
      refused(
        path,
        chat(model, "hi", { prompt_cache_retention: "24h" }),
        /^prompt_cache_retention: .*nothing is stored/
      ))
    it(`${model}: a URL in a field that is not known`, () =>
      refused(path, chat(model, "hi", { prediction: { content: [{ image_url: { url } }] } }), /^prediction\.content/))
  }

  for (const model of ["claude-sonnet-4-5:il5", "claude-sonnet-4-5:il2", "claude-opus-4-7:il5"]) {
    const thinking = { type: "thinking", thinking: "a", signature: "b" }
    const image = { type: "image", source: outside }
    const places: ReadonlyArray<readonly [where: string, anthropic: object]> = [
      ["thinking_blocks[0].source", { thinking_blocks: [{ ...thinking, source: outside }] }],
      ["thinking_blocks[0].content[0].source", { thinking_blocks: [{ ...thinking, content: [image] }] }],
      ["order[0].source", { order: [{ type: "text", length: 2, source: outside }] }],
      [
        "order[1].content[0].source",
        {
          order: [
            { type: "text", length: 2 },
            { type: "tool_use", id: "c", content: [image] }
          ]
        }
      ]
    ]
    it(`${model}: a URL in what comes back with an answer`, async () => {
      const calls = [{ id: "c", type: "function", function: { name: "f", arguments: '{"url":"https://example.com"}' } }]
      for (const [where, anthropic] of places) {
        const place = `extra_content.anthropic.${where}: must hold the data inline`.replace(/[.[\]]/g, "\\$&")
        for (const [at, answer] of [
          ["", { role: "assistant", content: "ok", tool_calls: calls, extra_content: { anthropic } }],
          ["tool_calls\\[0\\]\\.", { role: "assistant", tool_calls: [{ ...calls[0], extra_content: { anthropic } }] }]
        ] as const) {
          const messages = [{ role: "user", content: "hi" }, answer, { role: "tool", tool_call_id: "c", content: "r" }]
          await refused(path, { model, messages }, new RegExp(`^messages\\[1\\]\\.${at}${place}`))
        }
      }
    })
  }

  for (const model of ["gpt-5.1:il5", "gpt-oss-120b:il5"]) {
    it(`${model}: a URL in the format of an answer, and not in its schema`, async () => {
      const schema = { type: "object", properties: { url: { type: "string" }, source: { type: "string" } } }
      const json_schema = { name: "a", schema }
      const format = { type: "json_schema", json_schema }
      for (const [where, response_format] of [
        ["image_url", { type: "text", image_url: { url } }],
        ["json_schema\\.file_url", { ...format, json_schema: { ...json_schema, file_url: url } }]
      ] as const) {
        await refused(path, chat(model, "hi", { response_format }), new RegExp(`^response_format\\.${where}: `))
      }
      assert.strictEqual((await send(path, chat(model, "hi", { response_format: format }))).status, 200)
    })
  }

  it("a cache in memory passes", async () => {
    const got = await send(path, chat("gpt-5.1:il5", "hi", { prompt_cache_retention: "in_memory" }))
    assert.strictEqual(got.status, 200, got.text)
  })

  for (const model of ["gpt-5.1:il5", "gpt-oss-120b:il5", "claude-sonnet-4-5:il5", "gemini-3-flash:il2"]) {
    it(`${model}: of tools and the choice only what is known leaves`, async () => {
      const known = functionTool("f", { type: "object", properties: { city: { type: "string" } } })
      const extra = { parameters: forbidden, input_schema: forbidden, returns: forbidden }
      const tools = [
        { ...known, ...extra, function: { ...known.function, ...extra, parameters: known.function.parameters } }
      ]
      const tool_choice = { type: "function", ...extra, function: { name: "f", ...extra } }
      const got = await send(path, chat(model, "hi", { tools, tool_choice }))
      assert.strictEqual(got.status, 200, got.text)
      assert.notInclude(gateway.calls().at(-1)?.body ?? "webhook_url", "webhook_url")
    })
  }
})

describe("whether to try again", () => {
  const rows: ReadonlyArray<readonly [Reason, string]> = [
    ["invalid", "false"],
    ["unauthenticated", "false"],
    ["forbidden", "false"],
    ["not-found", "false"],
    ["method", "false"],
    ["timeout-caller", "true"],
    ["too-large", "false"],
    ["media-type", "false"],
    ["rate-limit", "true"],
    ["quota", "false"],
    ["internal", "false"],
    ["upstream", "true"],
    ["overloaded", "true"],
    ["timeout", "true"]
  ]
  it.each(rows)("%s: %s", (reason, retry) => {
    assert.strictEqual(errorHeaders(new GatewayError({ reason, message: "" }))["x-should-retry"], retry)
  })
  it("a month that ends soon, or tokens that are only held, are worth waiting for", () => {
    const headers = (retryAfter: number) => errorHeaders(new GatewayError({ reason: "quota", message: "", retryAfter }))
    assert.strictEqual(headers(60)["x-should-retry"], "true")
    assert.strictEqual(headers(61)["x-should-retry"], "false")
  })

  const claude = "claude-sonnet-4-5:il5"
  for (const [path, body] of [
    ["/v1/messages", (text: string, extra = {}) => message(claude, text, extra)],
    ["/v1/chat/completions", (text: string, extra = {}) => chat(claude, text, extra)],
    ["/v1/responses", ask]
  ] as const) {
    for (const [status, retry] of [
      ["429", "true"],
      ["500", "true"],
      // The operator's credentials or deployment, which the cloud refuses again.
      ["401", "false"],
      ["403", "false"],
      ["404", "false"],
      ["400", "false"]
    ] as const) {
      for (const stream of [false, true]) {
        it(`${path}: the cloud's ${status}${stream ? ", streamed" : ""}`, async () => {
          const got = await send(path, body(`[sandbox: status=${status}]`, { stream }))
          assert.strictEqual(got.headers.get("x-should-retry"), retry)
        })
      }
    }
    it(`${path}: not without a key, and never with a reply`, async () => {
      assert.strictEqual((await send(path, body("hi"), { "x-api-key": "no" })).headers.get("x-should-retry"), "false")
      assert.isNull((await send(path, body("hi"))).headers.get("x-should-retry"))
    })
  }

  it("not what does not exist", async () => {
    assert.strictEqual((await send("/v1/files", {})).headers.get("x-should-retry"), "false")
  })
})

describe("a key in the wrong header", () => {
  for (const path of ["/v1/messages", "/v1/chat/completions", "/v1/responses"]) {
    it(`${path}: is told the right one`, async () => {
      const bearer = await send(path, "{", { "x-api-key": "", authorization: "Bearer sandbox-key" })
      assert.strictEqual(bearer.status, path === "/v1/messages" ? 401 : 403)
      for (const way of ['default_headers={"X-Api-Key": ', 'WithHeader("x-api-key", ', 'putHeader("x-api-key", '])
        assert.include(bearer.json.error.message, way)
      assert.notInclude(bearer.text, "sandbox-key")
      for (const headers of [{ "x-api-key": "" }, { "x-api-key": "no", authorization: "Bearer sandbox-key" }]) {
        assert.notInclude((await send(path, "{", headers)).json.error.message, "default_headers")
      }
    })
  }
})
