/**
 * The fake clouds, without credentials and on one port: every wire protocol that the gateway speaks. They write prepared bytes to bare
 * sockets, so that they are not what is measured. For the soak, each event carries its number and the time of its writing.
 */
import { createServer, type Socket } from "node:net"
import { MARKER, type Reply, replies, stampedEvents } from "./replies.ts"

/** How the clouds answer; sent to the process as a message. */
export interface Pace {
  /** Text events in a stream, how many in a write, and milliseconds between two writes; 0 is as fast as they are taken. */
  readonly events: number
  readonly burst: number
  readonly every: number
  /** Milliseconds before a reply begins. */
  readonly delay?: number
  /** Streams of Claude on Vertex carry stamps, each beside so many characters. */
  readonly stamped?: number
}

type Kind = keyof ReturnType<typeof replies>
type Pieces = Iterable<Buffer | string>

const kinds: ReadonlyArray<readonly [RegExp, Kind]> = [
  [/:streamRawPredict/, "claudeStream"],
  [/:rawPredict/, "claude"],
  [/:streamGenerateContent/, "geminiStream"],
  [/:generateContent/, "gemini"],
  [/\/invoke-with-response-stream$/, "claudeFrames"],
  [/\/invoke$/, "claude"],
  [/\/chat\/completions/, "chat"],
  [/\/responses/, "responses"]
]

const headOf = (type: string, framing: string) =>
  `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\nx-amzn-bedrock-content-type: application/json\r\ndate: Fri, 20 Nov 2026 12:00:00 GMT\r\nconnection: keep-alive\r\nkeep-alive: timeout=600\r\n${framing}\r\n\r\n`
const notFound = "HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"
const endOfChunks = "0\r\n\r\n"

/** The first text event leaves with the head and what precedes it, so that the time to it holds no waiting. */
const prepare = ({ type, events }: Reply, burst: number): Pieces => {
  if (type === "application/json") {
    const body = Buffer.concat(events)
    return [Buffer.concat([Buffer.from(headOf(type, `content-length: ${body.length}`)), body])]
  }
  const cuts = [0]
  const first = events.findIndex((event) => event.includes(MARKER))
  for (let at = first + burst; at < events.length; at += burst) cuts.push(at)
  return cuts.map((at, i) => {
    const bytes = Buffer.concat(events.slice(at, cuts[i + 1]))
    const head = i === 0 ? headOf(type, "transfer-encoding: chunked") : ""
    const end = `\r\n${i === cuts.length - 1 ? endOfChunks : ""}`
    return Buffer.concat([Buffer.from(`${head}${bytes.length.toString(16)}\r\n`), bytes, Buffer.from(end)])
  })
}

const prepared = new Map<string, Record<Kind, Pieces>>()
const preparedFor = ({ burst, events }: Pace): Record<Kind, Pieces> => {
  const key = `${events}/${burst}`
  const known = prepared.get(key)
  if (known !== undefined) return known
  const built = Object.entries(replies(events)).map(([kind, reply]) => [kind, prepare(reply, burst)])
  prepared.set(key, Object.fromEntries(built))
  return preparedFor({ burst, events, every: 0 })
}

function* stamped(events: number, characters: number): Pieces {
  yield headOf("text/event-stream", "transfer-encoding: chunked")
  let left = events
  for (const event of stampedEvents(events, characters)) {
    yield `${event.length.toString(16)}\r\n${event}\r\n${--left === 0 ? endOfChunks : ""}`
  }
}

/**
 * One timer for all paced streams of an interval. Each keeps the millisecond it began in: timers of their own would fall into step,
 * and the reader would get the events of many streams in one turn.
 */
const wheel = (every: number) => {
  const slots = Array.from({ length: every }, () => new Set<() => boolean>())
  let steps = 0
  let turned = 0
  let timer: NodeJS.Timeout | undefined
  const turn = () => {
    for (const now = Math.floor(performance.now()); turned < now; ) {
      const slot = slots[++turned % every]
      for (const step of slot ?? []) if (!step() && slot?.delete(step)) steps--
    }
    if (steps > 0) return
    clearInterval(timer)
    timer = undefined
  }
  return (step: () => boolean) => {
    const now = Math.floor(performance.now())
    if (timer === undefined) {
      turned = now
      timer = setInterval(turn, 1)
    }
    slots[now % every]?.add(step)
    steps++
  }
}
const wheels = new Map<number, ReturnType<typeof wheel>>()

const write = (socket: Socket, pieces: Pieces, every: number) => {
  const left = pieces[Symbol.iterator]()
  let taken = true
  const step = () => {
    const { done, value } = left.next()
    if (done === true || socket.destroyed) return false
    taken = socket.write(value)
    return true
  }
  if (every > 0) {
    if (!step()) return
    const turning = wheels.get(every) ?? wheel(every)
    wheels.set(every, turning)
    return turning(step)
  }
  const pour = () => {
    if (!step()) return
    if (taken) setImmediate(pour)
    else socket.once("drain", pour)
  }
  pour()
}

/** Reads requests one after another; `take` is called when the last byte of one has arrived. */
const readRequests = (socket: Socket, take: (target: string, request: ReadonlyArray<Buffer>) => void): void => {
  let kept: Array<Buffer> = []
  let length = 0
  /** Once the head has arrived: bytes of the request, or -1 when its end must be searched. */
  let whole: number | undefined
  let target = ""
  const readHead = () => {
    const bytes = Buffer.concat(kept)
    const end = bytes.indexOf("\r\n\r\n")
    if (end < 0) return
    const head = bytes.toString("latin1", 0, end)
    target = head.slice(head.indexOf(" ") + 1, head.indexOf(" HTTP/"))
    const declared = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
    whole = declared === undefined && /\r\ntransfer-encoding:/i.test(head) ? -1 : end + 4 + Number(declared ?? 0)
  }
  socket.on("data", (bytes: Buffer) => {
    kept.push(bytes)
    length += bytes.length
    if (whole === undefined) readHead()
    if (whole === undefined) return
    if (whole < 0 ? !Buffer.concat(kept.slice(-2)).subarray(-5).equals(Buffer.from(endOfChunks)) : length < whole)
      return
    const request = kept
    kept = []
    length = 0
    whole = undefined
    take(target, request)
  })
  socket.on("error", () => socket.destroy())
}

let pace: Pace = { events: 200, burst: 10, every: 0 }

const server = createServer({ noDelay: true }, (socket) =>
  readRequests(socket, (target, request) => {
    const kind = kinds.find(([path]) => path.test(target))?.[1]
    if (kind === undefined) return void socket.write(notFound)
    const streams = (kind === "chat" || kind === "responses") && request.some((part) => part.includes('"stream":true'))
    const { delay = 0, events, every, stamped: characters } = pace
    const pieces =
      kind === "claudeStream" && characters !== undefined
        ? stamped(events, characters)
        : preparedFor(pace)[streams ? (`${kind}Stream` as Kind) : kind]
    if (delay === 0) write(socket, pieces, every)
    else setTimeout(write, delay, socket, pieces, every)
  })
)
process.on("disconnect", () => process.exit(0))
process.on("message", (next: Pace) => {
  pace = next
  preparedFor(pace)
  process.send?.({})
})
server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, () => {
  const address = server.address()
  process.send?.({ port: typeof address === "object" && address !== null ? address.port : 0 })
})
