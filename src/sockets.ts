/**
 * Callers' connections: broken ones end no process, hold no reply, and get no bytes inside one; replies that are written to their
 * end and not sent yet, because callers read slowly or not at all, are waited for and then ended.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"

/** The connections of a server, each with its open replies, in order. */
type Connections = ReadonlyMap<Duplex, ReadonlySet<ServerResponse>>

/** Milliseconds for a caller to read why it was refused; its unread bytes would reset the connection before. */
const grace = 500

/** Requests of a connection whose replies are not over. Clients wait for theirs; one packet may hold thousands, and Node parses it in one go. */
const mostPipelined = 16

const ignore = () => {}

const unparsed: Readonly<Record<string, readonly [status: string, message: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ["408 Request Timeout", "the request took too long"],
  HPE_HEADER_OVERFLOW: ["431 Request Header Fields Too Large", "the request's headers are too large"]
}

/** Without a path, the error has the general shape. */
const refusal = (status: string, message: string): string => {
  const body = JSON.stringify({ error: { type: "invalid_request_error", message } })
  return `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nx-request-id: ${crypto.randomUUID()}\r\nx-should-retry: ${status.startsWith("408")}\r\nlink: </>; rel="terms-of-service"\r\ncache-control: no-store\r\nconnection: close\r\n\r\n${body}`
}

/**
 * To be called before the server listens. `connected`: the event of connections that requests come on, those of
 * `checkContinue` included, which the server must handle like `request`.
 */
export const guardSockets = (server: Server, connected: "connection" | "secureConnection"): Connections => {
  const connections = new Map<Duplex, Set<ServerResponse>>()
  /** The request of each connection that came last, until it is whole and has its reply. */
  const latest = new WeakMap<Duplex, IncomingMessage>()

  const refuse = (socket: Duplex, status: string, message: string) => {
    const replies = [...(connections.get(socket) ?? [])]
    // The refusal would be read as part of a reply that has begun.
    if (replies.some((reply) => reply.headersSent && !reply.writableEnded)) return void socket.destroy()
    // A request that has its reply gets no second one for the rest of its body.
    const isAnswered = latest.get(socket)?.complete === false && replies.every((reply) => reply.writableEnded)
    socket.end(isAnswered ? "" : refusal(status, message))
    setTimeout(() => socket.destroy(), grace).unref()
  }

  const begin = (request: IncomingMessage, reply: ServerResponse) => {
    const { socket } = request
    const hasUpgraded = latest.get(socket)?.headers.upgrade !== undefined
    latest.set(socket, request)
    const replies = connections.get(socket)
    // Node drops what stands behind such a request in its packet, and reads the next packet as a request, also where it is the rest of one.
    if (request.headers.upgrade !== undefined) reply.setHeader("connection", "close")
    if (hasUpgraded) reply.destroy()
    replies?.add(reply)
    if (replies !== undefined && replies.size > mostPipelined) {
      // What is left of the packet is parsed anyway; destroyed replies are not worked on (`requestMiddleware.ts`).
      reply.destroy()
      socket.destroy()
    }
    reply.once("close", () => {
      replies?.delete(reply)
      // An idle connection would hold all that its last request does.
      if (request.complete && latest.get(socket) === request) latest.delete(socket)
    })
  }
  // A connection that cannot be accepted leaves the others as they are.
  server.on("error", ignore)
  server.on("connection", (socket: Socket) => socket.on("error", ignore))
  server.on(connected, (socket: Socket) => {
    socket.on("error", ignore)
    connections.set(socket, new Set())
    socket.once("close", () => connections.delete(socket))
  })
  server.on("request", begin)
  server.on("checkContinue", begin)
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
    // Not writable: closed, or being closed.
    if (!socket.writable) return
    if (error.code === "ECONNRESET") return void socket.destroy()
    refuse(socket, ...(unparsed[error.code ?? ""] ?? (["400 Bad Request", "the request is not valid HTTP"] as const)))
  })
  // Node detaches the connection, and with it the replies that wait for their turn.
  server.on("connect", ({ socket }: IncomingMessage, stream: Duplex) => {
    stream.on("error", ignore)
    const replies = [...(connections.get(socket) ?? [])]
    for (const reply of replies) reply.destroy()
    if (replies.length === 0) refuse(socket, "405 Method Not Allowed", "CONNECT is not allowed here")
  })
  return connections
}

