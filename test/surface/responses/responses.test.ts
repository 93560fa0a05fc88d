/** What a responses request is refused for, and what of it goes upstream (docs/api.md#responses). */
import { assert, describe, it } from "@effect/vitest"
import { forbiddenNames } from "../../../src/governance/forbiddenNames.ts"
import { refused } from "../../support/chat.ts"
import { post } from "../../support/http.ts"
import { ask, toolWith, weather } from "../../support/responses.ts"
import { sharedGateway } from "../../support/shared.ts"

const gateway = sharedGateway()

const create = (body: unknown, headers: Record<string, string> = {}) =>
  post(`${gateway.url}/v1/responses`, body, headers)
const sentText = () => gateway.calls().at(-1)?.body ?? "null"
const sent = () => JSON.parse(sentText())

const user = (...content: ReadonlyArray<unknown>) => [{ role: "user", content }]
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
const call = { type: "function_call", call_id: "call_1", name: "get_weather", arguments: '{"city":"Bonn"}' }
const output = { type: "function_call_output", call_id: "call_1", output: "12 degrees" }

describe("refused with 400, and nothing goes upstream", () => {
  const cases: ReadonlyArray<readonly [name: string, body: unknown, text: RegExp]> = [
    ["no JSON", "{", /not valid JSON/],
    ["an array", [], /request body/],
    ["no model", { input: "hi" }, /model/],
    ["model null", ask("hi", { model: null }), /model/],
    ["model empty", ask("hi", { model: "" }), /model/],
    ["a bare model", ask("hi", { model: "gpt-5.1" }), /gpt-5\.1:il5/],
    ["an unknown model", ask("hi", { model: "gpt-9:il5" }), /gpt-9/],
    ["an unknown level", ask("hi", { model: "gpt-5.1:il9" }), /il9/],
    ["a level above the authorized one", ask("hi", { model: "gpt-5.1:itar" }), /gpt-5\.1:il5/],
    ["a level twice", ask("hi", { model: "gpt-5.1:il5+itar+itar" }), /gpt-5\.1:il5/],
    ["a trailing space", ask("hi", { model: "gpt-5.1:il5 " }), /gpt-5\.1:il5/],
    ["a messages-format model", ask("hi", { model: "claude-sonnet-4-5:il5" }), /\/v1\/messages/],
    ["a Google-family model", ask("hi", { model: "gemini-3-flash:il2" }), /\/v1\/chat\/completions/],
    ["the GPT-class model of another cloud", ask("hi", { model: "gpt-5.6-terra:il5" }), /\/v1\/chat\/completions/],
    ["the open-weight GPT-class model", ask("hi", { model: "gpt-oss-120b:il5" }), /\/v1\/chat\/completions/],
    ["an embedding model", ask("hi", { model: "titan-embed-text-v2:il5" }), /\/v1\/embeddings/],
    ["no input", { model: "gpt-5.1:il5" }, /input/],
    ["input null", ask(null), /input/],
    ["input a number", ask(7), /input/],
    ["input items that are no objects", ask(["hi"]), /input/],
    ["tools that are no list", ask("hi", { tools: {} }), /tools/],
    ["stream a string", ask("hi", { stream: "true" }), /stream/],
    ["store true", ask("hi", { store: true }), /store/],
    ["store of another kind", ask("hi", { store: "yes" }), /store/],
    ["previous_response_id", ask("hi", { previous_response_id: "resp_1" }), /previous_response_id.*full input/],
    ["previous_response_id empty", ask("hi", { previous_response_id: "" }), /previous_response_id/],
    ["background", ask("hi", { background: true }), /background/],
    ["a conversation", ask("hi", { conversation: "conv_1" }), /conversation/],
    ["a conversation object", ask("hi", { conversation: { id: "conv_1" } }), /conversation/],
    ["an item by reference", ask([{ type: "item_reference", id: "msg_1" }]), /input\[0\].*send the item itself/],
    [
      "an image by URL",
      ask(user({ type: "input_image", image_url: "https://example.com/a.png" })),
      /input\[0\]\.content\[0\]\.image_url.*data URI/
    ],
    ["an image by file: URL", ask(user({ type: "input_image", image_url: "file:///etc/passwd" })), /image_url/],
    ["an image by gs: URL", ask(user({ type: "input_image", image_url: "gs://bucket/a.png" })), /image_url/],
    ["an image URL with a leading space", ask(user({ type: "input_image", image_url: " data:a" })), /image_url/],
    ["an image URL in an object", ask(user({ type: "input_image", image_url: { url: "https://a.b/c" } })), /image_url/],
    ["an image by ID", ask(user({ type: "input_image", file_id: "file_1" })), /file_id/],
    [
      "a file by URL",
      ask(user({ type: "input_file", file_url: "https://example.com/a.pdf" })),
      /content\[0\]\.file_url.*file_data/
    ],
    ["a file by ID", ask(user({ type: "input_file", file_id: "file_1" })), /file_id/],
    [
      "an image URL in a tool's output",
      ask([call, { ...output, output: [{ type: "input_image", image_url: "https://example.com/a.png" }] }]),
      /input\[1\]\.output\[0\]\.image_url/
    ],
    [
      "an image URL in an output that is an object",
      ask([
        {
          type: "computer_call_output",
          call_id: "c",
          output: { type: "computer_screenshot", image_url: "https://a.b" }
        }
      ]),
      /input\[0\]\.output\.image_url/
    ]
  ]
  for (const [name, body, text] of cases) {
    it(name, async () => {
      const before = gateway.calls().length
      refused(await create(body), 400, "invalid_request_error", text)
      assert.strictEqual(gateway.calls().length, before)
    })
  }

  const types = [
    ...["web_search", "web_search_preview", "file_search", "code_interpreter", "computer_use_preview", "mcp"],
    ...["image_generation", "computer", "shell", "tool_search", "Function", ""]
  ]
  for (const type of types) {
    it(`a tool of type ${JSON.stringify(type)}`, async () => {
      const before = gateway.calls().length
      const got = await create(ask("hi", { tools: [weather, { type, name: "extra" }] }))
      refused(got, 400, "invalid_request_error", /^tools\[1\]\.type: only tools that the caller executes/)
      assert.include(got.json.error.message, `tools[1] is ${JSON.stringify(type)} ("extra")`)
      assert.strictEqual(gateway.calls().length, before)
    })
  }

  it("names every tool that has to go", async () => {
    const inner = [weather, { type: "mcp", name: "wiki" }]
    const tools = [{ type: "namespace", name: "agents", tools: inner }, weather, { type: "web_search" }]
    refused(
      await create(ask("hi", { tools })),
      400,
      "invalid_request_error",
      /tools\[0\]\.tools\[1\] is "mcp" \("wiki"\), tools\[2\] is "web_search"\. Remove them/
    )
  })

  it("tools that come inside an item of the input", async () => {
    const item = { type: "additional_tools", role: "developer", tools: [{ type: "web_search" }] }
    refused(await create(ask([item])), 400, "invalid_request_error", /^input\[0\]\.tools\[0\]\.type.*web_search/)
    const inside = { type: "additional_tools", role: "developer", tools: [toolWith("webhook_url")] }
    refused(await create(ask([inside])), 400, "invalid_request_error", /probe.*webhook_url/)
  })

  for (const name of forbiddenNames) {
    it(`a function tool with a parameter '${name}'`, async () => {
      const before = gateway.calls().length
      const got = await create(ask("hi", { tools: [weather, toolWith(name.toUpperCase())] }))
      refused(got, 400, "invalid_request_error", new RegExp(`'probe'.*'${name.toUpperCase()}'`))
      assert.strictEqual(gateway.calls().length, before)
    })
  }

  it("a search among tools with such a parameter", async () => {
    const { parameters } = toolWith("webhook_url")
    const got = await create(ask("hi", { tools: [{ type: "tool_search", execution: "client", parameters }] }))
    refused(got, 400, "invalid_request_error", /'tool_search'.*'webhook_url'/)
  })

  it("a forbidden name deep in a schema", async () => {
    const parameters = {
      type: "object",
      properties: { list: { type: "array", items: { oneOf: [{ $ref: "#/$defs/a" }, { type: "string" }] } } },
      $defs: { a: { type: "object", properties: { send_to: { type: "string" } } } }
    }
    const tools = [{ type: "function", name: "deep", parameters }]
    refused(await create(ask("hi", { tools })), 400, "invalid_request_error", /'deep'.*'send_to'/)
  })

  it("a tool of the chat format's shape is told apart from a flat one", async () => {
    const { type, ...nested } = weather
    for (const tools of [[{ type, function: nested }], [weather, { type, function: nested }]]) {
      const path = new RegExp(`^tools\\[${tools.length - 1}\\]\\.function: tools are flat here`)
      refused(await create(ask("hi", { tools })), 400, "invalid_request_error", path)
    }
  })

  it("a forbidden name in a tool of the chat format's shape", async () => {
    const { type, name, parameters } = toolWith("callback_url")
    for (const tool of [
      { type, function: { name, parameters } },
      { type, name, function: { parameters } }
    ]) {
      const got = await create(ask("hi", { tools: [tool] }))
      refused(got, 400, "invalid_request_error", /'probe'.*'callback_url'/)
    }
  })

  it("lets the allowed names pass", async () => {
    const tools = ["url", "uri", "endpoint", "host", "hostname"].map((name) => ({ ...toolWith(name), name }))
    assert.strictEqual((await create(ask("hi", { tools }))).status, 200)
  })
})

