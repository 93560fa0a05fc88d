/** The fake clouds: every wire protocol the gateway speaks to, without credentials, without work, on one port. */
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { MARKER, type Reply, replies } from "./wire.ts"

/** How the upstream behaves for one scenario; sent to the process as a message. */
export interface Pace {
  /** Text events in a stream. */
  readonly events: number
  /** Milliseconds before a reply begins. */
  readonly delay: number
  /** Milliseconds between the events of a stream; 0 writes them as fast as the reader takes them. */
  readonly every: number
}

type Kind = keyof ReturnType<typeof replies>
const built = new Map<number, ReturnType<typeof replies>>()
let pace: Pace = { events: 200, delay: 0, every: 0 }
let exported = 0

const repliesFor = (n: number) => {
  const known = built.get(n) ?? replies(n)
  built.set(n, known)
  return known
}

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

/** Each event is its own write in its own turn, as a model's are: what arrives together is the reader's doing. */
const flatOut = (res: ServerResponse, events: ReadonlyArray<Buffer>) => {
  let next = 0
  const step = () => {
    const event = events[next++]
    if (res.destroyed) return
    if (event === undefined) res.end()
    else if (res.write(event)) setImmediate(step)
    else res.once("drain", step)
  }
  step()
}

/** The first text event goes out at once with what precedes it, so that the time to it holds no waiting. */
const paced = (res: ServerResponse, events: ReadonlyArray<Buffer>, every: number) => {
  let next = events.findIndex((event) => event.includes(MARKER))
  if (next > 0) res.write(Buffer.concat(events.slice(0, next)))
  const step = () => {
    const event = events[next++]
    if (event === undefined || res.destroyed) {
      clearInterval(timer)
      res.end()
    } else res.write(event)
  }
  const timer = setInterval(step, every)
  step()
}

const answer = (res: ServerResponse, { type, events }: Reply, { every }: Pace) => {
  const [first] = events
  if (type === "application/json" && first !== undefined) {
    res.writeHead(200, { "content-type": type, "content-length": first.length }).end(first)
  } else {
    res.writeHead(200, { "content-type": type, "x-amzn-bedrock-content-type": "application/json" })
    if (every === 0) flatOut(res, events)
    else paced(res, events, every)
  }
}

const server = createServer((req, res) => {
  const url = req.url ?? ""
  if (/^\/v1\/(traces|metrics|logs)$/.test(url)) {
    req.on("data", (bytes: Buffer) => {
      exported += bytes.length
    })
    req.on("end", () => res.writeHead(200, { "content-type": "application/x-protobuf" }).end())
    return
  }
  const kind = byPath.find(([path]) => path.test(url))?.[1]
  if (kind === undefined) {
    req.resume()
    res.writeHead(404, { "content-type": "application/json" }).end(JSON.stringify({ error: { message: url } }))
    return
  }
  const body: Array<Buffer> = []
  req.on("data", (bytes: Buffer) => body.push(bytes))
  req.on("end", () => {
    const now = pace
    const all = repliesFor(now.events)
    const both = kind === "chat" || kind === "responses"
    const reply = both && Buffer.concat(body).includes('"stream":true') ? all[`${kind}Stream`] : all[kind]
    if (now.delay === 0) answer(res, reply, now)
    else setTimeout(answer, now.delay, res, reply, now)
  })
})

process.on("disconnect", () => process.exit(0))
process.on("message", (message: Pace | "exported") => {
  if (message === "exported") process.send?.({ exported })
  else {
    pace = message
    repliesFor(pace.events)
    process.send?.({ pace })
  }
})
server.keepAliveTimeout = 600_000
server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }))
