/** Callers that leave or do not read (docs/api.md#what-callers-may-send, docs/decisions.md#callers-that-leave). */
import { setTimeout as sleep } from "node:timers/promises"
import { afterEach, assert, beforeEach, describe, it } from "@effect/vitest"
import { blockStart, claudeClouds, message, messageStart, sseFrame, textDelta } from "../support/claude.ts"
import { chunk, type FakeUpstream, fakeUpstream, type Handler, sseHead } from "../support/fakeUpstream.ts"
import { cloudsAt, type Gateway, startGateway } from "../support/gateway.ts"
import { open, raw, rawPost } from "../support/http.ts"

let upstream: FakeUpstream
let gateway: Gateway
beforeEach(async () => {
  upstream = await fakeUpstream(() => {})
  gateway = await startGateway({ settings: { ...cloudsAt(upstream.url), GATEWAY_HEARTBEAT: "100 millis" } })
})
afterEach(async () => {
  await gateway.stop()
  await upstream.stop()
})

const asked = async () => {
  while (upstream.received.length === 0) await sleep(5)
}

for (const { model, head, frame } of claudeClouds) {
  const begin: Handler = (socket) => {
    socket.write(head)
    for (const event of [messageStart(), blockStart(0, { type: "text", text: "" }), textDelta(0, "hello")]) {
      socket.write(chunk(frame(event)))
    }
  }
  const body = (stream: boolean) => JSON.stringify(message(model, "hi", { stream }))
  const leaves = {
    "closes its connection": (caller: ReturnType<typeof raw>) => caller.socket.destroy(),
    "resets its connection": (caller: ReturnType<typeof raw>) => caller.socket.resetAndDestroy(),
    "closes its half of the connection": (caller: ReturnType<typeof raw>) => caller.socket.end()
  }

  describe(model, () => {
    for (const [name, leave] of Object.entries(leaves)) {
      for (const stream of [false, true]) {
        it(`a caller that ${name} before the first byte, ${stream ? "streamed" : "unstreamed"}: the call is given up`, async () => {
          const caller = raw(gateway.port)
          caller.write(rawPost("/v1/messages", body(stream)))
          await asked()
          leave(caller)
          await upstream.abandoned(1000)
          caller.socket.destroy()
        })
      }

      it(`a caller that ${name} while 200 is committed but nothing has come: the call is given up`, async () => {
        const caller = raw(gateway.port)
        caller.write(rawPost("/v1/messages", body(true)))
        await caller.until(/: keep-alive/)
        leave(caller)
        await upstream.abandoned(1000)
        caller.socket.destroy()
      })

      it(`a caller that ${name} in the middle of a stream: the call is given up`, async () => {
        upstream.use(begin)
        const caller = raw(gateway.port)
        caller.write(rawPost("/v1/messages", body(true)))
        await caller.until(/hello/)
        leave(caller)
        await upstream.abandoned(1000)
        caller.socket.destroy()
      })
    }

    it("a caller that counts and leaves: the call is given up", async () => {
      const caller = raw(gateway.port)
      caller.write(rawPost("/v1/messages/count_tokens", body(false)))
      await asked()
      caller.socket.destroy()
      await upstream.abandoned(1000)
    })

    it("nothing of it is logged as a fault", async () => {
      upstream.use(begin)
      const leaving = new AbortController()
      const response = await open(`${gateway.url}/v1/messages`, body(true), {}, { signal: leaving.signal })
      assert.strictEqual(response.status, 200)
      leaving.abort()
      await response.text().catch(() => {})
      await upstream.abandoned(1000)
      await sleep(50)
      assert.notMatch(gateway.logs.join("\n"), /^(Error|Fatal)/m)
      assert.match(gateway.logs.join("\n"), /cancelled/)
    })

    it("a caller that does not read holds back the cloud", async () => {
      const piece = chunk(frame(textDelta(0, "x".repeat(16_000))))
      let written = 0
      let stalledFor = 0
      upstream.use(async (socket) => {
        begin(socket, { method: "", path: "", headers: {}, body: "", connection: 0 })
        while (!socket.destroyed && written < 64_000_000) {
          written += piece.length
          if (!socket.write(piece)) {
            const since = Date.now()
            await new Promise((resolve) => {
              socket.once("drain", resolve)
              socket.once("close", resolve)
            })
            stalledFor = Math.max(stalledFor, Date.now() - since)
          }
        }
      })
      const caller = raw(gateway.port, { paused: true })
      caller.socket.pause()
      caller.write(rawPost("/v1/messages", body(true)))
      await asked()
      let before = -1
      // Sockets of loopback hold some megabytes; what matters is that it stops.
      for (let n = 0; n < 60 && written !== before; n++) {
        before = written
        await sleep(150)
      }
      assert.strictEqual(written, before, "the cloud is still sending")
      assert.isBelow(written, 32_000_000)
      caller.socket.destroy()
      await upstream.abandoned(1000)
    })
  })
}

describe("a caller that does not read", () => {
  it("is let go at the ceiling, which is recorded", async () => {
    const strict = await startGateway({ settings: { ...cloudsAt(upstream.url), GATEWAY_STREAM_CEILING: "500 millis" } })
    try {
      upstream.use(async (socket) => {
        socket.write(sseHead)
        socket.write(chunk(sseFrame(messageStart())))
        const piece = chunk(sseFrame(textDelta(0, "x".repeat(60_000))))
        while (!socket.destroyed) {
          if (!socket.write(piece)) {
            await new Promise((resolve) => {
              socket.once("drain", resolve)
              socket.once("close", resolve)
            })
          }
        }
      })
      const caller = raw(strict.port, { paused: true })
      caller.socket.pause()
      caller.write(rawPost("/v1/messages", JSON.stringify(message("claude-sonnet-4-5:il2", "hi", { stream: true }))))
      await asked()
      await upstream.abandoned(1500)
      await sleep(2300)
      caller.socket.resume()
      await caller.closed(2000)
      while (strict.records().length === 0) await sleep(10)
      const [record] = strict.records()
      assert.deepStrictEqual([record?.outcome, record?.stream_end], ["timeout", "error"])
    } finally {
      await strict.stop()
    }
  })
})
