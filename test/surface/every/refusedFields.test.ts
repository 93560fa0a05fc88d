/** Fields that a cloud refuses by name (docs/decisions.md#fields-that-a-cloud-refuses). */
import { readFileSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, afterEach, assert, beforeAll, describe, it } from "@effect/vitest"
import { GatewayError } from "../../../src/catalog/GatewayError.ts"
import type { Operation } from "../../../src/catalog/names.ts"
import { type Learned, learn, makeRefusalMemory, refusedIn, routeWithout } from "../../../src/http/refusedFields.ts"
import { systemTurns } from "../../../src/vendors/refusals.ts"
import type { JsonObject } from "../../../src/wire/json.ts"
import { runNow } from "../../../src/wire/slices.ts"
import { drops, strip } from "../../../src/wire/strip.ts"
import { bedrockFrame, message, saying, sseFrame, wholeMessage } from "../../support/claude.ts"
import {
  chunk,
  type FakeUpstream,
  fakeUpstream,
  frameHead,
  lastChunk,
  reply,
  sseHead
} from "../../support/fakeUpstream.ts"
import { cloudsAt, type Gateway, startGateway } from "../../support/gateway.ts"
import { post } from "../../support/http.ts"
import { sonnet, sonnetBedrock } from "../../vendors/support.ts"

const refusal = (message: string) =>
  new GatewayError({ reason: "invalid", code: "upstream-invalid", upstreamStatus: 400, message })
const extra = (path: string) => `${path}: Extra inputs are not permitted`
const sent = (body: JsonObject, operation: Operation = "messages") => ({ operation, bodies: [body] as const })
/** The field that a refusal names in a body. */
const refusedField = (error: GatewayError, body: JsonObject, operation?: Operation) => {
  const { fields = [] } = refusedIn(error, sent(body, operation)) ?? {}
  return fields.length === 0 ? undefined : fields.join(" ")
}
type Memory = ReturnType<typeof makeRefusalMemory>
const knownTo =
  (memory: Memory) =>
  (...asked: Parameters<Memory["known"]>) =>
    runNow(memory.known(...asked))
/** That a body was refused for its fields, as it is remembered. */
const refusedOf = (fields: ReadonlyArray<string>, body: JsonObject = {}, operation?: Operation) => {
  const { context = "" } = refusedIn(refusal(extra("any")), sent({ ...body, any: 1 }, operation)) ?? {}
  return fields.map((field) => ({ fields: [field], context }))
}

