/**
 * What becomes of each parameter on each family of models: sent alone through the gateway, and judged by what reached the
 * sandbox's cloud, by the header and by the reply. The table of the documents is made here, and written anew by
 * `npx vitest run --config test/vitest.config.ts test/surface/every/parameters.test.ts -u`.
 */
import { isDeepStrictEqual } from "node:util"
import { afterAll, assert, beforeAll, expect, it } from "@effect/vitest"
import { functionTool } from "../../support/chat.ts"
import { type Gateway, startGateway } from "../../support/gateway.ts"
import { eventsIn, type Got, open, parsed } from "../../support/http.ts"

let gateway: Gateway
beforeAll(async () => {
  gateway = await startGateway()
})
afterAll(() => gateway.stop())

type Fields = Readonly<Record<string, unknown>>

interface Row {
  /** As the table shows it. */
  readonly shown: string
  readonly fields: Fields
  /** What is beside it, also without it. */
  readonly beside?: Fields
  readonly headers?: Readonly<Record<string, string>>
  /** Whether the reply shows that the gateway sees to it, where nothing reaches the cloud. */
  readonly seen?: (text: string, json: Got["json"]) => boolean
}

const row = (fields: Fields, more: Partial<Row> = {}): Row => ({
  shown: `\`${JSON.stringify(fields).slice(1, -1).replaceAll("|", "\\|")}\``,
  fields,
  ...more
})
const quiet = { reasoning_effort: "none", max_tokens: 2000 }
const unthinking = (fields: Fields, more: Partial<Row> = {}): Row => {
  const base = row(fields, { beside: quiet, ...more })
  return { ...base, shown: `${base.shown} without reasoning` }
}
const tools = [functionTool("f", { type: "object", properties: { a: { type: "string" } } })]
const withTools = (fields: Fields, more: Partial<Row> = {}): Row => {
  const base = row(fields, { beside: { tools, ...quiet }, ...more })
  return { ...base, shown: `${base.shown} with tools, without reasoning` }
}
const said = (text: string) => [{ role: "user", content: `[sandbox: text=${text}]` }]
const stops = (stop: string | ReadonlyArray<string>, text: string): Row =>
  unthinking(
    { stop },
    {
      beside: { ...quiet, messages: said(text) },
      seen: (_, json) =>
        json?.choices?.[0]?.message?.content.trim() === "one" && json.choices[0].finish_reason === "stop"
    }
  )
const answers = (_: string, json: Got["json"]) => json?.choices?.length === 1
const schema = { type: "object", properties: { a: { type: "string" } }, required: ["a"], additionalProperties: false }
const format = { type: "json_schema", json_schema: { name: "x", strict: true, schema } }
const many = Object.fromEntries(Array.from({ length: 25 }, (_, at) => [`p${at}`, { type: "string" }]))
const optional = {
  type: "json_schema",
  json_schema: { name: "x", schema: { ...schema, properties: many, required: [] } }
}
const strictOptional = { ...optional, json_schema: { ...optional.json_schema, strict: true } }
const marked = [
  { role: "user", content: [{ type: "text", text: "hi", cache_control: { type: "ephemeral", ttl: "1h" } }] }
]

