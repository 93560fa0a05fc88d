/** Tools: the screen, the scan, and loops that survive thinking (spec: Rejected tool schemas, Governance scan; pitfalls 6-10, 24). */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { forbiddenNames } from "../../src/governance/screen.ts"
import { chat, folded, functionTool, kinds, saying, sixModels } from "../support/chat.ts"
import { answering, fakeUpstream } from "../support/fakeUpstream.ts"
import { cloudsAt, type Gateway, startGateway } from "../support/gateway.ts"
import { type Got, post } from "../support/http.ts"

const path = "/v1/chat/completions"
let gateway: Gateway
let strict: Gateway
beforeAll(async () => {
  gateway = await startGateway()
  strict = await startGateway({ settings: { GATEWAY_SCREEN_MODE: "strict" } })
})
afterAll(async () => {
  await gateway.stop()
  await strict.stop()
})

const create = (body: unknown, at = gateway) => post(at.url + path, body)
const sent = () => JSON.parse(gateway.calls().at(-1)?.body ?? "null")
const ok = (got: Got) => {
  assert.strictEqual(got.status, 200, got.text.slice(0, 500))
  return got.json
}
const model = "claude-sonnet-4-5:il5"
const object = (properties: Record<string, unknown>) => ({ type: "object", properties })
const string = { type: "string" }
const offer = (...tools: ReadonlyArray<unknown>) => chat(model, "hi", { tools })
const refuses = async (body: unknown, tool: string, parameter: string, at = gateway) => {
  const before = at.calls().length
  const got = await create(body, at)
  assert.strictEqual(got.status, 400, got.text)
  assert.strictEqual(got.json.error.type, "invalid_request_error")
  assert.include(got.json.error.message, `'${tool}'`)
  assert.include(got.json.error.message, `'${parameter}'`)
  assert.strictEqual(at.calls().length, before, "nothing goes upstream")
}

describe("the screen", () => {
  it("refuses every listed name, in any case, on every model", async () => {
    for (const [at, name] of forbiddenNames.entries()) {
      const id = sixModels[at % sixModels.length] ?? model
      for (const written of [name, name.toUpperCase()]) {
        await refuses(
          chat(id, "hi", {
            tools: [functionTool("ok", object({ url: string })), functionTool("send", object({ [written]: string }))]
          }),
          "send",
          written
        )
      }
    }
  })

  it.each(
    Object.entries({
      nested: object({ a: object({ webhook: string }) }),
      items: object({ a: { type: "array", items: object({ webhook: string }) } }),
      prefixItems: object({ a: { type: "array", prefixItems: [string, object({ webhook: string })] } }),
      $defs: { ...object({ a: { $ref: "#/$defs/x" } }), $defs: { x: object({ webhook: string }) } },
      definitions: { ...object({}), definitions: { x: object({ webhook: string }) } },
      oneOf: { oneOf: [string, object({ webhook: string })] },
      anyOf: object({ a: { anyOf: [object({ webhook: string })] } }),
      allOf: { allOf: [object({ webhook: string })] },
      not: { not: object({ webhook: string }) },
      if: { if: {}, else: object({ webhook: string }) },
      additionalProperties: { type: "object", additionalProperties: object({ webhook: string }) },
      patternProperties: { type: "object", patternProperties: { "^x": object({ webhook: string }) } },
      dependentSchemas: { dependentSchemas: { a: object({ webhook: string }) } }
    })
  )("refuses one in %s", (_, parameters) => refuses(offer(functionTool("f", parameters)), "f", "webhook"))

  it("passes names that are only values, and the names that are allowed", async () => {
    const parameters = {
      ...object({
        url: string,
        uri: string,
        endpoint: string,
        host: string,
        hostname: string,
        kind: { enum: ["webhook"] }
      }),
      description: "callback",
      default: { note: "destination" }
    }
    for (const id of sixModels) ok(await create(chat(id, "hi", { tools: [functionTool("f", parameters)] })))
  })

  it("sees through spelling tricks only in strict mode", async () => {
    for (const written of ["webhookUrl", "webhook-url", "ｗｅｂｈｏｏｋ", "web\u200bhook", "wеbhook"]) {
      const body = offer(functionTool("f", object({ [written]: string })))
      ok(await create(body))
      await refuses(body, "f", written, strict)
    }
    ok(await create(offer(functionTool("f", object({ url: string, endpoint: string, hostname: string }))), strict))
  })

  it("refuses a schema that it cannot walk to its end", async () => {
    let deep: unknown = string
    for (let depth = 0; depth < 260; depth++) deep = { items: deep }
    const got = await create(offer(functionTool("f", deep)))
    assert.strictEqual(got.status, 400, got.text)
    assert.match(got.json.error.message, /deep/)
  })

  it("is not passed by __proto__", async () => {
    const body = JSON.stringify(offer(functionTool("f", "SCHEMA"))).replace(
      '"SCHEMA"',
      '{"type":"object","properties":{"__proto__":{"type":"object","properties":{"webhook":{}}}}}'
    )
    await refuses(body, "f", "webhook")
  })
})

