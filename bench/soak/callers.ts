/** What the soak's callers do: each kind of request, with what must come of it. */
import { type Agent, type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"

export interface Tally {
  /** Requests that leave a usage record and got an answer, by the answer's ID. */
  readonly answered: (id: string) => void
  /** One that left before its answer: whether it leaves a record is the network's secret. */
  readonly unanswered: () => void
  readonly wrong: (what: string) => void
}

export interface Place {
  readonly port: number
  readonly agent: Agent
  readonly tally: Tally
}

export type Api = "messages" | "chat" | "responses"
export const apis: ReadonlyArray<Api> = ["messages", "chat", "responses"]
const models: Readonly<Record<Api, ReadonlyArray<string>>> = {
  messages: ["claude-sonnet-4-5:il5", "claude-haiku-4-5:il2", "claude-opus-4-7:fedramp-high"],
  chat: ["gpt-5.1:il5", "gemini-3-flash:il2", "claude-sonnet-4-5:il4", "gpt-oss-120b:itar", "gpt-5.6-terra:il5"],
  responses: ["gpt-5.1:il5", "gpt-5.1:fedramp-high"]
}
export const paths: Readonly<Record<Api, string>> = {
  messages: "/v1/messages",
  chat: "/v1/chat/completions",
  responses: "/v1/responses"
}

export const pick = <A>(from: ReadonlyArray<A>): A => from[Math.floor(Math.random() * from.length)] as A
const between = (least: number, most: number) => least + Math.floor(Math.random() * (most - least + 1))

export const bodyOf = (api: Api, text: string, stream: boolean): object => {
  const model = pick(models[api])
  if (api === "messages") return { model, max_tokens: 8000, stream, messages: [{ role: "user", content: text }] }
  if (api === "responses") return { model, max_output_tokens: 8000, stream, input: text }
  return { model, max_tokens: 8000, stream, reasoning_effort: "none", messages: [{ role: "user", content: text }] }
}

export const send = (place: Place, path: string, body: object | string, key = "sandbox-key"): ClientRequest => {
  const request = httpRequest({
    host: "127.0.0.1",
    port: place.port,
    agent: place.agent,
    method: "POST",
    path,
    headers: { "x-api-key": key, "content-type": "application/json" }
  })
  request.end(typeof body === "string" ? body : JSON.stringify(body))
  return request
}

const headOf = (request: ClientRequest): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    request.once("response", resolve)
    request.once("error", reject)
  })

const answered = async (place: Place, request: ClientRequest): Promise<IncomingMessage> => {
  const response = await headOf(request)
  place.tally.answered(String(response.headers["x-request-id"]))
  return response
}

export const textOf = async (response: IncomingMessage, pause = 0): Promise<string> => {
  let text = ""
  response.setEncoding("utf8")
  for await (const piece of response) {
    text += piece
    if (pause > 0) await sleep(pause)
  }
  return text
}

/** The words that `[sandbox: events=N]` says, in order. */
const letters = (n: number): string =>
  (n < 26 ? "" : letters(Math.floor(n / 26) - 1)) + String.fromCharCode(97 + (n % 26))
export const wordsOf = (count: number): string => Array.from({ length: count }, (_, n) => `word${letters(n)} `).join("")

/** The text in a whole stream, and whether its terminal event or an error ended it. */
export const readStream = (api: Api, text: string) => {
  let said = ""
  let end: "terminal" | "error" | "nothing" = "nothing"
  for (const block of text.split("\n\n")) {
    const data = /^data: (.*)$/m.exec(block)?.[1]
    if (data === undefined) continue
    if (data === "[DONE]") {
      end = "terminal"
      continue
    }
    const event = JSON.parse(data)
    if (event.error !== undefined || event.type === "error" || event.type === "response.failed") end = "error"
    else if (event.type === "message_stop" || /^response\.(completed|incomplete)$/.test(event.type)) end = "terminal"
    if (api === "messages" && event.delta?.type === "text_delta") said += event.delta.text
    else if (api === "responses" && event.type === "response.output_text.delta") said += event.delta
    else if (api === "chat") said += event.choices?.[0]?.delta?.content ?? ""
  }
  return { said, end }
}

