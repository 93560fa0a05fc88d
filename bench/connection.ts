/**
 * A connection that sends one request again and again. It speaks just enough HTTP/1.1 over a bare socket to know when a reply begins
 * and ends: a full client would cost more than what is measured.
 */
import { connect, type Socket } from "node:net"

const END_OF_CHUNKS = "\r\n0\r\n\r\n"

/** All connections read into the same memory: a piece is read as text before the next read begins. */
const scratch = Buffer.allocUnsafe(65_536)

/** `onBody` gets the body as it comes, with the sizes of its chunks. */
export const openConnection = (port: number, request: Buffer, onBody: (text: string) => void) => {
  let socket: Socket | undefined
  let finish = (_status: number) => {}
  /** The head as far as it has come; undefined once it is whole. */
  let head: string | undefined
  let status = 0
  /** Bytes of the body that are missing; -1 when its end must be searched. */
  let missing = 0
  let tail = ""
  const readBody = (text: string) => {
    onBody(text)
    if (missing >= 0) {
      missing -= text.length
      if (missing <= 0) finish(status)
      return
    }
    tail = text.length >= END_OF_CHUNKS.length ? text : tail.slice(-END_OF_CHUNKS.length) + text
    if (tail.endsWith(END_OF_CHUNKS)) finish(status)
  }
  const read = (text: string) => {
    if (head === undefined) return readBody(text)
    head += text
    const end = head.indexOf("\r\n\r\n")
    if (end < 0) return
    const [lines, body] = [head.slice(0, end), head.slice(end + 4)]
    head = undefined
    status = Number(lines.slice(9, 12))
    missing = Number(/\r\ncontent-length: *(\d+)/i.exec(lines)?.[1] ?? -1)
    readBody(body)
  }
  const open = (): Socket => {
    const callback = (length: number) => {
      read(scratch.toString("latin1", 0, length))
      return true
    }
    return connect({ host: "127.0.0.1", port, noDelay: true, onread: { buffer: scratch, callback } })
      .on("error", (error: NodeJS.ErrnoException) => {
        connection.problem = error.code ?? error.message
      })
      .on("close", () => {
        socket = undefined
        finish(0)
      })
  }
  const connection = {
    /** Why it broke, where the system gives a reason. */
    problem: "closed",
    /** The status of the reply once it is whole; 0 when the connection breaks. */
    send: (): Promise<number> => {
      head = ""
      tail = ""
      return new Promise((resolve) => {
        finish = resolve
        socket ??= open()
        socket.write(request)
      })
    },
    close: () => socket?.destroy()
  }
  return connection
}
