/** One picture of several processes: what the page shows of deployments, refusals and flags. */
import { type DeploymentActivity, type LastError, type Minute, minutesKept, times } from "./Activity.ts"
import type { ProcessState } from "./processState.ts"

/** The last hour of a deployment. Times are in milliseconds. */
export interface Hour {
  readonly requests: number
  readonly failures: number
  readonly p50?: number | undefined
  readonly p95?: number | undefined
  readonly first50?: number | undefined
  readonly first95?: number | undefined
  /** A value for each minute, oldest first; null where there was no request. Absent for an hour without any. */
  readonly minutes?: {
    readonly requests: ReadonlyArray<number>
    readonly failures: ReadonlyArray<number>
    readonly p50: ReadonlyArray<number | null>
    readonly p95: ReadonlyArray<number | null>
    readonly first50: ReadonlyArray<number | null>
  }
}

class Sum {
  requests = 0
  failures = 0
  readonly durations = times.empty()
  readonly firsts = times.empty()

  add({ requests, failures, durations, firsts }: Minute): void {
    this.requests += requests
    this.failures += failures
    times.addPairs(this.durations, durations)
    times.addPairs(this.firsts, firsts)
  }
}

const percentile = (counts: Uint32Array, share: number): number | undefined => {
  const milliseconds = times.percentile(counts, share)
  return milliseconds === undefined ? undefined : Math.round(milliseconds)
}

/** `now` is in milliseconds since the epoch. */
export const hourOf = (minutes: ReadonlyArray<Minute>, now: number): Hour => {
  const latest = Math.floor(now / 60_000)
  const all = new Sum()
  const each = Array.from({ length: minutesKept }, () => undefined as Sum | undefined)
  for (const minute of minutes) {
    const at = minutesKept - 1 - (latest - minute.minute)
    if (at < 0 || at >= minutesKept) continue
    all.add(minute)
    const sum = each[at] ?? new Sum()
    sum.add(minute)
    each[at] = sum
  }
  const series = (of: (sum: Sum) => number | undefined) => each.map((sum) => (sum && of(sum)) ?? null)
  const counts = (of: (sum: Sum) => number) => each.map((sum) => (sum === undefined ? 0 : of(sum)))
  return {
    requests: all.requests,
    failures: all.failures,
    p50: percentile(all.durations, 0.5),
    p95: percentile(all.durations, 0.95),
    first50: percentile(all.firsts, 0.5),
    first95: percentile(all.firsts, 0.95),
    ...(all.requests === 0
      ? {}
      : {
          minutes: {
            requests: counts((sum) => sum.requests),
            failures: counts((sum) => sum.failures),
            p50: series((sum) => percentile(sum.durations, 0.5)),
            p95: series((sum) => percentile(sum.durations, 0.95)),
            first50: series((sum) => percentile(sum.firsts, 0.5))
          }
        })
  }
}

export interface JoinedDeployment extends Pick<DeploymentActivity, "cloud" | "model" | "region"> {
  readonly minutes: ReadonlyArray<Minute>
  readonly lastError: LastError | undefined
}

export const nameOf = ({ cloud, model, region }: Pick<DeploymentActivity, "cloud" | "model" | "region">): string =>
  `${cloud}/${region} ${model}`

const later = (a: LastError | undefined, b: LastError | undefined) =>
  a === undefined || (b !== undefined && b.at > a.at) ? b : a

/** The deployments of all processes, by name. */
export const joinDeployments = (states: ReadonlyArray<ProcessState>): ReadonlyMap<string, JoinedDeployment> => {
  const joined = new Map<string, JoinedDeployment>()
  for (const one of states.flatMap(({ deployments }) => deployments)) {
    const before = joined.get(nameOf(one))
    joined.set(nameOf(one), {
      cloud: one.cloud,
      region: one.region,
      model: one.model,
      minutes: [...(before?.minutes ?? []), ...one.minutes],
      lastError: later(before?.lastError, one.lastError)
    })
  }
  return joined
}

/** Counts of the same name added up, the largest first. */
export const joinCounts = (
  counts: ReadonlyArray<Readonly<Record<string, number>>>
): ReadonlyArray<{ readonly name: string; readonly count: number }> => {
  const sums = new Map<string, number>()
  for (const [name, count] of counts.flatMap((one) => Object.entries(one)))
    sums.set(name, (sums.get(name) ?? 0) + count)
  return [...sums].map(([name, count]) => ({ name, count })).sort((a, b) => b.count - a.count)
}
