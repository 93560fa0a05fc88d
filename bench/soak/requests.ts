/**
 * Requests at a fixed rate, whether or not earlier ones have been answered, to one gateway or to several in turn. Of several, one
 * whose `/health` is not 200 gets none, as behind a load balancer.
 */
import { Agent, request as httpRequest, type IncomingMessage } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import { type Summary, Times } from "./times.ts"

export interface RequestsJob {
  readonly kind: "requests"
  readonly ports: ReadonlyArray<number>
  readonly headers: Readonly<Record<string, string>>
  /** Sent in turn to `/v1/messages`. */
  readonly bodies: ReadonlyArray<string>
  /** Requests a second, and how many in all. */
  readonly rate: number
  readonly count: number
  /** Milliseconds between two looks at `/health`; 0 is never. */
  readonly probe: number
}

export interface RequestsResult {
  /** Whole answers: milliseconds to the last byte. */
  readonly served: Summary
  /** 503 with `retry-after`. */
  readonly refused: Summary
  readonly problems: ReadonlyArray<readonly [what: string, times: number]>
}

const textOf = async (response: IncomingMessage) => {
  let text = ""
  for await (const piece of response.setEncoding("utf8")) text += piece
  return text
}

export const sendRequests = async (job: RequestsJob): Promise<RequestsResult> => {
  const served = new Times()
  const refused = new Times()
  const problems = new Map<string, number>()
  const wrong = (what: string) => void problems.set(what, (problems.get(what) ?? 0) + 1)
  const agent = new Agent({ keepAlive: true })
  const up = new Set(job.ports)
  let over = false

  const send = (port: number, method: "GET" | "POST", path: string, body: string, timeout = 30_000) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const headers = { "content-type": "application/json", ...job.headers }
      httpRequest({ host: "127.0.0.1", port, method, path, headers, agent, timeout })
        .once("response", resolve)
        .once("error", reject)
        .once("timeout", () => reject(new Error(`silent for ${timeout} ms`)))
        .end(body)
    })

  const watch = async (port: number) => {
    while (!over) {
      const healthy = await send(port, "GET", "/health", "", 1_000).then(
        (response) => textOf(response).then(() => response.statusCode === 200),
        () => false
      )
      if (healthy) up.add(port)
      else up.delete(port)
      await sleep(job.probe)
    }
  }

  let turn = 0
  const nextPort = (): number => {
    const ports = job.ports.filter((port) => up.has(port))
    // When all seem down balancers try them all; a busy machine may only be late with the answer.
    const among = ports.length === 0 ? job.ports : ports
    return among[turn++ % among.length] ?? 0
  }
  const one = async (n: number) => {
    const body = job.bodies[n % job.bodies.length] ?? ""
    const port = nextPort()
    const began = performance.now()
    const response = await send(port, "POST", "/v1/messages", body)
    const text = await textOf(response)
    const ms = performance.now() - began
    const whole = text.includes(body.includes('"stream":true') ? '"message_stop"' : '"end_turn"')
    if (response.statusCode === 200 && whole) served.add(ms)
    else if (response.statusCode === 503 && Number(response.headers["retry-after"]) > 0) refused.add(ms)
    else wrong(`${response.statusCode}: ${text.slice(-200)}`)
  }

  const watching = job.probe > 0 ? job.ports.map(watch) : []
  const running: Array<Promise<void>> = []
  const began = performance.now()
  for (let n = 0; n < job.count; ) {
    const due = Math.min(job.count, ((performance.now() - began) * job.rate) / 1000)
    for (; n < due; n++) running.push(one(n).catch((error) => wrong(String(error.code ?? error.message))))
    await sleep(1)
  }
  await Promise.all(running)
  over = true
  await Promise.all(watching)
  agent.destroy()
  return { served: served.summary(), refused: refused.summary(), problems: [...problems] }
}
