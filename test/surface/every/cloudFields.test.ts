/** Fields by which a cloud would fetch, run, reach out or keep something do not leave, on any surface, in any spelling. */
import { assert, describe, it } from "@effect/vitest"
import { refuseCloudFields } from "../../../src/surfaces/boundary.ts"
import { chat } from "../../support/chat.ts"
import { message } from "../../support/claude.ts"
import { post } from "../../support/http.ts"
import { ask, weather } from "../../support/responses.ts"
import { sharedGateway } from "../../support/shared.ts"

const gateway = sharedGateway()

type Fields = Readonly<Record<string, unknown>>
const surfaces: ReadonlyArray<readonly [name: string, path: string, body: (extra: Fields) => unknown]> = [
  ...["gpt-5.1:il5", "gpt-oss-120b:il5", "gpt-5.6-terra:il5", "claude-sonnet-4-5:il5", "gemini-3-flash:il2"].map(
    (model) => [`chat, ${model}`, "/v1/chat/completions", (extra: Fields) => chat(model, "hi", extra)] as const
  ),
  ["messages", "/v1/messages", (extra) => message("claude-sonnet-4-5:il5", "hi", extra)],
  ["counting", "/v1/messages/count_tokens", (extra) => message("claude-sonnet-4-5:il5", "hi", extra)],
  ["responses", "/v1/responses", (extra) => ask("hi", extra)]
]

const refused = async (path: string, body: unknown, text: RegExp) => {
  const before = gateway.calls().length
  const got = await post(gateway.url + path, body)
  assert.strictEqual(got.status, 400, got.text)
  assert.match(got.json.error.message, text)
  assert.strictEqual(gateway.calls().length, before, "nothing goes upstream")
}

const snake = [
  ...["web_search_options", "data_sources", "mcp_servers", "container", "agent", "agent_reference", "connection"],
  ...["connection_id", "extra_body", "conversation", "previous_response_id", "background", "prompt", "cached_content"],
  ...["tool_resources", "file_search", "code_interpreter", "functions", "function_call", "search_parameters", "thread"]
]
const camel = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
const spellings = (name: string) => [...new Set([name, camel(name), name.replaceAll("_", "-"), name.toUpperCase()])]

const fields = snake.flatMap(spellings)
const values = [{ type: "x" }, [{ endpoint: "x.example" }], "x", true]

it("any value of them asks for something", () => {
  for (const field of fields) for (const value of values) assert.isDefined(refuseCloudFields({ [field]: value }), field)
})

describe.each(surfaces)("%s", (_, path, body) => {
  it("refuses them all, in every spelling", async () => {
    for (const [at, field] of fields.entries()) {
      await refused(path, body({ [field]: values[at % values.length] }), new RegExp(`\\b${field}\\b`))
    }
  })

  it.each([{ Store: true }, { STORE: true }, { promptCacheRetention: "24h" }, { "prompt-cache-retention": "24h" }])(
    "refuses %j",
    (extra) => refused(path, body(extra), /nothing is stored/)
  )

  const tool = { type: "web_search_20250305", name: "web_search" }
  const tools = [{ 0: tool }, [[tool]], [[[]]], ["web_search"], "web_search", 7, [null]]
  it.each(tools.map((given) => ({ tools: given })))("takes no tools that are no array of objects: %j", (extra) =>
    refused(path, body(extra), /^tools(\.0|\[0\])?: must be (an array$|an object)/)
  )
})

it("what asks for nothing passes", () => {
  for (const name of snake) assert.isUndefined(refuseCloudFields({ [name]: null }))
  for (const name of ["store", "background", "conversation"]) assert.isUndefined(refuseCloudFields({ [name]: false }))
  for (const how of ["in_memory", "in-memory"]) assert.isUndefined(refuseCloudFields({ prompt_cache_retention: how }))
})

describe("responses", () => {
  const item = { role: "user", content: "hi" }
  it.each([
    [{ ...item, tools: { 0: weather } }, /^input\[0\]\.tools: must be an array/],
    [{ ...item, tools: [[weather]] }, /^input\[0\]\.tools\[0\]: must be an object/],
    [[item], /^input/],
    [{ id: "msg_1" }, /^input\[0\]: .*send the item itself/],
    [{ id: "msg_1", type: null }, /^input\[0\]: .*send the item itself/],
    [
      { type: "code_interpreter_call", id: "ci_1", code: "1", container_id: "cntr_1" },
      /container_id: .*nothing is stored/
    ],
    [{ type: "mcp_call", id: "m", projectConnectionId: "c" }, /projectConnectionId: .*nothing is stored/]
  ])("refuses the item %j", (given, text) => refused("/v1/responses", ask([given]), text))

  it("refuses the tools of a namespace that are no array", () =>
    refused(
      "/v1/responses",
      ask("hi", { tools: [{ type: "namespace", name: "a", tools: { 0: weather } }] }),
      /^tools\[0\]\.tools: must be an array/
    ))
})

it("names of objects' own are fields like others", () => {
  for (const field of ["constructor", "__proto__", "toString", "hasOwnProperty"]) {
    assert.isUndefined(refuseCloudFields(JSON.parse(`{"${field}":1}`)))
  }
})
