/**
 * The load generator: a closed loop of N callers, each with one keep-alive connection. It speaks just enough HTTP/1.1 over bare
 * sockets to know when a reply begins and ends, because a full client would cost more than the proxies it measures.
 */
import { connect, type Socket } from "node:net"
import { performance } from "node:perf_hooks"
import { MARKER } from "./wire.ts"

export interface Job {
  readonly port: number
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly callers: number
  /** Milliseconds before samples count. */
  readonly warm: number
  /** Milliseconds in which samples count. */
  readonly measure: number
  /** Callers start spread over this many milliseconds, so that paced streams do not march in step. */
  readonly spread: number
  /** One operation is this many requests over so many connections, rather than one request. */
  readonly fan?: { readonly requests: number; readonly lanes: number }
}

export interface Result {
  readonly requestsPerSecond: number
  readonly eventsPerSecond: number
  /** Milliseconds from sending an operation to its last byte. */
  readonly p50: number
  readonly p99: number
  /** Milliseconds to the first text event, median; of a reply without events, to its first byte. */
  readonly first: number
  readonly failed: number
  /** Events carried, or else requests answered, the warm-up included: what the subject's processor time was spent on. */
  readonly work: number
}

const markerBytes = Buffer.from(MARKER)
const endOfChunks = Buffer.from("\r\n0\r\n\r\n")

const occurrences = (bytes: Buffer): number => {
  let count = 0
  for (let at = bytes.indexOf(markerBytes); at >= 0; at = bytes.indexOf(markerBytes, at + markerBytes.length)) count++
  return count
}

const frame = ({ body, headers, path, port }: Job): Buffer => {
  const lines = Object.entries({ host: `127.0.0.1:${port}`, "content-type": "application/json", ...headers })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")
  return Buffer.from(`POST ${path} HTTP/1.1\r\n${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
}

/** One connection and the reply it is reading. */
class Lane {
  readonly #job: Job
  readonly #request: Buffer
  readonly #onEvents: (count: number) => void
  #socket: Socket | undefined
  #done: ((ok: boolean) => void) | undefined
  #head = ""
  #ok = false
  #left = 0
  #tail: Buffer = Buffer.alloc(0)
  /** When the first text event of the last reply arrived. */
  firstAt = 0

  constructor(job: Job, request: Buffer, onEvents: (count: number) => void) {
    this.#job = job
    this.#request = request
    this.#onEvents = onEvents
  }

  send(): Promise<boolean> {
    this.#head = ""
    this.firstAt = 0
    this.#tail = Buffer.alloc(0)
    return new Promise((resolve) => {
      this.#done = resolve
      this.#socket ??= this.#open()
      this.#socket.write(this.#request)
    })
  }

  close(): void {
    this.#socket?.destroy()
  }

  #open(): Socket {
    const socket = connect({ host: "127.0.0.1", port: this.#job.port, noDelay: true })
    socket.on("data", (bytes: Buffer) => this.#read(bytes))
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

  #read(bytes: Buffer): void {
    if (this.#head.endsWith("\r\n\r\n")) {
      this.#body(bytes)
      return
    }
    const before = this.#head.length
    const head = this.#head + bytes.toString("latin1")
    const end = head.indexOf("\r\n\r\n")
    this.#head = end < 0 ? head : head.slice(0, end + 4)
    if (end < 0) return
    const length = /\r\ncontent-length: *(\d+)/i.exec(this.#head)?.[1]
    this.#ok = / 200 /.test(this.#head.slice(0, 14))
    this.#left = length === undefined ? -1 : Number(length)
    this.#body(bytes.subarray(end + 4 - before))
  }

  #body(bytes: Buffer): void {
    const events = occurrences(bytes)
    if (events > 0) this.#onEvents(events)
    if (this.firstAt === 0 && (events > 0 || this.#left >= 0)) this.firstAt = performance.now()
    if (this.#left >= 0) {
      this.#left -= bytes.length
      if (this.#left <= 0) this.#finish(this.#ok)
      return
    }
    this.#tail =
      bytes.length >= endOfChunks.length ? bytes : Buffer.concat([this.#tail.subarray(-endOfChunks.length), bytes])
    if (this.#tail.subarray(-endOfChunks.length).equals(endOfChunks)) {
      if (this.firstAt === 0) this.firstAt = performance.now()
      this.#finish(this.#ok)
    }
  }
}

const percentile = (sorted: ReadonlyArray<number>, p: number) =>
  sorted[Math.floor((sorted.length - 1) * p)] ?? Number.NaN
const ascending = (values: Array<number>) => values.sort((a, b) => a - b)
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

export const run = async (job: Job): Promise<Result> => {
  const request = frame(job)
  const began = performance.now()
  const from = began + job.warm
  const until = from + job.measure
  const walls: Array<number> = []
  const firsts: Array<number> = []
  let events = 0
  let allEvents = 0
  let failed = 0
  let answered = 0
  const count = (n: number) => {
    allEvents += n
    const now = performance.now()
    if (now >= from && now < until) events += n
  }
  const { lanes, requests } = job.fan ?? { lanes: 1, requests: 1 }

  const caller = async (i: number) => {
    const own = Array.from({ length: lanes }, () => new Lane(job, request, count))
    const [lane] = own
    await pause((job.spread * i) / job.callers)
    while (performance.now() < until) {
      const sent = performance.now()
      let left = requests
      let ok = true
      const drain = async (lane: Lane) => {
        while (left-- > 0 && ok) if (!(await lane.send())) ok = false
      }
      // A caller still waiting when time is up is cut off, so that a slow stream does not stretch the round.
      const all = Promise.all(own.map(drain))
      await Promise.race([all, over])
      const now = performance.now()
      if (sent >= from && lane !== undefined && lane.firstAt > 0) firsts.push(lane.firstAt - sent)
      if (now >= until) break
      if (!ok) {
        failed++
        await pause(20)
        continue
      }
      answered++
      if (now >= from) walls.push(now - sent)
    }
    for (const lane of own) lane.close()
  }

  const over = pause(job.warm + job.measure + 5)
  await Promise.all(Array.from({ length: job.callers }, (_, i) => caller(i)))
  const seconds = job.measure / 1000
  ascending(walls)
  return {
    requestsPerSecond: walls.length / seconds,
    eventsPerSecond: events / seconds,
    p50: percentile(walls, 0.5),
    p99: percentile(walls, 0.99),
    first: percentile(ascending(firsts), 0.5),
    failed,
    work: allEvents > 0 ? allEvents : answered
  }
}

if (process.send !== undefined) {
  process.on("disconnect", () => process.exit(0))
  process.on("message", (job: Job) => void run(job).then((result) => process.send?.(result)))
  process.send({ ready: true })
}