describe("the scan", () => {
  const flagsOf = async (id: string, args: string, stream: boolean) => {
    const got = await create(
      chat(id, `[sandbox: tool=f args=${args}]`, { tools: [functionTool("f", object({ u: string }))], stream })
    )
    const governance = stream ? folded(got.text).governance : ok(got).x_gateway_governance
    return governance?.flags.map(({ destinations }: { destinations: unknown }) => destinations)
  }
  for (const id of sixModels) {
    it(`${id}: the same in both modes`, async () => {
      for (const stream of [false, true]) {
        for (const [args, expected] of [
          ['{"u":"HTTPS://Evil.example/a"}', ["HTTPS://Evil.example/a"]],
          ['{"u":"s3://bucket/key"}', ["s3://bucket/key"]],
          ['{"u":"ftp://h/x"}', ["ftp://h/x"]],
          ['{"u":"mailto:a@b.example"}', ["mailto:a@b.example"]],
          ['{"u":"data:text/plain,hi"}', ["data:text/plain,hi"]],
          ['{"u":"10.1.2.3:8080/x"}', ["10.1.2.3:8080/x"]],
          ['{"u":"{\\"v\\":\\"https:\\\\/\\\\/evil.example\\"}"}', ["https://evil.example"]],
          ['{"https://key.example":1}', ["https://key.example"]]
        ] as const) {
          assert.deepStrictEqual(await flagsOf(id, args, stream), [expected], `${args} ${stream}`)
        }
        for (const args of ['{"u":"999.1.1.1"}', '{"u":"1.2.3"}', '{"u":"example.com"}', '{"u":"Note: well"}']) {
          assert.isUndefined(await flagsOf(id, args, stream), args)
        }
      }
    })
  }

  it("alters nothing", async () => {
    const args = '{"u":"https://evil.example/?q=1&r=\\u003c"}'
    for (const kind of kinds) {
      const upstream = await fakeUpstream(
        saying(kind, { calls: [{ id: "call_abc123", name: "f", pieces: [args] }] }, false)
      )
      const own = await startGateway({ settings: cloudsAt(upstream.url) })
      const got = ok(await create(chat(kind.model, "hi", { tools: [functionTool("f")] }), own))
      assert.deepStrictEqual(JSON.parse(got.choices[0].message.tool_calls[0].function.arguments), JSON.parse(args))
      assert.strictEqual(got.x_gateway_governance.flags[0].tool_call_id, got.choices[0].message.tool_calls[0].id)
      await own.stop()
      await upstream.stop()
    }
  })
})

