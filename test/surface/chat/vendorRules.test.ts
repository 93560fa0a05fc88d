/**
 * What a cloud is known to refuse never reaches it: the sandbox refuses it in the vendor's words, so the first call of each of these
 * requests would fail (docs/decisions.md#the-catalog-is-data).
 */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { chat, functionTool } from "../../support/chat.ts"
import { message } from "../../support/claude.ts"
import { type Gateway, startGateway } from "../../support/gateway.ts"
import { post } from "../../support/http.ts"

let gateway: Gateway
beforeAll(async () => {
  gateway = await startGateway()
})
afterAll(() => gateway.stop())

type Fields = Readonly<Record<string, unknown>>

const quiet = { reasoning_effort: "none", max_tokens: 2000 }
const several = (count: number, schema: unknown) => ({
  type: "object",
  additionalProperties: false,
  properties: Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, schema]))
})
const format = (schema: unknown) => ({ response_format: { type: "json_schema", json_schema: { name: "x", schema } } })
const strict = (count: number, schema: unknown) =>
  Array.from({ length: count }, (_, at) => functionTool(`f${at}`, schema, { strict: true }))
const instructed = "response_format:json_schema->instruction"
const loose = "tools.function.strict:removed"
const refers = { allOf: [{ $ref: "#/$defs/a" }], $defs: { a: several(1, {}) } }
const mark = { type: "ephemeral" }
const forAnHour = { ...mark, ttl: "1h" }
const remindedOf = (cache_control: object) => [
  { role: "user", content: "hi", cache_control: forAnHour },
  { role: "system", content: "Be brief.", cache_control },
  { role: "user", content: "there" }
]
const longId = "x".repeat(256)
const tooled = [
  { role: "user", content: "hi" },
  {
    role: "assistant",
    content: null,
    tool_calls: [{ id: longId, type: "function", function: { name: "f", arguments: "{}" } }]
  },
  { role: "tool", tool_call_id: longId, content: "done" }
]

const picture = (detail: string) => [
  { role: "user", content: [{ type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=", detail } }] }
]

const rows: ReadonlyArray<readonly [model: string, fields: Fields, change: string | undefined]> = [
  ...["presence_penalty", "frequency_penalty"].flatMap((name) => [
    ["gemini-3-flash:il2", { [name]: 0.5 }, `${name}:removed`] as const,
    ["gemini-3-flash:il2", { [name]: 0 }, undefined] as const
  ]),
  ["gemini-3-flash:il2", { seed: 5_000_000_000 }, "seed:5000000000->705032704"],
  ["gemini-3-flash:il2", { seed: -1 }, undefined],
  ["gpt-5.1:il5", { metadata: { a: "b" } }, "metadata:removed"],
  ["gpt-5.6-terra:il5", { metadata: { a: "b" } }, undefined],
  ["gpt-5.6-terra:il5", { max_tokens: 1 }, "max_tokens:1->16"],
  ["gpt-5.6-terra:il5", { max_completion_tokens: 1 }, "max_completion_tokens:1->16"],
  ["claude-sonnet-4-5:il5", { ...quiet, messages: picture("low") }, "messages.content.image_url.detail:removed"],
  ["claude-sonnet-4-5:il5", { ...quiet, messages: picture("auto") }, undefined],
  ...["claude-sonnet-4-5:il5", "claude-opus-4-7:il2"].flatMap((model) =>
    [
      several(25, {}),
      several(17, { type: ["string", "null"] }),
      several(1, { properties: {} }),
      several(1, refers)
    ].map((schema) => [model, { ...quiet, ...format(schema) }, instructed] as const)
  ),
  ...["gpt-5.1:il5", "gpt-5.6-terra:il5"].flatMap((model) =>
    ["user", "safety_identifier", "prompt_cache_key"].flatMap((name) => [
      [model, { [name]: "k".repeat(64) }, undefined] as const,
      [model, { [name]: "k".repeat(65) }, `${name}:plain->sha256`] as const
    ])
  ),
  ...["gpt-5.1:il5", "gpt-5.6-terra:il5"].flatMap((model) =>
    [
      ["MyApp::Spam", "MyApp::Spam->MyApp__Spam"],
      ["a b", "a?b->a_b"],
      [undefined, "unset->unnamed"]
    ].map(([name, change]) => {
      const json_schema = { name, schema: several(1, {}) }
      const named = `response_format.json_schema.name:${change}`
      return [model, { response_format: { type: "json_schema", json_schema } }, named] as const
    })
  ),
  ["gpt-5.1:il5", { messages: [{ role: "user", name: "bob_1", content: "hi" }] }, undefined],
  ...["Bob Smith", "", 5, "b".repeat(65)].map(
    (name) => ["gpt-5.1:il5", { messages: [{ role: "user", name, content: "hi" }] }, "messages.name:removed"] as const
  ),
  [
    "claude-sonnet-4-5:il5",
    {
      ...quiet,
      ...format(several(1, {})),
      messages: [
        { role: "user", content: "hi" },
        { role: "assistant", content: "{" }
      ]
    },
    instructed
  ],
  ["gpt-5.1:il5", { messages: tooled }, undefined],
  ["gpt-5.6-terra:il5", { messages: tooled }, undefined],
  ["claude-sonnet-4-5:il5", { ...quiet, tools: strict(21, several(1, {})) }, loose],
  ["claude-sonnet-4-5:il5", { ...quiet, tools: strict(5, several(6, {})) }, loose],
  ["claude-sonnet-4-5:il5", { ...quiet, tools: strict(1, refers) }, loose],
  ["claude-sonnet-4-5:il5", { ...quiet, ...format(several(20, {})), tools: strict(1, several(5, {})) }, loose],
  ...["claude-sonnet-4-5:il2", "claude-sonnet-4-5:il5"].flatMap((model) =>
    ["someone@example.gov", "+1 202 555 0100", "2025550100", "u".repeat(300), '{"id":"a"}'].map(
      (user) => [model, { ...quiet, user }, "user:plain->sha256"] as const
    )
  ),
  [
    "claude-sonnet-4-5:il2",
    {
      ...quiet,
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "", cache_control: mark },
            { type: "text", text: "hi" }
          ]
        }
      ]
    },
    "cache_control:removed"
  ],
  // Later system messages go in front.
  ["claude-sonnet-4-5:il5", { ...quiet, messages: remindedOf(mark) }, "cache_control:removed"],
  ["claude-sonnet-4-5:il5", { ...quiet, messages: remindedOf(forAnHour) }, undefined]
]

