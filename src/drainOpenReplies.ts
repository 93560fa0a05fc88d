/** Replies that are written to their end and have not left, because their callers read slowly or not at all. */
import type { ServerResponse as Reply, Server } from "node:http"
import type { Connections } from "./sockets.ts"

/** Of a connection; of several on their way, which a caller may ask for at once, the first. */
const unsentOf = ([reply]: Iterable<Reply>): Reply | undefined =>
  reply?.writableEnded && !reply.writableFinished ? reply : undefined

/**
 * Node takes connections with such replies for idle, and closes them when the listener closes and whenever it is told to: a slow
 * reader would lose the rest of its reply, and in the turn in which it was written anyone. They are kept until it has left, for at
 * most `patience` milliseconds.
 */
const spare = (server: Server, connections: Connections, patience: number) => {
  const closeIdle = server.closeIdleConnections.bind(server)
  let last: NodeJS.Timeout | undefined
  server.once("close", () => clearTimeout(last))
  server.closeIdleConnections = () => {
    last ??= setTimeout(closeIdle, patience)
    const unsent = [...connections.values()].flatMap((replies) => unsentOf(replies) ?? [])
    for (const reply of unsent) reply.finished = false
    closeIdle()
    for (const reply of unsent) reply.finished = true
  }
}

/** Milliseconds between two looks at all connections, at most; a look at 10,000 takes about one. */
const longestPause = 10_000

/** Who has not taken a reply after `most` milliseconds is cut off, so that nothing is held for it. A look now and then costs requests nothing. */
const cutOffLate = (server: Server, connections: Connections, most: number) => {
  let since = new Map<Reply, number>()
  const look = () => {
    const now = performance.now()
    const still = new Map<Reply, number>()
    for (const [socket, replies] of connections) {
      const reply = unsentOf(replies)
      if (reply === undefined) continue
      const began = since.get(reply) ?? now
      if (now - began < most) still.set(reply, began)
      else socket.destroy()
    }
    since = still
  }
  const timer = setInterval(look, Math.min(most / 4, longestPause))
  timer.unref()
  server.once("close", () => clearInterval(timer))
}

/** `drain`: how long such replies are waited for when the listener closes. `most`: how long their callers have otherwise. Milliseconds. */
export const watchUnsent = (
  server: Server,
  connections: Connections,
  { drain, most }: { readonly drain: number; readonly most: number }
) => {
  spare(server, connections, drain)
  cutOffLate(server, connections, most)
}
