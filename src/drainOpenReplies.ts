/** Replies that are written to their end and not sent yet, because their callers read slowly or not at all. */
import type { ServerResponse as Reply, Server } from "node:http"
import type { Connections } from "./sockets.ts"

/** The reply that a connection holds up; of several replies, the others wait for the first. */
const unsentOf = ([reply]: Iterable<Reply>): Reply | undefined =>
  reply?.writableEnded && !reply.writableFinished ? reply : undefined

/**
 * When the listener closes, Node closes idle connections, and counts those with unsent replies among them. So they are closed when
 * no reply is unsent, or after `drain` milliseconds; and again as replies end, because one that becomes idle later would hold up
 * the end.
 */
const closeIdle = (server: Server, connections: Connections, drain: number) => {
  const close = server.closeIdleConnections.bind(server)
  let deadline: NodeJS.Timeout | undefined
  server.once("close", () => clearTimeout(deadline))
  server.closeIdleConnections = () => {
    deadline ??= setTimeout(close, drain)
    if (![...connections.values()].some(unsentOf)) close()
  }
  // Many streams may end in the same turn.
  let scheduled: NodeJS.Immediate | undefined
  const onEnd = () => {
    if (server.listening) return
    clearImmediate(scheduled)
    scheduled = setImmediate(() => server.closeIdleConnections())
  }
  const onRequest = (_: unknown, reply: Reply) => void reply.once("close", onEnd)
  server.on("request", onRequest).on("checkContinue", onRequest)
}

/** Longest time between two looks at all connections, in milliseconds. */
const longestInterval = 10_000

/** Ends connections whose callers have not taken a reply after `most` milliseconds. */
const endStalled = (server: Server, connections: Connections, most: number) => {
  let since = new Map<Reply, number>()
  const look = () => {
    const now = performance.now()
    const unsent = new Map<Reply, number>()
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

/** `drain`: how long callers have to take their replies when the listener closes. `most`: how long they have otherwise. Milliseconds. */
export const drainOpenReplies = (
  server: Server,
  connections: Connections,
  { drain, most }: { readonly drain: number; readonly most: number }
) => {
  closeIdle(server, connections, drain)
  endStalled(server, connections, most)
}
