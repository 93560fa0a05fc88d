/** The server that plays a cloud: requests, paced replies, and the log of calls. */
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import { createServer } from "../nodeHttp.ts"

/** A request as a cloud's front end sees it. `path` is as it was sent, still percent-encoded. */
export interface CloudRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** One upstream event, already framed. A `word` waits for the pace; the `terminal` one tells a client that the stream is complete. */
export interface Frame {
  readonly bytes: string | Uint8Array
  readonly word?: boolean
  readonly terminal?: boolean
}

/** What a cloud answers: frames, and how the connection ends after the last one. `delay` is in milliseconds. */
export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly frames: ReadonlyArray<Frame>
  readonly ending?: "finish" | "cut" | "stall"
  readonly delay?: number
}

/** A call that reached a simulated cloud. `aborted`: the client left before the answer was complete. */
export interface Call {
  readonly cloud: string
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  aborted: boolean
}

/** The last calls, bounded in number and in total size, so that a long-running sandbox does not grow. */
export class CallLog {
  readonly #calls: Array<Call> = []
  #size = 0

  add(call: Call): void {
    this.#calls.push(call)
    this.#size += call.body.length
    while (this.#calls.length > 1000 || (this.#size > 64_000_000 && this.#calls.length > 1)) {
      this.#size -= this.#calls.shift()?.body.length ?? 0
    }
  }

  list(): ReadonlyArray<Call> {
    return [...this.#calls]
  }
}

/** A JSON reply. */
export const jsonReply = (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Reply => {
  const bytes = Buffer.from(JSON.stringify(body))
  return {
    status,
    headers: { "content-type": "application/json", "content-length": String(bytes.length), ...headers },
    frames: [{ bytes }]
  }
}

/** A refusal that a cloud makes while it checks a request; each cloud writes it in its own shape. */
export class Refusal extends Error {
  readonly status: number
  readonly code: string | null
  /** The parameter that it is about. */
  readonly param: string | null
  constructor(status: number, message: string, code: string | null = null, param: string | null = null) {
    super(message)
    this.status = status
    this.code = code
    this.param = param
  }
}

const headersOf = (request: IncomingMessage): Record<string, string> =>
  Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(",") : (value ?? "")
    ])
  )

const bodyOf = async (request: IncomingMessage): Promise<Buffer> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}

const drained = (response: ServerResponse, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = () => {
      response.off("drain", done)
      signal.removeEventListener("abort", done)
      resolve()
    }
    response.on("drain", done)
    signal.addEventListener("abort", done)
  })

const send = async (response: ServerResponse, reply: Reply, pace: number, signal: AbortSignal): Promise<void> => {
  if (reply.delay !== undefined && reply.delay > 0) await sleep(reply.delay, undefined, { signal })
  response.writeHead(reply.status, reply.headers)
  response.flushHeaders()
  for (const frame of reply.frames) {
    if (frame.word === true && pace > 0) await sleep(pace, undefined, { signal })
    if (signal.aborted) return
    if (!response.write(frame.bytes)) await drained(response, signal)
  }
  switch (reply.ending ?? "finish") {
    case "finish":
      response.end()
      return
    case "cut":
      // What was written must leave first: a reset would discard it.
      await new Promise((resolve) => (response.socket === null ? resolve(null) : response.socket.write("", resolve)))
      response.socket?.destroy()
      return
    case "stall":
      return
  }
}

/** Starts a cloud on a free loopback port. `pace` is the time between words in milliseconds. */
export const startServer = (options: {
  readonly cloud: string
  readonly pace: number
  readonly log: CallLog
  readonly answer: (request: CloudRequest) => Promise<Reply> | Reply
}): Promise<{ readonly server: Server; readonly url: string }> => {
  const handle = async (incoming: IncomingMessage, response: ServerResponse) => {
    const leaving = new AbortController()
    const url = new URL(incoming.url ?? "/", "http://localhost")
    const path = (incoming.url ?? "/").split("?")[0] ?? "/"
    const headers = headersOf(incoming)
    const method = incoming.method ?? "GET"
    let call: Call | undefined
    let cut = false
    response.on("close", () => {
      if (call !== undefined && !response.writableFinished && !cut) call.aborted = true
      leaving.abort()
    })
    const body = await bodyOf(incoming)
    call = { cloud: options.cloud, method, path: incoming.url ?? "/", headers, body: body.toString(), aborted: false }
    options.log.add(call)
    const reply = await options.answer({ method, path, query: url.searchParams, headers, body })
    cut = reply.ending === "cut"
    await send(response, reply, options.pace, leaving.signal)
  }
  const server = createServer((incoming, response) => {
    handle(incoming, response).catch((error: unknown) => {
      // A client that left while we waited ends here too; only a fault of the sandbox itself still has someone to tell.
      if (response.destroyed) return
      if (response.headersSent) response.destroy()
      else response.writeHead(500).end(`sandbox fault: ${String(error)}`)
    })
  })
  server.requestTimeout = 0
  return new Promise((resolve, reject) => {
    server.once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      const port = address !== null && typeof address === "object" ? address.port : 0
      resolve({ server, url: `http://127.0.0.1:${port}` })
    })
  })
}
