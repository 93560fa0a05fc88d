/** The state of one process, and one picture of those that share a store: deployments, refusals and flags. */
import { hostname } from "node:os"
import { Array as Arr, Context, Effect, Metric, Record, Result } from "effect"
import { StatusBoard } from "../../limits/replicas.ts"
import { type Activity, emptyCounts, type Minute, minutesKept, nameOf, times } from "./Activity.ts"

/** Files are read every few seconds; what was not read for so many has been refused. */
const readWithin = 20

/** The instance is unique: process numbers are the same in every container. `startedAt` is in milliseconds since the epoch. */
const identity = { instance: crypto.randomUUID(), host: hostname(), pid: process.pid, startedAt: Date.now() }

export const processState = ({ snapshot }: Activity["Service"], now: number) => {
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
    /** Resident, in bytes. */
    memory: process.memoryUsage.rss(),
    requestsInFlight: sum("gateway_requests_in_flight"),
    streamsInFlight: sum("gateway_streams_in_flight"),
    /** Circuits that keep calls from a region: `bedrock/us-gov-west-1`. */
    openCircuits: labels("gateway_breaker_open", "circuit", (value) => value > 0),
    /** Uses of the store of limits and quotas that do not work. */
    lostStores: labels("gateway_access_store_up", "use", (value) => value === 0),
    /** Kinds of files that changed to what cannot be used, or cannot be read. */
    refusedFiles: labels("gateway_file_read_timestamp_seconds", "kind", (value) => now / 1000 - value > readWithin)
  }
}

export type ProcessState = ReturnType<typeof processState>

/** A replica of an earlier version says nothing of files. */
const parse = (text: string): ReadonlyArray<ProcessState> =>
  Result.getOrElse(
    Result.try(() => [{ refusedFiles: [], ...JSON.parse(text) }]),
    () => []
  )

/** What processes posted, each while a status page is open and only then; nothing while the store is lost. */
export const makeReplicas = Effect.fnUntraced(function* (own: () => ProcessState) {
  const board = yield* StatusBoard
  const { instance } = own()
  yield* board
    .post(instance, () => JSON.stringify(own()))
    .pipe(
      Effect.orElseSucceed(() => false),
      // Without a page it only checks whether one is open.
      Effect.flatMap((open) => Effect.sleep(open ? "2 seconds" : "4 seconds")),
      Effect.forever,
      Effect.forkScoped
    )
  return board.read.pipe(
    Effect.map((texts) => texts.flatMap(parse)),
    Effect.orElseSucceed((): ReadonlyArray<ProcessState> => [])
  )
})

type Counts = ReturnType<typeof emptyCounts>

const add = (sum: Counts, { durations, failures, firsts, requests }: Minute): Counts => {
  sum.requests += requests
  sum.failures += failures
  times.addPairs(sum.durations, durations)
  times.addPairs(sum.firsts, firsts)
  return sum
}

const percentile = (counts: Uint32Array, share: number): number | undefined => {
  const milliseconds = times.percentile(counts, share)
  return milliseconds === undefined ? undefined : Math.round(milliseconds)
}

/** The last hour of a deployment; times and `now` are in milliseconds. */
export const hourOf = (minutes: ReadonlyArray<Minute>, now: number) => {
  const latest = Math.floor(now / 60_000)
  const all = emptyCounts()
  const each = new Array<Counts | undefined>(minutesKept).fill(undefined)
  for (const minute of minutes) {
    const at = minutesKept - 1 - (latest - minute.minute)
    if (at < 0 || at >= minutesKept) continue
    add(all, minute)
    each[at] = add(each[at] ?? emptyCounts(), minute)
  }
  const values = (of: (counts: Counts) => number | undefined) => each.map((counts) => (counts && of(counts)) ?? null)
  return {
    requests: all.requests,
    failures: all.failures,
    p50: percentile(all.durations, 0.5),
    p95: percentile(all.durations, 0.95),
    first50: percentile(all.firsts, 0.5),
    first95: percentile(all.firsts, 0.95),
    /** A value for each minute, oldest first; null where there was no request. Absent for an hour without any. */
    ...(all.requests > 0 && {
      minutes: {
        requests: each.map((counts) => counts?.requests ?? 0),
        failures: each.map((counts) => counts?.failures ?? 0),
        p50: values(({ durations }) => percentile(durations, 0.5)),
        p95: values(({ durations }) => percentile(durations, 0.95)),
        first50: values(({ firsts }) => percentile(firsts, 0.5))
      }
    })
  }
}

/** By name. */
export const joinDeployments = (states: ReadonlyArray<ProcessState>) => {
  const all = states.flatMap(({ deployments }) => deployments)
  return Record.map(Arr.groupBy(all, nameOf), (same) => ({
    ...same[0],
    minutes: same.flatMap(({ minutes }) => minutes),
    lastError: same.flatMap(({ lastError }) => lastError ?? []).sort((a, b) => b.at - a.at)[0]
  }))
}

/** Counts of the same name added up, the largest first. */
export const joinCounts = (counts: ReadonlyArray<Readonly<Record<string, number>>>) => {
  const sums = new Map<string, number>()
  for (const [name, count] of counts.flatMap(Object.entries<number>)) sums.set(name, (sums.get(name) ?? 0) + count)
  return [...sums].map(([name, count]) => ({ name, count })).sort((a, b) => b.count - a.count)
}
