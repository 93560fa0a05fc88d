/** What callers do to their connections ends no process, holds nothing, and writes into no reply. */
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { connect, createServer, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { connect as connectTls } from "node:tls"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { message } from "../support/claude.ts"
import { recordOf } from "../support/gateway.ts"
import { get, open, raw, rawPost } from "../support/http.ts"
import { cert, key } from "../support/selfSigned.ts"
import { sharedGateway } from "../support/shared.ts"
import { type Serving, serve, until } from "./child.ts"

const ask = (text: string, stream: boolean, headers: Readonly<Record<string, string>> = {}) =>
  rawPost("/v1/messages", JSON.stringify(message("claude-sonnet-4-5:il5", text, { stream })), headers).toString()
const line = (start: string, headers: ReadonlyArray<string> = []) =>
  `${[start, "host: localhost", "x-api-key: sandbox-key", ...headers].join("\r\n")}\r\n\r\n`
const upgrade = ["connection: upgrade, http2-settings", "upgrade: h2c", "http2-settings: AAMAAABkAAQAAP__"]
const stalled = ask("[sandbox: stall after=3]", true)

/** What callers send, right or not. */
const requests: ReadonlyArray<string> = [
  line("GET /health HTTP/1.1"),
  line("GET /v1/models HTTP/1.1"),
  ask("hi", false),
  ask("[sandbox: events=5]", true),
  stalled,
  ask("[sandbox: delay=60s]", false),
  ask("hi", true, { expect: "100-continue" }),
  ask("hi", false, { expect: "the-unexpected" }),
  ask("[sandbox: stall after=3]", true).replace("HTTP/1.1", "HTTP/1.0"),
  ask("hi", true).replace("HTTP/1.1", "HTTP/2.0"),
  line("POST /v1/messages HTTP/1.1", ["content-type: application/json", "transfer-encoding: chunked"]),
  line("POST /v1/messages HTTP/1.1", ["content-type: application/json", "content-length: 100000"]) + "x".repeat(20_000),
  line("GET /v1/models HTTP/1.1", upgrade),
  line("GET / HTTP/1.1", ["connection: upgrade", "upgrade: websocket", "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ=="]),
  ask("hi", true, { connection: "upgrade", upgrade: "h2c" }),
  line("CONNECT x:1 HTTP/1.1"),
  line("CONNECT x:1 HTTP/1.1", ["content-length: 10"]),
  line("CONNECT x:1 HTTP/1.1", ["content-length: 3", "expect: 100-continue"]).concat("abc"),
  stalled + line("CONNECT x:1 HTTP/1.1"),
  stalled + stalled + line("CONNECT x:1 HTTP/1.1", ["content-length: 10"]),
  stalled + ask("[sandbox: delay=60s]", false) + line("GET /health HTTP/1.1", upgrade),
  `${stalled}nonsense\r\n\r\n`,
  "nonsense\r\n\r\n",
  "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  line("GET /health HTTP/1.1", ["host: y"]),
  line("GET /health HTTP/1.1", [`x-large: ${"y".repeat(40_000)}`])
]
/** The same for the port of metrics. */
const pages: ReadonlyArray<string> = [
  line("GET /metrics HTTP/1.1"),
  line("GET /events HTTP/1.1"),
  line("GET /events HTTP/1.1") + line("GET /events HTTP/1.1") + line("CONNECT x:1 HTTP/1.1"),
  line("GET /events HTTP/1.1") + line("GET / HTTP/1.1", upgrade),
  line("GET /events HTTP/1.1", ["expect: 100-continue", "content-length: 5"]),
  line("GET / HTTP/1.1", ["expect: the-unexpected"]),
  line("CONNECT x:1 HTTP/1.1"),
  line("CONNECT x:1 HTTP/1.1", ["content-length: 10"]),
  "nonsense\r\n\r\n"
]

/** Numbers below `below`, the same in each run. */
const numbers = (seed: number) => {
  let state = seed
  return (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** Runs each, some at once. */
const crowd = async (count: number, one: (index: number) => Promise<void>) => {
  let next = 0
  const lane = async () => {
    while (next < count) await one(next++)
  }
  await Promise.all(Array.from({ length: 40 }, lane))
}

/** Resolves with whatever comes first of some bytes, the end, and the time (milliseconds). */
const heard = (socket: Socket, milliseconds: number) =>
  new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, milliseconds)
    for (const event of ["data", "close", "end", "error"]) {
      socket.once(event, () => {
        clearTimeout(timer)
        resolve()
      })
    }
  })

const opened = (port: number) =>
  new Promise<Socket>((resolve) => {
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true }, () => resolve(socket))
    socket.on("error", () => {})
  })

/** Sends bytes, waits for nothing or for an answer, and resets the connection. */
const reset = async (port: number, bytes: string | Uint8Array, wait: number) => {
  const socket = await opened(port)
  socket.write(bytes)
  await heard(socket, wait)
  socket.resetAndDestroy()
}

