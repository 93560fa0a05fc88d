/**
 * One connection of the load generator and the reply it is reading. It speaks just enough HTTP/1.1 over a bare socket to know when
 * a reply begins and ends, because a full client would cost more than the proxies it measures.
 */
import { connect, type Socket } from "node:net"
import { performance } from "node:perf_hooks"
import { MARKER } from "./wire.ts"

/** Where the lanes of one job go, and what they tell. */
export interface Target {
  readonly port: number
  readonly request: Buffer
  /** Text events arrived; called for every piece of a stream. */
  readonly onEvents: (count: number) => void
}

const END_OF_CHUNKS = "\r\n0\r\n\r\n"

/** All lanes read into the same memory: what was read is looked at before the next read begins. */
const shared = Buffer.allocUnsafe(65_536)

/** Searching text is four times as fast as searching bytes. */
const occurrences = (text: string): number => {
  let count = 0
  for (let at = text.indexOf(MARKER); at >= 0; at = text.indexOf(MARKER, at + MARKER.length)) count++
  return count
}

export class Lane {
  readonly #target: Target
  #socket: Socket | undefined
  #done: ((ok: boolean) => void) | undefined
  /** The head as far as it came; undefined once it is whole. */
  #head: string | undefined
  #ok = false
  /** Bytes of the body still to come; -1 when its end must be looked for. */
  #left = 0
  #tail = ""
  /** When the first text event of the last reply arrived, or the first byte of a reply without events; 0 before. */
  firstAt = 0

  constructor(target: Target) {
    this.#target = target
  }

  /** Sends the request again; answers whether the whole reply came, with status 200. */
  send(): Promise<boolean> {
    this.#head = ""
    this.#tail = ""
    this.firstAt = 0
    return new Promise((resolve) => {
      this.#done = resolve
      this.#socket ??= this.#open()
      this.#socket.write(this.#target.request)
    })
  }

  close(): void {
    this.#socket?.destroy()
  }

  #open(): Socket {
    const callback = (length: number) => {
      this.#read(shared.toString("latin1", 0, length))
      return true
    }
    const socket = connect({
      host: "127.0.0.1",
      port: this.#target.port,
      noDelay: true,
      onread: { buffer: shared, callback }
    })
    socket.on("error", () => undefined)
    socket.on("close", () => {
      this.#socket = undefined
      this.#finish(false)
    })
    return socket
  }

  #finish(ok: boolean): void {
    const done = this.#done
    this.#done = undefined
    done?.(ok)
  }

  #read(text: string): void {
    if (this.#head === undefined) {
      this.#body(text)
      return
    }
    const all = this.#head + text
    const end = all.indexOf("\r\n\r\n")
    if (end < 0) {
      this.#head = all
      return
    }
    this.#head = undefined
    const head = all.slice(0, end)
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
    this.#ok = / 200 /.test(head.slice(0, 14))
    this.#left = length === undefined ? -1 : Number(length)
    this.#body(all.slice(end + 4))
  }

  #body(text: string): void {
    if (this.#left >= 0) {
      if (this.firstAt === 0) this.firstAt = performance.now()
      this.#left -= text.length
      if (this.#left <= 0) this.#finish(this.#ok)
      return
    }
    const events = occurrences(text)
    if (events > 0) {
      if (this.firstAt === 0) this.firstAt = performance.now()
      this.#target.onEvents(events)
    }
    this.#tail = text.length >= END_OF_CHUNKS.length ? text : this.#tail.slice(-END_OF_CHUNKS.length) + text
    if (this.#tail.endsWith(END_OF_CHUNKS)) this.#finish(this.#ok)
  }
}
