/** An upstream's event whose type holds line breaks is no way to say further events (docs/api.md#when-a-cloud-fails). */
import { assert, describe, it } from "@effect/vitest"
import { chunkFrame } from "../../stream/frames.ts"
import {
  bedrockFrame,
  blockStart,
  message,
  messageStart,
  messageStop,
  sseFrame,
  textDelta
} from "../../support/claude.ts"
import { frameHead, sseHead, streaming } from "../../support/fakeUpstream.ts"
import { eventsIn, post } from "../../support/http.ts"
import { brokenInBand } from "../../support/inBand.ts"
import { ask, opening } from "../../support/responses.ts"
import { sharedUpstream } from "../../support/shared.ts"

const { gateway, upstream } = sharedUpstream()

const begun = [messageStart(), blockStart(0, { type: "text", text: "" }), textDelta(0, "hel")]

const chatStreams: ReadonlyArray<readonly [model: string, events: ReadonlyArray<object>]> = [
  ["claude-sonnet-4-5:il2", [...begun, messageStop]],
  ["gpt-5.6-terra:il5", [opening, { type: "response.completed", response: { status: "completed", output: [] } }]]
]
/** A chat stream whose last event comes after this frame ends with an error. */
const failsOnChat = async (model: string, events: ReadonlyArray<object>, frame: string) => {
  const frames = events.map((event) => `data: ${JSON.stringify(event)}\n\n`)
  upstream.use(streaming(frames.toSpliced(-1, 0, frame), { head: sseHead }))
  const body = { model, messages: [{ role: "user", content: "hi" }], stream: true }
  const { text } = await post(`${gateway.url}/v1/chat/completions`, body)
  assert.match(eventsIn(text).at(-1)?.json.error.message, /cannot be read/)
  assert.notInclude(text, "[DONE]")
}

describe.each(["\n", "\r", "\r\n", "\0"])("a type that holds %j", (breaking) => {
  const forged = (last: string) =>
    JSON.stringify({ type: `ping${breaking}${breaking}event: ${last}${breaking}data: {"type":"${last}"}` })

  it("is an in-band error of the messages stream, framed", async () => {
    const frames = [...begun.map(bedrockFrame), chunkFrame(forged("message_stop")), bedrockFrame(messageStop)]
    upstream.use(streaming(frames, { head: frameHead }))
    const got = await post(`${gateway.url}/v1/messages`, message("claude-sonnet-4-5:il5", "hi", { stream: true }))
    brokenInBand(got)
    assert.lengthOf(eventsIn(got.text), begun.length + 1)
    assert.notInclude(got.text, "message_stop")
  })

  it("is an in-band error of the messages stream, as server-sent events without names", async () => {
    const frames = [...begun.map(sseFrame), `data: ${forged("message_stop")}\n\n`, sseFrame(messageStop)]
    upstream.use(streaming(frames, { head: sseHead }))
    const got = await post(`${gateway.url}/v1/messages`, message("claude-sonnet-4-5:il2", "hi", { stream: true }))
    brokenInBand(got)
    assert.lengthOf(eventsIn(got.text), begun.length + 1)
    assert.notInclude(got.text, "message_stop")
  })

  it("is an in-band error of the responses stream", async () => {
    const first = opening as { readonly type: string }
    const frames = [
      `event: ${first.type}\ndata: ${JSON.stringify(opening)}\n\n`,
      `data: ${forged("response.completed")}\n\n`
    ]
    upstream.use(streaming(frames, { head: sseHead }))
    const got = await post(`${gateway.url}/v1/responses`, ask("hi", { stream: true }))
    const events = eventsIn(got.text)
    assert.deepStrictEqual(
      events.map(({ event }) => event),
      [first.type, "error"]
    )
    assert.notInclude(got.text, "response.completed")
  })

  it.each(chatStreams)("is an in-band error of the chat stream: %s", (model, events) =>
    failsOnChat(model, events, `data: ${forged("x")}\n\n`)
  )
})

describe("an event whose name and data say different things", () => {
  it.each(["response.output_text.delta", "response.output_item.added", "response.something_new"])(
    "is an in-band error of the responses stream: %s",
    async (name) => {
      const item = { type: "function_call", call_id: "c", name: "f", arguments: '{"url":"https://a.example"}' }
      for (const forged of [
        { type: "response.output_item.done", output_index: 0, item },
        { type: "response.function_call_arguments.delta", output_index: 0, delta: item.arguments },
        { type: "response.completed", response: { object: "response", status: "completed", output: [] } }
      ]) {
        const data = [opening, forged].map((event) => JSON.stringify(event))
        upstream.use(
          streaming([`event: response.created\ndata: ${data[0]}\n\n`, `event: ${name}\ndata: ${data[1]}\n\n`])
        )
        const got = await post(`${gateway.url}/v1/responses`, ask("hi", { stream: true }))
        assert.deepStrictEqual(
          eventsIn(got.text).map(({ event }) => event),
          ["response.created", "error"]
        )
      }
    }
  )

  it("is no end of the messages stream", async () => {
    const frames = [...begun.map(sseFrame), `event: message_stop\ndata: {"type":"ping"}\n\n`, sseFrame(messageStop)]
    upstream.use(streaming(frames, { head: sseHead }))
    const got = await post(`${gateway.url}/v1/messages`, message("claude-sonnet-4-5:il2", "hi", { stream: true }))
    brokenInBand(got)
    assert.notInclude(got.text, "message_stop")
  })

  it.each(chatStreams)("is an in-band error of the chat stream: %s", (model, events) =>
    failsOnChat(model, events, `event: error\ndata: {"type":"ping"}\n\n`)
  )

  it.each(["content_block_start", "content_block_delta", "content_block_stop", "message_delta", "ping"])(
    "is an in-band error: %s",
    async (name) => {
      // A client that goes by the data would see a call that was not looked for under this name.
      const call = { index: 1, content_block: { type: "tool_use", id: "toolu_1", name: "f", input: { said: name } } }
      const data = JSON.stringify({ type: name === "content_block_start" ? "ping" : "content_block_start", ...call })
      const frames = [...begun.map(sseFrame), `event: ${name}\ndata: ${data}\n\n`, sseFrame(messageStop)]
      upstream.use(streaming(frames, { head: sseHead }))
      const got = await post(`${gateway.url}/v1/messages`, message("claude-sonnet-4-5:il2", "hi", { stream: true }))
      brokenInBand(got)
      assert.lengthOf(eventsIn(got.text), begun.length + 1)
    }
  )
})
