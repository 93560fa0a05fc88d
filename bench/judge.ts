/** What the rounds of two subjects say about an aim, and what held a row back. */
import { availableParallelism } from "node:os"
import type { Sample } from "./measure.ts"
import { median, quantile } from "./quantiles.ts"
import type { Aim, Scenario, Subject } from "./scenarios.ts"

export interface Row {
  readonly scenario: string
  readonly subject: Subject
  readonly callers: number
  /** The medians of the rounds, and the rounds. */
  readonly median: Sample
  readonly rounds: ReadonlyArray<Sample>
}

export interface Skip {
  readonly scenario: string
  readonly subject: Subject
  readonly why: string
}

export interface Report {
  readonly machine: string
  readonly rows: ReadonlyArray<Row>
  readonly skips: ReadonlyArray<Skip>
  readonly notes: ReadonlyArray<string>
}

export type Metric = Aim["metric"]

const compare: Record<Metric, (one: Sample, other: Sample) => number> = {
  "req/s": (one, other) => one.requestsPerSecond / other.requestsPerSecond,
  "events/s": (one, other) => one.eventsPerSecond / other.eventsPerSecond,
  cpu: (one, other) => one.cpu / other.cpu,
  wall: (one, other) => one.p50 / other.p50,
  later: (one, other) => one.p50 - other.p50,
  added: (one, other) => one.first - other.first
}

/** One row against another, round by round: what disturbs the machine for a while disturbs both. The median and the quartiles. */
export const against = (metric: Metric, row: Row | undefined, other: Row | undefined) => {
  if (row === undefined || other === undefined) return { value: Number.NaN, lower: Number.NaN, upper: Number.NaN }
  const values = row.rounds.flatMap((sample, i) => {
    const opposite = other.rounds[i]
    return opposite === undefined ? [] : [compare[metric](sample, opposite)]
  })
  return { value: median(values), lower: quantile(values, 0.25), upper: quantile(values, 0.75) }
}

export const rowOf = (report: Report, scenario: string, subject: Subject, callers: number) =>
  report.rows.find((row) => row.scenario === scenario && row.subject === subject && row.callers === callers)

export const yardstickOf = (scenario: Scenario): Subject => Object.keys(scenario.calls)[0] as Subject

export interface Judgement {
  readonly aim: Aim
  /** The median of the rounds, and their quartiles. */
  readonly value: number
  readonly lower: number
  readonly upper: number
  readonly met: boolean
}

/** The aims that a row can be held to. */
export const judge = (report: Report, scenario: Scenario, row: Row): ReadonlyArray<Judgement> =>
  scenario.aims.flatMap((aim) => {
    if (aim.subject !== row.subject || (aim.callers ?? row.callers) !== row.callers) return []
    const compared = against(aim.metric, row, rowOf(report, scenario.name, aim.against, row.callers))
    const { value } = compared
    if (!Number.isFinite(value)) return []
    const { atLeast = Number.NEGATIVE_INFINITY, atMost = Number.POSITIVE_INFINITY } = aim
    return [{ aim, ...compared, met: value >= atLeast && value <= atMost }]
  })

/** Percent of a core from which on a process counts as busy all the time. */
const FULL = 88

/** Who could not have done more. `pace`: nobody, the cloud waits; `turns`: nobody, one caller waits for each in turn. */
export type Bottleneck = "subject" | "cloud" | "load" | "machine" | "pace" | "turns" | "unclear"

export const bottleneckOf = ({ pace }: Scenario, { callers, median: of }: Row): Bottleneck => {
  const { busiest, busy, loadBusy, othersBusy, upstreamBusy } = of
  const [name, most] = (
    [
      ["subject", busiest],
      ["cloud", upstreamBusy],
      ["load", loadBusy]
    ] as const
  ).reduce((fullest, next) => (next[1] > fullest[1] ? next : fullest))
  if (most >= FULL) return name
  const all = busy + loadBusy + upstreamBusy + othersBusy
  const cores = availableParallelism()
  if (all >= cores * 90) return "machine"
  if (pace.every > 0 || pace.delay > 0) return "pace"
  return callers === 1 ? "turns" : "unclear"
}