describe("arguments of a call: N passes, N + 1 does not", () => {
  const withArguments = (text: string) => ask([{ ...call, arguments: text }, output])
  const rows: ReadonlyArray<readonly [string, (n: number) => string, number, RegExp]> = [
    [
      "bytes",
      (n) => `{"city":"${"é".repeat((n - 12) / 2)}${"a".repeat(n % 2)}B"}`,
      2_097_152,
      /: at most 2 MiB of UTF-8 text$/
    ],
    [
      "bytes of a name",
      (n) => `{"a":[{"${"n".repeat(n)}":1}]}`,
      1024,
      /\.a\[0\]: the name of a property is longer than/
    ],
    ["values", (n) => `[1${",1".repeat(n)}]`, 299_900, /\[\d+\]: too many values/]
  ]
  for (const [name, text, limit, words] of rows) {
    it(name, async () => {
      const { json, status } = await create(withArguments(text(limit)))
      // Less may be too long for the model.
      if (json.error?.code !== "context_length_exceeded") assert.strictEqual(status, 200)
      const more = await create(withArguments(text(name === "values" ? 300_001 : limit + 1)))
      refused(more, 400, "invalid_request_error", new RegExp(`^input\\[0\\]\\.arguments${words.source}`))
    })
  }

  it("that are no JSON pass", async () => {
    assert.strictEqual((await create(withArguments('{"city":'))).status, 200)
  })
})

