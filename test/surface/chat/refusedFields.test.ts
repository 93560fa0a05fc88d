/**
 * What clouds refuse of chat requests, in each vendor's words: left out or done here, named, and remembered
 * (docs/decisions.md#fields-that-a-cloud-refuses). The catalog knows none of it.
 */
import { afterEach, assert, describe, it } from "@effect/vitest"
import type { JsonObject } from "../../../src/wire/json.ts"
import { chat, folded, functionTool } from "../../support/chat.ts"
import { type Kind, kinds, type Said, saying } from "../../support/chatKinds.ts"
import { reply } from "../../support/fakeUpstream.ts"
import { post } from "../../support/http.ts"
import { sharedUpstream } from "../../support/shared.ts"

const { gateway, upstream } = sharedUpstream()

const kindOf = (name: string): Kind => kinds.find((kind) => kind.name === name) ?? assert.fail(name)

type Fields = Readonly<Record<string, unknown>>
type Has = (body: JsonObject) => boolean

/** At this path, where `*` is each element. */
const at = (value: unknown, [name, ...rest]: ReadonlyArray<string>): ReadonlyArray<unknown> => {
  if (name === undefined) return value === undefined ? [] : [value]
  if (typeof value !== "object" || value === null) return []
  return name === "*" ? Object.values(value).flatMap((one) => at(one, rest)) : at(Reflect.get(value, name), rest)
}
const has =
  (path: string): Has =>
  (body) =>
    at(body, path.split(".")).length > 0

/** Refuses bodies as an OpenAI-compatible or Google's API does, and answers the others. */
const refusing = (kind: Kind, said: Said, rules: ReadonlyArray<readonly [words: string, has: Has]>) => {
  const tried: Array<JsonObject> = []
  upstream.use((socket, received) => {
    const body = JSON.parse(received.body)
    tried.push(body)
    const [message] = rules.find(([, refuses]) => refuses(body)) ?? []
    if (message !== undefined) {
      const error = { message, status: "INVALID_ARGUMENT", code: 400, type: "invalid_request_error" }
      return socket.write(reply("400 Bad Request", JSON.stringify({ type: "error", error })))
    }
    const stream = body.stream === true || /stream/i.test(received.path)
    return saying(kind, said, stream)(socket, received)
  })
  return tried
}
afterEach(() => upstream.use(() => {}))

const ask = async (kind: Kind, fields: Fields) => {
  const got = await post(`${gateway.url}/v1/chat/completions`, chat(kind.model, "hi", fields))
  const changes = got.headers.get("x-gateway-adjusted")?.split(", ") ?? []
  return { got, changes }
}

const quiet = { reasoning_effort: "none" }
const unsupported = (name: string) => `Unsupported parameter: '${name}' is not supported with this model.`
const only = (name: string, value: string) =>
  `Unsupported value: '${name}' does not support ${value} with this model. Only the default (1) value is supported.`
const unknown = (name: string, place: string) =>
  `Invalid JSON payload received. Unknown name "${name}" at '${place}': Cannot find field.`
const schema = { type: "object", properties: { a: { type: "string" } }, required: ["a"], additionalProperties: false }
const format = { response_format: { type: "json_schema", json_schema: { name: "x", schema } } }
const strictFormat = { response_format: { type: "json_schema", json_schema: { name: "x", schema, strict: true } } }
const invalid = (what: string) =>
  `Invalid schema for ${what} 'x': In context=('properties', 'a'), 'minLength' is not permitted.`
const states = "The specified schema produces a constraint that has too many states for serving.  Typical causes of …"

