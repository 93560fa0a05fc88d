import type { ChildProcess } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { createKey, startGateway } from "../peers/gateway.ts"
import { ask, start } from "../processes.ts"
import type { Pace } from "./cloud.ts"
import type { Memory } from "./memory.ts"
import type { RequestsJob, RequestsResult } from "./requests.ts"
import type { SlowJob, SlowResult } from "./slowReaders.ts"
import type { StreamsJob, StreamsResult } from "./streams.ts"

/** One line of the table. */
export interface Finding {
  readonly aim: string
  readonly measured: string
  /** Undefined where this machine cannot say. */
  readonly met: boolean | undefined
}

export interface Setting {
  /** For what the processes write. */
  readonly directory: string
  /** Seconds that the scenario should last. */
  readonly seconds: number
}

export interface Scenario {
  readonly name: string
  readonly title: string
  /** Seconds: in full, and in the short form of the programme. */
  readonly full: number
  readonly short: number
  readonly run: (setting: Setting) => Promise<ReadonlyArray<Finding>>
}

export const atMost = (aim: string, value: number, most: number, unit: string): Finding => ({
  aim: `${aim} ≤ ${most.toLocaleString("en-US")} ${unit}`,
  measured: `${Number.isFinite(value) ? value.toLocaleString("en-US", { maximumFractionDigits: 1 }) : "–"} ${unit}`,
  met: value <= most
})

/** Nothing went wrong, or what did and how often. */
export const nothing = (aim: string, done: string, problems: ReadonlyArray<readonly [string, number]>): Finding => ({
  aim,
  measured: problems.length === 0 ? done : problems.map(([what, times]) => `${times} × ${what}`).join("; "),
  met: problems.length === 0
})

/** Files that a process may open here. */
export const openFiles = (): number =>
  Number(/Max open files\s+(\d+)/.exec(readFileSync("/proc/self/limits", "utf8"))?.[1] ?? 0)

const model = "claude-sonnet-4-5:il2"
export const messagesBody = (stream: boolean): string =>
  JSON.stringify({ model, max_tokens: 4096, stream, messages: [{ role: "user", content: "How high is the river?" }] })

const framed = (path: string, headers: Readonly<Record<string, string>>, body: string) =>
  `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("")}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`

/** The same stream of the cloud, asked of the gateway and of the cloud itself. */
export const throughGateway = (key: string): string => framed("/v1/messages", { "x-api-key": key }, messagesBody(true))
export const directly = framed(
  "/v1/projects/bench/locations/us-east5/publishers/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict",
  {},
  "{}"
)

/** A load generator of its own for each job that runs beside another. */
export const startLoad = async () => {
  const { child } = await start("soak/load.ts")
  function run(job: StreamsJob): Promise<StreamsResult>
  function run(job: SlowJob): Promise<SlowResult>
  function run(job: RequestsJob): Promise<RequestsResult>
  function run(job: StreamsJob | SlowJob | RequestsJob): Promise<StreamsResult | SlowResult | RequestsResult> {
    return ask(child, job)
  }
  return { child, run }
}

export const startCloud = async (pace: Pace) => {
  const { child, hello } = await start<{ readonly port: number }>("soak/cloud.ts")
  const set = (next: Pace) => ask(child, next)
  await set(pace)
  return { child, port: hello.port, set }
}

/** The gateway as `npm start` starts it, with one key. */
export const gatewayAt = async (
  directory: string,
  cloud: number,
  more: Readonly<Record<string, string>> = {},
  flags: ReadonlyArray<string> = []
) => {
  const key = createKey(directory)
  return { key, ...(await startGateway("gateway", directory, cloud, more, flags)) }
}

/** With these flags a gateway answers what lives in it after a collection. */
export const measurable = ["--expose-gc", "--import", join(import.meta.dirname, "memory.ts")]
/** Bytes. */
export const liveIn = async (child: ChildProcess): Promise<number> => {
  const { external, heap } = await ask<Memory>(child, "measure")
  return heap + external
}