it.each(rows)("%s %j: %s", async (model, fields, change) => {
  const before = gateway.calls().length
  const got = await post(`${gateway.url}/v1/chat/completions`, chat(model, "hi", fields))
  assert.strictEqual(got.status, 200, got.text)
  assert.lengthOf(gateway.calls().slice(before), 1)
  const adjusted = got.headers.get("x-gateway-adjusted")?.split(", ") ?? []
  if (change === undefined) assert.isEmpty(adjusted)
  else assert.include(adjusted, change)
})

it.each(["someone@example.gov", '{"id":"a"}'])("messages of the user %j", async (user_id) => {
  for (const level of ["il2", "il5"]) {
    const before = gateway.calls().length
    const given = message(`claude-sonnet-4-5:${level}`, "hi", { metadata: { user_id } })
    const got = await post(`${gateway.url}/v1/messages`, given)
    assert.strictEqual(got.status, 200, got.text)
    const [call, ...more] = gateway.calls().slice(before)
    assert.isEmpty(more)
    assert.match(JSON.parse(call?.body ?? "").metadata.user_id, /^[0-9a-f]{64}$/)
    assert.strictEqual(got.headers.get("x-gateway-adjusted"), "metadata.user_id:plain->sha256")
  }
})

/** What no catalog can know is learned from the refusal: of such schemas, and only of these. */
const listed = (count: number) => ({
  type: "object",
  additionalProperties: false,
  required: ["a"],
  properties: { a: { enum: Array.from({ length: count }, (_, at) => `${"x".repeat(100)}${at}`) } }
})
const nested = (levels: number): object =>
  levels === 0 ? { type: "string" } : { type: "object", properties: { a: nested(levels - 1) } }
const both = { ...format(listed(300)), tools: [functionTool("f", listed(300), { strict: true })] }
it.each([
  ["claude-sonnet-4-5:il5", { ...quiet, ...format(listed(501)) }, [instructed]],
  ["claude-sonnet-4-5:il5", { ...quiet, tools: [functionTool("f", listed(501), { strict: true })] }, [loose]],
  ["claude-sonnet-4-5:il5", { ...quiet, ...both }, [loose]],
  ["gemini-3-flash:il2", format(listed(600)), [instructed]],
  ["gemini-3-flash:il2", format(nested(20)), [instructed]]
])(
  "%s learns that a schema is too large or too deep",
  async (model: string, fields: Fields, changes: ReadonlyArray<string>) => {
    const ask = async (extra: Fields = {}) => {
      const before = gateway.calls().length
      const got = await post(`${gateway.url}/v1/chat/completions`, chat(model, "hi", { ...fields, ...extra }))
      assert.strictEqual(got.status, 200, got.text)
      assert.includeMembers(got.headers.get("x-gateway-adjusted")?.split(", ") ?? [], [...changes])
      if (changes.includes(instructed)) assert.isObject(JSON.parse(got.json.choices[0].message.content))
      return gateway.calls().length - before
    }
    assert.strictEqual(await ask(), 2)
    assert.strictEqual(await ask(), 1)
    assert.strictEqual(await ask({ stream: false, messages: [{ role: "user", content: "more" }] }), 1)
    // A smaller one is sent as it is.
    const got = await post(`${gateway.url}/v1/chat/completions`, chat(model, "hi", { ...quiet, ...format(listed(3)) }))
    assert.notInclude(got.headers.get("x-gateway-adjusted") ?? "", instructed)
  }
)