interface Case {
  readonly kind: string
  readonly fields: Fields
  readonly words: string
  readonly path: string
  readonly change: string
  /** Of another request, which is refused and tells nothing of the first: only that value was refused. */
  readonly other?: Fields
}
const cases: ReadonlyArray<Case> = [
  {
    kind: "Gemini",
    fields: { top_p: 0.5 },
    words: unknown("topP", "generation_config"),
    path: "generationConfig.topP",
    change: "top_p:removed"
  },
  {
    kind: "Gemini",
    fields: { seed: 8 },
    words: "Invalid value at 'generation_config.seed' (TYPE_INT32), 8",
    path: "generationConfig.seed",
    change: "seed:removed",
    other: { seed: 9 }
  },
  {
    kind: "Gemini",
    fields: { logprobs: true, top_logprobs: 2 },
    words: "Logprobs is not enabled for models/gemini-2.5-pro",
    path: "generationConfig.logprobs",
    change: "top_logprobs:removed"
  },
  {
    kind: "Gemini",
    fields: { reasoning_effort: "low" },
    words: "Thinking level LOW is not supported for this model. Please retry with other thinking level.",
    path: "generationConfig.thinkingConfig.thinkingLevel",
    change: "reasoning_effort:removed",
    other: { reasoning_effort: "high" }
  },
  {
    kind: "Gemini",
    fields: format,
    words: states,
    path: "generationConfig.responseJsonSchema",
    change: "response_format:json_schema->instruction",
    other: { response_format: { type: "json_schema", json_schema: { name: "x", schema: { ...schema, title: "y" } } } }
  },
  {
    kind: "GPT on Azure",
    fields: { ...quiet, seed: 7 },
    words: unsupported("seed"),
    path: "seed",
    change: "seed:removed"
  },
  // Another API's names of parameters of chat: here they are the caller's own.
  ...["thinking", "output_config"].map((name) => ({
    kind: "GPT on Azure",
    fields: { [name]: { type: "enabled" } },
    words: `Unrecognized request argument supplied: ${name}`,
    path: name,
    change: `${name}:removed`
  })),
  {
    kind: "GPT on Azure",
    fields: { user: "u" },
    words: "Unrecognized request argument supplied: user",
    path: "user",
    change: "user:removed"
  },
  {
    kind: "GPT on Azure",
    fields: { ...quiet, temperature: 0.5 },
    words: only("temperature", "0.5"),
    path: "temperature",
    change: "temperature:removed",
    other: { ...quiet, temperature: 0.6 }
  },
  {
    kind: "GPT on Azure",
    fields: { novel: 1 },
    words: "Unknown parameter: 'novel'.",
    path: "novel",
    change: "novel:removed"
  },
  ...(
    [
      ["GPT on Azure", "response_format"],
      ["GPT on Bedrock", "text.format"]
    ] as const
  ).map(([kind, path]) => ({
    kind,
    fields: strictFormat,
    words: invalid("response_format"),
    path,
    change: "response_format:json_schema->instruction",
    other: format
  })),
  ...(
    [
      ["GPT on Azure", "tools.*.function.strict"],
      ["GPT on Bedrock", "tools.*.strict"]
    ] as const
  ).map(([kind, path]) => ({
    kind,
    fields: { tools: [functionTool("x", schema, { strict: true })] },
    words: invalid("function"),
    path,
    change: "tools.function.strict:removed",
    other: { tools: [functionTool("x", { ...schema, title: "y" }, { strict: true })] }
  })),
  {
    kind: "GPT on Bedrock",
    fields: { verbosity: "low" },
    words: unsupported("text.verbosity"),
    path: "text.verbosity",
    change: "verbosity:removed"
  },
  {
    kind: "GPT on Bedrock",
    fields: { metadata: { a: "b" } },
    words: "The 'metadata' parameter is only allowed when 'store' is enabled.",
    path: "metadata",
    change: "metadata:removed"
  },
  {
    kind: "gpt-oss on Bedrock",
    fields: { verbosity: "low" },
    words:
      "Malformed input request: #: extraneous key [verbosity] is not permitted, please reformat your input and try again.",
    path: "verbosity",
    change: "verbosity:removed"
  }
]

describe.each(cases)("$kind: $words", ({ kind: name, fields, words, path, change, other }) => {
  const kind = kindOf(name)
  const said = { texts: ['{"a":"b"}'] }

  it("is sent again without it, which is named and remembered", async () => {
    const tried = refusing(kind, said, [[words, has(path)]])
    const first = await ask(kind, fields)
    assert.strictEqual(first.got.status, 200, first.got.text)
    assert.deepStrictEqual(tried.map(has(path)), [true, false])
    assert.include(first.changes, change)
    const second = await ask(kind, { ...fields, ...("logprobs" in fields ? {} : { stream: true }) })
    assert.strictEqual(second.got.status, 200, second.got.text)
    assert.deepStrictEqual(tried.slice(2).map(has(path)), [false])
    assert.deepStrictEqual(second.changes, first.changes)
    if (other === undefined) return
    await ask(kind, other)
    assert.deepStrictEqual(tried.slice(3).map(has(path)), [true, false])
  })
})

