/**
 * Nothing of a request is lost in silence: whatever field is added, wherever a request has fields, it reaches the cloud (then the
 * cloud is sent something else), or a header names it, or the request is refused.
 */
import { isDeepStrictEqual } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import type { Route } from "../../../src/catalog/Route.ts"
import type { ApiError, MessagesError } from "../../../src/contract/Errors.ts"
import { makeBodyDecoder } from "../../../src/http/body.ts"
import { chat } from "../../../src/surfaces/chat.ts"
import { countTokens, messages } from "../../../src/surfaces/messages.ts"
import { responses } from "../../../src/surfaces/responses.ts"
import type { NamesModel, Prepared, Surface } from "../../../src/surfaces/Surface.ts"
import { adjustedHeaders } from "../../../src/vendors/adjustments.ts"
import { keepParsed } from "../../../src/vendors/toolCalls.ts"
import { jsonText } from "../../../src/wire/print.ts"
import { dataUri, file, functionTool, image } from "../../support/chat.ts"
import { open, parsed } from "../../support/http.ts"
import { sharedGateway } from "../../support/shared.ts"
import { azure, flash, opus, opusBedrock, oss, routeOf, sonnet, sonnetBedrock, terra } from "../../vendors/support.ts"

const gateway = sharedGateway()

type Json = ReturnType<typeof JSON.parse>
/** In milliseconds. */
const timeout = 60_000

type Path = ReadonlyArray<string | number>

interface Outcome {
  readonly status: number
  readonly text: string
  readonly named: ReadonlyArray<string>
  readonly sent: Json
}
type Send = (body: Json) => Promise<Outcome>

/** To the sandbox, which refuses fields that it does not know: then they are sent again without. */
const over =
  (path: string): Send =>
  async (body) => {
    const response = await open(gateway.url + path, body)
    const text = await response.text()
    const headers = ["x-gateway-adjusted", "x-gateway-thinking-adjusted"].map((name) => response.headers.get(name))
    return {
      status: response.status,
      text,
      named: headers.flatMap((value) => value?.split(", ") ?? []),
      sent: parsed(gateway.calls().at(-1)?.body ?? "")
    }
  }

/** To no cloud: what a surface makes of a request, for many of them. */
const prepared = <Request extends NamesModel, P extends Prepared, E extends ApiError | MessagesError>(
  surface: Pick<Surface<Request, P, E>, "prepare" | "schema" | "texts">,
  route: Route
): Send => {
  const decode = makeBodyDecoder<Request>(surface.schema)
  return async (body) => {
    const decoded = await Effect.runPromise(Effect.result(decode(body)))
    const made = Result.flatMap(decoded, (request) => {
      for (const { holder, text } of surface.texts?.(request) ?? [])
        if (holder !== undefined) keepParsed(holder, parsed(text))
      return surface.prepare(request, route, { id: "id", startedAt: 0, headers: {}, inputEstimate: 0 })
    })
    if (Result.isFailure(made)) return { status: 400, text: made.failure.message, named: [], sent: undefined }
    const { adjusted = [], bodies, thinkingAdjusted = [] } = made.success
    const named = Object.values(adjustedHeaders(adjusted, thinkingAdjusted)).flatMap((value) => value.split(", "))
    return { status: 200, text: "", named, sent: parsed(jsonText(bodies[0])) }
  }
}

/** What holds a caller's own data, or a schema: its fields are no parameters. */
const opaque = new Set(["parameters", "input_schema", "schema", "metadata", "input", "google", "anthropic"])

/** Every object of a request, by its path. */
const placesIn = (value: Json, at: Path = []): ReadonlyArray<Path> => {
  if (typeof value !== "object" || value === null) return []
  const inner = Object.entries(value).flatMap(([key, child]) =>
    opaque.has(key) ? [] : placesIn(child, [...at, Array.isArray(value) ? Number(key) : key])
  )
  return Array.isArray(value) ? inner : [at, ...inner]
}

