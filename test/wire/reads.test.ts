import { execFileSync } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { connect, createServer, type Server, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { buffer } from "node:stream/consumers"
import { setTimeout as pause } from "node:timers/promises"
import { connect as connectTls, createServer as createTlsServer } from "node:tls"
import { describe, expect, it } from "vitest"
import { copiedReads } from "../../src/wire/reads.ts"

/** A socket that reads so, from a server that does what it is told to with each connection. */
const withSockets = async (
  count: number,
  serve: (socket: Socket, nth: number) => void,
  use: (sockets: ReadonlyArray<Socket>) => Promise<void>
) => {
  let nth = 0
  const server: Server = createServer((socket) =>
    serve(
      socket.on("error", () => {}),
      nth++
    )
  )
  await once(server.listen(0, "127.0.0.1"), "listening")
  const address = server.address()
  const port = typeof address === "object" ? (address?.port ?? 0) : 0
  const options = { port, host: "127.0.0.1", ...copiedReads }
  const sockets: Array<Socket> = []
  try {
    for (let at = 0; at < count; at++) {
      const socket = connect(options)
      sockets.push(socket)
      await once(socket, "connect")
    }
    await use(sockets)
  } finally {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
}

describe("sockets that share the buffer they read into", () => {
  it("each keep what they have read, however long it waits", async () => {
    const saying = (nth: number) => `${nth}`.repeat(50_000 + nth)
    await withSockets(
      8,
      (socket, nth) => socket.end(saying(nth)),
      async (sockets) => {
        const texts = await Promise.all(sockets.map(async (socket) => String(await buffer(socket))))
        expect(texts.toSorted()).toEqual(sockets.map((_, nth) => saying(nth)).toSorted())
      }
    )
  })

  it("keep small pieces apart that came one after the other", async () => {
    await withSockets(
      2,
      async (socket, nth) => {
        for (let at = 0; at < 20; at++) {
          socket.write(`${nth}-${at};`)
          await pause(1)
        }
        socket.end()
      },
      async (sockets) => {
        const kept = await Promise.all(sockets.map((socket) => socket.toArray() as Promise<Array<Buffer>>))
        for (const [nth, pieces] of kept.entries()) {
          expect(String(Buffer.concat(pieces))).toBe(Array.from({ length: 20 }, (_, at) => `${nth}-${at};`).join(""))
        }
      }
    )
  })

  it("stop reading where nobody takes it, and go on where it is taken", async () => {
    const size = 32 * 1024 * 1024
    let left = () => 0
    await withSockets(
      1,
      (socket) => {
        socket.end(Buffer.alloc(size, 7))
        left = () => socket.writableLength
      },
      async ([socket]) => {
        socket?.pause()
        await pause(50)
        expect(left()).toBeGreaterThan(0)
        expect(socket?.readableLength).toBeLessThan(256 * 1024)
        let got = 0
        for await (const piece of socket ?? []) got += piece.length
        expect(got).toBe(size)
      }
    )
  })

  it("read what came encrypted", async () => {
    const directory = mkdtempSync(join(tmpdir(), "gateway-reads-"))
    const names = [
      "-subj",
      "/CN=localhost",
      "-addext",
      "subjectAltName=DNS:localhost",
      "-keyout",
      "key",
      "-out",
      "cert"
    ]
    execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", ...names], {
      cwd: directory,
      stdio: "ignore"
    })
    const [cert, key] = ["cert", "key"].map((name) => readFileSync(join(directory, name)))
    rmSync(directory, { recursive: true })
    const said = "a b ".repeat(100_000)
    const server = createTlsServer({ cert, key }, (socket) => socket.end(said))
    await once(server.listen(0, "127.0.0.1"), "listening")
    const address = server.address()
    const port = typeof address === "object" ? (address?.port ?? 0) : 0
    const options = { port, host: "127.0.0.1", servername: "localhost", ca: cert, ...copiedReads }
    try {
      expect(String(await buffer(connectTls(options)))).toBe(said)
    } finally {
      server.close()
    }
  })
})
