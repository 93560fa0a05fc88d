/**
 * The load generator: a closed loop of N callers, each with one keep-alive connection. Work, time and the processor time of
 * everybody who took part are read at the same two instants, so that a share of one by another means something.
 */
import { performance } from "node:perf_hooks"
import { Lane } from "./lane.ts"
import { median, quantile } from "./quantiles.ts"
import { machineBusy, type Weight, weigh } from "./weigh.ts"

export interface Job {
  readonly port: number
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly callers: number
  /** Milliseconds before samples count. */
  readonly warm: number
  /** Milliseconds in which samples count. */
  readonly measure: number
  /** Callers start spread over this many milliseconds, so that paced streams do not march in step. */
  readonly spread: number
  /** One operation is this many requests over so many connections, rather than one request. */
  readonly fan?: { readonly requests: number; readonly lanes: number }
  /** Processes to weigh when counting begins and when it ends. */
  readonly pids?: ReadonlyArray<number>
}

export interface Result {
  readonly requestsPerSecond: number
  readonly eventsPerSecond: number
  /** Milliseconds from sending an operation to its last byte. */
  readonly p50: number
  readonly p99: number
  /** Milliseconds to the first text event, median; of a reply without events, to its first byte. */
  readonly first: number
  readonly failed: number
  /** Events carried, or else requests answered, between the two weighings. */
  readonly work: number
  /** Milliseconds between the two weighings. */
  readonly elapsed: number
  /** What each of the processes used between them, in the order asked. */
  readonly spent: ReadonlyArray<Weight>
  /** Milliseconds the machine's cores were at work between them, for whomever. */
  readonly machine: number
}

const frame = ({ body, headers, path, port }: Job): Buffer => {
  const lines = Object.entries({ host: `127.0.0.1:${port}`, "content-type": "application/json", ...headers })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")
  return Buffer.from(`POST ${path} HTTP/1.1\r\n${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
}

/** Sends so many requests over these lanes, each as soon as a lane is free. */
const share = async (lanes: ReadonlyArray<Lane>, requests: number): Promise<boolean> => {
  let left = requests
  const drain = async (lane: Lane) => {
    while (left-- > 0) if (!(await lane.send())) return false
    return true
  }
  return (await Promise.all(lanes.map(drain))).every(Boolean)
}
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

export const run = async (job: Job): Promise<Result> => {
  let events = 0
  let answered = 0
  let failed = 0
  const walls: Array<number> = []
  const firsts: Array<number> = []
  const look = () => ({
    at: performance.now(),
    events,
    answered,
    machine: machineBusy(),
    weights: (job.pids ?? []).map(weigh)
  })
  let before: ReturnType<typeof look> | undefined
  let after: ReturnType<typeof look> | undefined
  const target = {
    port: job.port,
    request: frame(job),
    onEvents: (count: number) => {
      events += count
    }
  }
  const open = new Set<Lane>()
  const begun = pause(job.warm).then(() => {
    before = look()
  })
  // Whoever still waits when time is up is cut off, so that a slow stream does not stretch the round.
  const over = pause(job.warm + job.measure).then(() => {
    after = look()
    for (const lane of open) lane.close()
  })

  const caller = async (i: number) => {
    const own = Array.from({ length: job.fan?.lanes ?? 1 }, () => new Lane(target))
    for (const lane of own) open.add(lane)
    const [lane] = own
    if (lane === undefined) return
    await pause((job.spread * i) / job.callers)
    while (after === undefined) {
      const counts = before !== undefined
      const sent = performance.now()
      const ok = await (job.fan === undefined ? lane.send() : share(own, job.fan.requests))
      if (counts && lane.firstAt > 0) firsts.push(lane.firstAt - sent)
      if (after !== undefined) break
      if (!ok) {
        failed++
        await pause(20)
        continue
      }
      answered++
      if (counts) walls.push(performance.now() - sent)
    }
    for (const lane of own) lane.close()
  }

  await Promise.all([begun, over, ...Array.from({ length: job.callers }, (_, i) => caller(i))])
  if (before === undefined || after === undefined) throw new Error("the round never began or never ended")
  const elapsed = after.at - before.at
  const carried = after.events - before.events
  const replies = after.answered - before.answered
  const from = before.weights
  return {
    requestsPerSecond: (replies * 1000) / elapsed,
    eventsPerSecond: (carried * 1000) / elapsed,
    p50: median(walls),
    p99: quantile(walls, 0.99),
    first: median(firsts),
    failed,
    work: carried > 0 ? carried : replies,
    elapsed,
    spent: after.weights.map((weight, i) => ({
      ...weight,
      cpu: weight.cpu - (from[i]?.cpu ?? 0),
      main: weight.main - (from[i]?.main ?? 0)
    })),
    machine: after.machine - before.machine
  }
}

if (process.send !== undefined) {
  process.on("disconnect", () => process.exit(0))
  process.on("message", (job: Job) => void run(job).then((result) => process.send?.(result)))
  process.send({ ready: true })
}
