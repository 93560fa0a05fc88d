/** L4: hostile bodies, one a second, beside 200 streams. */
import { Agent, request as httpRequest } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import { end, start } from "../processes.ts"
import { weigh } from "../weigh.ts"
import { hostileBodies } from "./hostileBodies.ts"
import { atMost, gatewayAt, nothing, type Scenario, startCloud, startLoad, throughGateway } from "./programme.ts"
import { Times } from "./times.ts"

const streams = 200
/** Milliseconds between two events of a stream. */
const every = 100

const fetchFrom = (agent: Agent, port: number, key: string, path: string, body: Buffer | undefined) =>
  new Promise<{ readonly status: number | undefined; readonly text: string }>((resolve, reject) => {
    const headers = { "x-api-key": key, "content-type": "application/json" }
    httpRequest({ host: "127.0.0.1", port, method: body === undefined ? "GET" : "POST", path, headers, agent })
      .once("response", (response) => {
        let text = ""
        response.setEncoding("utf8").on("data", (piece) => {
          text += piece
        })
        response.once("end", () => resolve({ status: response.statusCode, text })).once("error", reject)
      })
      .once("error", reject)
      .end(body)
  })

export const hostile: Scenario = {
  name: "L4",
  title: "hostile bodies once a second beside 200 streams",
  full: 60,
  short: 20,
  run: async ({ directory, seconds }) => {
    const bodies = hostileBodies.map(([name, status, path, body]) => [name, status, path, Buffer.from(body)] as const)
    const cloud = await startCloud({ events: 0, every, delay: 0 })
    // The bodies go to a cloud of their own, which speaks every protocol.
    const other = await start<{ readonly port: number }>("upstream.ts")
    const load = await startLoad()
    const { child, key, port } = await gatewayAt(directory, cloud.port, {
      GATEWAY_SCREEN_MODE: "strict",
      BEDROCK_BASE_URL: `http://127.0.0.1:${other.hello.port}`
    })
    const agent = new Agent({ keepAlive: true })
    const problems: Array<readonly [string, number]> = []

    /** Streams for so long, and beside them what `beside` does until they end. */
    const during = async (lasts: number, beside: (over: () => boolean) => Promise<void>) => {
      const events = Math.round((lasts * 1000) / every)
      await cloud.set({ events, every, delay: 0 })
      let over = false
      const asked = new Times()
      const ping = async () => {
        while (!over) {
          const began = performance.now()
          await fetchFrom(agent, port, key, "/health", undefined)
          asked.add(performance.now() - began)
          await sleep(10)
        }
      }
      const job = { port, request: throughGateway(key), streams, events, spread: 1_000, until: 0 }
      const reading = load.run({ kind: "streams", ...job }).finally(() => {
        over = true
      })
      const [read] = await Promise.all([reading, ping(), beside(() => over)])
      problems.push(...read.problems)
      return { late: read.late, asked: asked.summary() }
    }

    const send = async (n: number) => {
      const [name, status, path, body] = bodies[n % bodies.length] as (typeof bodies)[number]
      const reply = await fetchFrom(agent, port, key, `/v1/${path}`, body)
      if (reply.status !== status) problems.push([`${name}: ${reply.status}: ${reply.text.slice(0, 100)}`, 1])
    }
    let sent = 0
    const alone = await during(Math.max(3, seconds / 3), async () => {})
    const beside = await during(seconds, async (over) => {
      while (!over()) await Promise.all([send(sent++), sleep(1000)])
    })
    agent.destroy()
    const { peak } = weigh(child.pid)
    for (const one of [child, cloud.child, other.child, load.child]) await end(one)
    const event = atMost("99th percentile added to an event", beside.late.p99 - alone.late.p99, 50, "ms")
    const health = atMost("99th percentile of `/health`", beside.asked.p99, 50, "ms")
    return [
      nothing("each body gets the answer it should, each stream is whole", `${sent} bodies`, problems),
      { ...event, measured: `${event.measured} (${beside.late.p99} − ${alone.late.p99})` },
      { ...health, measured: `${health.measured} (alone ${alone.asked.p99}; resident at most ${Math.round(peak)} MiB)` }
    ]
  }
}
