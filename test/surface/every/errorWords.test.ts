/** What a refusal says: where, and what would work, in plain words (docs/api.md#errors). */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { answering, reply } from "../../support/fakeUpstream.ts"
import { cloudsAt, type Gateway, startGateway } from "../../support/gateway.ts"
import { post } from "../../support/http.ts"
import { sharedUpstream } from "../../support/shared.ts"

let gateway: Gateway
beforeAll(async () => {
  gateway = await startGateway()
})
afterAll(() => gateway.stop())

const messages = [{ role: "user", content: "a" }]
const bases = {
  "/v1/chat/completions": { model: "claude-sonnet-4-5:il2", messages },
  "/v1/messages": { model: "claude-sonnet-4-5:il2", max_tokens: 10, messages },
  "/v1/responses": { model: "gpt-5.1:il5", input: "a" },
  "/v1/embeddings": { model: "titan-embed-text-v2:il5", input: "a" }
}
const deep: unknown = JSON.parse(`${"[".repeat(300)}${"]".repeat(300)}`)
const wrong: ReadonlyArray<readonly [keyof typeof bases, Readonly<Record<string, unknown>>, string]> = [
  [
    "/v1/chat/completions",
    { tool_choice: { type: "x" } },
    "tool_choice.type: must be auto, none or required, or function with the name of one"
  ],
  ["/v1/chat/completions", { tool_choice: 7 }, "tool_choice: must be auto, none or required"],
  ["/v1/chat/completions", { reasoning_effort: "huge" }, "reasoning_effort: must be none, minimal"],
  ["/v1/chat/completions", { reasoning_effort: 5 }, "reasoning_effort: must be none, minimal"],
  ["/v1/chat/completions", { tools: [{ type: "custom" }] }, "tools[0].type: must be function"],
  // Shapes of other formats.
  ...[{ tools: [{ type: "function", name: "f" }] }, { tool_choice: { type: "function", name: "f" } }].map(
    (fields) =>
      [
        "/v1/chat/completions",
        fields,
        `${"tools" in fields ? "tools[0]" : "tool_choice"}.function: is required; the name of the function stands under it`
      ] as const
  ),
  ["/v1/chat/completions", { tool_choice: "required" }, "tool_choice: there are no tools to choose; define them in"],
  ["/v1/messages", { tool_choice: { type: "any" } }, "tool_choice: tool_choice may only be specified while providing"],
  ["/v1/responses", { tool_choice: "required" }, "Tool choice 'required' must be specified with 'tools'"],
  ...(["/v1/messages", "/v1/responses"] as const).map((path) => {
    const content = [{ type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } }]
    const said = [{ role: "user", content }]
    const [fields, place] =
      path === "/v1/messages"
        ? [{ messages: said }, "messages.0.content.0.image_url"]
        : [{ input: said }, "input[0].content[0].image_url"]
    return [path, fields, `${place}: must be a string with an image inline, as a data URI`] as const
  }),
  ["/v1/messages", { tool_choice: "auto" }, "tool_choice: must be an object with a type, such as auto, any or tool"],
  ["/v1/messages", { thinking: { type: 5 } }, "thinking.type: must be a string, such as enabled, adaptive or disabled"],
  [
    "/v1/messages",
    { tools: [{ type: 5 }] },
    "tools.0.type: must be custom or left out, or the vendor's name of a tool"
  ],
  ...["image", "document"].map(
    (type) => ["/v1/messages", { system: [{ type, source: {} }] }, "system.0.type: must be text"] as const
  ),
  ["/v1/responses", { input: [{ type: 5 }] }, "input[0].type: must be the type of an item, such as message"],
  [
    "/v1/responses",
    { input: [{ call_id: "c", output: "x" }] },
    "input[0].role: is required in a message; every other item has a type"
  ],
  [
    "/v1/responses",
    { tool_choice: { type: "allowed_tools", mode: "auto", tools: null } },
    "tool_choice.tools: must be an array"
  ],
  [
    "/v1/responses",
    { tool_choice: { type: "allowed_tools", mode: "auto", tools: [null] } },
    "tool_choice.tools[0]: must be an object with a type, such as function"
  ],
  ["/v1/responses", { tools: [{ type: 5 }] }, "tools[0].type: must be a string, such as function, custom or namespace"],
  ["/v1/chat/completions", { messages: [{ role: "x" }] }, "messages[0]: must be an object with the role"],
  ["/v1/chat/completions", { stop: [1] }, "stop[0]: must be a string"],
  ["/v1/chat/completions", { stream_options: [] }, "stream_options: must be an object"],
  ["/v1/chat/completions", { response_format: "x" }, "response_format: must be an object of type text"],
  ["/v1/chat/completions", { response_format: { type: "json_schema" } }, "response_format.json_schema: is required"],
  ["/v1/chat/completions", { temperature: "hot" }, "temperature: must be a number between 0 and 2"],
  ["/v1/chat/completions", { temperature: 2.5 }, "temperature: must be between 0 and 2"],
  ["/v1/chat/completions", { parallel_tool_calls: "no" }, "parallel_tool_calls: must be a boolean"],
  ["/v1/chat/completions", { user: 7 }, "user: must be a string"],
  ...(
    [
      ["/v1/chat/completions", "max_tokens"],
      ["/v1/chat/completions", "max_completion_tokens"],
      ["/v1/messages", "max_tokens"]
    ] as const
  ).flatMap(([path, name]) =>
    [0, -1, 1.5, "7", 2 ** 64].map(
      (value) => [path, { [name]: value }, `${name}: must be a positive integer, from 1 to 9007199254740991`] as const
    )
  ),
  ["/v1/messages", { messages: 7 }, "messages: must be an array"],
  // The place in the vendor's own form, whatever is in it, and cut where it is long.
  ["/v1/messages", { größe: deep }, "größe.0.0.0"],
  ["/v1/responses", { größe: deep }, "größe[0][0][0]"],
  ...[
    { type: "function", function: { name: "f", parameters: {} } },
    { type: "function", name: "f", parameters: {} }
  ].map(
    (tool) =>
      [
        "/v1/messages",
        { tools: [{ name: "g", input_schema: { type: "object" } }, tool] },
        "tools.1.type: must be custom or left out; a tool has name, description and input_schema here"
      ] as const
  ),
  ["/v1/messages", { stream: 3 }, "stream: must be a boolean"],
  ...[1.5, "7", true].map(
    (budget_tokens) =>
      [
        "/v1/messages",
        { thinking: { type: "enabled", budget_tokens } },
        "thinking.budget_tokens: must be an integer"
      ] as const
  ),
  ["/v1/responses", { input: 7 }, "input: must be a string or an array"],
  ["/v1/responses", { reasoning: "x" }, "reasoning: must be an object"],
  ["/v1/embeddings", { encoding_format: "x" }, "encoding_format: must be float or base64"]
]