/** The request with a field at a place. */
const withField = (body: Json, [head, ...rest]: Path, name: string, value: Json): Json => {
  if (head === undefined) return { ...body, [name]: value }
  const copy = Array.isArray(body) ? [...body] : { ...body }
  copy[head] = withField(body[head], rest, name, value)
  return copy
}

const get = (body: Json, path: Path): Json => path.reduce((value, key) => value[key], body)
const shown = (path: Path): string => path.filter((key) => typeof key === "string").join(".")

interface Added {
  readonly place: Path
  readonly name: string
  readonly value: Json
}

/** What happens anyway, or is seen to by the gateway. */
const happens = new Set([
  // Vendors that have formats of their own enforce each.
  "response_format.json_schema.strict=true",
  // The name is that of the call.
  'messages.name="n"',
  'stop="END"',
  'stop="odd"'
])

/** Those of the fields that make no difference that anyone could see. */
const lost = async (send: Send, base: Json, added: ReadonlyArray<Added>): Promise<ReadonlyArray<string>> => {
  const plain = await send(base)
  assert.strictEqual(plain.status, 200, plain.text.slice(0, 500))
  const silent: Array<string> = []
  for (const { place, name, value } of added) {
    const got = await send(withField(base, place, name, value))
    if (got.status === 400) continue
    const field = `${shown([...place, name])}=${JSON.stringify(value)}`
    assert.strictEqual(got.status, 200, `${field}: ${got.text.slice(0, 500)}`)
    const said = got.named.some((entry) => !plain.named.includes(entry) || field.includes(entry.split(":")[0] ?? "?"))
    if (!said && isDeepStrictEqual(got.sent, plain.sent) && !happens.has(field)) silent.push(field)
  }
  return silent
}

const novel = ["x", { a: 1 }]
/** A text and an object in turn. */
const everywhere = (base: Json): ReadonlyArray<Added> =>
  placesIn(base).map((place, at) => ({ place, name: "novel", value: novel[at % novel.length] }))

/** Every field of the documents, at the places of their kind, where the request does not have it yet. */
const documented = (base: Json, fields: Readonly<Record<string, Readonly<Record<string, Json>>>>) =>
  placesIn(base).flatMap((place) =>
    Object.entries(fields[shown(place)] ?? {}).flatMap(([name, value]) =>
      isDeepStrictEqual(get(base, place)[name], value) ? [] : [{ place, name, value }]
    )
  )

const schema = { type: "object", properties: { a: { type: "string" } }, required: ["a"], additionalProperties: false }
const tools = [functionTool("f", schema, { description: "d" })]
const chatBase = (model: string, parts: ReadonlyArray<Json>) => ({
  model,
  messages: [
    { role: "system", content: "s" },
    { role: "user", content: [{ type: "text", text: "hi" }, ...parts] },
    {
      role: "assistant",
      content: null,
      tool_calls: [
        {
          id: "call_1",
          type: "function",
          function: { name: "f", arguments: '{"a":"b"}' },
          extra_content: { google: {} }
        }
      ]
    },
    { role: "tool", tool_call_id: "call_1", content: "c" },
    { role: "user", content: [{ type: "text", text: "go on", cache_control: { type: "ephemeral" } }] }
  ],
  max_completion_tokens: 4000,
  reasoning_effort: "none",
  tools,
  tool_choice: { type: "function", function: { name: "f" } },
  response_format: { type: "json_schema", json_schema: { name: "n", schema } },
  stream: true,
  stream_options: { include_usage: true }
})

