/** Who is measured, and one round of it. */
import type { ChildProcess } from "node:child_process"
import { join } from "node:path"
import { createKey, startGateway } from "./gateway.ts"
import type { Job, Sample } from "./load.ts"
import { portkeyHeaders, startPortkey } from "./portkey.ts"
import { ask, makeDirectory, start } from "./processes.ts"
import { MARKER } from "./replies.ts"
import { type Scenario, type Subject, spanOf } from "./scenarios.ts"

export interface Running {
  readonly child: ChildProcess
  readonly port: number
  readonly headers: Readonly<Record<string, string>>
}

export type Cloud = Awaited<ReturnType<typeof startCloud>>

export const startCloud = async () => {
  const { child, port } = await start("cloud.ts")
  const pace = (next: Scenario["pace"]) => ask(child, next)
  return { child, port, pace }
}

/** Starts subjects; gateways are those of a checkout, this one unless another is given. */
export const makeSubjects = (cloud: Cloud, checkout = join(import.meta.dirname, "..")) => {
  const directory = makeDirectory()
  let key: string | undefined
  const gateway = async (name: string, env: Readonly<Record<string, string>> = {}): Promise<Running> => {
    key ??= createKey(directory)
    const running = await startGateway({ name, directory, cloud: cloud.port, env, checkout })
    return { ...running, headers: { "x-api-key": key } }
  }
  const begin: Record<Subject, () => Promise<Running>> = {
    proxy: async () => ({ ...(await start("proxy.ts", String(cloud.port))), headers: {} }),
    effect: async () => ({ ...(await start("effect.ts", String(cloud.port))), headers: {} }),
    gateway: () => gateway("gateway"),
    exporting: async () => {
      const collector = await start("collector.ts")
      collectors.push(collector.child)
      // Often enough that every round holds an export of the metrics.
      return gateway("exporting", {
        OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.port}`,
        OTEL_METRIC_EXPORT_INTERVAL: "2000"
      })
    },
    portkey: async () => ({ ...(await startPortkey(directory)), headers: portkeyHeaders(cloud.port) })
  }
  const collectors: Array<ChildProcess> = []
  return { directory, collectors, begin: (subject: Subject) => begin[subject]() }
}

/** What a measurement needs beside its subject. */
export interface Bench {
  readonly load: ChildProcess
  readonly cloud: Cloud
}

export interface Length {
  readonly callers: number
  /** Milliseconds before work counts, and in which it counts. */
  readonly warm: number
  readonly measure: number
}

export const callOf = ({ calls, name }: Scenario, subject: Subject) => {
  const call = calls[subject]
  if (call === undefined) throw new Error(`${subject} is not asked in ${name}`)
  return call
}

export const round = (
  { cloud, load }: Bench,
  scenario: Scenario,
  subject: Subject,
  { child, headers, port }: Running,
  length: Length
): Promise<Sample> => {
  const call = callOf(scenario, subject)
  return ask<Sample>(load, {
    ...length,
    port,
    call: { ...call, headers: { ...headers, ...call.headers } },
    spread: Math.min(spanOf(scenario), 0.8 * length.warm),
    subject: child.pid,
    cloud: cloud.child.pid
  } satisfies Job)
}

/** As clouds never send: what runs once a request is compiled best only after some 20,000 of them. */
const fast = { every: 0, burst: 10 }

/** Replies after which a subject is warm, and how many times as long as planned a slow machine may take for them. */
const warmReplies = 20_000
const patience = 4

/** In parts, because a round cuts its callers off at its end, after which V8 compiles some code anew. */
export const warmUp = async (bench: Bench, scenario: Scenario, subject: Subject, running: Running, ms: number) => {
  const parts = 3
  let replies = 0
  await bench.cloud.pace({ ...scenario.pace, ...fast })
  for (let part = 0; part < parts || (replies < warmReplies && part < patience * parts); part++) {
    const { requests } = await round(bench, { ...scenario, pace: { ...scenario.pace, ...fast } }, subject, running, {
      ...{ callers: 32, warm: 0, measure: ms / parts }
    })
    replies += (requests * ms) / parts / 1000
  }
  await bench.cloud.pace(scenario.pace)
}

/** Fails when a whole reply does not come with 200, or a stream lacks events. */
export const probe = async (scenario: Scenario, subject: Subject, { headers, port }: Running): Promise<void> => {
  const call = callOf(scenario, subject)
  const reply = await fetch(`http://127.0.0.1:${port}${call.path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers, ...call.headers },
    body: call.body,
    signal: AbortSignal.timeout(20_000)
  })
  const text = await reply.text()
  const events = text.split(MARKER).length - 1
  if (reply.status !== 200) throw new Error(`${reply.status}: ${text.slice(0, 160).replace(/\s+/g, " ")}`)
  if (scenario.stream && events !== scenario.pace.events) {
    throw new Error(`${events} of ${scenario.pace.events} events`)
  }
}
