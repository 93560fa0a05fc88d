/** Callers: one that reads a reply to its end, one that speaks raw bytes, and readers of what they got. */
import { connect, type Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { breaches } from "./contract.ts"

/** A reply, read to its end; `json` is undefined for what is none. */
export interface Got {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: ReturnType<typeof JSON.parse>
}

export const parsed = (text: string): ReturnType<typeof JSON.parse> => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const key = { "x-api-key": "sandbox-key", "content-type": "application/json" }

/** Opens a POST with the sandbox's key; a string or bytes go as they are. A header set to "" is left out. */
export const open = (
  url: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
  init: RequestInit = {}
): Promise<Response> =>
  fetch(url, {
    method: "POST",
    body: typeof body === "string" || body instanceof Uint8Array ? Buffer.from(body) : JSON.stringify(body),
    ...init,
    headers: Object.fromEntries(Object.entries({ ...key, ...headers }).filter(([, value]) => value !== ""))
  })

/** Reads a reply to its end; what comes must be what the contract says. */
const read = async (response: Response): Promise<Got> => {
  const text = await response.text()
  const got = { status: response.status, headers: response.headers, text, json: parsed(text) }
  const problems = breaches(new URL(response.url).pathname, got)
  if (problems.length > 0) throw new Error(`not as the contract says: ${problems.join("; ")}`)
  return got
}

/** Posts and reads the whole reply. */
export const post = async (url: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Got> =>
  read(await open(url, body, headers))

export const get = async (url: string, headers: Readonly<Record<string, string>> = {}, method = "GET"): Promise<Got> =>
  read(await fetch(url, { method, headers }))

/** An event of a stream. */
export interface SseEvent {
  readonly event: string | undefined
  readonly data: string
  readonly json: ReturnType<typeof JSON.parse>
}

/** The events of an SSE text; comments are left out. */
export const eventsIn = (text: string): ReadonlyArray<SseEvent> =>
  text
    .split("\n\n")
    .map((block) => block.split("\n").filter((line) => line !== "" && !line.startsWith(":")))
    .filter((lines) => lines.length > 0)
    .map((lines) => {
      const value = (name: string) =>
        lines.filter((line) => line.startsWith(`${name}: `)).map((line) => line.slice(name.length + 2))
      const data = value("data").join("\n")
      return { event: value("event")[0], data, json: parsed(data) }
    })

/** A connection that says exactly what it is told. */
export interface Raw {
  readonly socket: Socket
  /** All that has come so far. */
  readonly text: () => string
  readonly write: (bytes: string | Uint8Array) => void
  /** Waits until the text matches; rejects after the time (default 5 s) with what came. */
  readonly until: (pattern: RegExp, milliseconds?: number) => Promise<string>
  /** Waits until the server has closed; rejects after the time (default 5 s). */
  readonly closed: (milliseconds?: number) => Promise<string>
}

/** Connects to a port of loopback. */
export const raw = (port: number, options: { readonly paused?: boolean } = {}): Raw => {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true })
  let text = ""
  let ended = false
  socket.setEncoding("latin1")
  socket.on("error", () => {
    ended = true
  })
  socket.on("end", () => {
    ended = true
  })
  socket.on("close", () => {
    ended = true
  })
  if (options.paused !== true) {
    socket.on("data", (data: string) => {
      text += data
    })
  }
  const waiting = async (done: () => boolean, milliseconds: number, what: string) => {
    const end = Date.now() + milliseconds
    while (!done()) {
      if (Date.now() > end) throw new Error(`${what} did not come within ${milliseconds} ms; got: ${text.slice(-2000)}`)
      await sleep(5)
    }
    return text
  }
  return {
    socket,
    text: () => text,
    write: (bytes) => {
      socket.write(bytes)
    },
    until: (pattern, milliseconds = 5000) => waiting(() => pattern.test(text), milliseconds, String(pattern)),
    closed: (milliseconds = 5000) => waiting(() => ended, milliseconds, "the end")
  }
}

/** The bytes of a POST. */
export const rawPost = (
  path: string,
  body: string | Uint8Array,
  headers: Readonly<Record<string, string>> = {}
): Buffer => {
  const bytes = Buffer.from(body)
  const all = { host: "gateway", ...key, "content-length": String(bytes.length), ...headers }
  const lines = Object.entries(all)
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.concat([Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join("")}\r\n`), bytes])
}