const mark = { type: "ephemeral", ttl: "1h" }
const message = { name: "n", cache_control: mark }
const part = { cache_control: mark }
const chatFields = {
  "": {
    audio: { voice: "alloy", format: "mp3" },
    cache_control: mark,
    frequency_penalty: 1,
    function_call: "auto",
    functions: [{ name: "g" }],
    logit_bias: { 50256: -100 },
    logprobs: true,
    max_tokens: 3000,
    metadata: { a: "b" },
    modalities: ["text", "audio"],
    moderation: { model: "omni-moderation-latest" },
    n: 2,
    parallel_tool_calls: false,
    prediction: { type: "content", content: "p" },
    presence_penalty: 1,
    prompt_cache_key: "k",
    prompt_cache_retention: "24h",
    reasoning: { effort: "low" },
    reasoning_effort: "xhigh",
    safety_identifier: "s",
    seed: 7,
    service_tier: "priority",
    stop: "END",
    store: true,
    temperature: 0.5,
    thinking: { type: "enabled", budget_tokens: 1024 },
    tool_choice: "none",
    top_k: 5,
    top_logprobs: 2,
    top_p: 0.5,
    user: "u",
    verbosity: "low",
    web_search_options: {}
  },
  messages: {
    ...message,
    audio: { id: "a" },
    function_call: { name: "f", arguments: "{}" },
    reasoning_content: "r",
    refusal: "no",
    tool_call_id: "call_1",
    weight: 1
  },
  "messages.content": {
    ...part,
    annotations: ["a"],
    image_url: { url: "x" },
    file: { a: 1 },
    input_audio: { data: "" },
    refusal: "no"
  },
  "messages.content.image_url": { detail: "high" },
  "messages.content.file": { file_id: "f", filename: "b.pdf" },
  "messages.content.cache_control": { type: "persistent", ttl: "1h", scope: "global" },
  "messages.tool_calls": { cache_control: mark, custom: { name: "c", input: "i" } },
  "messages.tool_calls.function": { strict: true, parsed_arguments: { a: "b" } },
  tools: { cache_control: mark, custom: { name: "c" } },
  "tools.function": { cache_control: mark, strict: true, defer_loading: true },
  tool_choice: { allowed_tools: { mode: "auto" }, custom: { name: "c" }, disable_parallel_tool_use: true },
  response_format: { schema },
  "response_format.json_schema": { description: "d", strict: true },
  stream_options: { include_obfuscation: true, include_usage: true }
}
/** With values of a kind that the documents do not have. */
const odd: ReadonlyArray<Added> = Object.keys(chatFields[""]).flatMap((name) =>
  ["odd", 7].map((value) => ({ place: [], name, value }))
)

const images = [image(dataUri("image/png"))]
const families: ReadonlyArray<readonly [model: string, route: Route, parts: ReadonlyArray<Json>]> = [
  ["claude-sonnet-4-5:il2", sonnet, [...images, file(dataUri("application/pdf"))]],
  ["claude-sonnet-4-5:il5", sonnetBedrock, images],
  ["claude-opus-4-7:il2", opus, images],
  ["claude-opus-4-7:il5", opusBedrock, images],
  ["gemini-3-flash:il2", flash, [...images, file(dataUri("application/pdf"))]],
  ["gpt-5.1:il5", azure, images],
  ["gpt-5.6-terra:il5", terra, images],
  ["gpt-oss-120b:il5", oss, []]
]

describe("chat", () => {
  for (const [model, route, parts] of families) {
    const base = chatBase(model, parts)
    const send = prepared(chat, route)
    it(`${model}: fields of the documents`, { timeout }, async () => {
      assert.deepStrictEqual(await lost(send, base, documented(base, chatFields)), [])
    })
    it(`${model}: the same while it reasons, and nothing else is asked`, { timeout }, async () => {
      const bare = { model, messages: [{ role: "user", content: "hi" }] }
      // Without tools they ask for nothing.
      const idle = new Set(["parallel_tool_calls", "tool_choice"])
      const added = documented(bare, chatFields).filter(({ name }) => !idle.has(name))
      assert.deepStrictEqual(await lost(send, bare, added), [])
    })
    it(`${model}: fields that no one knows`, { timeout }, async () => {
      assert.deepStrictEqual(await lost(over("/v1/chat/completions"), base, everywhere(base)), [])
    })
    it(`${model}: values that no document has`, { timeout }, async () => {
      assert.deepStrictEqual(await lost(send, base, odd), [])
    })
  }
})

