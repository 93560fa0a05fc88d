/**
 * The fake clouds: every wire protocol the gateway speaks to, without credentials, on one port. They must never be what a row
 * measures, so they speak HTTP over bare sockets and write bytes that were prepared before anybody asked.
 */
import { createServer, type Socket } from "node:net"
import { readRequests } from "./requests.ts"
import { wheel } from "./wheel.ts"
import { MARKER, type Reply, replies } from "./wire.ts"

/** How the upstream behaves for one scenario; sent to the process as a message. */
export interface Pace {
  /** Text events in a stream. */
  readonly events: number
  /** Milliseconds before a reply begins. */
  readonly delay: number
  /** Events in one write. */
  readonly burst: number
  /** Milliseconds between two writes of a stream; 0 is the next turn, or when the reader has taken the last one. */
  readonly every: number
}

type Kind = keyof ReturnType<typeof replies>

/** A reply as it goes over the wire, in pieces of one write each. */
type Prepared = ReadonlyArray<Buffer>

const byPath: ReadonlyArray<readonly [RegExp, Kind]> = [
  [/:streamRawPredict/, "claudeStream"],
  [/:rawPredict/, "claude"],
  [/:streamGenerateContent/, "geminiStream"],
  [/:generateContent/, "gemini"],
  [/titan.*\/invoke$/, "titan"],
  [/\/invoke-with-response-stream$/, "claudeFrames"],
  [/\/invoke$/, "claude"],
  [/\/chat\/completions/, "chat"],
  [/\/responses/, "responses"]
]

const headOf = (type: string, framing: string) =>
  `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\nx-amzn-bedrock-content-type: application/json\r\ndate: Fri, 20 Nov 2026 12:00:00 GMT\r\nconnection: keep-alive\r\nkeep-alive: timeout=600\r\n${framing}\r\n\r\n`
const notFound = Buffer.from("HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}")
const endOfChunks = Buffer.from("0\r\n\r\n")

/** The first text event goes out with the head and what precedes it, so that the time to it holds no waiting. */
const prepare = ({ type, events }: Reply, burst: number): Prepared => {
  const [only] = events
  if (type === "application/json" && only !== undefined) {
    return [Buffer.concat([Buffer.from(headOf(type, `content-length: ${only.length}`)), only])]
  }
  const first = Math.max(
    0,
    events.findIndex((event) => event.includes(MARKER))
  )
  const cuts = [0]
  for (let at = first + burst; at < events.length; at += burst) cuts.push(at)
  return cuts.map((at, i) => {
    const bytes = Buffer.concat(events.slice(at, cuts[i + 1]))
    const chunk = [Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]
    return Buffer.concat([
      ...(i === 0 ? [Buffer.from(headOf(type, "transfer-encoding: chunked"))] : []),
      ...chunk,
      ...(i === cuts.length - 1 ? [endOfChunks] : [])
    ])
  })
}

let pace: Pace = { events: 200, delay: 0, burst: 10, every: 0 }
const built = new Map<string, ReadonlyMap<string, Prepared>>()
const preparedFor = ({ burst, events }: Pace) => {
  const name = `${events}/${burst}`
  const known =
    built.get(name) ?? new Map(Object.entries(replies(events)).map(([kind, reply]) => [kind, prepare(reply, burst)]))
  built.set(name, known)
  return known
}

const wheels = new Map<number, ReturnType<typeof wheel>>()

const answer = (socket: Socket, pieces: Prepared, every: number) => {
  let next = 0
  if (every > 0 && pieces.length > 1) {
    const step = () => {
      const piece = pieces[next++]
      if (piece === undefined || socket.destroyed) return false
      socket.write(piece)
      return next < pieces.length
    }
    step()
    const turning = wheels.get(every) ?? wheel(every)
    wheels.set(every, turning)
    turning(step)
    return
  }
  const step = () => {
    const piece = pieces[next++]
    if (piece === undefined || socket.destroyed) return
    const taken = socket.write(piece)
    if (next === pieces.length) return
    if (taken) setImmediate(step)
    else socket.once("drain", step)
  }
  step()
}

const serve = (socket: Socket) =>
  readRequests(socket, (target, request) => {
    const kind = byPath.find(([path]) => path.test(target))?.[1]
    if (kind === undefined) {
      socket.write(notFound)
      return
    }
    const both = kind === "chat" || kind === "responses"
    const streams = both && request.some((part) => part.includes('"stream":true'))
    const pieces = preparedFor(pace).get(streams ? `${kind}Stream` : kind) ?? [notFound]
    const { delay, every } = pace
    if (delay === 0) answer(socket, pieces, every)
    else setTimeout(answer, delay, socket, pieces, every)
  })

const server = createServer({ noDelay: true }, serve)
process.on("disconnect", () => process.exit(0))
process.on("message", (message: Pace) => {
  pace = message
  preparedFor(pace)
  process.send?.({ pace })
})
server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, () => {
  const address = server.address()
  process.send?.({ port: typeof address === "object" && address !== null ? address.port : 0 })
})