const chatRows: ReadonlyArray<Row> = [
  row({ temperature: 0.5 }),
  unthinking({ temperature: 0.5 }),
  unthinking({ temperature: 1.7 }),
  row({ top_p: 0.5 }),
  unthinking({ top_p: 0.5 }),
  row({ max_tokens: 3000 }),
  row({ max_tokens: 1_000_000 }),
  row({ max_completion_tokens: 3000 }),
  stops("END", "one END two"),
  stops(" ", "one END two"),
  stops(["Q1", "Q2", "Q3", "Q4", "END"], "one END two"),
  unthinking({ seed: 7 }),
  unthinking({ seed: 5_000_000_000 }),
  unthinking({ presence_penalty: 1 }),
  unthinking({ frequency_penalty: 1 }),
  unthinking({ logit_bias: { 50256: -100 } }),
  unthinking({ logprobs: true, top_logprobs: 2 }),
  row(
    { logprobs: true },
    { shown: '`"logprobs":true` without reasoning, streamed', beside: { ...quiet, stream: true } }
  ),
  row({ n: 1 }, { seen: answers }),
  row({ n: 2 }),
  row({ user: "u" }),
  row({ user: "u@example.gov" }),
  row({ reasoning_effort: "none" }, { beside: { max_tokens: 10_000 } }),
  row({ reasoning_effort: "low" }, { beside: { max_tokens: 10_000 } }),
  row({ reasoning_effort: "xhigh" }, { beside: { max_tokens: 10_000 } }),
  row({ tools: [functionTool("f")] }, { shown: "`tools`" }),
  row(
    { tools: [functionTool("f", schema, { strict: true })] },
    { shown: "`strict` of a tool", beside: { tools: [functionTool("f", schema)] } }
  ),
  withTools({ tool_choice: "none" }),
  withTools({ tool_choice: "required" }),
  withTools({ tool_choice: { type: "function", function: { name: "f" } } }),
  withTools({ tool_choice: { type: "auto" } }, { seen: answers }),
  { ...row({ tool_choice: "required" }, { beside: { tools } }), shown: '`"tool_choice":"required"` with tools' },
  withTools({ parallel_tool_calls: false }),
  row({ response_format: { type: "json_object" } }),
  row({ response_format: format }, { shown: "`response_format` with a schema" }),
  row({ response_format: optional }, { shown: "`response_format` with 25 optional properties" }),
  row({ response_format: strictOptional }, { shown: "`response_format` with 25 optional properties, `strict`" }),
  row(
    { messages: marked },
    {
      shown: "`cache_control` of a part",
      beside: { messages: [{ role: "user", content: [{ type: "text", text: "hi" }] }] }
    }
  ),
  row({ stream: true }, { seen: (text) => eventsIn(text).at(-1)?.data === "[DONE]" }),
  row(
    { stream_options: { include_usage: true } },
    { beside: { stream: true }, seen: (text) => eventsIn(text).at(-2)?.json?.usage?.total_tokens > 0 }
  ),
  row({ store: false }, { seen: answers }),
  row({ store: true }),
  row({ metadata: { a: "b" } }),
  row({ service_tier: "priority" }),
  row({ verbosity: "low" }),
  row({ prompt_cache_key: "k" }),
  row({ prompt_cache_key: "k".repeat(65) }, { shown: "`prompt_cache_key` of 65 characters" }),
  row({ safety_identifier: "s" }),
  row({ modalities: ["text"] }, { seen: answers }),
  row({ modalities: ["text", "audio"] }),
  row({ web_search_options: {} }),
  row({ functions: [] }),
  row({ unheard_of: 1 })
]