describe("tool choice", () => {
  const tools = [functionTool("get_weather", object({ city: string })), functionTool("f")]
  const choose = async (id: string, tool_choice: unknown, extra = {}) => {
    const json = ok(await create(chat(id, "hi", { tools, tool_choice, ...extra })))
    return (json.choices[0].message.tool_calls ?? []).map((call: { function: { name: string } }) => call.function.name)
  }
  const named = { type: "function", function: { name: "f" } }

  for (const id of sixModels) {
    const forced = id.startsWith("gpt")
    it(`${id}`, async () => {
      assert.deepStrictEqual(await choose(id, "auto"), [])
      assert.deepStrictEqual(await choose(id, "none"), [])
      // Claude while it thinks and Gemini choose for themselves (spec: Reasoning, rules 6 and 7).
      assert.deepStrictEqual(await choose(id, named), forced ? ["f"] : [])
      assert.strictEqual((await choose(id, "required")).length, forced ? 1 : 0)
      if (id.startsWith("claude")) assert.deepStrictEqual(await choose(id, named, { reasoning_effort: "none" }), ["f"])
      await choose(id, "auto", { parallel_tool_calls: false })
    })
  }
})

describe("schemas that vendors are picky about", () => {
  const parameters = {
    $schema: "http://json-schema.org/draft-07/schema#",
    type: "object",
    properties: {
      a: { type: ["string", "null"], minLength: 1, pattern: "^x", default: "x", examples: ["xy"] },
      b: { const: 3 },
      c: { type: "array", items: { $ref: "#/definitions/node" }, uniqueItems: true },
      d: { allOf: [object({ e: string }), { required: ["e"] }] },
      f: { type: "object", additionalProperties: false, patternProperties: { "^y": string } },
      g: { if: {}, else: {}, not: {} },
      h: { type: "number", exclusiveMinimum: 0, multipleOf: 2 },
      i: { oneOf: [{ type: "integer" }, { type: "boolean" }] }
    },
    required: ["a"],
    additionalProperties: false,
    definitions: { node: { type: "object", properties: { next: { $ref: "#/definitions/node" } } } }
  }
  for (const id of sixModels) {
    it(`${id} takes them all, and tools without any`, async () => {
      ok(
        await create(
          chat(id, "hi", {
            tools: [
              functionTool("f", parameters),
              functionTool("g"),
              functionTool("h", {}),
              functionTool("i", null, { description: null, strict: null })
            ]
          })
        )
      )
    })
  }
})

