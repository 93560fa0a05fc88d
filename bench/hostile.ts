/**
 * `node bench/hostile.ts --seconds N`: hostile bodies, one a second, beside 200 streams. Every event of the streams is timed, and so
 * is `/health`. Exits with 1 when the 99th percentile of the delay that was added is above 50 ms, when a stream breaks, or when a
 * body gets another answer than it should.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { Agent, request as httpRequest, type IncomingMessage } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import { createKey, startGateway } from "./peers/gateway.ts"
import { ask, start } from "./processes.ts"

const { values } = parseArgs({
  options: { seconds: { type: "string", default: "60" }, streams: { type: "string", default: "200" } }
})
const seconds = Number(values.seconds)
const streams = Number(values.streams)
if (!(seconds > 0) || !(streams > 0)) throw new Error("usage: node bench/hostile.ts [--seconds 60] [--streams 200]")
/** Milliseconds between two events of a stream. */
const every = 100
/** What may be added, in milliseconds. */
const bound = 50

/** The streams come from one cloud and the bodies go to another, each a process of its own. */
const streamed = "claude-sonnet-4-5:il2"
const claude = "claude-sonnet-4-5:il5"
const user = (content: string) => ({ role: "user", content })
const chat = (model: string, messages: ReadonlyArray<object>, more: object = {}) =>
  JSON.stringify({ model, messages, ...more })
const call = (text: string, id = "c") => ({
  role: "assistant",
  content: null,
  tool_calls: [{ id, type: "function", function: { name: "f", arguments: text } }]
})
const result = (content: string, id = "c") => ({ role: "tool", tool_call_id: id, content })
const list = (value: string, count: number) => `[${`${value},`.repeat(count - 1)}${value}]`
const native = (extra: string, content = "hi") =>
  `{"model":"${claude}","max_tokens":5,"messages":[{"role":"user","content":"${content}"}]${extra}}`
const named = (names: ReadonlyArray<string>) =>
  chat(claude, [user("a")], {
    tools: [
      {
        type: "function",
        function: { name: "f", parameters: { properties: Object.fromEntries(names.map((n) => [n, {}])) } }
      }
    ]
  })
const numbers = `{${Array.from({ length: 149_000 }, (_, n) => `"k${n}":1e5`).join(",")}}`
const marks = "\u0300\u0316\u0345\u0327"

/** Each with what must come of it. */
const bodies: ReadonlyArray<readonly [name: string, status: number, path: string, body: string]> = [
  [
    "19 MiB of call arguments",
    400,
    "chat/completions",
    chat(claude, [call(`{"a":${list("{}", 6_500_000)}}`), result("r"), user("b")])
  ],
  [
    "9 tool results of numbers",
    200,
    "chat/completions",
    chat("gemini-3-flash:il2", [
      user("a"),
      ...Array.from({ length: 9 }, (_, n) => [call("{}", `c${n}`), result(numbers, `c${n}`)]).flat(),
      user("b")
    ])
  ],
  ["a name of 64,000 marks", 400, "chat/completions", named([`a${marks}`.repeat(16_000)])],
  [
    "18,000 names of marks",
    200,
    "chat/completions",
    named(Array.from({ length: 18_000 }, (_, n) => `${n}${marks.repeat(30)}`.slice(0, 128)))
  ],
  ["140,000 long integers", 200, "messages", native(`,"x":${list("12345678901234567890", 140_000)}`)],
  ["140,000 exponents", 200, "messages", native(`,"x":${list("1e5", 140_000)}`)],
  ["20 MiB of lone surrogates", 200, "messages", native("", "\\ud800".repeat(3_400_000))],
  ["74,000 fields", 400, "messages", native(Array.from({ length: 74_000 }, (_, n) => `,"k${n}":1`).join(""))],
  ["15 MiB of escapes", 200, "messages", native("", "\\n".repeat(7_800_000))],
  ["20 MiB of text", 200, "messages", native("", "lorem ipsum ".repeat(1_700_000))]
]