describe("what a vendor does not take is done here", () => {
  const said = { texts: ["one END ", "two"] }
  it.each([
    ["Gemini", unknown("stopSequences", "generation_config"), "generationConfig.stopSequences"],
    ["GPT on Azure", unsupported("stop"), "stop"],
    ["gpt-oss on Bedrock", unsupported("stop"), "stop"]
  ])("%s: stop sequences", async (name, words, path) => {
    const kind = kindOf(name)
    for (const stream of [false, true]) {
      const tried = refusing(kind, said, [[words, has(path)]])
      const { changes, got } = await ask(kind, { ...quiet, stop: "END", stream })
      assert.deepStrictEqual(tried.map(has(path)), stream ? [false] : [true, false])
      assert.include(changes, "stop:sent->watched")
      const { content, finish } = stream
        ? { content: folded(got.text).content, finish: /"finish_reason":"(\w+)"/.exec(got.text)?.[1] }
        : { content: got.json.choices[0].message.content, finish: got.json.choices[0].finish_reason }
      assert.deepStrictEqual([content, finish], ["one ", "stop"])
    }
  })

  it.each([
    ["GPT on Azure", "response_format"],
    ["GPT on Bedrock", "text.format"]
  ])("%s: JSON, without the fence that words may bring", async (name, path) => {
    const kind = kindOf(name)
    const texts = ["```js", 'on\n{"a"', ':"b"}\n', "```"]
    for (const stream of [false, true]) {
      const tried = refusing(kind, { texts }, [[invalid("response_format"), has(path)]])
      const messages = [
        { role: "system", content: "Be brief." },
        { role: "user", content: "hi" }
      ]
      const { got } = await ask(kind, { ...strictFormat, messages, stream })
      assert.strictEqual(stream ? folded(got.text).content : got.json.choices[0].message.content, '{"a":"b"}')
      const said: ReadonlyArray<unknown> = [tried.at(-1)?.messages ?? tried.at(-1)?.input].flat()
      assert.match(JSON.stringify(said[1]), /"(?:system|developer)".*conforms to this JSON Schema/)
    }
  })

  const calls = ["f", "g"].map((id) => ({ id, name: "f", pieces: ["{}"] }))
  it.each(["GPT on Azure", "GPT on Bedrock", "gpt-oss on Bedrock"])("%s: one call at a time", async (name) => {
    const kind = kindOf(name)
    for (const stream of [false, true]) {
      refusing(kind, { calls }, [[unsupported("parallel_tool_calls"), has("parallel_tool_calls")]])
      const { changes, got } = await ask(kind, { parallel_tool_calls: false, tools: [functionTool("f")], stream })
      assert.include(changes, "parallel_tool_calls:false->first-call")
      const made = stream ? folded(got.text).calls : got.json.choices[0].message.tool_calls
      assert.lengthOf(made, 1)
    }
  })
})

describe("the refusal is the answer", () => {
  it.each([
    ["GPT on Azure", unsupported("tools"), { tools: [functionTool("f")] }],
    ["GPT on Azure", unsupported("store"), {}],
    [
      "GPT on Azure",
      "Unknown parameter: 'tools[0].function.parameters.novel'.",
      { tools: [functionTool("f", { type: "object", novel: 1 })] }
    ],
    ["GPT on Azure", `${unsupported("user")} x`, { user: "u" }],
    ["GPT on Azure", `Invalid value: '${unsupported("user")}'`, { user: "u" }],
    ["GPT on Bedrock", unsupported("store"), {}],
    ["Gemini", unknown("contents", "x"), {}],
    [
      "Gemini",
      unknown("novel", "tools[0].function_declarations[0].parameters_json_schema"),
      { tools: [functionTool("f", { type: "object", properties: { novel: {} } })] }
    ],
    ["Gemini", `Invalid value at 'contents[0].parts[0].text' (TYPE_STRING), 1`, {}],
    ["Gemini", "Request contains an invalid argument.", { seed: 1 }]
  ] as const)("%s: %s", async (name, words, fields) => {
    const kind = kindOf(name)
    const tried = refusing(kind, { texts: ["x"] }, [[words, () => true]])
    const { got } = await ask(kind, fields)
    assert.strictEqual(got.status, 400)
    assert.lengthOf(tried, 1)
    assert.strictEqual(got.json.error.message, words)
  })

  it("on responses, whose bodies are forwarded as they came", async () => {
    const tried = refusing(kindOf("GPT on Azure"), { texts: ["x"] }, [[unsupported("novel"), () => true]])
    const got = await post(`${gateway.url}/v1/responses`, { model: "gpt-5.1:il5", input: "hi", novel: 1 })
    assert.strictEqual(got.status, 400)
    assert.lengthOf(tried, 1)
  })

  it("where the request without it is refused, too, and nothing is remembered", async () => {
    const kind = kindOf("GPT on Azure")
    const tried = refusing(kind, { texts: ["x"] }, [
      [unsupported("top_logprobs"), has("top_logprobs")],
      ["something else", () => true]
    ])
    const fields = { ...quiet, logprobs: true, top_logprobs: 2 }
    assert.strictEqual((await ask(kind, fields)).got.status, 400)
    assert.deepStrictEqual(tried.map(has("top_logprobs")), [true, false])
    const again = refusing(kind, { texts: ["x"] }, [])
    assert.strictEqual((await ask(kind, fields)).got.status, 200)
    assert.deepStrictEqual(again.map(has("top_logprobs")), [true])
  })
})

it("a parameter that is refused with one effort stays with another", async () => {
  const kind = kindOf("GPT on Bedrock")
  const tried = refusing(kind, { texts: ["x"] }, [[unsupported("user"), has("user")]])
  await ask(kind, { user: "u", reasoning_effort: "low" })
  const others = refusing(kind, { texts: ["x"] }, [])
  await ask(kind, { user: "u", reasoning_effort: "high" })
  await ask(kind, { user: "v", reasoning_effort: "low" })
  assert.deepStrictEqual([...tried, ...others].map(has("user")), [true, false, true, false])
})
