/** The state of one process, and those of all that share a store. */
import { hostname } from "node:os"
import { Context, Effect, Metric, Result } from "effect"
import { StatusBoard } from "../../limits/replicas.ts"
import type { Activity, ActivitySnapshot } from "./Activity.ts"

export interface ProcessState extends ActivitySnapshot {
  /** Unique: process numbers are the same in every container. */
  readonly instance: string
  readonly host: string
  readonly pid: number
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  /** Resident memory in bytes. */
  readonly memory: number
  readonly requestsInFlight: number
  readonly streamsInFlight: number
  /** Circuits that keep calls from a region: `bedrock/us-gov-west-1`. */
  readonly openCircuits: ReadonlyArray<string>
  /** Uses of the store of limits and quotas that do not work. */
  readonly lostStores: ReadonlyArray<string>
}

const identity = { instance: crypto.randomUUID(), host: hostname(), pid: process.pid, startedAt: Date.now() }

export const processState = ({ snapshot }: Activity["Service"], now: number): ProcessState => {
  const metrics = Metric.snapshotUnsafe(Context.empty())
  /** The values of a gauge, as the metrics have them. */
  const gauge = (name: string) =>
    metrics.flatMap(({ attributes = {}, id, state }) =>
      id === name ? [{ attributes, value: "value" in state ? Number(state.value) : 0 }] : []
    )
  const sum = (name: string) => gauge(name).reduce((total, { value }) => total + value, 0)
  const labels = (name: string, label: string, wanted: (value: number) => boolean) =>
    gauge(name).flatMap(({ attributes, value }) => (wanted(value) ? [attributes[label] ?? ""] : []))
  return {
    ...snapshot(now),
    ...identity,
    memory: process.memoryUsage.rss(),
    requestsInFlight: sum("gateway_requests_in_flight"),
    streamsInFlight: sum("gateway_streams_in_flight"),
    openCircuits: labels("gateway_breaker_open", "circuit", (value) => value > 0),
    lostStores: labels("gateway_access_store_up", "use", (value) => value === 0)
  }
}

/** How often a process posts its state while a page is open, and how often it otherwise checks whether one is. */
const busy = "2 seconds"
const idle = "4 seconds"

const parse = (text: string): ReadonlyArray<ProcessState> =>
  Result.getOrElse(
    Result.try(() => [JSON.parse(text)]),
    () => []
  )

/** What processes posted, each while a status page is open and only then; nothing while the store is lost. */
export const makeReplicas = (own: () => ProcessState) =>
  Effect.gen(function* () {
    const board = yield* StatusBoard
    const { instance } = own()
    yield* board
      .post(instance, () => JSON.stringify(own()))
      .pipe(
        Effect.orElseSucceed(() => false),
        Effect.flatMap((open) => Effect.sleep(open ? busy : idle)),
        Effect.forever,
        Effect.forkScoped
      )
    return board.read.pipe(
      Effect.map((texts) => texts.flatMap(parse)),
      Effect.orElseSucceed((): ReadonlyArray<ProcessState> => [])
    )
  })
