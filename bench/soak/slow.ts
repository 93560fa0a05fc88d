/** L6: readers who take one byte a second of a cloud that sends as fast as it can. */
import { setTimeout as sleep } from "node:timers/promises"
import { end } from "../processes.ts"
import { memoryOf } from "../weigh.ts"
import {
  atMost,
  gatewayWithKey,
  measurable,
  mibInUse,
  nothing,
  type Scenario,
  startCloud,
  startLoad,
  throughGateway
} from "./scenario.ts"

const readers = 200
/** Characters of an event: a slow reader's stream of 40 MiB is far more than the sockets on its way can hold. */
const text = 4_000

export const slow: Scenario = {
  name: "L6",
  title: "200 readers of one byte a second",
  full: 120,
  short: 20,
  run: async (directory, seconds) => {
    const cloud = await startCloud()
    await cloud.set(200, 0, { text })
    const load = await startLoad()
    const { child, key, port } = await gatewayWithKey({ directory, cloud: cloud.port, flags: measurable })
    const request = throughGateway(key)
    // As many quick readers come first, so that what slowness takes is counted.
    const quick = await load.streams({ port, request, streams: readers, events: 200, spread: 2_000, until: 3_000 })
    const before = await mibInUse(child)
    await cloud.set(10_000, 0, { text })
    const reading = load.slowReaders({ port, request, readers, lasts: (seconds + 1) * 1000 })
    await sleep(seconds * 1000)
    const held = (await mibInUse(child)) - before
    const { open, taken } = await reading
    const { peak } = memoryOf(child.pid)
    await end(child, load.child, cloud.child)
    const closed = open < readers ? [["streams ended", readers - open] as const] : []
    const done = `${open} of ${readers} streams open, ${taken} bytes taken`
    return [
      nothing("no stream is ended", done, [...quick.problems, ...closed]),
      atMost("memory held for them", held, 64, "MiB", ` (resident at most ${Math.round(peak)} MiB)`)
    ]
  }
}
