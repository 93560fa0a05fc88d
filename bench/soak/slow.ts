/** L6: readers who take one byte a second of a cloud that sends as fast as it can. */
import { setTimeout as sleep } from "node:timers/promises"
import { end } from "../processes.ts"
import { weigh } from "../weigh.ts"
import {
  atMost,
  gatewayAt,
  liveIn,
  measurable,
  nothing,
  type Scenario,
  startCloud,
  startLoad,
  throughGateway
} from "./programme.ts"

const readers = 200
/** Characters of an event. A slow reader's stream is of 40 MiB: far more than the sockets on its way can hold. */
const text = 4_000
const endless = 10_000
const brief = 200

export const slow: Scenario = {
  name: "L6",
  title: "200 readers of one byte a second",
  full: 120,
  short: 20,
  run: async ({ directory, seconds }) => {
    const cloud = await startCloud({ events: brief, every: 0, delay: 0, text })
    const load = await startLoad()
    const gateway = await gatewayAt(directory, cloud.port, {}, measurable)
    const { port } = gateway
    const request = throughGateway(gateway.key)
    // As many quick readers come first, so that what is counted is what slowness takes.
    const shape = { port, request, streams: readers, events: brief, spread: 2_000, until: 3_000 }
    const quick = await load.run({ kind: "streams", ...shape })
    const before = await liveIn(gateway.child)
    await cloud.set({ events: endless, every: 0, delay: 0, text })
    const reading = load.run({ kind: "slow", port, request, readers, lasts: (seconds + 1) * 1000 })
    await sleep(seconds * 1000)
    const held = (await liveIn(gateway.child)) - before
    const { open, taken } = await reading
    const { peak } = weigh(gateway.child.pid)
    for (const child of [gateway.child, load.child, cloud.child]) await end(child)
    const closed = open < readers ? [["streams ended", readers - open] as const] : []
    const memory = atMost("memory held for them", held / 2 ** 20, 64, "MiB")
    return [
      nothing("all are served on", `${open} of ${readers} streams still open, ${taken} bytes taken`, [
        ...quick.problems,
        ...closed
      ]),
      { ...memory, measured: `${memory.measured} (resident at most: ${Math.round(peak)} MiB)` }
    ]
  }
}
