/** What a cloud's API does not take is removed, not rejected (docs/api.md#removed-fields). */
import { assert, describe, it } from "@effect/vitest"
import { message } from "../../support/claude.ts"
import { post } from "../../support/http.ts"
import { sharedGateway } from "../../support/shared.ts"

const gateway = sharedGateway()

const sent = () => JSON.parse(gateway.calls().at(-1)?.body ?? "null")
const sentHeaders = () => gateway.calls().at(-1)?.headers ?? {}
const both = ["/v1/messages", "/v1/messages/count_tokens"]
const cache = { type: "ephemeral", ttl: "1h", scope: "global" }
const kept = { type: "ephemeral", ttl: "1h" }

for (const model of ["claude-sonnet-4-5:il2", "claude-sonnet-4-5:il5", "claude-opus-4-7:il2", "claude-opus-4-7:il5"]) {
  describe(model, () => {
    for (const path of both) {
      it(`${path} removes unsupported fields, nested ones too`, async () => {
        const got = await post(
          `${gateway.url}${path}`,
          message(
            model,
            [
              { type: "text", text: "Look.", cache_control: cache },
              {
                type: "tool_result",
                tool_use_id: "toolu_1",
                content: [{ type: "text", text: "ok", cache_control: cache }]
              }
            ].slice(0, 1),
            {
              system: [{ type: "text", text: "Be brief.", cache_control: cache }],
              tools: [
                {
                  name: "get_weather",
                  description: "Weather",
                  input_schema: { type: "object", properties: { defer_loading: { type: "boolean" } } },
                  cache_control: cache,
                  defer_loading: true,
                  eager_input_streaming: true
                }
              ],
              context_management: { edits: [{ type: "clear_tool_uses_20250919" }] },
              // Servers and containers of the cloud's are refused; none of them is none.
              container: null,
              mcp_servers: [],
              service_tier: "auto",
              betas: ["x"]
            }
          )
        )
        assert.strictEqual(got.status, 200, got.text)
        const encoded = sent().input?.invokeModel?.body
        const body = encoded === undefined ? sent() : JSON.parse(Buffer.from(encoded, "base64").toString())
        for (const name of ["context_management", "container", "mcp_servers", "service_tier", "betas"]) {
          assert.notProperty(body, name)
        }
        assert.deepStrictEqual(body.system[0].cache_control, kept)
        assert.deepStrictEqual(body.messages[0].content[0].cache_control, kept)
        assert.deepStrictEqual(body.tools, [
          {
            name: "get_weather",
            description: "Weather",
            // A property of that name is the caller's own.
            input_schema: { type: "object", properties: { defer_loading: { type: "boolean" } } },
            cache_control: kept
          }
        ])
      })

      it(`${path} names no field that asks for the default`, async () => {
        const tool = {
          name: "f",
          input_schema: { type: "object" },
          strict: false,
          defer_loading: false,
          input_examples: []
        }
        const fields = { tools: [{ ...tool, eager_input_streaming: false }], service_tier: "auto", diagnostics: null }
        const got = await post(`${gateway.url}${path}`, message(model, "hi", fields))
        assert.strictEqual(got.status, 200, got.text)
        assert.isNull(got.headers.get("x-gateway-adjusted"))
      })

      it(`${path} removes betas that this cloud does not know, from the body and the header`, async () => {
        for (const [extra, headers] of [
          [{ anthropic_beta: ["unheard-of-2020-01-01", "oauth-2025-04-20"] }, {}],
          [{}, { "anthropic-beta": "unheard-of-2020-01-01,claude-code-20250219" }],
          [{ anthropic_beta: "not-a-list" }, {}],
          [{ anthropic_beta: [7, null] }, { "anthropic-beta": " , ," }]
        ] as const) {
          const got = await post(`${gateway.url}${path}`, message(model, "hi", extra), headers)
          assert.strictEqual(got.status, 200, got.text)
          assert.notProperty(sent(), "anthropic_beta")
          assert.notProperty(sentHeaders(), "anthropic-beta")
        }
      })
    }

    it("keeps betas that this cloud knows, each once", async () => {
      const beta = "context-1m-2025-08-07"
      const got = await post(
        `${gateway.url}/v1/messages`,
        message(model, "hi", { anthropic_beta: [beta, "unheard-of-2020-01-01"] }),
        { "anthropic-beta": `${beta}, tool-search-tool-2025-10-19` }
      )
      assert.strictEqual(got.status, 200, got.text)
      const betas = model.endsWith("il5") ? sent().anthropic_beta : sentHeaders()["anthropic-beta"]?.split(",")
      assert.sameMembers(betas, [beta, "tool-search-tool-2025-10-19"])
    })

    it("does not count with betas that counting rejects", async () => {
      const got = await post(
        `${gateway.url}/v1/messages/count_tokens`,
        message(model, "hi", { anthropic_beta: ["context-1m-2025-08-07", "compact-2026-01-12"] })
      )
      assert.strictEqual(got.status, 200, got.text)
    })
  })
}

it("sends no header of the caller's upstream", async () => {
  await post(`${gateway.url}/v1/messages`, message("claude-sonnet-4-5:il5"), {
    authorization: "Bearer mine",
    cookie: "a=b",
    "x-forwarded-for": "10.0.0.1",
    traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "anthropic-version": "2023-06-01",
    "x-stainless-lang": "js"
  })
  const headers = sentHeaders()
  for (const name of [
    "x-api-key",
    "cookie",
    "x-forwarded-for",
    "traceparent",
    "b3",
    "anthropic-version",
    "x-stainless-lang"
  ]) {
    assert.notProperty(headers, name)
  }
  assert.notMatch(headers.authorization ?? "", /mine/)
})
