/** What one process tells of itself, to its own page and to those of its siblings. */
import { hostname } from "node:os"
import { Context, Metric } from "effect"
import type { ActivityLog, ActivitySnapshot } from "./Activity.ts"

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

const startedAt = Date.now()
const instance = crypto.randomUUID()
const host = hostname()

/** The values of a gauge by one label, as the metrics have them. */
const gauges = (name: string, label: string, snapshot: ReturnType<typeof Metric.snapshotUnsafe>) =>
  snapshot
    .filter(({ id }) => id === name)
    .map(({ attributes, state }) => ({
      label: attributes?.[label] ?? "",
      value: "value" in state ? Number(state.value) : 0
    }))

export const processState = (activity: ActivityLog, now: number): ProcessState => {
  const metrics = Metric.snapshotUnsafe(Context.empty())
  const sum = (name: string) => gauges(name, "", metrics).reduce((total, { value }) => total + value, 0)
  return {
    ...activity.snapshot(now),
    instance,
    host,
    pid: process.pid,
    startedAt,
    memory: process.memoryUsage.rss(),
    requestsInFlight: sum("gateway_requests_in_flight"),
    streamsInFlight: sum("gateway_streams_in_flight"),
    openCircuits: gauges("gateway_breaker_open", "circuit", metrics)
      .filter(({ value }) => value > 0)
      .map(({ label }) => label),
    lostStores: gauges("gateway_access_store_up", "use", metrics)
      .filter(({ value }) => value === 0)
      .map(({ label }) => label)
  }
}
