/** L4: hostile bodies, one a second, beside 200 streams. */
import { setTimeout as sleep } from "node:timers/promises"
import { end, start } from "../processes.ts"
import { memoryOf } from "../weigh.ts"
import { hostileBodies } from "./hostileBodies.ts"
import { openAgent } from "./http.ts"
import { atMost, gatewayWithKey, nothing, type Scenario, startCloud, startLoad, throughGateway } from "./scenario.ts"
import { counter, makeTimes } from "./tally.ts"

const streams = 200
/** Milliseconds between two events of a stream. */
const every = 100

export const hostile: Scenario = {
  name: "L4",
  title: "hostile bodies once a second beside 200 streams",
  full: 60,
  short: 20,
  run: async (directory, seconds) => {
    const bodies = hostileBodies.map(([name, status, path, body]) => [name, status, path, Buffer.from(body)] as const)
    const cloud = await startCloud()
    // The bodies go to a cloud of their own.
    const other = await start("cloud.ts")
    const load = await startLoad()
    const env = { GATEWAY_SCREEN_MODE: "strict", BEDROCK_BASE_URL: `http://127.0.0.1:${other.port}` }
    const { child, key, port } = await gatewayWithKey({ directory, cloud: cloud.port, env })
    const agent = openAgent(port, key)
    const problems = counter()
    const failed: Array<readonly [string, number]> = []

    /** Streams for so long, and beside them requests of `/health` and what `beside` does until they end. */
    const during = async (lasts: number, beside: (over: () => boolean) => Promise<void>) => {
      const events = Math.round((lasts * 1000) / every)
      await cloud.set(events, every)
      let over = false
      const health = makeTimes()
      const ping = async () => {
        while (!over) {
          const began = performance.now()
          await agent.get("/health")
          health.add(performance.now() - began)
          await sleep(10)
        }
      }
      const job = { port, request: throughGateway(key), streams, events, spread: 1_000, until: 0 }
      const reading = load.streams(job).finally(() => {
        over = true
      })
      const [read] = await Promise.all([reading, ping(), beside(() => over)])
      failed.push(...read.problems)
      return { event: read.late.p99, health: health.summary().p99 }
    }

    let sent = 0
    const send = async () => {
      const [name, status, path, body] = bodies[sent++ % bodies.length] as (typeof bodies)[number]
      const reply = await agent.post(`/v1/${path}`, body)
      if (reply.status !== status) problems.add(`${name}: ${reply.status}: ${reply.text.slice(0, 100)}`)
    }
    const alone = await during(Math.max(3, seconds / 3), async () => {})
    const beside = await during(seconds, async (over) => {
      while (!over()) await Promise.all([send(), sleep(1000)])
    })
    agent.close()
    const { peak } = memoryOf(child.pid)
    await end(child, cloud.child, other.child, load.child)
    const [event, health] = [
      `(${beside.event} − ${alone.event})`,
      `(alone ${alone.health}; resident ${Math.round(peak)} MiB)`
    ]
    return [
      nothing("each body gets its answer, each stream is whole", `${sent} bodies`, [...failed, ...problems.counts]),
      atMost("99th percentile added to an event", beside.event - alone.event, 50, "ms", ` ${event}`),
      atMost("99th percentile of `/health`", beside.health, 50, "ms", ` ${health}`)
    ]
  }
}