const metricsPort = ({ stderr }: Serving) => Number(/metrics on http:\/\/[^:]+:(\d+)/.exec(stderr())?.[1])

/** What is in flight: requests and streams. */
const inFlight = async (gateway: Serving): Promise<number> => {
  const text = await (await fetch(`http://127.0.0.1:${metricsPort(gateway)}/metrics`)).text()
  const values = [...text.matchAll(/^gateway_(?:requests|streams)_in_flight (\d+)$/gm)].map(([, value]) =>
    Number(value)
  )
  assert.lengthOf(values, 2)
  return values.reduce((sum, value) => sum + value, 0)
}

const idle = (gateway: Serving) => until(async () => (await inFlight(gateway)) === 0, "an idle gateway")

describe.concurrent("connections that are reset at every point", () => {
  it("end no process, on either port", { timeout: 60_000 }, async () => {
    const gateway = await serve({ GATEWAY_METRICS_PORT: "0" })
    try {
      const storm = async (port: number, texts: ReadonlyArray<string>, count: number) => {
        const draw = numbers(7)
        await crowd(count, async (index) => {
          const text = texts[index % texts.length] ?? ""
          // A third is sent whole, the others up to any byte.
          const bytes = index % 3 === 0 ? text : text.slice(0, 1 + draw(text.length))
          await reset(port, bytes, draw(2) * 60)
        })
      }
      await storm(gateway.port, requests, 10 * requests.length)
      await storm(metricsPort(gateway), pages, 10 * pages.length)
      assert.strictEqual((await get(`${gateway.url}/health`)).status, 200)
      await idle(gateway)
      // All places of the status page are free.
      const viewers = Array.from({ length: 32 }, () => raw(metricsPort(gateway)))
      for (const viewer of viewers) viewer.write(line("GET /events HTTP/1.1"))
      for (const viewer of viewers) {
        assert.match(await viewer.until(/^HTTP\/1\.1 \d+/), /^HTTP\/1\.1 200/)
        viewer.socket.destroy()
      }
    } finally {
      await gateway.stop()
    }
  })

  describe("with TLS", () => {
    const directory = mkdtempSync(join(tmpdir(), "gateway-sockets-"))
    beforeAll(() => {
      writeFileSync(join(directory, "cert.pem"), cert)
      writeFileSync(join(directory, "key.pem"), key)
    })
    afterAll(() => rmSync(directory, { recursive: true, force: true }))

    /** The first bytes of a caller. */
    const greeting = async (): Promise<Buffer> => {
      const server = createServer().listen(0, "127.0.0.1")
      await until(() => server.listening, "listening")
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      const got = new Promise<Buffer>((resolve) => {
        server.once("connection", (socket) => {
          socket
            .on("error", () => {})
            .once("data", (bytes: Buffer) => {
              resolve(bytes)
              socket.destroy()
            })
        })
      })
      connectTls({ port, host: "127.0.0.1" }).on("error", () => {})
      const bytes = await got
      server.close()
      return bytes
    }

    it("end no process, during the handshake and after it", { timeout: 60_000 }, async () => {
      const gateway = await serve({
        GATEWAY_METRICS_PORT: "0",
        GATEWAY_TLS_CERT: join(directory, "cert.pem"),
        GATEWAY_TLS_KEY: join(directory, "key.pem")
      })
      try {
        const hello = await greeting()
        const draw = numbers(11)
        await crowd(130, (index) =>
          reset(gateway.port, hello.subarray(0, 1 + ((index * 13) % hello.length)), draw(2) * 20)
        )
        for (const text of ["GET /health HTTP/1.1\r\nhost: x\r\n\r\n", "nonsense"]) await reset(gateway.port, text, 60)
        await crowd(4 * requests.length, async (index) => {
          const socket = await opened(gateway.port)
          const secure = connectTls({ socket, rejectUnauthorized: false })
          secure.on("error", () => {})
          await new Promise((resolve) => secure.once("secureConnect", resolve).once("close", resolve))
          const text = requests[index % requests.length] ?? ""
          secure.write(index % 3 === 0 ? text : text.slice(0, 1 + draw(text.length)))
          await heard(secure, draw(2) * 60)
          socket.resetAndDestroy()
        })
        const probe = connectTls({ port: gateway.port, host: "127.0.0.1", rejectUnauthorized: false })
        let got = ""
        probe.on("data", (bytes) => {
          got += bytes
        })
        probe.write(line("GET /health HTTP/1.1"))
        await until(() => got.startsWith("HTTP/1.1 200"), "a reply")
        probe.destroy()
        await idle(gateway)
      } finally {
        await gateway.stop()
      }
    })
  })
})