const thinking = { thinking: { type: "enabled", budget_tokens: 1024 } }
const named = {
  tools: [{ name: "f", description: "", input_schema: { type: "object", properties: {}, additionalProperties: false } }]
}
const tool = (extra: Fields) => ({ tools: [{ ...named.tools[0], ...extra }] })
const block = (cache_control: Fields) => ({ system: [{ type: "text", text: "x", cache_control }] })
const messagesRows: ReadonlyArray<Row> = [
  row({ system: "x" }),
  row({ temperature: 0.5 }),
  row({ top_p: 0.5 }),
  row({ top_k: 5 }),
  row({ stop_sequences: ["END"] }),
  row({ metadata: { user_id: "u" } }),
  row({ metadata: { user_id: "u@example.gov" } }),
  row({ metadata: { novel: 1 } }),
  row(thinking),
  row({ thinking: { type: "adaptive" } }),
  row(
    { temperature: 0.5 },
    { shown: '`"temperature":0.5` beside thinking', beside: { thinking: { type: "adaptive" } } }
  ),
  row({ output_config: { effort: "high" } }),
  row({ output_config: { format: { type: "json_schema", schema } } }, { shown: "`output_config.format`" }),
  row({ output_format: { type: "json_schema", schema } }, { shown: "`output_format`, the same as a beta" }),
  row(named, { shown: "`tools`" }),
  row(tool({ strict: true }), { shown: "`strict` of a tool", beside: named }),
  row(tool({ defer_loading: true }), { shown: "`defer_loading` of a tool", beside: named }),
  row(tool({ defer_loading: true }), {
    shown: "`defer_loading` of a tool, with its beta",
    beside: named,
    headers: { "anthropic-beta": "tool-search-tool-2025-10-19" }
  }),
  row({ context_management: { edits: [] } }, { shown: "`context_management`" }),
  row(
    { context_management: { edits: [{ type: "compact_20260112" }] } },
    { shown: "`context_management`, with its beta", headers: { "anthropic-beta": "compact-2026-01-12" } }
  ),
  row({ tool_choice: { type: "any" } }, { shown: '`"tool_choice":{"type":"any"}` with tools', beside: named }),
  row(
    { tool_choice: { type: "auto", disable_parallel_tool_use: true } },
    { shown: "`disable_parallel_tool_use`", beside: { ...named, tool_choice: { type: "auto" } } }
  ),
  row(block({ type: "ephemeral", ttl: "1h" }), { shown: "`ttl` of a mark", beside: block({ type: "ephemeral" }) }),
  row(block({ type: "ephemeral", scope: "global" }), {
    shown: "`scope` of a mark",
    beside: block({ type: "ephemeral" })
  }),
  row({ stream: true }, { seen: (text) => eventsIn(text).at(-1)?.event === "message_stop" }),
  row({ service_tier: "standard_only" }),
  row({ anthropic_beta: ["unheard-of-2020-01-01"] }),
  row({ vendor_version: null }, { seen: (_, json) => json?.type === "message" }),
  row(
    {
      messages: [
        { role: "user", content: "a" },
        { role: "system", content: "b" }
      ]
    },
    { shown: "a message of the role `system`", beside: { messages: [{ role: "user", content: "a" }] } }
  ),
  row({ container: "c" }),
  row({ mcp_servers: [{ type: "url", url: "https://example.com", name: "m" }] }, { shown: "`mcp_servers`" }),
  row({ thread: "t" }),
  row({ unheard_of: 1 })
]

const changesIn = (headers: Headers): ReadonlyArray<string> =>
  ["x-gateway-adjusted", "x-gateway-thinking-adjusted"].flatMap((name) => headers.get(name)?.split(", ") ?? [])

const send = async (path: string, body: Fields, headers: Readonly<Record<string, string>> = {}) => {
  const before = gateway.calls().length
  const response = await open(`${gateway.url}${path}`, body, headers)
  const text = await response.text()
  const call = gateway.calls().slice(before).at(-1)
  return {
    status: response.status,
    changes: changesIn(response.headers),
    text,
    json: parsed(text),
    sent: call === undefined ? undefined : { body: parsed(call.body), beta: call.headers["anthropic-beta"] }
  }
}

/** The same parameter is left out of many requests. */
const sentPlain = new Map<string, ReturnType<typeof send>>()
const plain = (path: string, body: Fields): ReturnType<typeof send> => {
  const key = JSON.stringify([path, body])
  const known = sentPlain.get(key) ?? send(path, body)
  sentPlain.set(key, known)
  return known
}

/** Nothing shows that it was given: what must not be. */
const lost = "LOST IN SILENCE"

