/** L1 and L2: many streams, and very many in which little happens. */
import { end } from "../processes.ts"
import { memoryOf, streamsWithin } from "../weigh.ts"
import {
  atMost,
  directly,
  gatewayWithKey,
  nothing,
  type Scenario,
  startCloud,
  startLoad,
  throughGateway
} from "./scenario.ts"

const number = (value: number) => value.toLocaleString("en-US")

export const sustained: Scenario = {
  name: "L1",
  title: "1,000 streams of 10 events a second",
  full: 600,
  short: 25,
  run: async (directory, seconds) => {
    const streams = 1_000
    // Streams of half a minute follow one another, so that opening and closing are part of it.
    const events = Math.min(300, 5 * seconds)
    const cloud = await startCloud()
    await cloud.set(events, 100)
    const load = await startLoad()
    const spread = Math.min(10, seconds / 3) * 1000
    const read = (port: number, request: string, until: number) =>
      load.streams({ port, request, streams, events, spread, until: until * 1000 })
    const alone = await read(cloud.port, directly, Math.min(60, seconds / 2))
    const gateway = await gatewayWithKey({ directory, cloud: cloud.port })
    const through = await read(gateway.port, throughGateway(gateway.key), seconds)
    const { peak } = memoryOf(gateway.child.pid)
    await end(gateway.child, cloud.child, load.child)
    const done = `${number(through.late.count)} events of ${through.whole} streams, ${through.open} together`
    const [own, base] = [through.late.p99, alone.late.p99]
    return [
      nothing("nothing lost, doubled or out of order", done, [...through.problems, ...alone.problems]),
      atMost("99th percentile added to an event", own - base, 50, "ms", ` (${own} − ${base})`),
      atMost("memory", peak, 512, "MiB")
    ]
  }
}

export const idle: Scenario = {
  name: "L2",
  title: "10,000 mostly idle streams",
  full: 120,
  short: 20,
  run: async (directory, seconds) => {
    const every = 5_000
    const wanted = 10_000
    const streams = streamsWithin(wanted)
    const spread = wanted / 500
    const events = Math.max(2, Math.ceil(((spread + seconds / 2) * 1000) / every))
    const cloud = await startCloud()
    await cloud.set(events, every)
    const load = await startLoad()
    const { child, key, port } = await gatewayWithKey({ directory, cloud: cloud.port })
    const job = { port, request: throughGateway(key), streams, events, spread: spread * 1000, until: 0 }
    const { open, problems, whole } = await load.streams(job)
    const { peak } = memoryOf(child.pid)
    await end(child, cloud.child, load.child)
    const few = open < streams ? [[`only ${open} of ${streams} were open together`, 1] as const] : []
    return [
      nothing(`${number(streams)} streams together, all whole`, `${open} together, ${whole} whole`, [
        ...problems,
        ...few
      ]),
      // With fewer streams, where a process may open too few files, there is less room for them.
      atMost("memory", peak, Math.floor((1024 * streams) / wanted), "MiB")
    ]
  }
}
