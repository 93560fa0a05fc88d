/** Readers that take one byte a second of a stream that would never end. */
import { connect } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"

export interface SlowJob {
  readonly kind: "slow"
  readonly port: number
  readonly request: string
  readonly readers: number
  /** Milliseconds. */
  readonly lasts: number
}

export interface SlowResult {
  /** Streams that were open at the end, and bytes that were taken. */
  readonly open: number
  readonly taken: number
}

export const readSlowly = async ({ lasts, port, readers, request }: SlowJob): Promise<SlowResult> => {
  const sockets = Array.from({ length: readers }, () => {
    const socket = connect({ host: "127.0.0.1", port })
    socket.on("error", () => undefined)
    // Paused and without a listener for data, only what read() takes is taken.
    socket.pause().write(request)
    return socket
  })
  let taken = 0
  for (const until = Date.now() + lasts; Date.now() < until; ) {
    await sleep(1_000)
    for (const socket of sockets) taken += (socket.read(1) as Buffer | null)?.length ?? 0
  }
  const open = sockets.filter((socket) => !socket.destroyed && !socket.readableEnded).length
  for (const socket of sockets) socket.destroy()
  return { open, taken }
}