/** Printed before anything is timed. */
const prepared = bodies.map(([name, status, path, body]) => [name, status, path, Buffer.from(body)] as const)

const directory = mkdtempSync(join(tmpdir(), "gateway-hostile-"))
process.on("exit", () => rmSync(directory, { recursive: true, force: true }))
const key = createKey(directory)
const upstream = await start<{ readonly port: number }>("upstream.ts")
await ask(upstream.child, { events: Math.ceil((1.5 * seconds + 60) * (1000 / every)), delay: 0, burst: 1, every })
const other = await start<{ readonly port: number }>("upstream.ts")
const { port } = await startGateway("hostile", directory, upstream.hello.port, {
  GATEWAY_SCREEN_MODE: "strict",
  BEDROCK_BASE_URL: `http://127.0.0.1:${other.hello.port}`
})

const open = (method: "GET" | "POST", path: string, body: string | Buffer, agent?: Agent): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const headers = { "x-api-key": key, "content-type": "application/json" }
    const request = httpRequest({
      host: "127.0.0.1",
      port,
      method,
      path,
      headers,
      ...(agent === undefined ? {} : { agent })
    })
    request.once("response", resolve).once("error", reject).end(body)
  })

let broken = 0
let watching = false
const gaps: Array<number> = []
const stream = async () => {
  const body = JSON.stringify({ model: streamed, max_tokens: 4096, stream: true, messages: [user("hi")] })
  const response = await open("POST", "/v1/messages", body)
  if (response.statusCode !== 200) broken++
  let last = performance.now()
  response.on("data", () => {
    const now = performance.now()
    if (watching) gaps.push(now - last - every)
    last = now
  })
  response.on("error", () => broken++).on("end", () => broken++)
}
await Promise.all(Array.from({ length: streams }, stream))

const health: Array<number> = []
const agent = new Agent({ keepAlive: true })
const ping = async () => {
  while (watching) {
    const began = performance.now()
    const response = await open("GET", "/health", "", agent)
    for await (const _ of response);
    health.push(performance.now() - began)
    await sleep(5)
  }
}

const quantile = (sorted: ReadonlyArray<number>, part: number) => sorted[Math.floor(sorted.length * part)] ?? 0
const measure = async (name: string, run: () => Promise<void>) => {
  gaps.length = 0
  health.length = 0
  watching = true
  const pinging = ping()
  await run()
  watching = false
  await pinging
  const of = (list: ReadonlyArray<number>) => {
    const sorted = [...list].sort((one, other) => one - other)
    return [quantile(sorted, 0.5), quantile(sorted, 0.99), sorted.at(-1) ?? 0]
  }
  const [event, asked] = [of(gaps), of(health)]
  const cells = [...event, ...asked].map((value) => value.toFixed(1)).join(" | ")
  console.log(`| ${name} | ${gaps.length} | ${cells} |`)
  return event[1] ?? 0
}

const problems: Array<string> = []
console.log("| Beside the streams | Events | added p50 ms | p99 | max | health p50 ms | p99 | max |")
console.log("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
const alone = await measure("nothing", () => sleep(Math.min(5_000, seconds * 500)))
const beside = await measure("hostile bodies", async () => {
  const until = Date.now() + seconds * 1000
  for (let n = 0; Date.now() < until; n++) {
    const [name, status, path, body] = prepared[n % prepared.length] as (typeof prepared)[number]
    const next = sleep(1000)
    const response = await open("POST", `/v1/${path}`, body)
    let text = ""
    for await (const piece of response.setEncoding("utf8")) text += piece
    if (response.statusCode !== status)
      problems.push(`${name}: ${response.statusCode} instead of ${status}: ${text.slice(0, 200)}`)
    await next
  }
})
if (broken > 0) problems.push(`${broken} streams broke`)
if (beside - alone > bound) problems.push(`the 99th percentile grew by ${(beside - alone).toFixed(1)} ms`)
for (const problem of problems) console.error(problem)
process.exit(problems.length === 0 ? 0 : 1)
