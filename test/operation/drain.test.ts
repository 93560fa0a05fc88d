import { assert, describe, it } from "@effect/vitest"
import { message } from "../support/claude.ts"
import { eventsIn, get, open, post, raw } from "../support/http.ts"
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
      const { code, stderr } = await gateway.ended
      assert.strictEqual(code, 0)
      assert.isBelow(Date.now() - startedAt, 4500)
      assert.notInclude(stderr, '"level":"error"')
      assert.deepStrictEqual(
        gateway
          .records()
          .map(({ outcome }) => outcome)
          .sort(),
        ["drained", "drained", "ok", "ok", "ok"]
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
      assert.strictEqual((await gateway.ended).code, 0)
      assert.isBelow(Date.now() - startedAt, 3000)
    } finally {
      await gateway.stop()
    }
  })
})
