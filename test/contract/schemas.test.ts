import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema, SchemaIssue } from "effect"
import { ChatRequest } from "../../src/contract/Chat.ts"
import { chatLimits } from "../../src/contract/ChatMessage.ts"
import { EmbeddingsRequest } from "../../src/contract/Embeddings.ts"
import {
  ApiError,
  ApiErrorBody,
  ApiErrors,
  MessagesError,
  MessagesErrorBody,
  MessagesErrors
} from "../../src/contract/Errors.ts"
import { maxTextBytes } from "../../src/contract/fields.ts"
import { CountRequest, MessagesRequest } from "../../src/contract/Messages.ts"
import { ResponsesRequest } from "../../src/contract/Responses.ts"
import { version } from "../../src/contract/version.ts"
import { makeBodyDecoder } from "../../src/http/body.ts"
import { parseExact } from "../../src/wire/parse.ts"

type Requests = Schema.ConstraintDecoder<unknown>
const issues = SchemaIssue.makeFormatterStandardSchemaV1()

/** Where the first problem is, as `a.0.b`; undefined when the schema accepts the value. */
const problem = (schema: Requests, value: unknown): string | undefined => {
  const decoded = Schema.decodeUnknownResult(schema)(value)
  if (Result.isSuccess(decoded)) return undefined
  return (issues(decoded.failure.issue).issues[0]?.path ?? []).map(String).join(".")
}

/** What is said of a request that is refused; undefined when it is accepted. */
const words = (schema: Requests, value: unknown): string | undefined => {
  const judged = decoded(schema, value)
  return Result.isSuccess(judged) ? undefined : judged.failure.message
}
const decoded = (schema: Requests, value: unknown) => Effect.runSync(Effect.result(makeBodyDecoder(schema)(value)))
const oddities: ReadonlyArray<unknown> = [
  undefined,
  null,
  true,
  -1.5,
  "",
  "x",
  [],
  [null],
  {},
  { type: "x" },
  { role: "user" }
]
/** The value with each of these in the place of each of its parts. */
const spoiled = (value: unknown, odd = oddities): ReadonlyArray<unknown> => {
  if (typeof value !== "object" || value === null) return odd
  const parts = Object.entries(value).slice(0, 20)
  const copy = (key: string, part: unknown) =>
    Array.isArray(value) ? value.with(Number(key), part) : { ...value, [key]: part }
  return [...odd, ...parts.flatMap(([key, part]) => spoiled(part, odd).map((one) => copy(key, one)))]
}
/** One that JavaScript can hold and one that it cannot. */
const numbers = [parseExact("1"), parseExact("1e400")]

type Row = readonly [what: string, value: unknown]
type Refused = readonly [what: string, at: string, value: unknown]
const table = (name: string, schema: Requests, accepted: ReadonlyArray<Row>, refused: ReadonlyArray<Refused>) =>
  describe(name, () => {
    it.each(accepted)("accepts %s", (_, value) => assert.isUndefined(problem(schema, value)))
    it.each(refused)("refuses %s", (_, at, value) => assert.strictEqual(problem(schema, value), at))
    it.each([
      ["null", null],
      ["a string", "{}"],
      ["a list", []],
      ["a number", 1]
    ])("refuses %s as a body", (_, body) => assert.strictEqual(problem(schema, body), ""))
    it.each(accepted)("says where and what, whatever is odd in %s", (_, value) => {
      for (const odd of spoiled(value)) {
        const refusal = words(schema, odd)
        if (refusal === undefined) continue
        assert.match(refusal, /^(the request body|[a-z_]+[a-z_.[\]\d]*): (is required|must |at (least|most) )/)
        assert.notMatch(refusal, /Expected|undefined|readonly|another value/)
      }
    })
    it.each(accepted)("takes a number for a number, however large it is, wherever in %s", (_, value) => {
      const [small, large] = numbers.map((number) => spoiled(value, [number]))
      for (const [at, body] of (large ?? []).entries()) {
        const refusal = words(schema, body)
        const refusalOfSmall = words(schema, small?.[at])
        if (refusal === undefined) assert.notInclude(JSON.stringify(decoded(schema, body)), '"rawJSON"')
        else if (refusalOfSmall === undefined) assert.match(refusal, /: must be /)
        // It may be said what it lacks instead.
        else if (!refusal.includes(": is required")) assert.strictEqual(refusal, refusalOfSmall)
      }
    })
  })

