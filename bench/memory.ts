/**
 * `npm run bench -- --memory`: how soon the gateway answers, and its resident memory when idle, after a load, and with ten thousand
 * open streams; each of a fresh process.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { end, start } from "./processes.ts"
import { median } from "./quantiles.ts"
import { scenarios } from "./scenarios.ts"
import { makeSubjects, type Running, round, startCloud } from "./subjects.ts"
import { atMost, type Line } from "./table.ts"
import { memoryOf, streamsWithin } from "./weigh.ts"

export const measureMemory = async (quick: boolean): Promise<ReadonlyArray<Line>> => {
  const { child: load } = await start("load.ts")
  const cloud = await startCloud()
  const bench = { load, cloud }
  const subjects = makeSubjects(cloud)

  const during = async <A>(use: (gateway: Running) => Promise<A>): Promise<A> => {
    const gateway = await subjects.begin("gateway")
    const result = await use(gateway)
    await end(gateway.child)
    return result
  }

  // The first one creates the key and may fill Node's compile cache.
  await during(async () => {})
  const starts: Array<number> = []
  for (let i = 0; i < (quick ? 1 : 5); i++) {
    const began = performance.now()
    await during(async () => void starts.push(performance.now() - began))
  }

  const idle = await during(async ({ child }) => {
    await sleep(quick ? 500 : 5_000)
    return memoryOf(child.pid).rss
  })

  const every = scenarios.filter(({ name }) => /-(whole|bursts)$/.test(name))
  const loadMs = (quick ? 3_000 : 60_000) / every.length
  const loaded = await during(async (gateway) => {
    for (const scenario of every) {
      await cloud.pace(scenario.pace)
      await round(bench, scenario, "gateway", gateway, { callers: 32, warm: 0, measure: loadMs })
    }
    return memoryOf(gateway.child.pid).rss
  })

  const streams = streamsWithin(quick ? 500 : 10_000)
  const opening = quick ? 2_000 : 20_000
  // An event a second, so that the events of a second are the streams that are open.
  const pace = { events: 300, burst: 1, every: 1_000 }
  const streaming = scenarios.find(({ name }) => name === "messages-sent")
  if (streaming === undefined) throw new Error("there is no scenario of streams")
  const crowd = await during(async (gateway) => {
    await cloud.pace(pace)
    const length = { callers: streams, warm: opening + 5_000, measure: 10_000 }
    const { events, failed } = await round(bench, { ...streaming, pace }, "gateway", gateway, length)
    return { ...memoryOf(gateway.child.pid), open: events, failed }
  })
  await end(load, cloud.child)

  const open = atMost(`${streams.toLocaleString("en-US")} open streams`, crowd.peak, 1024, "MiB")
  const lacking = crowd.open < 0.99 * streams || crowd.failed > 0
  const detail = lacking ? `; **only ${Math.round(crowd.open)} open, ${crowd.failed} failed**` : ""
  return [
    { ...open, measured: `${open.measured}${detail}` },
    atMost("idle", idle, 160, "MiB"),
    atMost("after a minute of load", loaded, 320, "MiB"),
    atMost("start, until it answers", median(starts), 1_000, "ms")
  ]
}
