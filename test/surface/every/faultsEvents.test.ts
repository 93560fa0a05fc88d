/** Failures that a cloud reports inside its stream, and the framings that it may use (docs/api.md#when-a-cloud-fails). */
import { gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import {
  bedrockFrame,
  blockStart,
  exceptionFrame,
  message,
  messageStart,
  messageStop,
  saying,
  sseFrame,
  textDelta,
  type UpstreamEvent
} from "../../support/claude.ts"
import { frameHead, httpHead, streaming } from "../../support/fakeUpstream.ts"
import { eventsIn, post } from "../../support/http.ts"
import { brokenInBand } from "../../support/inBand.ts"
import { opening, ask as responsesAsk } from "../../support/responses.ts"
import { sharedUpstream } from "../../support/shared.ts"

const { gateway, upstream } = sharedUpstream()

const ask = (model: string) => post(`${gateway.url}/v1/messages`, message(model, "hi", { stream: true }))
const begun = [messageStart(), blockStart(0, { type: "text", text: "" }), textDelta(0, "hel")]

describe("Bedrock's exception frames", () => {
  const statuses: ReadonlyArray<readonly [string, number, string]> = [
    ["throttlingException", 429, "rate_limit_error"],
    ["modelNotReadyException", 429, "rate_limit_error"],
    ["serviceQuotaExceededException", 429, "rate_limit_error"],
    ["validationException", 400, "invalid_request_error"],
    ["internalServerException", 502, "api_error"],
    ["serviceUnavailableException", 502, "api_error"],
    ["modelStreamErrorException", 502, "api_error"],
    ["modelTimeoutException", 504, "api_error"],
    ["somethingNewException", 502, "api_error"]
  ]
  for (const [name, status, type] of statuses) {
    const exception = exceptionFrame(name, JSON.stringify({ message: "arn:aws-us-gov:bedrock:x failed" }))

    it(`${name} first keeps its status`, async () => {
      upstream.use(streaming([exception], { head: frameHead }))
      const got = await ask("claude-sonnet-4-5:il5")
      assert.strictEqual(got.status, status, got.text)
      assert.match(got.headers.get("content-type") ?? "", /^application\/json/)
      assert.strictEqual(got.json.error.type, type)
      assert.notMatch(got.text, /arn:/)
    })

    it(`${name} in the middle is an in-band error`, async () => {
      upstream.use(streaming([...begun.map(bedrockFrame), exception, bedrockFrame(messageStop)], { head: frameHead }))
      brokenInBand(await ask("claude-sonnet-4-5:il5"), type)
    })
  }

  it("reads the model's own status in a stream error", async () => {
    const exception = exceptionFrame(
      "modelStreamErrorException",
      JSON.stringify({ message: "m", originalStatusCode: 429, originalMessage: "slow down" })
    )
    upstream.use(streaming([exception], { head: frameHead }))
    assert.include([429, 502], (await ask("claude-sonnet-4-5:il5")).status)
  })
})

describe("an error without a type, of the cloud in front of the API", () => {
  const google = { error: { code: 429, status: "RESOURCE_EXHAUSTED", message: "projects/secret-project/x failed" } }
  const azure = { error: { code: "429", message: "slow down" } }
  const chat = (model: string) => ({ model, messages: [{ role: "user", content: "hi" }], stream: true })

  it.each([
    ["/v1/messages", message("claude-sonnet-4-5:il2", "hi", { stream: true }), begun, google],
    ["/v1/chat/completions", chat("claude-sonnet-4-5:il2"), begun, google],
    ["/v1/chat/completions", chat("gpt-5.6-terra:il5"), [opening], azure],
    ["/v1/responses", responsesAsk("hi", { stream: true }), [opening], azure]
  ] as const)("%s %o keeps its meaning", async (path, body, before, error) => {
    const event = `data: ${JSON.stringify(error)}\n\n`
    upstream.use(streaming([event]))
    const refused = await post(`${gateway.url}${path}`, body)
    assert.strictEqual(refused.status, 429, refused.text)
    assert.strictEqual(refused.json.error.type, "rate_limit_error")
    upstream.use(streaming([...before.map(sseFrame), event]))
    const broken = await post(`${gateway.url}${path}`, body)
    assert.strictEqual(broken.status, 200, broken.text)
    const last = eventsIn(broken.text).at(-1)?.json
    assert.strictEqual(last.code ?? last.error.type, "rate_limit_error")
    assert.notInclude(`${refused.text}${broken.text}`, "secret-project")
  })
})

describe("Vertex's error events", () => {
  for (const [name, status, type] of [
    ["overloaded_error", 502, "api_error"],
    ["api_error", 502, "api_error"],
    ["rate_limit_error", 429, "rate_limit_error"],
    ["invalid_request_error", 400, "invalid_request_error"],
    ["timeout_error", 504, "api_error"],
    ["novel_error", 502, "api_error"]
  ] as const) {
    const event = { type: "error", error: { type: name, message: "projects/secret-project/x failed" } }

    it(`${name} first keeps its status`, async () => {
      upstream.use(streaming([sseFrame(event)]))
      const got = await ask("claude-sonnet-4-5:il2")
      assert.strictEqual(got.status, status, got.text)
      assert.strictEqual(got.json.error.type, type)
      assert.notMatch(got.text, /secret-project/)
    })

    it(`${name} in the middle is an in-band error`, async () => {
      upstream.use(streaming([...begun, event, messageStop].map(sseFrame)))
      brokenInBand(await ask("claude-sonnet-4-5:il2"), type)
    })
  }

  it("SSE framing of every kind is read", async () => {
    const [start, block, delta, ...more] = saying("hi")
    const crlf = (event: UpstreamEvent | undefined) =>
      event === undefined ? "" : `event: ${event.type}\r\ndata: ${JSON.stringify(event)}\r\n\r\n`
    const cr = (event: UpstreamEvent | undefined) => crlf(event).replaceAll("\r\n", "\r")
    const bare = (event: UpstreamEvent | undefined) => `data:${JSON.stringify(event)}\n\n`
    const lines = `event: content_block_delta\ndata: {"type":"content_block_delta",\ndata: "index":0,"delta":{"type":"text_delta","text":"two"}}\n\n`
    upstream.use(
      streaming([
        `\ufeff: comment\n\n${crlf(start)}`,
        cr(block),
        ": ping\n\nid: 7\nretry: 10\n\n",
        bare(delta),
        lines,
        ...more.map(sseFrame)
      ])
    )
    const got = eventsIn((await ask("claude-sonnet-4-5:il2")).text)
    assert.deepStrictEqual(
      got.map(({ event }) => event),
      [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop"
      ]
    )
    assert.strictEqual(got.map(({ json }) => json.delta?.text ?? "").join(""), "hitwo")
  })
})

it("a compressed stream is refused", async () => {
  const body = gzipSync(saying("hi").map(sseFrame).join(""))
  upstream.use((socket) => {
    socket.write(
      httpHead("200 OK", {
        "content-type": "text/event-stream",
        "content-encoding": "gzip",
        "content-length": String(body.length)
      })
    )
    socket.write(body)
  })
  assert.strictEqual((await ask("claude-sonnet-4-5:il2")).status, 502)
})