describe("a refusal", () => {
  it.each(wrong)("%s %j", async (path, fields, words) => {
    const got = await post(`${gateway.url}${path}`, { ...bases[path], ...fields })
    assert.strictEqual(got.status, 400)
    const { message } = got.json.error
    assert.isTrue(message.startsWith(words), message)
    // No syntax of types, and no quotes within the quotes of JSON.
    assert.notMatch(message, /readonly|Expected|\||"|\bunknown\b|\[\]/)
  })
})

describe("a cloud's refusal", () => {
  const refusing = sharedUpstream()
  const models = [
    "claude-sonnet-4-5:il2",
    "claude-sonnet-4-5:il5",
    "gemini-3-flash:il2",
    "gpt-5.1:il5",
    "gpt-5.6-terra:il5"
  ]
  const asked: ReadonlyArray<readonly [path: string, body: object]> = [
    ...models.map((model) => ["/v1/chat/completions", { model, messages }] as const),
    ...models.slice(0, 2).map((model) => ["/v1/messages/count_tokens", { model, messages }] as const),
    ["/v1/responses", bases["/v1/responses"]],
    ["/v1/embeddings", bases["/v1/embeddings"]]
  ]

  it.each(asked)("shows no address, by %s of %j", async (path, body) => {
    const words =
      "not served by 127.0.0.1 of us-gov.vpce.amazonaws.com, res.openai.azure.us, us-aiplatform.googleapis.com"
    refusing.upstream.use(answering(reply("400 Bad Request", JSON.stringify({ message: words }))))
    const got = await post(`${refusing.gateway.url}${path}`, body)
    assert.strictEqual(got.status, 400, got.text)
    const shown = "not served by the upstream of the upstream, the upstream, the upstream"
    assert.isTrue(got.json.error.message.endsWith(shown), got.text)
  })

  it.each(models)("keeps its own words where a host is one of them, by %s", async (model) => {
    refusing.upstream.use(answering(reply("400 Bad Request", JSON.stringify({ message: "localhost.0: bad" }))))
    const settings = cloudsAt(refusing.upstream.url.replace("127.0.0.1", "localhost"))
    const named = await startGateway({ settings })
    const got = await post(`${named.url}/v1/chat/completions`, { model, messages })
    await named.stop()
    assert.strictEqual(got.status, 400, got.text)
    assert.isTrue(got.json.error.message.endsWith("localhost.0: bad"), got.text)
  })
})
