/** Faults that take their five seconds, all at once. */
import { createServer } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { emptyMessage, message } from "../../support/claude.ts"
import { answering, fakeUpstream, httpHead, reply } from "../../support/fakeUpstream.ts"
import { cloudsAt, type Gateway, startGateway } from "../../support/gateway.ts"
import { post } from "../../support/http.ts"

/** The replies to a request, whole and streamed. */
const askBoth = ({ url }: Gateway) =>
  Promise.all(
    [false, true].map((stream) => post(`${url}/v1/messages`, message("claude-sonnet-4-5:il5", "hi", { stream })))
  )

describe.concurrent("five seconds", () => {
  it("502 where the connection cannot be made in time", async () => {
    // Accepts, and never answers the TLS handshake.
    const server = createServer((socket) => socket.on("error", () => {}))
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const address = server.address()
    const port = address !== null && typeof address === "object" ? address.port : 0
    const gateway = await startGateway({ settings: cloudsAt(`https://127.0.0.1:${port}`) })
    try {
      const started = Date.now()
      const replies = await askBoth(gateway)
      for (const got of replies) {
        assert.strictEqual(got.status, 502)
        assert.strictEqual(got.json.error.type, "api_error")
      }
      assert.isAtLeast(Date.now() - started, 4_500)
      assert.isBelow(Date.now() - started, 9_500)
    } finally {
      await gateway.stop()
      server.close()
    }
  })

  it("a refusal keeps its status where its body does not come", async () => {
    const head = httpHead("429 Too Many Requests", { "content-length": "100", "retry-after": "7" })
    const upstream = await fakeUpstream((socket) => socket.write(head))
    const gateway = await startGateway({ settings: cloudsAt(upstream.url) })
    try {
      const started = Date.now()
      const replies = await askBoth(gateway)
      for (const got of replies) {
        assert.strictEqual(got.status, 429)
        assert.strictEqual(got.headers.get("retry-after"), "7")
      }
      assert.isBelow(Date.now() - started, 9_500)
    } finally {
      await gateway.stop()
      await upstream.stop()
    }
  })

  it("a circuit that opened closes again", async () => {
    const upstream = await fakeUpstream((socket) => socket.destroy())
    const gateway = await startGateway({ settings: cloudsAt(upstream.url) })
    const ask = () => post(`${gateway.url}/v1/messages`, message("claude-sonnet-4-5:il5"))
    try {
      for (let n = 0; n < 10; n++) await ask()
      upstream.use(answering(reply("200 OK", emptyMessage)))
      assert.match((await ask()).headers.get("retry-after") ?? "", /^[1-5]$/)
      await sleep(5_300)
      for (let n = 0; n < 5; n++) assert.strictEqual((await ask()).status, 200)
      assert.match(gateway.logs.join("\n"), /circuit bedrock\/us-gov-west-1 is open/)
    } finally {
      await gateway.stop()
      await upstream.stop()
    }
  })
})
