/**
 * Writes of one turn of the event loop leave at its end, one right after the other. The kernel has to wake whoever waits for what
 * a write brings, which costs the writer about as much as the write; a reader that is awake for the first is so for the others.
 * Whole replies gain by it, and streams in bursts; a write that is alone in its turn costs a little more.
 */
import type { Socket } from "node:net"

/**
 * Answers what lets a socket write together with the others that it is called with. `most` wait for the end of a turn that has a
 * lot to do, which holds up what is ready.
 */
export const writesTogether = (most: number) => {
  let waiting: Array<() => void> = []
  const flush = () => {
    const writes = waiting
    waiting = []
    for (const write of writes) write()
  }
  const later = (write: () => void) => {
    if (waiting.push(write) === 1) setImmediate(flush)
    else if (waiting.length >= most) flush()
  }
  return (socket: Pick<Socket, "_write" | "_writev">): void => {
    const { _write, _writev } = socket
    socket._write = (chunk, encoding, done) => later(() => _write.call(socket, chunk, encoding, done))
    socket._writev = (chunks, done) => later(() => _writev?.call(socket, chunks, done))
  }
}