describe("a loop of three turns, with thinking on", () => {
  const tools = [functionTool("get_weather", object({ city: string }))]
  const cities = ["Oslo", "Rome", "Lima"]

  /** What a client gives back of the reply: all of it, or only what OpenAI's format knows. */
  const echoes = {
    "the whole message": (message: Record<string, unknown>) => message,
    "only the fields of OpenAI": ({ role, content, tool_calls }: Record<string, unknown>) => ({
      role,
      content,
      tool_calls: (tool_calls as ReadonlyArray<Record<string, unknown>>).map(({ extra_content: _, ...call }) => call)
    })
  }
  for (const id of [...sixModels, "claude-opus-4-7:il2", "claude-opus-4-7:il5"]) {
    for (const [how, echo] of Object.entries(echoes)) {
      for (const stream of [false, true]) {
        it(`${id}, ${how}${stream ? ", streamed" : ""}`, async () => {
          const messages: Array<Record<string, unknown>> = [{ role: "system", content: "Be brief." }]
          const ids = new Set<string>()
          for (const city of cities) {
            messages.push({
              role: "user",
              content: `[sandbox: tool=get_weather args={"city":"${city}"}] [sandbox: tool=get_weather args={"city":"Bergen"}]`
            })
            const got = await create({ model: id, messages, tools, reasoning_effort: "medium", stream })
            assert.strictEqual(got.status, 200, got.text)
            const message = stream ? assembled(got.text) : got.json.choices[0].message
            assert.strictEqual(message.tool_calls.length, 2, got.text)
            for (const call of message.tool_calls) {
              assert.isAtMost(call.id.length, 256)
              ids.add(call.id)
            }
            messages.push(echo(message))
            const results = message.tool_calls.map(({ id: tool_call_id }: { id: string }, at: number) => ({
              role: "tool",
              tool_call_id,
              content: at === 0 ? '{"weather":"rain"}' : "sun"
            }))
            // In any order, as parallel tools finish.
            messages.push(...results.reverse())
            const answer = await create({ model: id, messages, tools, reasoning_effort: "medium" })
            assert.match(ok(answer).choices[0].message.content, /get_weather answered: .*rain/)
            messages.push(echo({ tool_calls: [], ...answer.json.choices[0].message }))
          }
          assert.strictEqual(ids.size, 6, "IDs are unique across turns")
          if (id.startsWith("claude-sonnet")) {
            const body = sent()
            const thinks = how === "the whole message"
            assert.strictEqual(body.thinking !== undefined, thinks, "thinking survives where its blocks come back")
          }
          if (id.startsWith("gemini")) {
            const signatures = sent().contents.flatMap(({ parts }: { parts: ReadonlyArray<Record<string, unknown>> }) =>
              parts.filter((part) => part.functionCall).map((part) => part.thoughtSignature)
            )
            const skip = "skip_thought_signature_validator"
            assert.deepStrictEqual(
              signatures.map((signature: unknown) =>
                signature === undefined ? "none" : signature === skip ? skip : "signed"
              ),
              cities.flatMap(() => [how === "the whole message" ? "signed" : skip, "none"])
            )
          }
        })
      }
    }
  }

  /** A message as clients assemble it from its deltas, `extra_content` included. */
  const assembled = (text: string) => {
    const { calls, content, chunks } = folded(text)
    const extra_content = chunks
      .map(({ choices }) => choices[0].delta.extra_content)
      .find((extra) => extra !== undefined)
    return {
      role: "assistant",
      content: content === "" ? null : content,
      tool_calls: calls.map((call) => ({
        id: call.id,
        type: "function",
        function: { name: call.name, arguments: call.arguments },
        ...(call.extra === undefined ? {} : { extra_content: call.extra })
      })),
      ...(extra_content === undefined ? {} : { extra_content })
    }
  }

  it("Claude's redacted thinking comes back too", async () => {
    const first = ok(await create(chat(model, "[sandbox: redacted] [sandbox: tool=get_weather args={}]", { tools })))
    const { message } = first.choices[0]
    const types = message.extra_content.anthropic.thinking_blocks.map(({ type }: { type: string }) => type)
    assert.deepStrictEqual(types, ["thinking", "redacted_thinking"])
    const messages = [
      { role: "user", content: "hi" },
      message,
      { role: "tool", tool_call_id: message.tool_calls[0].id, content: "" }
    ]
    ok(await create({ model, messages, tools }))
    assert.deepStrictEqual(sent().messages[1].content.slice(0, 2), message.extra_content.anthropic.thinking_blocks)
    assert.isDefined(sent().thinking)
  })

  it("a history made on one vendor goes on with another", async () => {
    for (const from of sixModels) {
      const { message } = ok(await create(chat(from, '[sandbox: tool=get_weather args={"city":"Oslo"}]', { tools })))
        .choices[0]
      for (const to of sixModels) {
        const messages = [
          { role: "user", content: "hi" },
          message,
          { role: "tool", tool_call_id: message.tool_calls[0].id, content: "rain" }
        ]
        ok(await create({ model: to, messages, tools }))
      }
    }
  })
})