describe.concurrent("whatever ends a request", () => {
  /** A heap so small that a body which is refused only where others hold memory is quickly sent. */
  const heap = ["--max-old-space-size=160"]
  const limit = Number(execFileSync(process.execPath, [...heap, "-p", "v8.getHeapStatistics().heap_size_limit"]))

  it("gives back place, memory and stream", { timeout: 60_000 }, async () => {
    const most = 40
    const gateway = await serve({
      NODE_OPTIONS: heap.join(" "),
      GATEWAY_METRICS_PORT: "0",
      GATEWAY_SANDBOX_PACE: "1 millis",
      GATEWAY_MAX_IN_FLIGHT: String(most),
      GATEWAY_MAX_BODY_BYTES: String(limit)
    })
    try {
      const draw = numbers(3)
      await crowd(150, async () => {
        const socket = await opened(gateway.port)
        for (let steps = 1 + draw(4); steps > 0; steps--) {
          const text = requests[draw(requests.length)] ?? ""
          if (socket.writable) socket.write(draw(3) === 0 ? text.slice(0, 1 + draw(text.length)) : text)
          if (draw(2) === 0) await heard(socket, draw(40))
        }
        if (draw(3) === 0) {
          socket.end()
          await heard(socket, draw(60))
        }
        if (draw(2) === 0) socket.resetAndDestroy()
        else socket.destroy()
      })
      await idle(gateway)

      const together = await Promise.all(
        Array.from({ length: most }, () =>
          open(`${gateway.url}/v1/messages`, message("claude-sonnet-4-5:il5", "[sandbox: delay=300ms]"))
        )
      )
      assert.deepEqual([...new Set(together.map(({ status }) => status))], [200])
      // More than the whole room: only a request that is alone may have as much.
      const large = await open(`${gateway.url}/v1/messages`, `!${"x".repeat(Math.ceil(limit / 8) + 1000)}`)
      assert.strictEqual(large.status, 400, await large.text())
    } finally {
      await gateway.stop()
    }
  })
})

describe("a connection", () => {
  const gateway = sharedGateway({ pace: 10 })
  it("ends where a reply has begun and what comes next is no request: nothing is written into the reply", async () => {
    for (const next of [
      "nonsense\r\n\r\n",
      line("CONNECT x:1 HTTP/1.1"),
      `GET / HTTP/1.1\r\nx: ${"y".repeat(40_000)}`
    ]) {
      const caller = raw(gateway.port)
      caller.write(ask("[sandbox: stall after=3]", true))
      await caller.until(/event: content_block_start/)
      caller.write(next)
      const got = await caller.closed()
      assert.lengthOf(got.match(/HTTP\/1\.1 /g) ?? [], 1, got)
      caller.socket.destroy()
    }
  })

  it("is closed where it sends many requests without waiting, most of which are not worked on", async () => {
    const [before, few] = [gateway.records().length, raw(gateway.port)]
    few.write(line("GET /v1/models HTTP/1.1").repeat(10))
    const got = await few.until(/(?:HTTP\/1\.1 200[\s\S]*){10}/)
    assert.lengthOf(got.match(/HTTP\/1\.1 200/g) ?? [], 10)
    few.socket.destroy()

    const many = raw(gateway.port)
    many.write("GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n".repeat(1000))
    await many.closed()
    await recordOf(gateway, (await get(`${gateway.url}/v1/models`)).headers.get("x-request-id"))
    assert.isAtMost(gateway.records().length - before, 30)
  })

  it("is told to go on when its turn has come, and not behind a head", async () => {
    const caller = raw(gateway.port)
    const [head = "", body = ""] = ask("hi", true, { expect: "100-continue" }).split(/(?<=\r\n\r\n)/)
    caller.write(ask("[sandbox: events=30]", true) + head)
    const told = await caller.until(/\r\n0\r\n\r\nHTTP\/1\.1 100 Continue\r\n\r\n$/)
    assert.lengthOf(told.match(/100 Continue/g) ?? [], 1)
    caller.write(body)
    assert.match(
      await caller.until(/message_stop[\s\S]*message_stop[\s\S]*\r\n0\r\n\r\n$/),
      /100 Continue\r\n\r\nHTTP\/1\.1 200/
    )
    // A body that does not wait.
    const eager = raw(gateway.port)
    eager.write(ask("[sandbox: events=10]", true) + head + body)
    const got = await eager.until(/message_stop[\s\S]*message_stop[\s\S]*\r\n0\r\n\r\n$/)
    assert.notMatch(got.replace("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200", "HTTP/1.1 200"), /100 Continue/)
    caller.socket.destroy()
    eager.socket.destroy()
  })

  it("is not held by a caller that was refused and does not close it", async () => {
    for (const text of ["nonsense\r\n\r\n", line("CONNECT x:1 HTTP/1.1")]) {
      const socket = await opened(gateway.port)
      socket.resume().write(text)
      await new Promise((resolve) => socket.once("end", resolve))
      // Its side is open still, and the gateway's is gone: what is written is answered by a reset.
      const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()))
      const writing = setInterval(() => socket.write("x"), 200)
      await Promise.race([closed, sleep(5000).then(() => assert.fail("it is still open"))])
      clearInterval(writing)
    }
  })
})
