/** Readers of many streams: what each event's number and time say, in a process that does nothing else. */
import { connect } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { micros, STAMP } from "./stamp.ts"
import { type Summary, Times } from "./times.ts"

export interface StreamsJob {
  readonly kind: "streams"
  readonly port: number
  /** The whole request, head and body. */
  readonly request: string
  readonly streams: number
  /** Events in each stream. */
  readonly events: number
  /** Milliseconds over which the first streams open, and until which each that ends is followed by another. */
  readonly spread: number
  readonly until: number
}

export interface StreamsResult {
  /** Streams that came whole, and most that were open at once. */
  readonly whole: number
  readonly open: number
  /** From the cloud's write of an event to its arrival here. */
  readonly late: Summary
  readonly problems: ReadonlyArray<readonly [what: string, times: number]>
}

const END_OF_CHUNKS = "\r\n0\r\n\r\n"
const shared = Buffer.allocUnsafe(65_536)

export const readStreams = async (job: StreamsJob): Promise<StreamsResult> => {
  const late = new Times()
  const problems = new Map<string, number>()
  const wrong = (what: string) => void problems.set(what, (problems.get(what) ?? 0) + 1)
  const request = Buffer.from(job.request)
  let whole = 0
  let open = 0
  let most = 0

  const one = () =>
    new Promise<void>((resolve) => {
      let text = ""
      let begun = false
      let next = 0
      let ended = false
      let finished = false
      const read = (piece: string) => {
        text += piece
        if (!begun) {
          const head = text.indexOf("\r\n\r\n")
          if (head < 0) return
          if (!text.startsWith("HTTP/1.1 200")) {
            wrong(`refused: ${text.slice(9, 12)}`)
            finished = true
            socket.destroy()
            return
          }
          begun = true
          if (++open > most) most = open
        }
        const now = micros()
        let end = 0
        for (const stamp of text.matchAll(STAMP)) {
          end = stamp.index + stamp[0].length
          late.add((now - Number(stamp[2])) / 1000)
          const number = Number(stamp[1])
          if (number !== next) wrong(number < next ? "an event came twice or late" : "an event was lost")
          next = number + 1
        }
        if (text.includes("event: error")) wrong("an error event")
        if (text.includes("message_stop")) ended = true
        if (text.endsWith(END_OF_CHUNKS)) {
          finished = true
          if (next !== job.events || !ended) wrong(`ended after ${next} events${ended ? "" : ", not by its own end"}`)
          else whole++
          socket.destroy()
        }
        text = text.slice(Math.max(end, text.length - 64))
      }
      const socket = connect({
        host: "127.0.0.1",
        port: job.port,
        noDelay: true,
        onread: {
          buffer: shared,
          callback: (length) => {
            read(shared.toString("latin1", 0, length))
            return true
          }
        }
      })
      socket.on("error", (error) => {
        finished = true
        wrong(`a connection failed: ${(error as NodeJS.ErrnoException).code}`)
      })
      socket.once("close", () => {
        if (begun) open--
        if (!finished) wrong(`the connection ended after ${next} events`)
        resolve()
      })
      socket.write(request)
    })

  const until = Date.now() + job.until
  const reader = async (n: number) => {
    await sleep((job.spread * n) / job.streams)
    do {
      const before = problems.size
      await one()
      if (problems.size > before) await sleep(200)
    } while (Date.now() < until)
  }
  await Promise.all(Array.from({ length: job.streams }, (_, n) => reader(n)))
  return { whole, open: most, late: late.summary(), problems: [...problems] }
}
