/** Streams that are silent for a while, as their readers see them (docs/api.md#comments-in-silence). */
import Anthropic from "@anthropic-ai/sdk"
import { assert, describe, it } from "@effect/vitest"
import OpenAI from "openai"
import { createClient } from "../../src/Client.ts"
import { sharedGateway } from "../support/shared.ts"

const gateway = sharedGateway({ settings: { GATEWAY_HEARTBEAT: "20 millis" } })
const [claude, gpt] = ["claude-sonnet-4-5:il2", "gpt-5.1:il5"] as const
const said = "[sandbox: delay=150ms] [sandbox: text=One two three.]"
const defaultHeaders = { "x-api-key": "sandbox-key" }
const messages = [{ role: "user" as const, content: said }]
const native = { model: claude, max_tokens: 2000, messages }

const openai = () => new OpenAI({ apiKey: "not-read", baseURL: `${gateway.url}/v1`, defaultHeaders, maxRetries: 0 })
const anthropic = () => new Anthropic({ apiKey: "not-read", baseURL: gateway.url, defaultHeaders, maxRetries: 0 })
const own = () => createClient({ baseUrl: gateway.url, apiKey: "sandbox-key", retries: 0 })

const clients: ReadonlyArray<readonly [name: string, text: () => Promise<string | null | undefined>]> = [
  [
    "OpenAI's chat",
    async () =>
      (await openai().chat.completions.stream({ model: claude, messages }).finalChatCompletion()).choices[0]?.message
        .content
  ],
  [
    "OpenAI's responses",
    async () => (await openai().responses.stream({ model: gpt, input: said }).finalResponse()).output_text
  ],
  ["Anthropic's messages", () => anthropic().messages.stream(native).finalText()],
  ["our own on chat", () => own().chat.stream({ model: claude, messages }).finalText()],
  ["our own on messages", () => own().messages.stream(native).finalText()],
  ["our own on responses", () => own().responses.stream({ model: gpt, input: said }).finalText()]
]

describe("a stream that is silent at its beginning", () => {
  it.each(clients)("is read by %s", async (_, text) => {
    assert.strictEqual(await text(), "One two three.")
  })

  it.each([
    ["/v1/chat/completions", { model: claude, messages }],
    ["/v1/messages", native],
    ["/v1/responses", { model: gpt, input: said }]
  ])("%s: has no block without data, which some readers take for an event", async (path, body) => {
    const got = await fetch(`${gateway.url}${path}`, {
      method: "POST",
      headers: { ...defaultHeaders, "content-type": "application/json" },
      body: JSON.stringify({ ...body, stream: true })
    })
    const text = await got.text()
    assert.match(text, /^(: keep-alive\n){2,}[^:\n]/)
    for (const block of text.split("\n\n").slice(0, -1)) assert.match(block, /^data: /m)
  })
})
