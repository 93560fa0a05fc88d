import { assert, describe, it } from "@effect/vitest"
import { message, wholeMessage } from "../support/claude.ts"
import { answering, fakeUpstream, reply } from "../support/fakeUpstream.ts"
import { cloudsAt, startGateway } from "../support/gateway.ts"
import { eventsIn, get, open, post, raw, rawPost } from "../support/http.ts"
import { serve, until } from "./child.ts"

const stream = (url: string, text: string) =>
  open(`${url}/v1/messages`, message("claude-sonnet-4-5:il5", text, { stream: true }))

const refused = (port: number) =>
  get(`http://127.0.0.1:${port}/health`).then(
    () => false,
    () => true
  )

describe.concurrent("SIGTERM", () => {
  it("says draining at once, closes the listener after the delay, lets requests finish, ends the rest in-band", async () => {
    const gateway = await serve({
      GATEWAY_DRAIN_DELAY: "700 millis",
      GATEWAY_DRAIN_TIMEOUT: "2 seconds",
      GATEWAY_SANDBOX_PACE: "20 millis"
    })
    try {
      const { port, url } = gateway
      const idle = raw(port)
      idle.write("GET /health HTTP/1.1\r\nhost: gateway\r\n\r\n")
      await idle.until(/"ok"/)

      const short = await stream(url, "[sandbox: events=60]")
      const endless = await stream(url, "[sandbox: stall after=3]")
      const whole = post(`${url}/v1/messages`, message("claude-sonnet-4-5:il2", "[sandbox: delay=1200ms]"))
      const slow = open(`${url}/v1/responses`, { model: "gpt-5.1:il5", input: "[sandbox: delay=60s]" })
      const unsent = raw(port)
      unsent.write(
        "POST /v1/messages HTTP/1.1\r\nhost: gateway\r\nx-api-key: sandbox-key\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n"
      )
      const chat = open(`${url}/v1/chat/completions`, {
        model: "gpt-5.1:il5",
        stream: true,
        messages: [{ role: "user", content: "[sandbox: stall after=3]" }]
      })
      await (await chat).clone().body?.getReader().read()

      const startedAt = Date.now()
      gateway.kill("SIGTERM")
      let health = await get(`${url}/health`)
      await until(async () => {
        health = await get(`${url}/health`)
        return health.status === 503
      }, "draining")
      assert.strictEqual(health.json.status, "draining")
      assert.strictEqual(health.headers.get("connection"), "close")
      const late = await post(`${url}/v1/messages`, message("claude-sonnet-4-5:il2", "still served"))
      assert.strictEqual(late.status, 200)
      gateway.kill("SIGTERM")

      await until(() => refused(port), "the listener's end")
      assert.isAtLeast(Date.now() - startedAt, 600)
      await idle.closed()
      assert.isBelow(Date.now() - startedAt, 2000)

      assert.strictEqual(eventsIn(await short.text()).at(-1)?.event, "message_stop")
      assert.strictEqual((await whole).status, 200)
      const cut = eventsIn(await endless.text())
      assert.strictEqual(cut.at(-1)?.event, "error")
      assert.include(cut.at(-1)?.json.error.message, "shutting down")
      const cutChat = eventsIn(await (await chat).text())
      assert.include(cutChat.at(-1)?.json.error.message, "shutting down")
      const ended = await slow
      assert.strictEqual(ended.status, 503)
      assert.match(ended.headers.get("x-request-id") ?? "", /^[0-9a-f-]{36}$/)
      assert.strictEqual(ended.headers.get("connection"), "close")
      assert.strictEqual(ended.headers.get("retry-after"), "1")
      assert.strictEqual(ended.headers.get("x-gateway-served-level"), "il5")
      assert.match(await ended.text(), /"type":"api_error","message":"[^"]*shutting down/)
      await unsent.until(/^HTTP\/1.1 503 .*"type":"api_error".*shutting down/s)
      const { code, stderr } = await gateway.ended
      assert.strictEqual(code, 0)
      assert.isBelow(Date.now() - startedAt, 4500)
      assert.notInclude(stderr, '"level":"error"')
      assert.match(stderr, /"level":"info","message":"stopping/)
      assert.deepStrictEqual(
        gateway
          .records()
          .map(({ outcome, status }) => `${outcome} ${status}`)
          .sort(),
        ["drained 200", "drained 200", "drained 503", "drained 503", "ok 200", "ok 200", "ok 200"]
      )
    } finally {
      await gateway.stop()
    }
  })

  it("SIGINT does the same, and idle connections do not hold it up", async () => {
    const gateway = await serve()
    try {
      const idle = raw(gateway.port)
      idle.write("GET /health HTTP/1.1\r\nhost: gateway\r\n\r\n")
      await idle.until(/"ok"/)
      const silent = raw(gateway.port)
      await until(() => !silent.socket.connecting, "a connection")
      const startedAt = Date.now()
      gateway.kill("SIGINT")
      gateway.kill("SIGINT")
      assert.strictEqual((await gateway.ended).code, 0)
      assert.isBelow(Date.now() - startedAt, 3000)
    } finally {
      await gateway.stop()
    }
  })

  it("gives a request whose headers are not whole the time for them, and no more", async () => {
    const gateway = await serve({ GATEWAY_HEADERS_TIMEOUT: "1 second" })
    try {
      const half = raw(gateway.port)
      half.write("GET /hea")
      await get(`${gateway.url}/health`)
      const startedAt = Date.now()
      gateway.kill("SIGTERM")
      await half.until(/^HTTP\/1.1 408 .*too long/s)
      assert.strictEqual((await gateway.ended).code, 0)
      assert.isBelow(Date.now() - startedAt, 5000)
    } finally {
      await gateway.stop()
    }
  })
})

describe.concurrent("a reply that is written, and that its caller has not taken", () => {
  const text = "word ".repeat(3_000_000)
  /** How much of it a caller gets that begins to read when the listener has closed, or never, and how long the gateway waits. */
  const drained = async (reads: boolean) => {
    const upstream = await fakeUpstream(
      answering(reply("200 OK", JSON.stringify(wholeMessage([{ type: "text", text }]))))
    )
    const settings = { ...cloudsAt(upstream.url), GATEWAY_DRAIN_TIMEOUT: reads ? "20 seconds" : "300 millis" }
    const gateway = await startGateway({ settings })
    const caller = raw(gateway.port, { paused: true })
    caller.write(rawPost("/v1/messages", JSON.stringify(message("claude-sonnet-4-5:il2"))))
    await until(() => caller.socket.readableLength > 0, "the reply's head")
    const startedAt = Date.now()
    const stopped = gateway.stop()
    await until(() => refused(gateway.port), "the listener's end")
    let size = 0
    if (reads) {
      caller.socket.on("data", (data: string) => {
        size += data.length
      })
      await caller.closed(10_000)
    }
    await stopped
    caller.socket.destroy()
    await upstream.stop()
    return { size, waited: Date.now() - startedAt }
  }

  it("is not cut", async () => {
    assert.isAbove((await drained(true)).size, text.length)
  })

  it("does not hold up the end", async () => {
    assert.isBelow((await drained(false)).waited, 2000)
  })
})