const messagesBase = (model: string) => ({
  model,
  max_tokens: 4000,
  system: [{ type: "text", text: "s", cache_control: { type: "ephemeral" } }],
  messages: [
    { role: "user", content: "Hello." },
    {
      role: "user",
      content: [
        { type: "text", text: "hi", cache_control: { type: "ephemeral" } },
        { type: "image", source: { type: "base64", media_type: "image/png", data: dataUri("image/png").slice(22) } }
      ]
    },
    { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "f", input: { a: "b" } }] },
    {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: "toolu_1", content: [{ type: "text", text: "c" }] }]
    },
    { role: "system", content: [{ type: "text", text: "r" }] }
  ],
  tools: [{ name: "f", description: "d", input_schema: schema, cache_control: { type: "ephemeral" } }],
  tool_choice: { type: "auto" },
  thinking: { type: "disabled" },
  metadata: { user_id: "u" },
  output_config: { format: { type: "json_schema", schema } },
  stream: true
})
const messagesFields = {
  "": {
    anthropic_beta: ["novel-2026-01-01"],
    anthropic_version: "2023-06-01",
    cache_control: mark,
    container: "c",
    context_management: { edits: [{ type: "clear_tool_uses_20250919" }] },
    fallbacks: ["m"],
    inference_geo: "us",
    max_tokens: 3000,
    mcp_servers: [{ name: "m" }],
    output_format: { type: "json_schema", schema: { ...schema, title: "t" } },
    safeguards: { a: 1 },
    service_tier: "standard_only",
    speed: "fast",
    stop_sequences: ["END"],
    temperature: 0.5,
    thread: "t",
    top_k: 5,
    top_p: 0.5,
    vendor_version: "2023-06-01"
  },
  messages: { name: "n", id: "m" },
  "messages.content": { citations: { enabled: true }, title: "t", is_error: true, caller: { type: "direct" } },
  "messages.content.content": { citations: [], cache_control: mark },
  "messages.content.cache_control": { ttl: "1h", scope: "global" },
  "system.cache_control": { ttl: "1h", scope: "global" },
  system: { citations: [] },
  tools: {
    type: "custom",
    strict: true,
    defer_loading: true,
    eager_input_streaming: true,
    input_examples: [{ a: "b" }],
    allowed_callers: ["direct"],
    custom: { a: 1 }
  },
  "tools.cache_control": { ttl: "1h", scope: "global" },
  tool_choice: { disable_parallel_tool_use: true, type: "any" },
  thinking: { display: "summarized", budget_tokens: 2000 },
  metadata: { session: "s" },
  output_config: { effort: "low", task_budget: { type: "tokens", total: 20_000 } },
  "output_config.format": { name: "n", strict: true }
}

/** Parameters of an answer (docs/api.md#counting-tokens). */
const uncounted = new Set(
  "cache_control max_tokens output_format service_tier speed stop_sequences temperature top_k top_p".split(" ")
)

describe("messages", () => {
  for (const [model, route] of [
    ["claude-sonnet-4-5:il2", sonnet],
    ["claude-haiku-4-5:il5", routeOf("claude-haiku-4-5", "bedrock")],
    ["claude-opus-4-7:il2", opus],
    ["claude-opus-4-7:il5", opusBedrock]
  ] as const) {
    const base = messagesBase(model)
    const send = prepared(messages, route)
    it(`${model}: fields of the documents`, { timeout }, async () => {
      assert.deepStrictEqual(await lost(send, base, documented(base, messagesFields)), [])
    })
    it(`${model}: fields that no one knows`, { timeout }, async () => {
      assert.deepStrictEqual(await lost(over("/v1/messages"), base, everywhere(base)), [])
    })
    it(`${model}: betas of any kind`, { timeout }, async () => {
      const given = ["novel-2026-01-01", "a,b", ["a", 7], [["a"]], 7, true, { a: 1 }]
      const added = given.map((value) => ({ place: [], name: "anthropic_beta", value }))
      assert.deepStrictEqual(await lost(send, base, added), [])
    })
    it(`${model}: a count, but for what makes no difference to it`, { timeout }, async () => {
      const { max_tokens: _, metadata: __, stream: ___, output_config: ____, thinking: _____, ...counted } = base
      assert.deepStrictEqual(await lost(over("/v1/messages/count_tokens"), counted, everywhere(counted)), [])
      const added = documented(counted, messagesFields).filter(
        ({ name, place }) => place.length > 0 || !uncounted.has(name)
      )
      assert.deepStrictEqual(await lost(prepared(countTokens, route), counted, added), [])
    })
  }
})