const marks: Readonly<Record<Api, readonly [end: RegExp, error: RegExp]>> = {
  messages: [/^event: message_stop$/gm, /^event: error$/gm],
  chat: [/^data: \[DONE\]$/gm, /^data: \{"error":/gm],
  responses: [/^event: response\.(completed|incomplete)$/gm, /^event: (error|response\.failed)$/gm]
}
/** How many terminal events and how many errors a whole stream holds. */
export const endsOf = (api: Api, text: string) => {
  const [terminals = 0, errors = 0] = marks[api].map((mark) => text.match(mark)?.length ?? 0)
  return { terminals, errors }
}

export const wholeText = (api: Api, json: ReturnType<typeof JSON.parse>): string => {
  if (api === "chat") return json.choices[0].message.content
  const parts =
    api === "messages" ? json.content : json.output.flatMap((item: { content?: object[] }) => item.content ?? [])
  return parts.map((part: { text?: string }) => part.text ?? "").join("")
}

/** Every word arrives, once, in order; a slow reader's too. */
const stream = async (place: Place, most: number, pause: number) => {
  const api = pick(apis)
  const count = between(1, most)
  const response = await answered(place, send(place, paths[api], bodyOf(api, `[sandbox: events=${count}]`, true)))
  const { said, end } = readStream(api, await textOf(response, pause))
  if (said !== wordsOf(count) || end !== "terminal") {
    place.tally.wrong(`${api}: a stream of ${count} words came as ${said.split(" ").length - 1}, ended by ${end}`)
  }
}

const whole = async (place: Place) => {
  const api = pick(apis)
  const count = between(1, 300)
  const response = await answered(place, send(place, paths[api], bodyOf(api, `[sandbox: events=${count}]`, false)))
  if (wholeText(api, JSON.parse(await textOf(response))) !== wordsOf(count))
    place.tally.wrong(`${api}: a reply is not whole`)
}

const expect = async (place: Place, request: ClientRequest, status: number) => {
  const response = await answered(place, request)
  const text = await textOf(response)
  if (response.statusCode !== status)
    place.tally.wrong(`${response.statusCode} instead of ${status}: ${text.slice(0, 300)}`)
}

/** A fault before the first word is a status; a later one is an error event, and never a terminal one. */
const fault = async (place: Place) => {
  const api = pick(apis)
  const streamed = Math.random() < 0.7
  const [directive, status] = pick<readonly [string, number]>([
    ["status=429 retry-after=1", 429],
    ["status=500", 502],
    ["html", 502],
    ["redirect", 502],
    ["cut after=6", 200],
    ["garbage after=6", 200],
    ["exception=internalServerException after=6", 200],
    ["no-terminal", 200]
  ])
  const text = `[sandbox: events=20] [sandbox: ${directive}]`
  const response = await answered(place, send(place, paths[api], bodyOf(api, text, streamed)))
  const reply = await textOf(response)
  if (response.statusCode === 200) {
    const end = streamed ? readStream(api, reply).end : "nothing"
    // Gemini's streams have no terminal event of their own to leave out, and a whole reply none at all.
    if (end !== "error" && directive !== "no-terminal" && (streamed || status !== 200)) {
      place.tally.wrong(`${api}: ${directive} ended by ${end}: ${reply.slice(-300)}`)
    }
  } else if (![status, 502, 503].includes(response.statusCode ?? 0)) {
    // Enough failures open the cloud's breaker, which answers 503; a fault before the first word keeps its status.
    place.tally.wrong(`${api}: ${directive} gave ${response.statusCode}`)
  }
}

/** Leaves in the middle of a stream. */
const leave = async (place: Place) => {
  const api = pick(apis)
  const request = send(place, paths[api], bodyOf(api, "[sandbox: events=3000]", true))
  const response = await answered(place, request)
  let left = between(1, 30)
  await new Promise<void>((resolve) => {
    response.on("data", () => {
      if (left-- === 0) request.destroy()
    })
    response.on("error", () => {})
    response.once("close", () => resolve())
  })
}

/** Leaves before the first byte. */
const leaveEarly = async (place: Place) => {
  const api = pick(apis)
  const request = send(place, paths[api], bodyOf(api, "[sandbox: delay=10s]", Math.random() < 0.5))
  request.on("error", () => {})
  place.tally.unanswered()
  await new Promise<void>((resolve) => request.once("finish", resolve))
  await sleep(between(0, 200))
  request.destroy()
}

/** A stream that falls silent, until its caller has had enough. */
const stalled = async (place: Place) => {
  const api = pick(apis)
  const request = send(place, paths[api], bodyOf(api, "[sandbox: events=10] [sandbox: stall after=5]", true))
  const response = await answered(place, request)
  response.on("error", () => {})
  response.resume()
  await sleep(between(50, 1500))
  request.destroy()
}

const embeddings = async (place: Place) => {
  const input = Array.from({ length: between(1, 20) }, (_, n) => `text ${n}`)
  const body = { model: "titan-embed-text-v2:il5", input, encoding_format: pick(["float", "base64"]) }
  const response = await answered(place, send(place, "/v1/embeddings", body))
  const { data } = JSON.parse(await textOf(response))
  const order = data?.map(({ index }: { index: number }) => index).join()
  if (order !== input.map((_, n) => n).join()) place.tally.wrong(`embeddings: the order is ${order}`)
}

/** Counting leaves no record. */
const counting = async (place: Place) => {
  const response = await headOf(send(place, "/v1/messages/count_tokens", bodyOf("messages", "count me", false)))
  const { input_tokens } = JSON.parse(await textOf(response))
  if (!(input_tokens > 0)) place.tally.wrong("counting gave no count")
}

const refused = (place: Place) =>
  pick([
    () => expect(place, send(place, "/v1/chat/completions", "{not json"), 400),
    () => expect(place, send(place, "/v1/messages", { model: "claude-sonnet-4-5" }), 400),
    () => expect(place, send(place, "/v1/responses", { model: "gpt-5.1:il5", input: "x", store: true }), 400),
    () => expect(place, send(place, "/v1/embeddings", { model: "titan-embed-text-v2:il5", input: "" }), 400),
    () => expect(place, send(place, "/v1/messages", {}, "no-such-key"), 401),
    () => expect(place, send(place, "/v1/chat/completions", {}, "no-such-key"), 403)
  ])()

/** Kinds of request, with how often each is drawn. */
const mix: ReadonlyArray<readonly [share: number, run: (place: Place) => Promise<void>]> = [
  [30, (place) => stream(place, 300, 0)],
  [4, (place) => stream(place, 3000, 10)],
  [20, whole],
  [8, fault],
  [8, leave],
  [5, leaveEarly],
  [3, stalled],
  [10, embeddings],
  [6, counting],
  [6, refused]
]
const total = mix.reduce((sum, [share]) => sum + share, 0)

/** One request, drawn from the mix. */
export const callOnce = async (place: Place): Promise<void> => {
  let draw = Math.random() * total
  for (const [share, run] of mix) {
    draw -= share
    if (draw < 0) return run(place)
  }
}
