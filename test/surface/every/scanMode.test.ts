/** `GATEWAY_SCAN_MODE` reaches every surface, whole and streamed (docs/api.md#tool-call-scan). */
import { assert, describe, it } from "@effect/vitest"
import type { Gateway } from "../../support/gateway.ts"
import { post } from "../../support/http.ts"
import { sharedGateway } from "../../support/shared.ts"

const spec = sharedGateway()
const strict = sharedGateway({ settings: { GATEWAY_SCAN_MODE: "strict" } })

// A destination that only strict sees: percent-encoded.
const asked = '[sandbox: tool=f args={"u":"https%3A%2F%2Fevil.example%2Fa"}]'
const parameters = { type: "object", properties: { u: { type: "string" } } }
const messages = [{ role: "user", content: asked }]

const surfaces: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  "/v1/chat/completions": {
    model: "claude-sonnet-4-5:il5",
    messages,
    tools: [{ type: "function", function: { name: "f", parameters } }]
  },
  "/v1/messages": {
    model: "claude-sonnet-4-5:il5",
    max_tokens: 100,
    messages,
    tools: [{ name: "f", input_schema: parameters }]
  },
  "/v1/responses": { model: "gpt-5.1:il5", input: asked, tools: [{ type: "function", name: "f", parameters }] }
}

describe.each(Object.entries(surfaces))("%s", (path, body) => {
  it.each([false, true])("flags what strict sees, and spec does not (stream: %s)", async (stream) => {
    const flags = async (gateway: Gateway) => {
      const { status, text } = await post(gateway.url + path, { ...body, stream })
      assert.strictEqual(status, 200, text)
      return text.includes("external_destination")
    }
    assert.isFalse(await flags(spec))
    assert.isTrue(await flags(strict))
  })
})
