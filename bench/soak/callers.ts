/** Callers of a gateway in its sandbox: each request is checked as its caller sees it, and against its usage record. */
import { createReadStream, readFileSync } from "node:fs"
import type { IncomingMessage } from "node:http"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { setTimeout as sleep } from "node:timers/promises"
import { startGateway } from "../gateway.ts"
import { openAgent, textOf } from "./http.ts"
import { counter } from "./tally.ts"

type Api = "messages" | "chat" | "responses"
type Agent = ReturnType<typeof openAgent>

const apis: ReadonlyArray<Api> = ["messages", "chat", "responses"]
const models: Readonly<Record<Api, ReadonlyArray<string>>> = {
  messages: ["claude-sonnet-4-5:il5", "claude-haiku-4-5:il2", "claude-opus-4-7:fedramp-high"],
  chat: ["gpt-5.1:il5", "gemini-3-flash:il2", "claude-sonnet-4-5:il4", "gpt-oss-120b:itar", "gpt-5.6-terra:il5"],
  responses: ["gpt-5.1:il5", "gpt-5.1:fedramp-high"]
}
const paths: Readonly<Record<Api, string>> = {
  messages: "/v1/messages",
  chat: "/v1/chat/completions",
  responses: "/v1/responses"
}

export const pick = <A>(from: ReadonlyArray<A>): A => from[Math.floor(Math.random() * from.length)] as A
export const between = (least: number, most: number) => least + Math.floor(Math.random() * (most - least + 1))

export const bodyOf = (api: Api, text: string, stream: boolean): string => {
  const common = { model: pick(models[api]), stream }
  const messages = [{ role: "user", content: text }]
  if (api === "messages") return JSON.stringify({ ...common, max_tokens: 8000, messages })
  if (api === "responses") return JSON.stringify({ ...common, max_output_tokens: 8000, input: text })
  return JSON.stringify({ ...common, max_tokens: 8000, reasoning_effort: "none", messages })
}

/** The words that `[sandbox: events=N]` asks for. */
const letters = (n: number): string =>
  (n < 26 ? "" : letters(Math.floor(n / 26) - 1)) + String.fromCharCode(97 + (n % 26))
const wordsOf = (count: number): string => Array.from({ length: count }, (_, n) => `word${letters(n)} `).join("")

/** The text of a stream, and how many terminal events and errors it holds. */
const readStream = (api: Api, stream: string) => {
  let text = ""
  let terminals = 0
  let errors = 0
  for (const [, data = ""] of stream.matchAll(/^data: (.*)$/gm)) {
    const event = data === "[DONE]" ? { type: "message_stop" } : JSON.parse(data)
    if (event.error !== undefined || event.type === "error" || event.type === "response.failed") errors++
    else if (/^(message_stop|response\.(completed|incomplete))$/.test(event.type)) terminals++
    else if (api === "chat") text += event.choices?.[0]?.delta?.content ?? ""
    else if (api === "responses") text += event.type === "response.output_text.delta" ? event.delta : ""
    else text += event.delta?.type === "text_delta" ? event.delta.text : ""
  }
  return { text, terminals, errors }
}

const readWhole = (api: Api, json: ReturnType<typeof JSON.parse>): string => {
  if (api === "chat") return json.choices[0].message.content
  const parts =
    api === "messages" ? json.content : json.output.flatMap((item: { content?: object[] }) => item.content ?? [])
  return parts.map((part: { text?: string }) => part.text ?? "").join("")
}

const isError = (text: string): boolean => {
  try {
    return typeof JSON.parse(text).error?.message === "string"
  } catch {
    return false
  }
}

/** How a request ended, as its caller saw it. */
export type Way = "answered" | "refused" | "broken off" | "left"

export interface Ask {
  readonly words: number
  readonly streamed: boolean
  /** What goes wrong in the cloud, as the sandbox's directive names it. */
  readonly fault?: string
  /** The caller leaves before an answer, or in the middle of a stream. */
  readonly leaves?: "early" | "midway"
  /** Milliseconds that the caller waits after each piece. */
  readonly pause?: number
}

/** Reads some pieces, for a second and a half at most. */
const leaveMidway = (response: IncomingMessage) => {
  let left = between(1, 30)
  const timer = setTimeout(() => response.destroy(), between(50, 1_500))
  return new Promise<void>((resolve) => {
    response.on("data", () => left-- === 0 && response.destroy()).on("error", () => undefined)
    response.once("close", () => {
      clearTimeout(timer)
      resolve()
    })
  })
}

export interface Options {
  readonly directory: string
  readonly env?: Readonly<Record<string, string>>
  readonly flags?: ReadonlyArray<string>
  /** Whether something that the gateway needs fails: requests that meet no fault may get 503, and errors may be logged. */
  readonly outage: boolean
}