/** The word for it, with what the header says. */
const judge = async (path: string, base: Fields, { beside, fields, headers, seen }: Row): Promise<string> => {
  const without = await plain(path, { ...base, ...beside })
  assert.strictEqual(without.status, 200, `${JSON.stringify(beside)}: ${without.text.slice(0, 300)}`)
  const got = await send(path, { ...base, ...beside, ...fields }, headers)
  if (got.status === 400) return "refused"
  assert.strictEqual(got.status, 200, `${JSON.stringify(fields)}: ${got.text.slice(0, 300)}`)
  const changes = got.changes.filter((change) => !without.changes.includes(change))
  const shown = changes.map((change) => `\`${change}\``).join(", ")
  if (changes.length > 0)
    return changes.every((change) => /->(?:instruction|first-call)$/.test(change))
      ? `emulated, ${shown}`
      : `named: ${shown}`
  if (seen?.(got.text, got.json) === true && isDeepStrictEqual(got.sent?.body, without.sent?.body)) {
    return Object.keys(fields)[0] === "stop" ? "emulated" : "honoured"
  }
  const { body } = got.sent ?? {}
  if (Object.entries(fields).every(([name, value]) => isDeepStrictEqual(body?.[name], value))) return "honoured"
  if (isDeepStrictEqual(got.sent, without.sent) && seen?.(got.text, got.json) !== true) return lost
  return "translated"
}

const tableOf = async (
  path: string,
  models: ReadonlyArray<readonly [heading: string, id: string]>,
  rows: ReadonlyArray<Row>,
  base: (model: string) => Fields
): Promise<string> => {
  const lines: Array<string> = []
  for (const row of rows) {
    const cells: Array<string> = []
    for (const [, model] of models) cells.push(await judge(path, base(model), row))
    lines.push(`| ${row.shown} | ${cells.join(" | ")} |`)
  }
  const heads = ["Parameter", ...models.map(([heading]) => heading)]
  return [`| ${heads.join(" | ")} |`, `|${heads.map(() => "---|").join("")}`, ...lines].join("\n")
}

it("is what the documents say", { timeout: 60_000 }, async () => {
  const messages = [{ role: "user", content: "hi" }]
  const chat = await tableOf(
    "/v1/chat/completions",
    [
      ["Claude, budgeted, Vertex", "claude-sonnet-4-5:il2"],
      ["Claude, budgeted, Bedrock", "claude-sonnet-4-5:il5"],
      ["Claude, adaptive, Vertex", "claude-opus-4-7:il2"],
      ["Claude, adaptive, Bedrock", "claude-opus-4-7:il5"],
      ["Gemini", "gemini-3-flash:il2"],
      ["GPT-5.1", "gpt-5.1:il5"],
      ["GPT-5.6", "gpt-5.6-terra:fedramp-high"],
      ["gpt-oss", "gpt-oss-120b:il5"]
    ],
    chatRows,
    (model) => ({ model, messages })
  )
  const native = await tableOf(
    "/v1/messages",
    [
      ["budgeted, Vertex", "claude-sonnet-4-5:il2"],
      ["budgeted, Bedrock", "claude-haiku-4-5:il5"],
      ["adaptive, Vertex", "claude-opus-4-8:il2"],
      ["adaptive, Bedrock", "claude-opus-4-7:il5"]
    ],
    messagesRows,
    (model) => ({ model, max_tokens: 4000, messages })
  )
  const document = `# Parameters

What becomes of each parameter, on each family of models. The tables are made by a test ([\`test/surface/every/parameters.test.ts\`](../test/surface/every/parameters.test.ts)) that sends each parameter alone through the gateway, and looks at what reaches the cloud of the sandbox, at the header and at the reply.

| Word | Meaning |
|---|---|
| honoured | it reaches the cloud as it is, or the gateway sees to it itself |
| translated | it reaches the cloud in the vendor's words |
| emulated | the gateway does what the vendor cannot |
| named | it was changed or removed, and the header \`x-gateway-adjusted\` (thinking on the messages surface: \`x-gateway-thinking-adjusted\`) says so |
| refused | 400, with the reason |

## Chat parameters

${chat}

## Messages parameters

${native}
`
  const silent = document.split("\n").filter((line) => line.includes(lost))
  assert.deepStrictEqual(silent, [])
  await expect(document).toMatchFileSnapshot("../../../docs/parameters.md")
})
