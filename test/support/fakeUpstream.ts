/** A cloud on loopback that can do anything a socket can: the handler gets the request and the bare socket. */
import { createServer, type Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"

/** A request, read to the end of its body. */
export interface Received {
  readonly method: string
  /** Path and query, as sent. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Which connection it came on, from 0. */
  readonly connection: number
}

export interface FakeUpstream {
  readonly url: string
  readonly port: number
  /** Every request so far. */
  readonly received: ReadonlyArray<Received>
  /** How many connections were opened, and how many of them are closed again. */
  readonly connections: () => { readonly opened: number; readonly closed: number }
  /** Replaces the handler. */
  readonly use: (handler: Handler) => void
  /** Resolves when the gateway has closed its side of every connection; rejects after the time (default 1 s). */
  readonly abandoned: (milliseconds?: number) => Promise<void>
  readonly stop: () => Promise<void>
}

/** Answers one request. Whatever it throws after the connection has gone is ignored. */
export type Handler = (socket: Socket, request: Received) => unknown

/** Starts one; the handler is called for each request, also on a kept connection. */
export const fakeUpstream = async (initial: Handler): Promise<FakeUpstream> => {
  let handler = initial
  const received: Array<Received> = []
  const sockets = new Set<Socket>()
  let opened = 0
  let closed = 0
  const server = createServer((socket) => {
    const connection = opened++
    sockets.add(socket)
    socket.setNoDelay(true)
    socket.on("error", () => {})
    socket.on("close", () => {
      closed++
      sockets.delete(socket)
    })
    const chunks: Array<Buffer> = []
    let size = 0
    /** How much is needed before it is worth looking again. */
    let wanted = 0
    const read = () => {
      const bytes = Buffer.concat(chunks)
      const end = bytes.indexOf("\r\n\r\n") + 4
      if (end < 4) return false
      const [request = "", ...lines] = bytes.toString("latin1", 0, end - 4).split("\r\n")
      const [method = "", path = ""] = request.split(" ")
      const headers = Object.fromEntries(
        lines.map((line): [string, string] => {
          const colon = line.indexOf(":")
          return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
        })
      )
      wanted = end + Number(headers["content-length"] ?? 0)
      chunks.splice(0, chunks.length, bytes)
      if (bytes.length < wanted) return false
      const body = bytes.toString("utf8", end, wanted)
      chunks.splice(0, 1, bytes.subarray(wanted))
      size = bytes.length - wanted
      wanted = 0
      const whole: Received = { method, path, headers, body, connection }
      received.push(whole)
      Promise.resolve()
        .then(() => handler(socket, whole))
        .catch(() => socket.destroy())
      return size > 0
    }
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk)
      size += chunk.length
      while (size >= wanted && read());
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  const port = address !== null && typeof address === "object" ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    received,
    connections: () => ({ opened, closed }),
    use: (next) => {
      handler = next
    },
    abandoned: async (milliseconds = 1000) => {
      const end = Date.now() + milliseconds
      while (opened === 0 || closed < opened) {
        if (Date.now() > end) throw new Error(`${opened - closed} upstream connections are still open`)
        await sleep(5)
      }
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      })
  }
}

/** A head with exactly these lines. */
export const httpHead = (status: string, headers: Readonly<Record<string, string>>) =>
  `HTTP/1.1 ${status}\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("")}\r\n`

/** A whole reply with a right content-length. */
export const reply = (
  status: string,
  body: string | Uint8Array,
  headers: Readonly<Record<string, string>> = { "content-type": "application/json" }
): Buffer => {
  const bytes = Buffer.from(body)
  return Buffer.concat([Buffer.from(httpHead(status, { ...headers, "content-length": String(bytes.length) })), bytes])
}

/** Answers every request with this. */
export const answering =
  (bytes: string | Uint8Array): Handler =>
  (socket) => {
    socket.write(bytes)
  }

/** One chunk of a chunked body. */
export const chunk = (bytes: string | Uint8Array): Buffer => {
  const body = Buffer.from(bytes)
  return Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from("\r\n")])
}

export const lastChunk = "0\r\n\r\n"
export const sseHead = httpHead("200 OK", { "content-type": "text/event-stream", "transfer-encoding": "chunked" })
export const frameHead = httpHead("200 OK", {
  "content-type": "application/vnd.amazon.eventstream",
  "transfer-encoding": "chunked"
})

/** Sends a chunked stream: pieces one network write each (a pause in ms between them when given), and its end. */
export const streaming =
  (
    pieces: ReadonlyArray<string | Uint8Array>,
    options: { readonly head?: string; readonly pause?: number } = {}
  ): Handler =>
  async (socket) => {
    socket.write(options.head ?? sseHead)
    for (const piece of pieces) {
      if (options.pause !== undefined) await sleep(options.pause)
      socket.write(chunk(piece))
    }
    socket.write(lastChunk)
  }
