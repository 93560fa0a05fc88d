/** A request in another endpoint's format hears of that endpoint, not of its fields (docs/api.md#which-model-an-endpoint-serves). */
import { assert, describe, it } from "@effect/vitest"
import { post } from "../../support/http.ts"
import { sharedGateway } from "../../support/shared.ts"

const gateway = sharedGateway()

const requests = {
  "/v1/chat/completions": { model: "gemini-3-flash:il2", messages: [{ role: "user", content: "hi" }] },
  "/v1/messages": { model: "claude-sonnet-4-5:il5", max_tokens: 5, messages: [{ role: "user", content: "hi" }] },
  "/v1/responses": { model: "gpt-5.1:il5", input: "hi" },
  "/v1/embeddings": { model: "titan-embed-text-v2:il5", input: "hi" }
}
/** Claude and GPT are served on chat, too. */
const isServed = (path: string, own: string) => path === "/v1/chat/completions" && own !== "/v1/embeddings"

describe.each(Object.keys(requests))("at %s", (path) => {
  it.each(Object.entries(requests).filter(([own]) => own !== path && !isServed(path, own)))("%s", async (_, body) => {
    const got = await post(gateway.url + path, body)
    assert.strictEqual(got.status, 400)
    assert.match(got.json.error.message, / does not serve: use \/v1\//)
  })

  it("a model that does not exist", async () => {
    assert.match(
      (await post(gateway.url + path, { model: "nothing:il5" })).json.error.message,
      /"nothing:il5" does not/
    )
  })
})