const responsesBase = {
  model: "gpt-5.1:il5",
  instructions: "s",
  input: [
    { type: "message", role: "user", content: [{ type: "input_text", text: "hi" }] },
    { type: "message", role: "assistant", content: [{ type: "output_text", text: "I look.", annotations: [] }] },
    { type: "function_call", call_id: "call_1", name: "f", arguments: "{}" },
    { type: "function_call_output", call_id: "call_1", output: "c" }
  ],
  tools: [
    { type: "function", name: "f", description: "d", parameters: schema, strict: true },
    { type: "custom", name: "c", format: { type: "grammar", syntax: "lark", definition: 'start: "a"' } },
    { type: "namespace", name: "n", description: "d", tools: [{ type: "function", name: "g", parameters: schema }] },
    { type: "shell", environment: { type: "local", skills: [{ name: "s", description: "d", path: "p" }] } }
  ],
  tool_choice: { type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "f" }] },
  text: { format: { type: "json_schema", name: "n", schema } },
  reasoning: { effort: "low" },
  stream: true,
  stream_options: { include_obfuscation: false }
}
const responsesFields = {
  "": {
    background: true,
    context_management: [{ type: "compaction" }],
    conversation: "c",
    include: ["reasoning.encrypted_content"],
    max_output_tokens: 3000,
    max_tool_calls: 3,
    metadata: { a: "b" },
    parallel_tool_calls: false,
    previous_response_id: "r",
    prompt: { id: "p" },
    prompt_cache_key: "k",
    prompt_cache_retention: "24h",
    safety_identifier: "s",
    service_tier: "priority",
    store: true,
    temperature: 0.5,
    top_logprobs: 2,
    top_p: 0.5,
    truncation: "auto",
    user: "u",
    verbosity: "low"
  },
  input: {
    id: "i",
    status: "completed",
    phase: "commentary",
    parsed_arguments: { url: "https://example.com" },
    created_by: "c",
    provider_data: { a: 1 }
  },
  "input.content": { annotations: ["a"], image_url: "x", parsed: { url: "https://example.com" }, provider_data: {} },
  tools: { defer_loading: true, strict: false, description: "e", cache_control: mark },
  "tools.tools": { strict: true, defer_loading: true },
  "tools.format": { name: "n" },
  "tools.environment": { network_policy: { type: "disabled" } },
  "tools.environment.skills": { version: "1" },
  "tool_choice.tools": { namespace: "n", strict: true },
  reasoning: { summary: "auto", generate_summary: "auto" },
  text: { verbosity: "low" },
  "text.format": { strict: true, description: "d" }
}

describe("responses", () => {
  it("fields of the documents", { timeout }, async () => {
    const added = documented(responsesBase, responsesFields)
    assert.deepStrictEqual(await lost(prepared(responses, azure), responsesBase, added), [])
  })
  it("fields that no one knows", { timeout }, async () => {
    assert.deepStrictEqual(await lost(over("/v1/responses"), responsesBase, everywhere(responsesBase)), [])
  })
})

describe("embeddings", () => {
  const base = { model: "titan-embed-text-v2:il5", input: ["hi"] }
  it("fields", async () => {
    const fields = { "": { dimensions: 256, user: "u", novel: 1 } }
    assert.deepStrictEqual(await lost(over("/v1/embeddings"), base, documented(base, fields)), [])
  })
})
