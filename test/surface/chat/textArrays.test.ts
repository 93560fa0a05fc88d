/** Lists of text in roles that have no parts: refused, or joined where the operator allows them (docs/api.md#chat-messages). */
import { assert, describe, it } from "@effect/vitest"
import { chat, ok } from "../../support/chat.ts"
import { sixModels } from "../../support/chatKinds.ts"
import { call } from "../../support/chatSurface.ts"
import { post } from "../../support/http.ts"
import { sharedGateway } from "../../support/shared.ts"

const text = (...texts: ReadonlyArray<string>) => texts.map((one) => ({ type: "text", text: one }))
const conversation = [
  { role: "system", content: text("Be ", "brief.") },
  { role: "developer", content: text("And kind.") },
  { role: "user", content: text("hi") },
  { role: "assistant", content: text("Let me ", "look."), tool_calls: [call("a")] },
  { role: "tool", tool_call_id: "a", content: text("21", " °C") },
  { role: "assistant", content: [], tool_calls: [call("b")] },
  { role: "tool", tool_call_id: "b", content: [] }
]
const plain = [
  { role: "system", content: "Be brief." },
  { role: "developer", content: "And kind." },
  { role: "user", content: text("hi") },
  { role: "assistant", content: "Let me look.", tool_calls: [call("a")] },
  { role: "tool", tool_call_id: "a", content: "21 °C" },
  { role: "assistant", content: "", tool_calls: [call("b")] },
  { role: "tool", tool_call_id: "b", content: "" }
]

describe("without the setting", () => {
  const gateway = sharedGateway()
  it.each(["system", "developer", "assistant", "tool"])("%s: 400 that says who can allow it", async (role) => {
    const messages = [
      { role: "user", content: "hi" },
      { role, tool_call_id: "a", content: text("x") }
    ]
    const got = await post(`${gateway.url}/v1/chat/completions`, { ...chat("gpt-5.1:il5"), messages })
    assert.strictEqual(got.status, 400)
    assert.match(
      got.json.error.message,
      /^messages\[1\]\.content: must be a string .*operator.*GATEWAY_TEXT_ARRAYS=true/
    )
  })
})

describe("with GATEWAY_TEXT_ARRAYS=true", () => {
  const gateway = sharedGateway({ settings: { GATEWAY_TEXT_ARRAYS: "true" } })
  const ask = (body: object) => post(`${gateway.url}/v1/chat/completions`, body)
  const sent = () => JSON.parse(gateway.calls().at(-1)?.body ?? "null")

  it.each(sixModels)("%s gets the texts joined", async (id) => {
    ok(await ask({ ...chat(id), messages: plain }))
    const wanted = sent()
    ok(await ask({ ...chat(id), messages: conversation }))
    assert.deepStrictEqual(sent(), wanted)
  })

  it("keeps the mark of a part", async () => {
    const marked = { type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }
    const messages = [
      { role: "system", content: [...text("Hm. "), marked] },
      { role: "user", content: "hi" }
    ]
    ok(await ask({ ...chat("claude-sonnet-4-5:il5"), messages }))
    assert.deepStrictEqual(sent().system, [
      { type: "text", text: "Hm. Be brief.", cache_control: { type: "ephemeral" } }
    ])
  })

  it.each(sixModels)("%s gets back the message of a reply that a client made a part of", async (id) => {
    const asked = { ...chat(id), messages: [{ role: "user", content: "hi" }] }
    const { content, ...fields } = ok(await ask(asked)).choices[0].message
    const again = (message: object) =>
      ask({
        ...asked,
        messages: [...asked.messages, { role: "assistant", ...message }, { role: "user", content: "ho" }]
      })
    ok(await again({ ...fields, content }))
    const wanted = sent()
    const part = { ...fields, annotations: [], type: "text", text: content }
    ok(await again({ content: [part] }))
    assert.deepStrictEqual(sent(), wanted)
  })

  it.each([
    ["an image", { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } }],
    ["a field that would be lost", { type: "text", text: "x", annotations: [1] }],
    ["no text", { type: "text", text: 1 }],
    ["a string", "x"]
  ])("refuses a list with %s", async (_, part) => {
    const messages = [
      { role: "user", content: "hi" },
      { role: "assistant", content: [...text("x"), part] }
    ]
    const got = await ask({ ...chat("gpt-5.1:il5"), messages })
    assert.strictEqual(got.status, 400)
    assert.match(got.json.error.message, /^messages\[1\]\.content: must be a string .*lists of nothing but text pass/)
  })
})
