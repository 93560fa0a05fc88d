/** One picture of several processes: deployments, refusals and flags. */
import {
  type DeploymentActivity,
  emptyCounts,
  type LastError,
  type Minute,
  minutesKept,
  nameOf,
  times
} from "./Activity.ts"
import type { ProcessState } from "./processState.ts"

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

const later = (a: LastError | undefined, b: LastError | undefined) =>
  a === undefined || (b !== undefined && b.at > a.at) ? b : a

/** The deployments of all processes, by name. */
export const joinDeployments = (states: ReadonlyArray<ProcessState>): ReadonlyMap<string, DeploymentActivity> => {
  const joined = new Map<string, DeploymentActivity>()
  for (const one of states.flatMap(({ deployments }) => deployments)) {
    const before = joined.get(nameOf(one))
    joined.set(nameOf(one), {
      ...one,
      minutes: [...(before?.minutes ?? []), ...one.minutes],
      lastError: later(before?.lastError, one.lastError)
    })
  }
  return joined
}

/** Counts of the same name added up, the largest first. */
export const joinCounts = (counts: ReadonlyArray<Readonly<Record<string, number>>>) => {
  const sums = new Map<string, number>()
  for (const [name, count] of counts.flatMap(Object.entries<number>)) sums.set(name, (sums.get(name) ?? 0) + count)
  return [...sums].map(([name, count]) => ({ name, count })).sort((a, b) => b.count - a.count)
}
