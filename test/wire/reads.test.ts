import { once } from "node:events"
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net"
import { connect as connectTls, createServer as createTlsServer } from "node:tls"
import fc from "fast-check"
import { afterEach, expect, it } from "vitest"
import { readAtOnce } from "../../src/wire/reads.ts"
import { cert, key } from "../support/selfSigned.ts"

const closing: Array<() => void> = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

/** Node's own types lack it. */
const buffered: object = { highWaterMark: 16 * 1024 }

/** Two ends of a connection; ours reads at once. */
const connection = async (over: "TCP" | "TLS" = "TCP") => {
  const server: Server = over === "TCP" ? createServer() : createTlsServer({ cert, key })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const to = { port: (server.address() as AddressInfo).port, host: "127.0.0.1", ...buffered }
  const ours = over === "TCP" ? connect(to) : connectTls({ ...to, ca: cert, servername: "localhost" })
  const connected = once(ours, over === "TCP" ? "connect" : "secureConnect")
  const [theirs] = (await once(server, over === "TCP" ? "connection" : "secureConnection")) as [Socket]
  await connected
  closing.push(() => {
    ours.destroy()
    theirs.destroy()
    server.close()
  })
  theirs.setNoDelay(true)
  readAtOnce(ours)
  return { ours, theirs }
}

/** Reads what there is as undici does: all of it, unless it is paused. What it does not take of a chunk it gives back. */
const reader = (socket: Socket) => {
  const taken: Array<Buffer> = []
  const state = { paused: false, most: Number.POSITIVE_INFINITY, bytes: 0 }
  const more = () => {
    while (!state.paused) {
      const chunk: Buffer | null = socket.read()
      if (chunk === null) return
      const part = chunk.subarray(0, state.most)
      taken.push(part)
      state.bytes += part.length
      if (part.length === chunk.length) continue
      state.paused = true
      socket.unshift(chunk.subarray(part.length))
    }
  }
  socket.on("readable", more)
  const resume = () => {
    state.paused = false
    more()
  }
  return { state, resume, text: () => Buffer.concat(taken).toString("latin1") }
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

it("gives a chunk to its reader in the turn in which it was read", async () => {
  const { ours, theirs } = await connection()
  const { text } = reader(ours)
  let within = ""
  const { push } = ours
  ours.push = (chunk, encoding) => {
    const more = push.call(ours, chunk, encoding)
    within = text()
    return more
  }
  theirs.write("hello")
  while (text() === "") await turn()
  expect(within).toBe("hello")
})

it.each(["TCP", "TLS"] as const)(
  "loses nothing and keeps the order over %s, whatever the reader takes and when",
  async (over) => {
    const step = fc.record({
      size: fc.integer({ min: 1, max: 20_000 }),
      most: fc.oneof(fc.constant(Number.POSITIVE_INFINITY), fc.integer({ min: 1, max: 20_000 })),
      next: fc.constantFrom("nothing", "pause", "resume")
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 30 }), async (steps) => {
        const { ours, theirs } = await connection(over)
        const { resume, state, text } = reader(ours)
        const ended = once(ours, "end")
        let sent = ""
        for (const [at, { most, next, size }] of steps.entries()) {
          state.most = most
          if (next === "pause") state.paused = true
          if (next === "resume") resume()
          const piece = String.fromCharCode(97 + (at % 26)).repeat(size)
          sent += piece
          theirs.write(piece)
          await turn()
        }
        theirs.end()
        state.most = Number.POSITIVE_INFINITY
        resume()
        await ended
        expect(text()).toBe(sent)
        for (const close of closing.splice(0)) close()
      }),
      { numRuns: 50 }
    )
  }
)

it("ends after what the reader left", async () => {
  const { ours, theirs } = await connection()
  const { state, resume, text } = reader(ours)
  state.paused = true
  let ended = false
  ours.on("end", () => {
    ended = true
  })
  theirs.end("the last words")
  for (let turns = 0; turns < 20; turns++) await turn()
  expect(ended).toBe(false)
  expect(text()).toBe("")
  resume()
  while (!ended) await turn()
  expect(text()).toBe("the last words")
})

it("holds the sender back while the reader leaves what there is", async () => {
  const { ours, theirs } = await connection()
  const { state, resume } = reader(ours)
  state.paused = true
  const all = 64 * 1024 * 1024
  theirs.write(Buffer.alloc(all, "x"))
  await new Promise((resolve) => setTimeout(resolve, 100))
  // A read of a socket is 64 KiB, and one may be on its way when the list is full.
  expect(ours.readableLength).toBeLessThanOrEqual(16 * 1024 + 64 * 1024)
  expect(theirs.writableLength).toBeGreaterThan(0)
  resume()
  while (state.bytes < all) await turn()
  expect(state.bytes).toBe(all)
})

it("reads no more while what the reader gave back is too much", async () => {
  const { ours, theirs } = await connection()
  const { state, resume } = reader(ours)
  state.most = 1_000
  const all = 64 * 1024 * 1024
  theirs.write(Buffer.alloc(all, "x"))
  await new Promise((resolve) => setTimeout(resolve, 100))
  // One read at most.
  expect(ours.readableLength).toBeLessThanOrEqual(64 * 1024)
  state.most = Number.POSITIVE_INFINITY
  resume()
  while (state.bytes < all) await turn()
  expect(state.bytes).toBe(all)
})

it("passes chunks on when nobody listens", async () => {
  const { ours, theirs } = await connection()
  theirs.write("early")
  while (ours.readableLength === 0) await turn()
  const { text } = reader(ours)
  while (text() === "") await turn()
  expect(text()).toBe("early")
})