describe("streams of vendors that do it their way", () => {
  const hear = async (name: string, events: ReadonlyArray<unknown>) => {
    const kind = kinds.find((each) => each.name === name) ?? kinds[0]
    if (kind === undefined) throw new Error(name)
    const upstream = await fakeUpstream(answering(""))
    const own = await startGateway({ settings: cloudsAt(upstream.url) })
    upstream.use(saying({ ...kind, events: () => events as ReadonlyArray<string> }, {}, true))
    const got = await create(
      chat(kind.model, "hi", { stream: true, stream_options: { include_usage: true }, tools: [functionTool("f")] }),
      own
    )
    await own.stop()
    await upstream.stop()
    return folded(got.text)
  }
  const gpt = (delta: unknown, finish_reason: string | null = null) => ({
    id: "c",
    choices: [{ index: 0, delta, finish_reason }]
  })

  it("interleaved calls get the right flags", async () => {
    const start = (index: number) => ({
      index,
      id: `call_x${index}`,
      type: "function",
      function: { name: "f", arguments: "" }
    })
    const piece = (index: number, args: string) => ({ tool_calls: [{ index, function: { arguments: args } }] })
    const got = await hear("GPT on Azure", [
      gpt({ tool_calls: [start(0), start(1)] }),
      gpt(piece(0, '{"u":"htt')),
      gpt(piece(1, '{"u":"ftp:')),
      gpt(piece(0, 'ps://a.example"}')),
      gpt(piece(1, '//b.example"}')),
      gpt({}, "tool_calls"),
      "[DONE]"
    ])
    assert.deepStrictEqual(
      got.governance.flags.map((flag: { tool_call_id: string; destinations: unknown }) => [
        flag.tool_call_id,
        flag.destinations
      ]),
      [
        ["call_x0", ["https://a.example"]],
        ["call_x1", ["ftp://b.example"]]
      ]
    )
  })

  it("Gemini: parallel calls in one part each, STOP in a chunk of its own", async () => {
    const part = (city: string) => ({ functionCall: { name: "f", args: { city } } })
    const got = await hear("Gemini", [
      { candidates: [{ content: { parts: [part("a")] } }] },
      { candidates: [{ content: { parts: [part("b"), part("c")] } }] },
      {
        candidates: [{ content: { parts: [{ text: "" }] }, finishReason: "STOP" }],
        usageMetadata: { promptTokenCount: 1 }
      }
    ])
    assert.strictEqual(got.finishReason, "tool_calls")
    assert.deepStrictEqual(
      got.calls.map((call) => call.arguments),
      ['{"city":"a"}', '{"city":"b"}', '{"city":"c"}']
    )
    assert.strictEqual(new Set(got.calls.map(({ id }) => id)).size, 3)
  })

  it("Claude: unknown blocks, deltas, events and stop reasons are skipped", async () => {
    const got = await hear("Claude on Vertex", [
      { type: "message_start", message: { usage: { input_tokens: 3, output_tokens: 1 } } },
      { type: "ping" },
      { type: "content_block_start", index: 0, content_block: { type: "hologram", data: "x" } },
      { type: "content_block_delta", index: 0, delta: { type: "hologram_delta", data: "y" } },
      { type: "content_block_stop", index: 0 },
      { type: "brand_new_event" },
      { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "hi" } },
      { type: "content_block_stop", index: 1 },
      { type: "message_delta", delta: { stop_reason: "brand_new_reason" }, usage: { output_tokens: 9 } },
      { type: "message_stop" }
    ])
    assert.deepStrictEqual(
      [got.content, got.finishReason, got.usage.completion_tokens, got.done],
      ["hi", "stop", 9, true]
    )
  })

  it("unknown finish reasons become a valid one, everywhere", async () => {
    assert.strictEqual(
      (await hear("GPT on Bedrock", [gpt({ content: "a" }), gpt({}, "brand_new"), "[DONE]"])).finishReason,
      "stop"
    )
    assert.strictEqual(
      (await hear("Gemini", [{ candidates: [{ content: { parts: [{ text: "a" }] }, finishReason: "NEW" }] }]))
        .finishReason,
      "stop"
    )
  })

  it("gpt-oss: reasoning tags split anywhere are not shown", async () => {
    const text = "<reasoning>secret thoughts</reasoning>Hello <b>there"
    const got = await hear("gpt-oss on Bedrock", [
      ...[...text].map((content) => gpt({ content })),
      gpt({}, "stop"),
      "[DONE]"
    ])
    assert.strictEqual(got.content, "Hello <b>there")
  })
})