// Replies that are written to their end and not sent yet, because their callers read slowly or not at all.

/** The reply that a connection holds up; of several replies, the others wait for the first. */
const unsentOf = ([reply]: Iterable<ServerResponse>): ServerResponse | undefined =>
  reply?.writableEnded && !reply.writableFinished ? reply : undefined

/**
 * When the listener closes, Node closes idle connections, and counts those with unsent replies among them. So they are closed when
 * no reply is unsent, or after `drain` milliseconds; and again as replies end, because one that becomes idle later would hold up
 * the end. Requests whose headers are not whole are ended after `headers` milliseconds, which Node no longer does then.
 */
const closeIdle = (server: Server, connections: Connections, drain: number, headers: number) => {
  const close = server.closeIdleConnections.bind(server)
  const late = Object.assign(new Error("headers"), { code: "ERR_HTTP_REQUEST_TIMEOUT" })
  const endLate = () => {
    for (const [socket, replies] of connections) if (replies.size === 0) server.emit("clientError", late, socket)
  }
  let deadlines: ReadonlyArray<NodeJS.Timeout> | undefined
  server.once("close", () => deadlines?.forEach(clearTimeout))
  server.closeIdleConnections = () => {
    deadlines ??= [setTimeout(close, drain), setTimeout(endLate, headers)]
    if (![...connections.values()].some(unsentOf)) close()
  }
  // Many streams may end in the same turn.
  let scheduled: NodeJS.Immediate | undefined
  const onEnd = () => {
    if (server.listening) return
    clearImmediate(scheduled)
    scheduled = setImmediate(() => server.closeIdleConnections())
  }
  const onRequest = (_: unknown, reply: ServerResponse) => void reply.once("close", onEnd)
  server.on("request", onRequest).on("checkContinue", onRequest)
}

/** A connection, which has another socket once its TLS handshake is over. */
const nameOf = ({ localAddress, remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort} ${localAddress}`

/** Closes connections in their TLS handshake when the listener closes, which Node would wait for. */
export const closeUnsecured = (server: Server) => {
  const unsecured = new Map<string, Socket>()
  server.on("connection", (socket: Socket) => {
    const name = nameOf(socket)
    unsecured.set(name, socket)
    socket.once("close", () => {
      if (unsecured.get(name) === socket) unsecured.delete(name)
    })
  })
  server.on("secureConnection", (socket: Socket) => unsecured.delete(nameOf(socket)))
  const close = server.closeIdleConnections.bind(server)
  server.closeIdleConnections = () => {
    for (const socket of unsecured.values()) socket.destroy()
    close()
  }
}

/** Longest time between two looks at all connections, in milliseconds. */
const longestInterval = 10_000

/** Ends connections whose callers have not taken a reply after `most` milliseconds. */
const endStalled = (server: Server, connections: Connections, most: number) => {
  let since = new Map<ServerResponse, number>()
  const look = () => {
    const now = performance.now()
    const unsent = new Map<ServerResponse, number>()
    for (const [socket, replies] of connections) {
      const reply = unsentOf(replies)
      if (reply === undefined) continue
      const began = since.get(reply) ?? now
      if (now - began < most) unsent.set(reply, began)
      else socket.destroy()
    }
    since = unsent
  }
  const timer = setInterval(look, Math.min(most / 4, longestInterval)).unref()
  server.once("close", () => clearInterval(timer))
}

/**
 * `drain`: how long callers have to take their replies when the listener closes, `headers`: to send their headers then. `most`:
 * how long they have for a reply otherwise. Milliseconds.
 */
export const drainOpenReplies = (
  server: Server,
  connections: Connections,
  { drain, headers, most }: { readonly drain: number; readonly headers: number; readonly most: number }
) => {
  closeIdle(server, connections, drain, headers)
  endStalled(server, connections, most)
}
