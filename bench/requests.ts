/** Requests as a fake cloud reads them: of each only where it goes, and its bytes. */
import type { Socket } from "node:net"

const endOfChunks = Buffer.from("0\r\n\r\n")

/** Reads requests one after another; `take` is called when the last byte of one is here. */
export const readRequests = (socket: Socket, take: (target: string, request: ReadonlyArray<Buffer>) => void): void => {
  let kept: Array<Buffer> = []
  let length = 0
  /** Of the request being read, once its head is here: its length, or -1 when its end must be looked for. */
  let whole: number | undefined
  let target = ""
  const readHead = () => {
    const bytes = kept.length === 1 ? kept[0] : Buffer.concat(kept)
    const end = bytes?.indexOf("\r\n\r\n") ?? -1
    if (bytes === undefined || end < 0) return
    const head = bytes.toString("latin1", 0, end)
    target = head.slice(head.indexOf(" ") + 1, head.indexOf(" HTTP/"))
    const declared = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
    whole = declared === undefined && /\r\ntransfer-encoding:/i.test(head) ? -1 : end + 4 + Number(declared ?? 0)
  }
  const ended = () => {
    if (whole === undefined) return false
    if (whole >= 0) return length >= whole
    return Buffer.concat(kept.slice(-2)).subarray(-endOfChunks.length).equals(endOfChunks)
  }
  socket.on("data", (bytes: Buffer) => {
    kept.push(bytes)
    length += bytes.length
    if (whole === undefined) readHead()
    if (!ended()) return
    const request = kept
    kept = []
    length = 0
    whole = undefined
    take(target, request)
  })
  socket.on("error", () => socket.destroy())
}
