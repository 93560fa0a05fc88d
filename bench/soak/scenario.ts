/** What the scenarios share. */
import type { ChildProcess } from "node:child_process"
import { join } from "node:path"
import { createKey, type Options, startGateway } from "../gateway.ts"
import { ask, start } from "../processes.ts"
import type { RequestsJob, RequestsResult } from "./requests.ts"
import type { SlowJob, SlowResult } from "./slowReaders.ts"
import type { StreamsJob, StreamsResult } from "./streams.ts"
import type { Problems } from "./tally.ts"

export interface Finding {
  readonly aim: string
  readonly measured: string
  /** Undefined where this machine cannot measure it. */
  readonly met: boolean | undefined
}

export interface Scenario {
  readonly name: string
  readonly title: string
  /** Seconds: in full, and with `--short`. */
  readonly full: number
  readonly short: number
  readonly run: (directory: string, seconds: number) => Promise<ReadonlyArray<Finding>>
}

export const atMost = (aim: string, value: number, most: number, unit: string, detail = ""): Finding => ({
  aim: `${aim} ≤ ${most.toLocaleString("en-US")} ${unit}`,
  measured: `${Number.isFinite(value) ? value.toLocaleString("en-US", { maximumFractionDigits: 1 }) : "–"} ${unit}${detail}`,
  met: value <= most
})

/** That nothing went wrong, or what did and how often. */
export const nothing = (aim: string, done: string, problems: Problems): Finding => ({
  aim,
  measured: problems.length === 0 ? done : problems.map(([what, times]) => `${times} × ${what}`).join("; "),
  met: problems.length === 0
})

const model = "claude-sonnet-4-5:il2"
export const messagesBody = (stream: boolean): string =>
  JSON.stringify({ model, max_tokens: 4096, stream, messages: [{ role: "user", content: "How high is the river?" }] })

const framed = (path: string, key: string, body: string) =>
  `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\nx-api-key: ${key}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
/** The same stream, asked of the gateway and of the cloud. */
export const throughGateway = (key: string): string => framed("/v1/messages", key, messagesBody(true))
export const directly = framed("/v1/projects/bench/models/claude-sonnet-4-5@20250929:streamRawPredict", "", "{}")

export const startLoad = async () => {
  const { child } = await start("soak/load.ts")
  return {
    child,
    streams: (job: Omit<StreamsJob, "kind">) => ask<StreamsResult>(child, { kind: "streams", ...job }),
    slowReaders: (job: Omit<SlowJob, "kind">) => ask<SlowResult>(child, { kind: "slow", ...job }),
    requests: (job: Omit<RequestsJob, "kind">) => ask<RequestsResult>(child, { kind: "requests", ...job })
  }
}

/** A cloud whose streams carry stamps. */
export const startCloud = async () => {
  const { child, port } = await start("cloud.ts")
  const set = (events: number, every: number, { delay = 0, text = 0 } = {}) =>
    ask(child, { events, every, delay, burst: 1, stamped: text })
  return { child, port, set }
}

export const gatewayWithKey = async (options: Options) => {
  const key = createKey(options.directory)
  return { key, ...(await startGateway(options)) }
}

/** With these flags a gateway answers with the bytes in use after a collection. */
export const measurable = ["--expose-gc", "--import", join(import.meta.dirname, "heap.ts")]
export const mibInUse = async (child: ChildProcess): Promise<number> => (await ask<number>(child, "measure")) / 2 ** 20
