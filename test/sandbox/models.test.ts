/** The sandbox plays the models of whatever catalog is in force, by their facts and by no name that it knows. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { serve, start, until } from "../operation/child.ts"
import { chat, folded } from "../support/chat.ts"
import { type Gateway, startGateway } from "../support/gateway.ts"
import { get, post } from "../support/http.ts"

interface Entry {
  readonly id: string
  readonly deployments: ReadonlyArray<object>
}
const shipped: { readonly models: ReadonlyArray<Entry> } = JSON.parse(
  readFileSync(new URL("../../src/catalog/catalog.json", import.meta.url), "utf8")
)

/** A model like one of the shipped catalog, under another name and on one cloud. */
const like = (old: string, cloud: string, id: string, model: string, facts: object = {}): object => {
  const found = shipped.models.find((entry) => entry.id === old) ?? assert.fail(old)
  const deployment = found.deployments.find((entry) => Reflect.get(entry, "cloud") === cloud) ?? assert.fail(cloud)
  return { ...found, id, ...facts, deployments: [{ ...deployment, model }] }
}
const thinking = { api: "level", optional: false, efforts: ["low", "high"], default: "low", counted: true }
const models = [
  like("claude-opus-4-7", "vertex", "claude-fable-6", "claude-fable-6"),
  like("claude-sonnet-4-5", "bedrock", "claude-mini", "us-gov.anthropic.mini-v1:0", { maxOutputTokens: 5000 }),
  like("gemini-3-flash", "vertex", "gemini-9", "gemini-9-exp", { thinking }),
  like("gpt-5.1", "azure", "gpt-7", "our-deployment"),
  like("gpt-5.6-terra", "bedrock", "gpt-8", "us-gov.openai.gpt-8"),
  like("gpt-oss-120b", "bedrock", "gpt-oss-20b", "openai.gpt-oss-20b-1:0"),
  like("titan-embed-text-v2", "bedrock", "titan-3", "amazon.titan-embed-text-v3:0")
]

const directory = mkdtempSync(join(tmpdir(), "sandbox-models-"))
const file = join(directory, "catalog.json")
let gateway: Gateway
beforeAll(async () => {
  writeFileSync(file, JSON.stringify({ models }))
  gateway = await startGateway({ settings: { GATEWAY_CATALOG_FILE: file } })
})
afterAll(async () => {
  await gateway.stop()
  rmSync(directory, { recursive: true, force: true })
})

describe("a catalog that the sandbox has never seen", () => {
  it.each(["claude-fable-6:il2", "claude-mini:il5", "gemini-9:il2", "gpt-7:il5", "gpt-8:il5", "gpt-oss-20b:il5"])(
    "%s speaks and calls tools",
    async (model) => {
      const tools = [{ type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } }]
      for (const reasoning_effort of ["none", "high"]) {
        const body = chat(model, "[sandbox: text=Hello] [sandbox: tool=f]", { tools, stream: true, reasoning_effort })
        const { text } = await post(`${gateway.url}/v1/chat/completions`, body)
        assert.deepInclude(folded(text), { content: "Hello", finishReason: "tool_calls", done: true }, text)
      }
    }
  )

  it("titan-3:il5 embeds", async () => {
    const got = await post(`${gateway.url}/v1/embeddings`, { model: "titan-3:il5", input: "a" })
    assert.strictEqual(got.json.data?.[0].embedding.length, 1024, got.text)
  })

  it("holds a model to its own facts", async () => {
    const messages = [{ role: "user", content: "hi" }]
    const body = { model: "claude-mini:il5", max_tokens: 5001, messages }
    assert.include((await post(`${gateway.url}/v1/messages`, body)).text, "5001 > 5000")
    await post(`${gateway.url}/v1/chat/completions`, chat("gemini-9:il2", "hi", { reasoning_effort: "none" }))
    const sent = JSON.parse(gateway.calls().at(-1)?.body ?? "{}")
    assert.strictEqual(sent.generationConfig.thinkingConfig.thinkingLevel, "LOW")
  })

  it("what the start and the page at / tell to try works as it is told", async () => {
    const served = await serve({ GATEWAY_CATALOG_FILE: file, GATEWAY_SANDBOX_PACE: "1 millis" })
    try {
      await until(() => served.stdout().includes("chat in the terminal"), "the hint")
      const page = (await get(served.url)).text.replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(code))
      for (const shown of [served.stdout(), page]) {
        const [, url = "", body = ""] = /curl -N (\S+).*?-d '([^']*)'/s.exec(shown) ?? []
        const { status, text } = await post(url, JSON.parse(body))
        assert.strictEqual(status, 200, text)
      }
      const [, words = ""] = /npm run gateway -- (chat .*)/.exec(served.stdout()) ?? []
      const { code, stderr } = await start(words.split(" ")).ended
      assert.deepStrictEqual([code, stderr], [0, ""])
    } finally {
      await served.stop()
    }
  })
})