const times = <A>(count: number, value: A): ReadonlyArray<A> => new Array(count).fill(value)
const letters = (count: number) => "a".repeat(count)
const hello = { role: "user", content: "Hello" }
const chat = (fields: object) => ({ model: "m:il5", messages: [hello], ...fields })
const says = (message: unknown) => chat({ messages: [message] })
const user = (...parts: ReadonlyArray<unknown>) => says({ role: "user", content: parts })
const call = (fields: object = {}) => ({
  id: "c",
  type: "function",
  function: { name: "f", arguments: "{}" },
  ...fields
})
const calls = (tool_calls: unknown, fields: object = {}) =>
  says({ role: "assistant", content: null, tool_calls, ...fields })
const answer = (fields: object) => says({ role: "tool", content: "x", tool_call_id: "c", ...fields })
const tool = (fields: object) => chat({ tools: [{ type: "function", function: { name: "f", ...fields } }] })
const image = { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } }
const file = { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AA==" } }

table(
  "a chat request",
  ChatRequest,
  [
    ["a question", chat({})],
    ["unknown fields", chat({ seed: 1, response_format: { type: "json_object" } })],
    [
      "null for every optional field",
      chat(
        Object.fromEntries(
          [
            "temperature",
            "top_p",
            "max_tokens",
            "max_completion_tokens",
            "stream",
            "stream_options",
            "stop",
            "tools",
            "tool_choice",
            "reasoning_effort"
          ].map((name) => [name, null])
        )
      )
    ],
    [
      "all roles",
      chat({
        messages: [
          { role: "system", content: "s" },
          { role: "developer", content: "d" },
          hello,
          { role: "assistant", content: "a" },
          { role: "tool", content: "t", tool_call_id: "c" }
        ]
      })
    ],
    ["parts of every type", user({ type: "text", text: "x" }, image, file)],
    ["a file without a name", user({ ...file, file: { file_data: "x" } })],
    [`${chatLimits.messages} messages`, chat({ messages: times(chatLimits.messages, hello) })],
    [
      `${chatLimits.tools} tools`,
      chat({ tools: times(chatLimits.tools, { type: "function", function: { name: "f" } }) })
    ],
    [`${chatLimits.toolCalls} tool calls`, calls(times(chatLimits.toolCalls, call()))],
    [`a tool call ID of ${chatLimits.toolCallId}`, calls([call({ id: letters(chatLimits.toolCallId) })])],
    [`a tool_call_id of ${chatLimits.toolCallId}`, answer({ tool_call_id: letters(chatLimits.toolCallId) })],
    ["a tool name of 64", tool({ name: letters(64) })],
    ["a tool name of every kind of character", tool({ name: "aZ09_-" })],
    [`a description of ${chatLimits.description}`, tool({ description: letters(chatLimits.description) })],
    ["a tool without parameters", tool({ parameters: null, description: null })],
    ["content of 2 MiB", says({ role: "user", content: letters(maxTextBytes) })],
    [
      "content of 2 MiB in three-byte characters",
      says({ role: "user", content: "世".repeat(Math.floor(maxTextBytes / 3)) })
    ],
    ["the ends of temperature and top_p", chat({ temperature: 2, top_p: 0 })],
    ["stop as a string", chat({ stop: "x" })],
    ["stop as a list", chat({ stop: ["x", "y"] })],
    ["a tool choice by word", chat({ tool_choice: "required" })],
    ["a tool choice by word in an object", chat({ tool_choice: { type: "auto" } })],
    ["a tool choice by name", chat({ tool_choice: { type: "function", function: { name: "f" } } })],
    ["every effort", chat({ reasoning_effort: "none" })],
    ["integers with a point", chat({ max_tokens: JSON.parse("64.0"), seed: JSON.parse("1e3") })],
    [
      "objects of which every field is optional",
      chat({
        stream_options: {},
        logit_bias: { 50256: -100 },
        messages: [{ ...hello, extra_content: { google: {} } }],
        tools: [{ type: "function", function: { name: "f", parameters: {} } }]
      })
    ],
    ["a seed that JavaScript cannot hold", chat({ seed: parseExact("12345678901234567890") })],
    ["a format with a schema alone", chat({ response_format: { type: "json_schema", json_schema: { schema: {} } } })]
  ],
  [
    ["no model", "model", { messages: [hello] }],
    ["an empty model", "model", chat({ model: "" })],
    ["no messages", "messages", { model: "m:il5" }],
    ["empty messages", "messages", chat({ messages: [] })],
    [`${chatLimits.messages + 1} messages`, "messages", chat({ messages: times(chatLimits.messages + 1, hello) })],
    ["an unknown role", "messages.0", says({ role: "robot", content: "x" })],
    [
      "parts in a system message",
      "messages.0.content",
      says({ role: "system", content: [{ type: "text", text: "x" }] })
    ],
    [
      "parts in an assistant message",
      "messages.0.content",
      says({ role: "assistant", content: [{ type: "text", text: "x" }] })
    ],
    ["parts in a tool message", "messages.0.content", answer({ content: [{ type: "text", text: "x" }] })],
    ["an assistant message that says nothing", "messages.0.content", says({ role: "assistant", content: null })],
    ["user content of null", "messages.0.content", says({ role: "user", content: null })],
    ["an unknown part", "messages.0.content.0", user({ type: "audio", audio: "x" })],
    ["an image without a URL", "messages.0.content.0.image_url.url", user({ type: "image_url", image_url: {} })],
    ["content over 2 MiB", "messages.0.content", says({ role: "user", content: letters(maxTextBytes + 1) })],
    [
      "content over 2 MiB in UTF-8 only",
      "messages.0.content",
      says({ role: "user", content: "世".repeat(Math.ceil((maxTextBytes + 1) / 3)) })
    ],
    ["system content over 2 MiB", "messages.0.content", says({ role: "system", content: letters(maxTextBytes + 1) })],
    [`${chatLimits.toolCalls + 1} tool calls`, "messages.0.tool_calls", calls(times(chatLimits.toolCalls + 1, call()))],
    [
      "a tool call ID one too long",
      "messages.0.tool_calls.0.id",
      calls([call({ id: letters(chatLimits.toolCallId + 1) })])
    ],
    [
      "tool arguments that are no string",
      "messages.0.tool_calls.0.function.arguments",
      calls([call({ function: { name: "f", arguments: {} } })])
    ],
    [
      "a tool_call_id one too long",
      "messages.0.tool_call_id",
      answer({ tool_call_id: letters(chatLimits.toolCallId + 1) })
    ],
    ["a tool message without an ID", "messages.0.tool_call_id", says({ role: "tool", content: "x" })],
    [
      `${chatLimits.tools + 1} tools`,
      "tools",
      chat({ tools: times(chatLimits.tools + 1, { type: "function", function: { name: "f" } }) })
    ],
    ["a tool without a name", "tools.0.function.name", chat({ tools: [{ type: "function", function: {} }] })],
    ["a tool name of 65", "tools.0.function.name", tool({ name: letters(65) })],
    ["an empty tool name", "tools.0.function.name", tool({ name: "" })],
    ["a tool name with a dot", "tools.0.function.name", tool({ name: "a.b" })],
    ["a tool name with a newline at its end", "tools.0.function.name", tool({ name: "a\n" })],
    [
      "a description one too long",
      "tools.0.function.description",
      tool({ description: letters(chatLimits.description + 1) })
    ],
    ["parameters that are no object", "tools.0.function.parameters", tool({ parameters: "x" })],
    ["a tool of another type", "tools.0.type", chat({ tools: [{ type: "web_search" }] })],
    ["temperature above 2", "temperature", chat({ temperature: 2.01 })],
    ["temperature below 0", "temperature", chat({ temperature: -0.01 })],
    ["top_p above 1", "top_p", chat({ top_p: 1.01 })],
    ["top_p below 0", "top_p", chat({ top_p: -0.01 })],
    ["temperature as text", "temperature", chat({ temperature: "1" })],
    ["max_tokens of 0", "max_tokens", chat({ max_tokens: 0 })],
    ["max_tokens of 1.5", "max_tokens", chat({ max_tokens: 1.5 })],
    ["max_completion_tokens below 0", "max_completion_tokens", chat({ max_completion_tokens: -1 })],
    ["stream as text", "stream", chat({ stream: "true" })],
    ["stop as a number", "stop", chat({ stop: 1 })],
    ["a seed that is text", "seed", chat({ seed: "x" })],
    ["a seed of 1.5", "seed", chat({ seed: 1.5 })],
    ["store", "store", chat({ store: true })],
    ["n of 2", "n", chat({ n: 2 })],
    ["n of 0", "n", chat({ n: 0 })],
    ['n of "1"', "n", chat({ n: "1" })],
    ["user as an object", "user", chat({ user: {} })],
    ["logprobs as text", "logprobs", chat({ logprobs: "true" })],
    ["another format", "response_format", chat({ response_format: { type: "yaml" } })],
    [
      "a format without a schema",
      "response_format.json_schema.schema",
      chat({ response_format: { type: "json_schema", json_schema: {} } })
    ],
    ["an unknown tool choice", "tool_choice", chat({ tool_choice: "always" })],
    ["an unknown effort", "reasoning_effort", chat({ reasoning_effort: "huge" })]
  ]
)

const native = (fields: object) => ({ model: "m:il5", max_tokens: 1, messages: [hello], ...fields })
table(
  "a messages request",
  MessagesRequest,
  [
    ["a question", native({})],
    [
      "whatever the model's own API takes",
      native({
        system: [{ type: "text", text: "x" }],
        thinking: { type: "adaptive" },
        metadata: { a: 1 },
        new_field: { a: 1 }
      })
    ],
    ["values that the model judges", native({ temperature: 9, top_p: 2, top_k: -1 })],
    [
      "words and formats that the vendor may add",
      native({
        system: [{ type: "text", text: "x", cache_control: { type: "ephemeral", ttl: "1d" } }],
        tools: [{ name: "f", input_schema: {}, cache_control: { type: "lasting" } }],
        output_config: { effort: "huge", format: { type: "yaml" } }
      })
    ],
    ["messages of any shape", native({ messages: [{ role: "user", content: [{ type: "anything" }] }] })],
    ["stream of null", native({ stream: null })],
    [
      "objects of which every field is optional",
      native({
        metadata: {},
        output_config: { format: { type: "json_schema", schema: {} } },
        tools: [{ name: "f", input_schema: {}, cache_control: { type: "ephemeral" } }],
        messages: [
          { ...hello, content: [{ type: "search_result", source: "s", title: "t", content: [], citations: {} }] }
        ]
      })
    ]
  ],
  [
    ["no model", "model", { max_tokens: 1, messages: [hello] }],
    ["no messages", "messages", { model: "m:il5", max_tokens: 1 }],
    ["empty messages", "messages", native({ messages: [] })],
    ["no max_tokens", "max_tokens", { model: "m:il5", messages: [hello] }],
    ["max_tokens of 0", "max_tokens", native({ max_tokens: 0 })],
    ["max_tokens below 0", "max_tokens", native({ max_tokens: -1 })],
    ["max_tokens of null", "max_tokens", native({ max_tokens: null })],
    ["stream as text", "stream", native({ stream: "yes" })],
    ["temperature as text", "temperature", native({ temperature: "1" })],
    ["a version that is a number", "anthropic_version", native({ anthropic_version: 5 })],
    ["top_k that is no integer", "top_k", native({ top_k: 1.5 })],
    [
      "a block without its text",
      "messages.0.content.0.text",
      native({ messages: [{ ...hello, content: [{ type: "text" }] }] })
    ],
    ["a message without a role", "messages.0.role", native({ messages: [{ content: "x" }] })],
    ["a tool that is none", "tools.0", native({ tools: ["x"] })],
    ["a tool without a schema", "tools.0.input_schema", native({ tools: [{ name: "f" }] })],
    ["an effort that is a number", "output_config.effort", native({ output_config: { effort: 3 } })],
    [
      "a format without its schema",
      "output_config.format.schema",
      native({ output_config: { format: { type: "json_schema" } } })
    ],
    ["a format without a type", "output_config.format.type", native({ output_config: { format: {} } })],
    ["a system prompt that is a number", "system", native({ system: 1 })],
    ["a system block whose type is a number", "system.0.type", native({ system: [{ type: 1, text: "x" }] })]
  ]
)

table(
  "a count request",
  CountRequest,
  [
    ["a question without max_tokens", { model: "m:il5", messages: [hello] }],
    ["max_tokens of any kind, which is ignored", native({ max_tokens: "many", output_config: 1 })]
  ],
  [
    ["no model", "model", { messages: [hello] }],
    ["empty messages", "messages", { model: "m:il5", messages: [] }]
  ]
)

const responses = (fields: object) => ({ model: "m:il5", input: "Hello", ...fields })
table(
  "a responses request",
  ResponsesRequest,
  [
    ["a question", responses({})],
    [
      "items",
      responses({
        input: [
          { role: "user", content: "x" },
          { type: "function_call_output", call_id: "c", output: "x" }
        ]
      })
    ],
    ["what the upstream validates", responses({ service_tier: 1, text: { format: { type: "new" }, pace: "slow" } })],
    [
      "words that the vendor may add",
      responses({
        reasoning: { effort: "huge", summary: "short" },
        text: { verbosity: "chatty" },
        truncation: "sometimes",
        input: [{ type: "message", role: "assistant", status: "queued", content: "x" }]
      })
    ],
    ["sampling of any size", responses({ temperature: 9, top_p: -1, top_logprobs: 99 })],
    [
      "objects of which every field is optional",
      responses({ reasoning: {}, text: {}, metadata: { a: "b" }, input: [{ type: "reasoning", summary: [], id: "r" }] })
    ],
    ["null for optional fields", responses({ tools: null, include: null, reasoning: null, stream: null })]
  ],
  [
    ["no model", "model", { input: "x" }],
    ["no input", "input", { model: "m:il5" }],
    ["input as a number", "input", responses({ input: 1 })],
    ["tools as an object", "tools", responses({ tools: {} })],
    ["stream as text", "stream", responses({ stream: "true" })],
    ["temperature as text", "temperature", responses({ temperature: "x" })],
    ["top_logprobs that is no integer", "top_logprobs", responses({ top_logprobs: 1.5 })],
    ["max_output_tokens below 1", "max_output_tokens", responses({ max_output_tokens: -1 })],
    ["a format that is none", "text.format", responses({ text: { format: 1 } })],
    ["an effort that is a number", "reasoning.effort", responses({ reasoning: { effort: 3 } })],
    ["store", "store", responses({ store: true })],
    ["a conversation", "conversation", responses({ conversation: "c" })],
    ["a call without a name", "input.0.name", responses({ input: [{ type: "function_call", call_id: "c" }] })]
  ]
)

const embeddings = (fields: object) => ({ model: "m:il5", input: "Hello", ...fields })
table(
  "an embeddings request",
  EmbeddingsRequest,
  [
    ["a string", embeddings({})],
    ["strings", embeddings({ input: ["a", "b"] })],
    ["base64", embeddings({ encoding_format: "base64" })],
    ["fields that are ignored", embeddings({ user: "u", dimensions: 12 })]
  ],
  [
    ["no model", "model", { input: "x" }],
    ["no input", "input", { model: "m:il5" }],
    ["tokens", "input.0", embeddings({ input: [1, 2] })],
    ["lists of tokens", "input.0", embeddings({ input: [[1, 2]] })],
    ["another encoding", "encoding_format", embeddings({ encoding_format: "int8" })]
  ]
)

describe("errors", () => {
  const fields = { type: "api_error", message: "no" }
  it("have one body a surface, and no more in it than type and message", () => {
    const general = Schema.Union(ApiErrors)
    const messages = Schema.Union(MessagesErrors)
    for (const status of [400, 429, 504]) {
      const more = { status, ...fields, requestId: "r", retryAfter: 1 }
      assert.deepEqual(Schema.encodeSync(general)(new ApiError(more)), { error: fields })
      assert.deepEqual(Schema.encodeSync(messages)(new MessagesError(more)), { type: "error", error: fields })
    }
  })

  it("are told apart by their bodies", () => {
    assert.isUndefined(problem(ApiErrorBody, { error: fields }))
    assert.isUndefined(problem(MessagesErrorBody, { type: "error", error: fields }))
    assert.strictEqual(problem(MessagesErrorBody, { error: fields }), "type")
    assert.strictEqual(problem(ApiErrorBody, { error: { type: "x" } }), "error.message")
    assert.strictEqual(problem(ApiErrorBody, {}), "error")
  })
})

describe("the version", () => {
  it("is the package's", () => {
    const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"))
    assert.strictEqual(version, manifest.version)
  })
})
