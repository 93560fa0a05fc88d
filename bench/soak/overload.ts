/** L3: three times as many requests as may be in flight. */
import { end } from "../processes.ts"
import { atMost, gatewayAt, messagesBody, nothing, type Scenario, startCloud, startLoad } from "./programme.ts"
import type { RequestsJob } from "./requests.ts"

/** Requests at once, and milliseconds that the cloud takes for each: 320 a second can be served. */
const inFlight = 64
const delay = 200
const served = (inFlight * 1000) / delay

export const overload: Scenario = {
  name: "L3",
  title: "three times more than it serves",
  full: 60,
  short: 15,
  run: async ({ directory, seconds }) => {
    const cloud = await startCloud({ events: 1, every: 0, delay })
    const load = await startLoad()
    const gateway = await gatewayAt(directory, cloud.port, { GATEWAY_MAX_IN_FLIGHT: String(inFlight) })
    const job = (rate: number, lasts: number): RequestsJob => ({
      kind: "requests",
      ports: [gateway.port],
      headers: { "x-api-key": gateway.key },
      bodies: [messagesBody(false)],
      rate,
      count: Math.round(rate * lasts),
      probe: 0
    })
    await load.run(job(served / 2, 3))
    const unloaded = await load.run(job(served / 4, seconds / 3))
    const loaded = await load.run(job(3 * served, seconds))
    for (const child of [gateway.child, cloud.child, load.child]) await end(child)
    const early = unloaded.refused.count > 0 ? [["refused without need", unloaded.refused.count] as const] : []
    return [
      nothing(
        "each is served, or gets 503 with `retry-after`",
        `${loaded.served.count} served, ${loaded.refused.count} refused`,
        [...unloaded.problems, ...early, ...loaded.problems]
      ),
      atMost("99th percentile of a refusal", loaded.refused.p99, 20, "ms"),
      atMost(
        `99th percentile of what is served, against ${unloaded.served.p99} ms unloaded:`,
        loaded.served.p99 / unloaded.served.p99,
        2,
        "times"
      )
    ]
  }
}