describe("keys, methods, content types", () => {
  it("403 authentication_error without a key, before the body is read", async () => {
    refused(await create("{", { "x-api-key": "" }), 403, "authentication_error", /./)
    refused(await create("{", { "x-api-key": "wrong" }), 403, "authentication_error", /./)
  })
  it("403 also when the key comes as a bearer only", async () => {
    const got = await create(ask(), { "x-api-key": "", authorization: "Bearer sandbox-key" })
    refused(got, 403, "authentication_error", /./)
  })
  it("415 for another content type", async () => {
    refused(await create(ask(), { "content-type": "text/plain" }), 415, "invalid_request_error", /application\/json/)
  })
  it("405 for GET; 404 for the stored responses of OpenAI's API", async () => {
    const got = await fetch(`${gateway.url}/v1/responses`, { headers: { "x-api-key": "sandbox-key" } })
    assert.strictEqual(got.status, 405)
    assert.strictEqual(got.headers.get("allow"), "POST")
    const stored = await fetch(`${gateway.url}/v1/responses/resp_1`, { headers: { "x-api-key": "sandbox-key" } })
    assert.strictEqual(stored.status, 404)
    assert.strictEqual(JSON.parse(await stored.text()).error.type, "not_found_error")
  })
})

describe("what goes upstream", () => {
  it("is sent to the responses API of cloud C with the deployment's name, without storing", async () => {
    const got = await create(ask("hi"))
    assert.strictEqual(got.status, 200, got.text)
    const last = gateway.calls().at(-1)
    assert.strictEqual(last?.path, "/openai/v1/responses")
    assert.deepStrictEqual(sent(), { model: "gpt-5.1", input: "hi", reasoning: { effort: "high" }, store: false })
  })

  it("forwards every listed parameter unchanged", async () => {
    const extra = {
      instructions: "Be brief.",
      tools: [weather],
      tool_choice: { type: "function", name: "get_weather" },
      reasoning: { effort: "low", summary: "auto" },
      max_output_tokens: 4000,
      parallel_tool_calls: false,
      metadata: { team: "a" }
    }
    const got = await create(ask([{ type: "message", role: "user", content: "Bonn?" }], { ...extra, store: false }))
    assert.strictEqual(got.status, 200, got.text)
    const { model, input, store, ...rest } = sent()
    assert.deepStrictEqual(rest, extra)
    assert.strictEqual(store, false)
    assert.deepStrictEqual(input, [{ type: "message", role: "user", content: "Bonn?" }])
  })

  it("forwards words that the vendor may add; the upstream judges them", async () => {
    for (const [fields, text] of [
      [{ reasoning: { effort: "huge" } }, /huge/],
      [{ reasoning: { effort: "low", summary: "short" } }, /short/],
      [{ text: { verbosity: "chatty" } }, /chatty/],
      [{ truncation: "sometimes" }, /sometimes/]
    ] as const) {
      refused(await create(ask("hi", fields)), 400, "invalid_request_error", text)
      assert.deepInclude(sent(), fields)
    }
  })

  it("forwards sampling parameters unchanged; the upstream judges them", async () => {
    const sampling = { temperature: 0.5, top_p: 0.9 }
    const none = await create(ask("hi", { ...sampling, reasoning: { effort: "none" } }))
    assert.strictEqual(none.status, 200, none.text)
    assert.strictEqual(sent().temperature, 0.5)
    assert.strictEqual(sent().top_p, 0.9)
    refused(
      await create(ask("hi", { ...sampling, reasoning: { effort: "low" } })),
      400,
      "invalid_request_error",
      /temperature/
    )
    assert.strictEqual(sent().temperature, 0.5)
    for (const [name, value] of Object.entries({ temperature: 3, top_p: -1, top_logprobs: 21 })) {
      const got = await create(ask("hi", { [name]: value, reasoning: { effort: "none" } }))
      refused(got, 400, "invalid_request_error", new RegExp(name))
      assert.strictEqual(sent()[name], value)
    }
  })

  for (const sampling of [{ temperature: 0 }, { top_p: 0.9 }, { top_logprobs: 2 }]) {
    it(`gives ${Object.keys(sampling)} without reasoning no effort beside it, and says so`, async () => {
      const got = await create(ask("hi", { ...sampling, reasoning: null }))
      assert.strictEqual(got.status, 200, got.text)
      assert.deepStrictEqual(sent(), { model: "gpt-5.1", input: "hi", ...sampling, store: false })
      assert.strictEqual(got.headers.get("x-gateway-adjusted"), "reasoning.effort:high->unset")
      await create(ask("hi", { reasoning: { summary: "auto" }, [Object.keys(sampling)[0] ?? ""]: null }))
      assert.strictEqual(sent().reasoning.effort, "high")
    })
  }

  for (const choice of ["auto", "none", "required"]) {
    it(`tool_choice ${choice}`, async () => {
      const got = await create(ask("Bonn?", { tools: [weather], tool_choice: choice }))
      assert.strictEqual(got.status, 200, got.text)
      assert.strictEqual(sent().tool_choice, choice)
    })
  }

  for (const effort of ["low", "medium", "high"]) {
    it(`effort ${effort}`, async () => {
      assert.strictEqual((await create(ask("hi", { reasoning: { effort } }))).json.reasoning.effort, effort)
      assert.strictEqual(sent().reasoning.effort, effort)
    })
  }

  it("sets the catalog's effort also beside a summary and for null", async () => {
    await create(ask("hi", { reasoning: { summary: "auto" } }))
    assert.deepStrictEqual(sent().reasoning, { summary: "auto", effort: "high" })
    await create(ask("hi", { reasoning: { effort: null } }))
    assert.deepStrictEqual(sent().reasoning, { effort: "high" })
    await create(ask("hi", { reasoning: null }))
    assert.deepStrictEqual(sent().reasoning, { effort: "high" })
  })

  it("takes null and false for what is not wanted", async () => {
    const nothing = { store: null, previous_response_id: null, conversation: null, background: false, tools: null }
    const got = await create(ask("hi", { ...nothing, include: null, stream: null, max_output_tokens: null }))
    assert.strictEqual(got.status, 200, got.text)
    assert.strictEqual(sent().store, false)
    assert.notProperty(sent(), "previous_response_id")
    assert.notProperty(sent(), "conversation")
  })

  it("does not ask for encrypted reasoning, and keeps what else is included", async () => {
    const got = await create(ask("hi", { include: ["reasoning.encrypted_content"] }))
    assert.notProperty(sent(), "include")
    assert.strictEqual(got.headers.get("x-gateway-adjusted"), "include.reasoning.encrypted_content:removed")
    await create(ask("hi", { include: ["reasoning.encrypted_content", "message.output_text.logprobs"] }))
    assert.deepStrictEqual(sent().include, ["message.output_text.logprobs"])
  })

  it("keeps inline images", async () => {
    const image = { type: "input_image", image_url: `data:image/png;base64,${pixel}` }
    const got = await create(ask(user({ type: "input_text", text: "What is it?" }, image)))
    assert.strictEqual(got.status, 200, got.text)
    assert.deepStrictEqual(sent().input[0].content[1], image)
  })

  it("keeps custom tools", async () => {
    const tool = { type: "custom", name: "shell_script", description: "Runs a script" }
    const got = await create(ask('[sandbox: tool=shell_script args={"a":1}]', { tools: [tool] }))
    assert.strictEqual(got.status, 200, got.text)
    assert.deepStrictEqual(sent().tools, [tool])
    assert.strictEqual(got.json.output.at(-1).type, "custom_tool_call")
  })

  it("an unknown field reaches the upstream, which refuses it", async () => {
    const before = gateway.calls().length
    refused(await create(ask("hi", { frobnicate: 1 })), 400, "invalid_request_error", /frobnicate/)
    // It is not sent again without the field.
    assert.lengthOf(gateway.calls(), before + 1)
    assert.strictEqual(sent().frobnicate, 1)
  })
})