export const startSandbox = async ({ directory, env, flags = [], outage }: Options) => {
  const gateway = await startGateway({
    name: "sandboxed",
    directory,
    flags,
    env: {
      GATEWAY_SANDBOX_PACE: "1 millis",
      GATEWAY_LOG_LEVEL: "error",
      GATEWAY_LOG_FORMAT: "json",
      GATEWAY_HEARTBEAT: "1 second",
      ...env
    }
  })
  const problems = counter()
  const ways = counter()
  const seen = new Map<string, { readonly way: Way; readonly status: number | undefined }>()
  /** Requests without an answer's ID, which may have a record. */
  let unanswered = 0

  const note = ({ headers, statusCode: status }: IncomingMessage, way: Way): Way => {
    const id = String(headers["x-request-id"])
    if (seen.has(id)) problems.add("two answers have one ID")
    seen.set(id, { way, status })
    ways.add(way)
    return way
  }

  /** Asks for text and checks what comes. */
  const generate = async (agent: Agent, ask: Ask, key?: string): Promise<Way | undefined> => {
    const { fault, leaves, streamed, words } = ask
    const api = pick(apis)
    const directive = leaves === "early" ? "delay=10s" : fault
    const text = `[sandbox: events=${words}]${directive === undefined ? "" : ` [sandbox: ${directive}]`}`
    const sent = agent.open(paths[api], bodyOf(api, text, streamed), key)
    if (leaves === "early") {
      unanswered++
      sent.response.catch(() => undefined)
      await sleep(between(0, 200))
      sent.request.destroy()
      return undefined
    }
    const response = await sent.response
    const status = response.statusCode
    if (leaves === "midway" && status === 200) {
      await leaveMidway(response)
      return note(response, "left")
    }
    const body = await textOf(response, ask.pause)
    const wrong = (what: string) =>
      problems.add(`${api}, ${streamed ? "streamed" : "whole"}, ${fault ?? "no fault"}: ${what}`)
    if (status !== 200) {
      const waits = response.headers["retry-after"] !== undefined
      const expected = fault !== undefined || (outage && status === 503)
      if (!isError(body) || !expected || ((status === 429 || status === 503) && !waits)) {
        wrong(`${status}: ${body.slice(0, 150)}`)
      }
      note(response, "refused")
      // Comes back a little later, so that refusals are not most of the load.
      if (status === 503) await sleep(50)
      return "refused"
    }
    const read = streamed ? readStream(api, body) : { text: readWhole(api, JSON.parse(body)), terminals: 1, errors: 0 }
    if (read.terminals + read.errors !== 1) wrong(`${read.terminals} ends and ${read.errors} errors`)
    if (read.errors > 0) {
      if (fault === undefined) wrong(`an error: ${body.slice(-150)}`)
      return note(response, "broken off")
    }
    if (read.text !== wordsOf(words)) wrong("a success that is not whole")
    if (streamed && fault !== undefined && /^(status|cut|garbage|exception|stall|html|redirect)/.test(fault)) {
      wrong("a success")
    }
    return note(response, "answered")
  }

  /** Sends a body, for an answer of this status that leaves a record. */
  const expect = async (agent: Agent, status: number, path: string, body: string, key?: string): Promise<string> => {
    const response = await agent.open(path, body, key).response
    const text = await textOf(response)
    note(response, response.statusCode === 200 ? "answered" : "refused")
    if (response.statusCode !== status)
      problems.add(`${path}: ${response.statusCode} and not ${status}: ${text.slice(0, 200)}`)
    return text
  }

  /** So many callers for so long, with a connection each. */
  const during = async (callers: number, ms: number, one: (agent: Agent) => Promise<unknown>): Promise<void> => {
    const until = Date.now() + ms
    const caller = async () => {
      const agent = openAgent(gateway.port, "sandbox-key", 1)
      while (Date.now() < until) {
        await one(agent).catch((error) => problems.add(`a caller failed: ${error.code ?? error}`))
      }
      agent.close()
    }
    await Promise.all(Array.from({ length: callers }, caller))
  }

  /** Once the gateway has ended: each answer has one record, which agrees with it. Answers how many there are of each outcome. */
  const checkRecords = async (): Promise<ReadonlyMap<string, number>> => {
    const outcomes = counter()
    const recorded = new Set<string>()
    let others = 0
    const input = createReadStream(join(directory, "sandboxed-usage.jsonl"))
    for await (const line of createInterface({ input })) {
      const { outcome, request_id, status } = JSON.parse(line)
      outcomes.add(outcome)
      if (recorded.has(request_id)) problems.add("a request has two records")
      recorded.add(request_id)
      const request = seen.get(request_id)
      if (request === undefined) others++
      else if (request.way !== "left") {
        if (request.status !== status) problems.add(`${request.status} was recorded as ${status}`)
        if ((outcome === "ok") !== (request.way === "answered")) {
          problems.add(`${request.way} was recorded as ${outcome}`)
        }
      }
    }
    for (const id of seen.keys()) if (!recorded.has(id)) problems.add("a request has no record")
    if (others > unanswered) problems.add(`${others} records of ${unanswered} requests that left before an answer`)
    if (gateway.child.exitCode !== 0) problems.add(`SIGTERM gave ${gateway.child.exitCode}`)
    // What is no log line counts, too. (The banner is on standard output.)
    const logged = readFileSync(join(directory, "sandboxed.errors"), "utf8").split("\n")
    for (const line of outage ? [] : logged) {
      if (line === "" || /^\{.*"level":"(?!error|fatal)/.test(line)) continue
      problems.add(`logged: ${line.replace(/"(timestamp|request_id)":"[^"]*",?/g, "").slice(0, 300)}`)
    }
    return outcomes.counts
  }

  return { ...gateway, problems, ways, seen, generate, expect, during, checkRecords }
}
