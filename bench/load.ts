/**
 * The load generator: callers with one connection each, who ask again as soon as they have their reply. Work, time and processor
 * time are read at the same two instants.
 */
import { setTimeout as sleep } from "node:timers/promises"
import type { Call } from "./calls.ts"
import { openConnection } from "./connection.ts"
import { median } from "./quantiles.ts"
import { MARKER } from "./replies.ts"
import { cpuOf, machineCpu } from "./weigh.ts"

export interface Job {
  readonly port: number
  readonly call: Call
  readonly callers: number
  /** Milliseconds before work counts, and in which it counts. */
  readonly warm: number
  readonly measure: number
  /** Callers start spread over so many milliseconds, so that paced streams do not march in step. */
  readonly spread: number
  /** The processes of the subject and of the cloud. */
  readonly subject: number | undefined
  readonly cloud: number | undefined
}

export interface Sample {
  readonly requests: number
  readonly events: number
  /** Microseconds of the subject's processor time for an event, or for a whole reply. */
  readonly cpu: number
  /** Milliseconds, medians: to the last byte, and to the first text event. */
  readonly last: number
  readonly first: number
  readonly failed: number
  /** Percent of a core: the subject, the load generator, the cloud, and what is not the bench. */
  readonly busy: number
  readonly loadBusy: number
  readonly cloudBusy: number
  readonly othersBusy: number
}

const frame = ({ call: { body, headers, path }, port }: Job): string => {
  const lines = Object.entries({ host: `127.0.0.1:${port}`, "content-type": "application/json", ...headers })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")
  return `POST ${path} HTTP/1.1\r\n${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}

const occurrences = (text: string): number => {
  let count = 0
  for (let at = text.indexOf(MARKER); at >= 0; at = text.indexOf(MARKER, at + MARKER.length)) count++
  return count
}

const run = async (job: Job): Promise<Sample> => {
  let events = 0
  let answered = 0
  let failed = 0
  const lasts: Array<number> = []
  const firsts: Array<number> = []
  const read = () => ({
    at: performance.now(),
    events,
    answered,
    machine: machineCpu(),
    subject: cpuOf(job.subject),
    load: cpuOf(process.pid),
    cloud: cpuOf(job.cloud)
  })
  let before: ReturnType<typeof read> | undefined
  let after: ReturnType<typeof read> | undefined
  const request = Buffer.from(frame(job))
  const callers = Array.from({ length: job.callers }, () => {
    const timing = { first: 0 }
    const onBody = (text: string) => {
      const count = occurrences(text)
      if (count === 0) return
      events += count
      timing.first ||= performance.now()
    }
    return { timing, ...openConnection(job.port, request, onBody) }
  })
  const clock = async () => {
    await sleep(job.warm)
    before = read()
    await sleep(job.measure)
    after = read()
    for (const { close } of callers) close()
    return { before, after }
  }
  const ask = async ({ send, timing }: (typeof callers)[number], n: number) => {
    await sleep((job.spread * n) / job.callers)
    while (after === undefined) {
      const counts = before !== undefined
      const sent = performance.now()
      timing.first = 0
      const status = await send()
      if (counts && timing.first > 0) firsts.push(timing.first - sent)
      if (after !== undefined) return
      if (status === 200) {
        answered++
        if (counts) lasts.push(performance.now() - sent)
      } else {
        failed++
        await sleep(20)
      }
    }
  }
  const [window] = await Promise.all([clock(), ...callers.map(ask)])
  const used = (name: keyof typeof window.after) => window.after[name] - window.before[name]
  const elapsed = used("at")
  const percent = (ms: number) => (ms / elapsed) * 100
  return {
    requests: (used("answered") * 1000) / elapsed,
    events: (used("events") * 1000) / elapsed,
    cpu: (used("subject") * 1000) / (used("events") || used("answered")),
    last: median(lasts),
    first: median(firsts),
    failed,
    busy: percent(used("subject")),
    loadBusy: percent(used("load")),
    cloudBusy: percent(used("cloud")),
    othersBusy: percent(Math.max(0, used("machine") - used("subject") - used("load") - used("cloud")))
  }
}

process.on("disconnect", () => process.exit(0))
process.on("message", (job: Job) => void run(job).then((sample) => process.send?.(sample)))
process.send?.({})