describe("a tool loop", () => {
  const tools = [weather]

  it("as Codex CLI makes it: developer messages, IDs on every item, reasoning sent back, metadata of its own", async () => {
    const message = (role: string, text: string) => ({
      type: "message",
      id: `msg_${role}`,
      role,
      content: [{ type: "input_text", text }]
    })
    const codex = {
      tools: [{ ...weather, strict: false }],
      tool_choice: "auto",
      parallel_tool_calls: true,
      reasoning: { effort: "medium", summary: "auto" },
      store: false,
      stream: true,
      include: ["reasoning.encrypted_content"],
      prompt_cache_key: "01a1fc12",
      client_metadata: { session_id: "01a1fc12" }
    }
    const input = [
      message("developer", "You are a coding agent."),
      message("user", "Weather?"),
      { type: "reasoning", id: "rs_1", summary: [], content: null, encrypted_content: null },
      { ...call, id: "fc_1", status: "completed" },
      { ...output, id: "fco_1" }
    ]
    const got = await create(ask(input, codex))
    assert.strictEqual(got.status, 200, got.text)
    assert.match(got.text, /event: response\.completed/)
    assert.deepStrictEqual(sent().client_metadata, codex.client_metadata)
    assert.deepStrictEqual(
      sent().input.map(({ type }: { type: string }) => type),
      ["message", "message", "function_call", "function_call_output"]
    )
    for (const item of sent().input) assert.notProperty(item, "id")
  })

  it("with the whole output echoed: reasoning is dropped, and with it the IDs of the items beside it", async () => {
    const question = { role: "user", content: 'Weather? [sandbox: tool=get_weather args={"city":"Bonn"}]' }
    const first = await create(ask([question], { tools, include: ["reasoning.encrypted_content"] }))
    assert.strictEqual(first.status, 200, first.text)
    const types = first.json.output.map((item: { type: string }) => item.type)
    assert.deepStrictEqual(types, ["reasoning", "function_call"])
    const { call_id } = first.json.output[1]
    const result = { type: "function_call_output", call_id, output: "12 degrees and rain" }
    const second = await create(ask([question, ...first.json.output, result], { tools }))
    assert.strictEqual(second.status, 200, second.text)
    assert.match(second.json.output.at(-1).content[0].text, /12 degrees and rain/)
    const { id: _, ...echoed } = first.json.output[1]
    assert.deepStrictEqual(sent().input, [question, echoed, result])

    const thanks = { role: "user", content: "Thanks" }
    const third = await create(ask([question, ...first.json.output, result, ...second.json.output, thanks], { tools }))
    assert.strictEqual(third.status, 200, third.text)
  })

  it("IDs go, because nothing is stored, and everything else of an item stays", async () => {
    const question = { role: "user", content: "Weather?" }
    const made = { ...call, status: "completed" }
    const input = [
      { ...question, id: "msg_1" },
      { ...made, id: "fc_1" },
      { ...output, id: null }
    ]
    const got = await create(ask(input, { tools }))
    assert.strictEqual(got.status, 200, got.text)
    assert.strictEqual(got.headers.get("x-gateway-adjusted"), "input.id:removed")
    assert.deepStrictEqual(sent().input, [question, made, output])
    await create(ask([{ type: "local_shell_call_output", id: "lsh_1", output: "ok" }]))
    assert.strictEqual(sent().input[0].id, "lsh_1", "where nothing else says what it answers")
  })

  const file = { url: "https://example.com", destination: "x" }
  const added: ReadonlyArray<readonly [path: string, item: object]> = [
    ["input.parsed_arguments", { ...call, parsed_arguments: file }],
    ["input.created_by", { ...call, created_by: "entity_1" }],
    ["input.provider_data", { ...call, provider_data: file }],
    ["input.providerData", { ...call, providerData: file }],
    [
      "input.content.parsed",
      { role: "assistant", content: [{ type: "output_text", text: "{}", annotations: [], parsed: file }] }
    ]
  ]
  it.each(added)("%s, which a library added, is left out and named", async (path, item) => {
    for (const twice of [[item], [item, item]]) {
      const got = await create(ask([{ role: "user", content: "Weather?" }, ...twice], { tools }))
      assert.strictEqual(got.headers.get("x-gateway-adjusted"), `${path}:removed`, got.text)
      assert.notInclude(sentText(), "example.com")
    }
    const nothing = JSON.parse(JSON.stringify(item).replaceAll(JSON.stringify(file), "null"))
    const got = await create(ask([nothing], { tools }))
    if (JSON.stringify(nothing) !== JSON.stringify(item)) assert.isNull(got.headers.get("x-gateway-adjusted"))
  })

  it("nulls of items and their parts are not sent: model_dump() of OpenAI's Python SDK has one for each field, async_ too", async () => {
    const question = { role: "user", content: [{ type: "input_text", text: "Weather?" }] }
    const said = { type: "output_text", text: "I look.", annotations: [] }
    const dumped = [
      question,
      { type: "message", role: "assistant", status: "completed", phase: null, content: [{ ...said, logprobs: null }] },
      { ...call, id: "fc_1", async_: null, caller: null, namespace: null, status: null },
      { ...output, status: null }
    ]
    const got = await create(ask(dumped, { tools }))
    assert.strictEqual(got.status, 200, got.text)
    assert.strictEqual(got.headers.get("x-gateway-adjusted"), "input.id:removed")
    const message = { type: "message", role: "assistant", status: "completed", content: [said] }
    assert.deepStrictEqual(sent().input, [question, message, call, output])
  })

  it("an output without its call is the upstream's 400", async () => {
    refused(await create(ask([output], { tools })), 400, "invalid_request_error", /call_1/)
  })
})
