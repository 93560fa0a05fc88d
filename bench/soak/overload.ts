/** L3: three times as many requests as may be in flight. */
import { end } from "../processes.ts"
import { atMost, gatewayWithKey, messagesBody, nothing, type Scenario, startCloud, startLoad } from "./scenario.ts"

/** Requests in flight, and milliseconds that the cloud takes for each: 320 a second can be served. */
const inFlight = 64
const delay = 200
const served = (inFlight * 1000) / delay

export const overload: Scenario = {
  name: "L3",
  title: "three times more than it serves",
  full: 60,
  short: 15,
  run: async (directory, seconds) => {
    const cloud = await startCloud()
    await cloud.set(1, 0, { delay })
    const load = await startLoad()
    const env = { GATEWAY_MAX_IN_FLIGHT: String(inFlight) }
    const { child, key, port } = await gatewayWithKey({ directory, cloud: cloud.port, env })
    const ask = (rate: number, lasts: number) =>
      load.requests({
        ports: [port],
        key,
        bodies: [messagesBody(false)],
        rate,
        count: Math.round(rate * lasts),
        probe: 0
      })
    await ask(served / 2, 3)
    const unloaded = await ask(served / 4, seconds / 3)
    const loaded = await ask(3 * served, seconds)
    await end(child, cloud.child, load.child)
    const early = unloaded.refused.count > 0 ? [["refused without need", unloaded.refused.count] as const] : []
    const done = `${loaded.served.count} served, ${loaded.refused.count} refused`
    const problems = [...unloaded.problems, ...early, ...loaded.problems]
    const times = loaded.served.p99 / unloaded.served.p99
    return [
      nothing("each is served, or gets 503 with `retry-after`", done, problems),
      atMost("99th percentile of a refusal", loaded.refused.p99, 20, "ms"),
      atMost("99th percentile of what is served, against unloaded", times, 2, "times", ` ${unloaded.served.p99} ms`)
    ]
  }
}
