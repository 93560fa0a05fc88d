/** The server of a simulated cloud: requests, and paced replies. */
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import type { Server, ServerResponse } from "node:http"
import { buffer } from "node:stream/consumers"
import { setTimeout as sleep } from "node:timers/promises"
import { Data, Record } from "effect"
import { createServer } from "../nodeHttp.ts"
import { jsonText } from "../wire/print.ts"
import { printEvents } from "../wire/sse.ts"
import { type JsonObject, stringOf } from "./json.ts"
import { digest } from "./signature.ts"

/** A request; `path` is still percent-encoded. */
export interface CloudRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  /** A hash of path and body: equal requests get equal replies, and equal identifiers in them. */
  readonly seed: string
}

/** One framed event, or a whole body. */
export type Frame = string | Uint8Array

/** A reply: frames, and how the connection ends after the last one. `delay` is in milliseconds. */
export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly frames: ReadonlyArray<Frame>
  readonly ending?: "finish" | "cut" | "stall"
  readonly delay?: number
}

/** A call that reached a simulated cloud. `aborted`: the client left before the answer was complete. */
export interface Call extends Pick<CloudRequest, "method" | "path" | "headers"> {
  readonly cloud: string
  readonly body: string
  aborted: boolean
}

export const jsonReply = (status: number, body: unknown, more: Reply["headers"] = {}): Reply => {
  const bytes = Buffer.from(jsonText(body))
  const headers = { "content-type": "application/json", "content-length": String(bytes.length), ...more }
  return { status, headers, frames: [bytes] }
}

export const eventStream = { "content-type": "text/event-stream; charset=utf-8" }

/** An event, named by the `type` of its data. */
export const sse = (data: JsonObject): string =>
  printEvents([{ event: stringOf(data.type), data: JSON.stringify(data) }])

/** The refusal of a request, which each cloud writes in its own format. `param` names the parameter. */
export class Refusal extends Data.Error<{
  readonly status: number
  readonly message: string
  readonly code?: string | undefined
  readonly param?: string | undefined
}> {}

export const invalid = (message: string): Refusal => new Refusal({ status: 400, message })

const send = async (response: ServerResponse, reply: Reply, pace: number, signal: AbortSignal): Promise<void> => {
  const { status, headers, frames, ending, delay = 0 } = reply
  if (delay > 0) await sleep(delay, undefined, { signal })
  response.writeHead(status, headers)
  response.flushHeaders()
  for (const [index, frame] of frames.entries()) {
    if (index > 0 && pace > 0) await sleep(pace, undefined, { signal })
    if (!response.write(frame)) await once(response, "drain", { signal })
  }
  if (ending === "stall") return
  if (ending !== "cut") return void response.end()
  // A reset would discard what is still buffered.
  await new Promise((resolve) => (response.socket === null ? resolve(null) : response.socket.write("", resolve)))
  response.socket?.destroy()
}

/** How a simulated cloud answers, and is reached: its settings, and credentials that are made anew at each start. */
export interface SimulatedCloud {
  readonly answer: (request: CloudRequest) => Promise<Reply> | Reply
  /** The settings of a gateway for it. */
  readonly environment: (url: string) => Readonly<Record<string, string>>
  readonly bearer: string
}

export const secret = (prefix = ""): string => prefix + randomBytes(24).toString("hex")

/** Starts a cloud on a free loopback port. `pace` is the time between events in milliseconds. */
export const startServer = async (
  cloud: string,
  pace: number,
  onCall: (call: Call) => void,
  answer: SimulatedCloud["answer"]
): Promise<{ readonly server: Server; readonly url: string }> => {
  const server = createServer(async (incoming, response) => {
    const { url: target = "/", method = "GET" } = incoming
    const leaving = new AbortController()
    let cut = false
    try {
      const headers = Record.map(incoming.headers, String)
      const body = await buffer(incoming)
      const call: Call = { cloud, method, path: target, headers, body: body.toString(), aborted: false }
      response.on("close", () => {
        call.aborted = !response.writableFinished && !cut
        leaving.abort()
      })
      onCall(call)
      const [path = "/", query] = target.split("?", 2)
      const seed = digest(path, body)
      const reply = await answer({ method, path, query: new URLSearchParams(query), headers, body, seed })
      cut = reply.ending === "cut"
      await send(response, reply, pace, leaving.signal)
    } catch (error) {
      // An aborted wait also ends here, but then the client has left.
      if (!response.headersSent) response.writeHead(500).end(`sandbox fault: ${String(error)}`)
    }
  })
  await once(server.listen(0, "127.0.0.1"), "listening")
  const address = server.address()
  return { server, url: `http://127.0.0.1:${typeof address === "object" ? address?.port : address}` }
}