describe("what a refusal names", () => {
  const body: JsonObject = {
    metadata: { novel: 1, input: { novel: 1 } },
    safeguards: {},
    type: "metadata",
    system: [{ type: "text", text: "x", cache_control: { type: "ephemeral", scope: "global" } }],
    tools: [
      { name: "a", input_schema: { type: "object", required: [], novel: 1 }, later: true },
      { type: "custom", name: "b", input_schema: {}, later: true },
      { type: "computer_20250124", name: "computer", display_width_px: 1 },
      { type: "a b", later: true },
      [{ later: true }]
    ],
    tool_choice: { type: "auto", disable_parallel_tool_use: true },
    thinking: { type: "adaptive", display: "omitted", budget_tokens: 1 },
    messages: [
      { role: "user", content: [{ type: "text", text: "hi", novel: 1 }] },
      { role: "system", content: "Be brief." },
      { role: "user", content: [{ type: "tool_result", content: [{ type: "image", citations: {} }] }] },
      { role: "user", content: [{ type: "both", both: { novel: 1 }, novel: 1 }] }
    ],
    "tools.1.custom.later": 1
  }
  const please = "please reformat your input and try again."
  it.each([
    [extra("safeguards"), "safeguards"],
    [extra("metadata.novel"), "metadata{?}.novel"],
    [extra("tools.0.custom.later"), "tools[?].later"],
    [extra("tools.1.custom.later"), "tools[custom].later"],
    [extra("tools.2.computer_20250124.display_width_px"), "tools[computer_20250124].display_width_px"],
    [extra("messages.0.content.0.text.novel"), "messages[user].content[text].novel"],
    [
      extra("messages.2.content.0.tool_result.content.0.image.citations"),
      "messages[user].content[tool_result].content[image].citations"
    ],
    [extra("system.0.cache_control.ephemeral.scope"), "system[text].cache_control{ephemeral}.scope"],
    [extra("thinking.adaptive.display"), "thinking{adaptive}.display"],
    [extra("tool_choice.auto.disable_parallel_tool_use"), "tool_choice{auto}.disable_parallel_tool_use"],
    [`The model returned the following errors: ${extra("safeguards")}`, "safeguards"],
    [
      `Malformed input request: #/tool_choice: extraneous key [disable_parallel_tool_use] is not permitted, ${please}`,
      "tool_choice{auto}.disable_parallel_tool_use"
    ],
    [`Malformed input request: #: extraneous key [safeguards] is not permitted, ${please}`, "safeguards"],
    ["messages.1.role: Input should be 'user' or 'assistant'", systemTurns],
    [
      'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" as an input message role.',
      systemTurns
    ],
    ["role 'system' is not supported on this model", systemTurns],
    // What makes a request what it is, and what is the caller's own.
    [extra("thinking.adaptive.budget_tokens"), undefined],
    [extra("messages.0.content.0.text.text"), undefined],
    [extra("tools"), undefined],
    [extra("tools.0.custom.input_schema.required"), undefined],
    [extra("tools.0.custom.input_schema.novel"), undefined],
    [extra("metadata.input.novel"), undefined],
    // What is not there, at this place, in an object of this kind.
    [extra("elsewhere.novel"), undefined],
    [extra("elsewhere.safeguards"), undefined],
    [extra("tools.9.custom.later"), undefined],
    [extra("tools.custom.later"), undefined],
    [extra("tools.1.computer_20250124.later"), undefined],
    [extra("tools.1.custom.custom.later"), undefined],
    [extra("tools.4.0.later"), undefined],
    [extra("metadata.safeguards"), undefined],
    [extra("text.safeguards"), undefined],
    // What can be read in two ways, or has a kind that is no name.
    [extra("messages.3.content.0.both.novel"), undefined],
    [extra("tools.3.later"), undefined],
    [extra(`${"both.".repeat(30)}novel`), undefined],
    // Words of the caller's, quoted.
    [`messages.0.content.0: Input tag 'q ${extra("safeguards")}' found using 'type' does not match`, undefined],
    [`messages.0.content.0: Input tag 'q #: extraneous key [safeguards] is not permitted' found`, undefined],
    [`x: ${extra("safeguards")}`, undefined],
    [`x\n${extra("safeguards")}`, undefined],
    [`${extra("safeguards")}\n`, undefined],
    [`${extra("safeguards")}, or so`, undefined],
    [extra("safe guards.safeguards"), undefined],
    ["messages.0.content.0: Input tag 'the role system' found using 'type' does not match", undefined],
    ["x messages.1.role: Input should be 'user' or 'assistant'", undefined],
    ["max_tokens: Field required", undefined]
  ])("%s", (message, expected) => {
    assert.strictEqual(refusedField(refusal(message), body), expected)
  })

  describe("of schemas that cannot be compiled", () => {
    const schema = { type: "object" }
    const strict = { name: "f", input_schema: schema, strict: true }
    const tools = { tools: [strict, { ...strict, type: "custom" }, { name: "g", input_schema: schema }] }
    const format = { output_config: { format: { type: "json_schema", schema } } }
    const ofTools = "tools[?].strict tools[custom].strict"
    const slow = "which would make grammar compilation inefficient"
    const open = "For 'object' type, 'additionalProperties' must be explicitly set to false"
    it.each([
      [
        "Too many strict tools (21). The maximum number of strict tools supported is 20. Try reducing the number of tools marked as strict.",
        { ...tools, ...format },
        ofTools
      ],
      [
        "Schemas contains too many parameters with union types (17 parameters with type arrays or anyOf). This causes exponential compilation cost. Reduce the number of nullable or union-typed parameters (limit: 16 parameters with unions).",
        { ...tools, ...format },
        ofTools
      ],
      [
        "tools.0.custom: Invalid schema: Circular reference detected in schema definitions: a -> a. Self-referencing or mutually-referencing definitions are not supported.",
        tools,
        ofTools
      ],
      [`tools.0.custom: ${open}`, { ...tools, ...format }, ofTools],
      [`The model returned the following errors: tools.0.custom: ${open}`, tools, ofTools],
      [
        `Schemas contains too many optional parameters (87), ${slow}. Reduce the number of optional parameters in your tool schemas (limit: 24).`,
        { ...tools, ...format },
        ofTools
      ],
      ["Schema is too complex for compilation. Try reducing the number of tools.", format, "output_config.format"],
      ["output_config.format.schema: Invalid schema: x", { ...tools, ...format }, "output_config.format"],
      ["Too many strict tools (21). The maximum number of strict tools supported is 20.", format, undefined],
      ["x: Schema is too complex for compilation.", format, undefined]
    ])("%s", (message, asked, expected) => {
      assert.strictEqual(refusedField(refusal(message), asked), expected)
    })

    it("is remembered of the same schemas only", () => {
      const memory = makeRefusalMemory(() => 0)
      const { deployment } = sonnetBedrock
      const found = refusedIn(refusal("Schema is too complex for compilation."), sent({ ...tools, ...format }))
      memory.remember(deployment, found === undefined ? [] : [found])
      assert.deepStrictEqual(
        knownTo(memory)(deployment, sent({ ...tools, ...format, max_tokens: 1 })),
        ofTools.split(" ")
      )
      for (const other of [tools, { ...format, tools: tools.tools.slice(1) }]) {
        assert.deepStrictEqual(knownTo(memory)(deployment, sent(other)), [])
      }
    })

    it("and a user is refused for its value", () => {
      const words =
        "metadata.user_id: user_id appears to contain an email address. Please send a uuid or hash value instead."
      const asked = { metadata: { user_id: "u" } }
      const found = refusedIn(refusal(words), sent(asked))
      assert.deepStrictEqual(found?.fields, ["metadata{?}.user_id"])
      const memory = makeRefusalMemory(() => 0)
      memory.remember(sonnet.deployment, found === undefined ? [] : [found])
      assert.deepStrictEqual(knownTo(memory)(sonnet.deployment, sent(asked)), ["metadata{?}.user_id"])
      assert.deepStrictEqual(knownTo(memory)(sonnet.deployment, sent({ metadata: { user_id: "v" } })), [])
    })
  })

  it("nothing, where the refusal is another", () => {
    const { message } = refusal(extra("safeguards"))
    for (const upstreamStatus of [200, 413, 500]) {
      const error = new GatewayError({ reason: "upstream", code: "upstream-error", upstreamStatus, message })
      assert.isUndefined(refusedField(error, body))
    }
    assert.isUndefined(refusedField(refusal("role 'system' is not supported on this model"), { messages: [] }))
  })

  it("never what the contract demands", () => {
    const document = JSON.parse(readFileSync(new URL("../../golden/openapi.json", import.meta.url), "utf8"))
    const names = new Set<string>()
    const seen = new Set<unknown>()
    const walk = (value: unknown): void => {
      if (typeof value !== "object" || value === null || seen.has(value)) return
      seen.add(value)
      const { required = [], $ref } = value as { required?: ReadonlyArray<string>; $ref?: string }
      if (Array.isArray(required)) for (const name of required) names.add(name)
      if ($ref !== undefined) walk(document.components.schemas[$ref.replace(/.*\//, "")])
      for (const [name, inner] of Object.entries(value)) if (name !== "examples") walk(inner)
    }
    walk(document.components.schemas.MessagesRequest)
    assert.includeMembers([...names], ["messages", "tool_use_id", "input_schema", "source", "signature"])
    const below = { tools: [Object.fromEntries([...names].map((name) => [name, 1]))] }
    for (const name of names) assert.isUndefined(refusedField(refusal(extra(`tools.0.${name}`)), below), name)
  })
})

describe("what is remembered", () => {
  const { deployment } = sonnet

  it("holds for an hour, for the deployment and for what was sent in the same way", () => {
    let now = 0
    const fields = makeRefusalMemory(() => now)
    const asked = sent({ a: 1, anthropic_version: "v", anthropic_beta: ["b"] })
    assert.deepStrictEqual(knownTo(fields)(deployment, asked), [])
    const [body = {}] = asked.bodies
    for (let times = 0; times < 2; times++) fields.remember(deployment, refusedOf(["a"], body))
    assert.deepStrictEqual(knownTo(fields)(deployment, asked), ["a"])
    for (const [other, request] of [
      [sonnetBedrock.deployment, asked],
      [deployment, sent({ ...body, anthropic_version: "w" })],
      [deployment, sent({ ...body, anthropic_beta: ["b", "c"] })],
      [deployment, sent({ ...body }, "count")],
      [deployment, sent({ b: 1, anthropic_version: "v", anthropic_beta: ["b"] })]
    ] as const) {
      assert.deepStrictEqual(knownTo(fields)(other, request), [])
    }
    now = 3_600_001
    assert.deepStrictEqual(knownTo(fields)(deployment, asked), [])
  })

  it("is looked through in slices, because one key may fill it and every other's requests are compared with it", () => {
    const fields = makeRefusalMemory(() => 0)
    for (let at = 0; at < 32; at++) fields.remember(deployment, refusedOf([`x${at}`]))
    assert.lengthOf([...fields.known(deployment, sent({ a: 1 }))], 32)
  })

  it("holds for objects of the same kinds", () => {
    const fields = makeRefusalMemory(() => 0)
    fields.remember(deployment, refusedOf(["tools[custom].x", "messages[user].content[image].citations", "a{?}.x"]))
    const known = (body: JsonObject) => knownTo(fields)(deployment, sent(body))
    const message = (role: string, type: string) => ({ messages: [{ role, content: [{ type, citations: {} }] }] })
    assert.deepStrictEqual(known({ tools: [{ type: "computer" }, { type: "custom", x: 1 }] }), ["tools[custom].x"])
    assert.deepStrictEqual(known({ a: { x: 1 } }), ["a{?}.x"])
    assert.deepStrictEqual(known(message("user", "image")), ["messages[user].content[image].citations"])
    for (const body of [
      { tools: [{ type: "computer", x: 1 }, { x: 1 }, { type: "custom" }] },
      { a: { type: "b", x: 1 } },
      message("user", "document"),
      message("assistant", "image")
    ]) {
      assert.deepStrictEqual(known(body), [])
    }
    const route = routeWithout(sonnet, ["tools[custom].x"])
    const tools: ReadonlyArray<JsonObject> = [
      { type: "computer", x: 1 },
      { type: "custom", x: 1, y: 1 }
    ]
    assert.deepStrictEqual(strip({ tools }, route.strip), {
      tools: [
        { type: "computer", x: 1 },
        { type: "custom", y: 1 }
      ]
    })
    assert.isTrue(drops(route.strip, "context_management"))
  })

  it("is bounded, for each deployment and in all", () => {
    const all = (deployments: number, fields: number) => {
      let known: ReadonlyArray<Learned> = []
      for (let at = 0; at < deployments; at++) {
        const one = { ...deployment, model: `m${at}` }
        for (let field = 0; field < fields; field++) {
          known = learn(known, { deployment: one, context: "", fields: [`f${field}`], until: 1 }, 0)
        }
      }
      return known
    }
    assert.deepStrictEqual(
      all(1, 100).map(({ fields }) => fields.join()),
      Array.from({ length: 32 }, (_, at) => `f${at + 68}`)
    )
    assert.lengthOf(all(20, 32), 256)
    // What has expired goes first, and what is found again is kept once.
    assert.lengthOf(learn(all(1, 10), { deployment, context: "", fields: ["f"], until: 9 }, 5), 1)
    const again = learn(
      learn([], { deployment, context: "", fields: ["f"], until: 1 }, 0),
      { deployment, context: "", fields: ["f"], until: 2 },
      0
    )
    assert.deepStrictEqual(
      again.map(({ until }) => until),
      [2]
    )
  })
})

describe("on the wire", () => {
  let upstream: FakeUpstream
  let gateway: Gateway
  /** Fields that the cloud refuses, by their place. */
  let refused: ReadonlyArray<readonly [path: string, has: (body: JsonObject) => boolean]> = []
  /** What it says of a body that it refuses. */
  let refusalOf = (body: JsonObject): string | undefined => {
    const found = refused.find(([, has]) => has(body))
    return found && extra(found[0])
  }
  const byPlace = refusalOf
  /** Milliseconds before it answers what it does not refuse. */
  let pause = 0
  /** The same of what it refuses. */
  let refusing = 0
  let failing = false
  beforeAll(async () => {
    upstream = await fakeUpstream(async (socket, { body, path }) => {
      const message = refusalOf(JSON.parse(body))
      await sleep(message === undefined ? pause : refusing)
      if (message !== undefined || failing) {
        const error = { type: "error", error: { type: "invalid_request_error", message: message ?? "something else" } }
        socket.write(reply("400 Bad Request", JSON.stringify(error)))
      } else if (/stream/i.test(path)) {
        const [head, frame] = path.includes("/model/") ? [frameHead, bedrockFrame] : [sseHead, sseFrame]
        socket.write(head)
        for (const event of saying("Hello.")) socket.write(chunk(frame(event)))
        socket.write(lastChunk)
      } else {
        const content = [{ type: "text", text: "```json\n{}\n```" }]
        const usage = { input_tokens: 1, output_tokens: 2 }
        socket.write(reply("200 OK", JSON.stringify(wholeMessage(content, { usage }))))
      }
    })
    gateway = await startGateway({ settings: { ...cloudsAt(upstream.url), GATEWAY_HEARTBEAT: "500 millis" } })
  })
  afterEach(() => {
    refused = []
    refusalOf = byPlace
    pause = 0
    refusing = 0
    failing = false
  })
  afterAll(async () => {
    await gateway.stop()
    await upstream.stop()
  })
  const ask = async (model: string, extra: Readonly<Record<string, unknown>>, path = "/v1/messages") => {
    const before = upstream.received.length
    const got = await post(`${gateway.url}${path}`, message(model, "hi", extra))
    const bodies = upstream.received.slice(before).map(({ body }) => JSON.parse(body))
    return { got, bodies, sent: bodies.at(-1), adjusted: got.headers.get("x-gateway-adjusted") }
  }
  const isIn = (name: string) => (body: JsonObject) => name in body

  for (const stream of [false, true]) {
    for (const level of ["il2", "il5"]) {
      it(`${level}${stream ? ", streamed" : ""}: is sent again without them, one at a time`, async () => {
        // Another model for each, because deployments remember.
        const model = `claude-${stream ? "sonnet" : "haiku"}-4-5:${level}`
        refused = [
          ["novelties", isIn("novelties")],
          ["metadata.novel", (body) => JSON.stringify(body.metadata ?? {}).includes("novel")]
        ]
        const extra = { stream, novelties: {}, metadata: { user_id: "u", novel: 1 } }
        const first = await ask(model, extra)
        assert.strictEqual(first.got.status, 200, first.got.text)
        assert.lengthOf(first.bodies, 3)
        assert.deepStrictEqual(first.sent.metadata, { user_id: "u" })
        assert.strictEqual(first.adjusted, "novelties:removed, metadata.novel:removed")
        const second = await ask(model, { ...extra, novelties: { a: 1 } })
        assert.lengthOf(second.bodies, 1)
        assert.strictEqual(second.adjusted, "novelties:removed, metadata.novel:removed")
        const record = () =>
          gateway.records().find(({ request_id }) => request_id === second.got.headers.get("x-request-id"))
        while (record() === undefined) await new Promise((resolve) => setTimeout(resolve, 5))
        assert.deepInclude(record(), { outcome: "ok", stream, stream_end: stream ? "complete" : null })
      })
    }
  }

  it("requests at the same time all go without it", async () => {
    refused = [["together", isIn("together")]]
    const asked = Array.from({ length: 5 }, () => ask("claude-opus-5:il2", { together: 1 }))
    for (const { got } of await Promise.all(asked)) assert.strictEqual(got.status, 200, got.text)
  })

  it("three times at most, and then the refusal is the answer", async () => {
    refused = ["a", "b", "c", "d"].map((name) => [`${name}1`, isIn(`${name}1`)] as const)
    const { bodies, got } = await ask("claude-opus-4-7:il2", { a1: 1, b1: 1, c1: 1, d1: 1 })
    assert.lengthOf(bodies, 4)
    assert.strictEqual(got.status, 400)
    assert.match(got.json.error.message, /^d1: Extra inputs/)
  })

  it("all within the one time limit of the request", async () => {
    const own = await startGateway({ settings: { ...cloudsAt(upstream.url), GATEWAY_REQUEST_CEILING: "800 millis" } })
    refused = ["one", "two"].map((name) => [name, isIn(name)])
    refusing = 600
    const got = await post(`${own.url}/v1/messages`, message("claude-sonnet-4-5:il5", "hi", { one: 1, two: 2 }))
    assert.strictEqual(got.status, 504)
    assert.strictEqual(got.headers.get("x-gateway-served-level"), "il5")
    await own.stop()
  })

  it("what makes a request what it is stays the caller's to mend", async () => {
    refused = [["tools.0.custom.description", () => true]]
    const { bodies, got } = await ask("claude-opus-4-7:il5", {
      tools: [{ name: "f", description: "", input_schema: {} }]
    })
    assert.strictEqual(got.status, 400)
    assert.lengthOf(bodies, 1)
  })

  it("a format that the cloud refuses becomes an instruction, on both surfaces", async () => {
    refused = [["output_config.format", (body) => JSON.stringify(body.output_config ?? {}).includes("format")]]
    const schema = { type: "object", properties: {}, additionalProperties: false }
    const { adjusted, bodies, got, sent } = await ask("claude-haiku-4-5:il5", {
      output_config: { format: { type: "json_schema", schema } }
    })
    assert.lengthOf(bodies, 2)
    assert.include(JSON.stringify(sent.system), "conforms to this JSON Schema")
    assert.strictEqual(got.json.content[0].text, "{}")
    assert.strictEqual(adjusted, "output_config.format:json_schema->instruction")
    const response_format = { type: "json_schema", json_schema: { name: "x", strict: true, schema } }
    const chat = await ask("claude-haiku-4-5:il5", { response_format }, "/v1/chat/completions")
    assert.include(chat.adjusted, "response_format:json_schema->instruction")
    assert.strictEqual(chat.got.json.choices[0].message.content, "{}")
  })

  describe("one caller's request leaves those of others as they are", () => {
    const model = "claude-haiku-4-5:il2"
    /** Whether the cloud gets all of a request that it takes, after requests of another caller. */
    const isWhole = async (given: Readonly<Record<string, unknown>>, path?: string) => {
      refusalOf = () => undefined
      failing = false
      const { adjusted, bodies, got, sent } = await ask(model, given, path)
      assert.strictEqual(got.status, 200, got.text)
      assert.lengthOf(bodies, 1)
      assert.isNull(adjusted)
      for (const [name, value] of Object.entries(given)) {
        assert.deepStrictEqual(sent[name], value, name)
      }
    }
    const tools = [{ name: "f", input_schema: { type: "object", required: ["a"] }, novel: true }]

    it("where the cloud quotes it", async () => {
      const types = ["required", "input_schema"].map((name) => `q ${extra(`tools.0.input_schema.${name}`)}`)
      for (const type of [...types, `q ${extra("tools.0.novel")}`, "the role system", extra("tools.0.novel")]) {
        refusalOf = ({ messages }) => {
          const [block] = (messages as [{ content: [{ type: string }] }])[0].content
          return `messages.0.content.0: Input tag '${block.type}' found using 'type' does not match any of the expected tags`
        }
        const { bodies, got } = await ask(model, { tools, messages: [{ role: "user", content: [{ type }] }] })
        assert.strictEqual(got.status, 400)
        assert.lengthOf(bodies, 1)
      }
      await isWhole({ tools })
    })

    it("where a name of it reads like a path", async () => {
      // The cloud refuses the name at the top, which reads like the field of the tool.
      refusalOf = (body) => ("tools.0.custom.novel" in body ? extra("tools.0.custom.novel") : undefined)
      const { bodies, got } = await ask(model, { tools, "tools.0.custom.novel": 1 })
      assert.strictEqual(got.status, 400)
      assert.lengthOf(bodies, 2)
      await isWhole({ tools })
    })

    it("where the request fails without the field, too", async () => {
      refused = [["tools.0.custom.novel", (body) => JSON.stringify(body.tools).includes("novel")]]
      failing = true
      const { bodies, got } = await ask(model, { tools })
      assert.strictEqual(got.status, 400)
      assert.lengthOf(bodies, 2)
      await isWhole({ tools })
    })

    it("where the cloud is silent about the request without it", async () => {
      refused = [["tools.0.custom.novel", (body) => JSON.stringify(body.tools).includes("novel")]]
      failing = true
      pause = 1_200
      const { got } = await ask(model, { tools, stream: true })
      assert.strictEqual(got.status, 200)
      assert.include(got.text, "something else")
      await isWhole({ tools })
    })

    it("where the field is another kind's", async () => {
      const width = { display_width_px: 1024 }
      const custom = { type: "custom", name: "f", input_schema: { type: "object" } }
      const computer = { type: "computer_toolset_20260801" }
      refusalOf = (body) => {
        const at = (body.tools as ReadonlyArray<JsonObject>).findIndex(
          (tool) => tool.type === "custom" && "display_width_px" in tool
        )
        return at < 0 ? undefined : extra(`tools.${at}.custom.display_width_px`)
      }
      const first = await ask(model, {
        tools: [
          { ...custom, ...width },
          { ...computer, ...width }
        ]
      })
      assert.strictEqual(first.got.status, 200, first.got.text)
      assert.deepStrictEqual(first.sent.tools, [custom, { ...computer, ...width }])
      assert.strictEqual(first.adjusted, "tools.display_width_px:removed")
      await isWhole({ tools: [{ ...computer, ...width }] })
      await isWhole({ tools: [{ name: "f", input_schema: { type: "object" }, ...width }] })
    })

    it("where it was sent with other betas or in another version", async () => {
      const later = { later_field: 1 }
      refused = [["later_field", isIn("later_field")]]
      for (const extra of [{ anthropic_beta: ["compact-2026-01-12"] }, { anthropic_version: "other" }]) {
        const { adjusted, got } = await ask(model, { ...later, ...extra })
        assert.strictEqual(got.status, 200, got.text)
        assert.strictEqual(adjusted, "later_field:removed")
      }
      await isWhole(later)
    })
  })
})
