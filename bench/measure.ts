/** One round of one subject, and what many rounds come to. */
import type { ChildProcess } from "node:child_process"
import type { Job, Result } from "./load.ts"
import { ask } from "./processes.ts"
import { median } from "./quantiles.ts"
import { type Scenario, spanOf } from "./scenarios.ts"
import type { Running } from "./subjects.ts"
import { familyOf } from "./weigh.ts"
import { MARKER } from "./wire.ts"

/** What a round gave. Work is the events of a stream, or whole replies. */
export interface Sample extends Pick<Result, "requestsPerSecond" | "eventsPerSecond" | "p50" | "p99" | "first"> {
  readonly failed: number
  /** The subject's processor time for each unit of work, microseconds. */
  readonly cpu: number
  /** Units of work a second if the subject had all the machine's cores and nobody asked too slowly. */
  /** Resident memory at the end, MiB. */
  readonly rss: number
  /** Processor use in percent of a core: of the subject, of its busiest process, and of the others. */
  readonly busy: number
  readonly busiest: number
  readonly loadBusy: number
  readonly upstreamBusy: number
  /** Of processes that are not the bench's, with what the host took. */
  readonly othersBusy: number
}

/** The processes that take part in every round. */
export interface Parties {
  readonly load: ChildProcess
  readonly upstream: ChildProcess
}

const sum = (values: ReadonlyArray<number>) => values.reduce((total, value) => total + value, 0)

const look = (result: Result, pids: ReadonlyArray<number>, subject: ReadonlySet<number>, parties: Parties): Sample => {
  const { elapsed, machine, spent, work, ...rest } = result
  const own = spent.filter((_, i) => subject.has(pids[i] ?? 0))
  const of = (pid: number | undefined) => spent[pids.indexOf(pid ?? 0)]?.cpu ?? 0
  const percent = (ms: number) => (ms / elapsed) * 100
  const cpu = sum(own.map((weight) => weight.cpu))
  // Helper threads collect garbage while the main thread waits for them, so a process that uses a whole core is full.
  const busiest = Math.max(...own.map((weight) => Math.max(weight.main, Math.min(elapsed, weight.cpu))))
  return {
    requestsPerSecond: rest.requestsPerSecond,
    eventsPerSecond: rest.eventsPerSecond,
    p50: rest.p50,
    p99: rest.p99,
    first: rest.first,
    failed: rest.failed,
    cpu: (cpu * 1000) / work,
    // A process has one core for its main thread; all of them together have what the machine has.
    rss: sum(own.map(({ rss }) => rss)),
    busy: percent(cpu),
    busiest: percent(busiest),
    loadBusy: percent(of(parties.load.pid)),
    upstreamBusy: percent(of(parties.upstream.pid)),
    othersBusy: percent(Math.max(0, machine - sum(spent.map((weight) => weight.cpu))))
  }
}

export interface Length {
  /** Milliseconds before work counts, and in which it counts. */
  readonly warm: number
  readonly measure: number
}

export const round = async (
  parties: Parties,
  scenario: Scenario,
  subject: keyof Scenario["calls"],
  { child, headers, port }: Running,
  callers: number,
  length: Length
): Promise<Sample> => {
  const call = scenario.calls[subject]
  if (call === undefined) throw new Error(`${subject} is not asked in ${scenario.name}`)
  const family = new Set(familyOf(child.pid ?? 0))
  const pids = [...new Set([...family, parties.load.pid ?? 0, parties.upstream.pid ?? 0])]
  const job: Job = {
    port,
    path: call.path,
    headers: { ...headers, ...call.headers },
    body: call.body,
    callers,
    ...length,
    spread: scenario.pace.every > 0 ? Math.min(spanOf(scenario), length.warm) : 0,
    ...(call.fan === undefined ? {} : { fan: call.fan }),
    pids
  }
  return look(await ask<Result>(parties.load, job), pids, family, parties)
}

/** Asks once before measuring; answers what is wrong: the status is not 200, or a stream does not hold every event. */
export const probe = async (
  { calls, pace, stream }: Scenario,
  subject: keyof Scenario["calls"],
  { headers, port }: Running
): Promise<string | undefined> => {
  const call = calls[subject]
  if (call === undefined) return "is not asked"
  const reply = await fetch(`http://127.0.0.1:${port}${call.path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers, ...call.headers },
    body: call.body,
    signal: AbortSignal.timeout(20_000)
  })
  const text = await reply.text()
  if (reply.status !== 200) return `answers ${reply.status}: ${text.slice(0, 160).replace(/\s+/g, " ")}`
  const events = text.split(MARKER).length - 1
  return stream && events !== pace.events ? `streams ${events} of ${pace.events} events` : undefined
}

/** The median of each field, but all failures. */
export const summarise = (samples: ReadonlyArray<Sample>): Sample => {
  const [one] = samples
  if (one === undefined) throw new Error("no rounds")
  const fields = Object.keys(one) as Array<keyof Sample>
  const medians = fields.map((field) => [field, median(samples.map((sample) => sample[field]))])
  return { ...Object.fromEntries(medians), failed: sum(samples.map(({ failed }) => failed)) } as unknown as Sample
}
