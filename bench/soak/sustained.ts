/** L1: a thousand streams for long. */
import { end } from "../processes.ts"
import { weigh } from "../weigh.ts"
import {
  atMost,
  directly,
  gatewayAt,
  nothing,
  type Scenario,
  startCloud,
  startLoad,
  throughGateway
} from "./programme.ts"
import type { StreamsJob } from "./streams.ts"

const streams = 1000
/** Milliseconds between two events of a stream. */
const every = 100

export const sustained: Scenario = {
  name: "L1",
  title: "1,000 streams of 10 events a second",
  full: 600,
  short: 25,
  run: async ({ directory, seconds }) => {
    // Streams of half a minute follow one another, so that opening and closing are part of it.
    const events = Math.min(300, 5 * seconds)
    const cloud = await startCloud({ events, every, delay: 0 })
    const load = await startLoad()
    const job = (port: number, request: string, until: number): StreamsJob => ({
      kind: "streams",
      port,
      request,
      streams,
      events,
      spread: Math.min(10, seconds / 3) * 1000,
      until: until * 1000
    })
    const alone = await load.run(job(cloud.port, directly, Math.min(60, seconds / 2)))
    const gateway = await gatewayAt(directory, cloud.port)
    const through = await load.run(job(gateway.port, throughGateway(gateway.key), seconds))
    const { peak } = weigh(gateway.child.pid)
    for (const child of [gateway.child, cloud.child, load.child]) await end(child)
    const done = `${through.late.count.toLocaleString("en-US")} events of ${through.whole} streams, ${through.open} at once`
    const added = through.late.p99 - alone.late.p99
    const compared = atMost("99th percentile added to an event", added, 50, "ms")
    return [
      nothing("nothing lost, doubled or out of order", done, [...through.problems, ...alone.problems]),
      { ...compared, measured: `${compared.measured} (${through.late.p99} − ${alone.late.p99})` },
      atMost("memory", peak, 512, "MiB")
    ]
  }
}
