/** What was measured, as markdown. */
import { availableParallelism, cpus } from "node:os"
import type { Sample } from "./load.ts"
import { median, quantile } from "./quantiles.ts"
import type { Aim, Metric, Scenario, Subject } from "./scenarios.ts"

export const number = (value: number, digits = 0) =>
  Number.isFinite(value)
    ? value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })
    : "–"

/** The first `text` columns to the left and the rest, numbers, to the right. */
export const table = (head: ReadonlyArray<string>, body: ReadonlyArray<ReadonlyArray<string>>, text = 1) =>
  [head, head.map((_, i) => (i < text ? "---" : "---:")), ...body].map((cells) => `| ${cells.join(" | ")} |`).join("\n")

export const machine = () =>
  `${availableParallelism()} × ${cpus()[0]?.model.trim() ?? "unknown processor"}, Node ${process.version}`

/** The rounds of each scenario and subject, in the order in which they took turns. */
export type Rounds = ReadonlyMap<Scenario, ReadonlyMap<Subject, ReadonlyArray<Sample>>>

/** One line of the summary. */
export interface Line {
  readonly what: string
  readonly must: string
  /** Bold where it misses. */
  readonly measured: string
}

export const atMost = (what: string, value: number, most: number, unit: string): Line => ({
  what: `${what}, ${unit}`,
  must: `≤ ${number(most)}`,
  measured: value <= most ? number(value) : `**${number(value)}**`
})

const compare: Record<Metric, (one: Sample, other: Sample) => number> = {
  requests: (one, other) => one.requests / other.requests,
  events: (one, other) => one.events / other.events,
  cpu: (one, other) => one.cpu / other.cpu,
  first: (one, other) => one.first - other.first
}

/** Round by round, because what disturbs the machine for a while disturbs neighbours alike. */
const against = (metric: Metric, own: ReadonlyArray<Sample>, others: ReadonlyArray<Sample>): ReadonlyArray<number> =>
  own.flatMap((sample, i) => {
    const other = others[i]
    return other === undefined ? [] : [compare[metric](sample, other)]
  })

const within = ({ atLeast, atMost }: Aim, value: number) =>
  value >= (atLeast ?? Number.NEGATIVE_INFINITY) && value <= (atMost ?? Number.POSITIVE_INFINITY)
const bound = ({ atLeast, atMost }: Aim) => {
  if (atLeast !== undefined) return `≥ ${number(atLeast, 2)}`
  return atMost === undefined ? "–" : `≤ ${number(atMost, 1)}`
}

/** The lowest and the highest median of the scenarios that share an aim, and those that miss it. */
export const summary = (rounds: Rounds): ReadonlyArray<Line> => {
  const found = new Map<string, { readonly aim: Aim; readonly values: Map<string, number> }>()
  for (const [{ aims, name }, samples] of rounds) {
    for (const aim of aims) {
      const values = against(aim.metric, samples.get(aim.subject) ?? [], samples.get(aim.against) ?? [])
      const group = found.get(aim.name) ?? { aim, values: new Map() }
      found.set(aim.name, group)
      group.values.set(name, median(values))
    }
  }
  return [...found.values()].map(({ aim, values }) => {
    const misses = [...values].filter(([, value]) => Number.isFinite(value) && !within(aim, value))
    const ends = [quantile([...values.values()], 0), quantile([...values.values()], 1)].map((value) => number(value, 2))
    const missed = misses.map(([name, value]) => `; **${name} ${number(value, 2)}**`).join("")
    const measured = `${[...new Set(ends)].join(" to ")}${missed}`
    return { what: aim.name, must: bound(aim), measured }
  })
}

export const lines = (of: ReadonlyArray<Line>) =>
  table(
    ["What", "Must", "Measured"],
    of.map(({ measured, must, what }) => [what, must, measured])
  )

/** A row for each subject of each scenario: medians, and comparisons with the first subject. */
export const details = (rounds: Rounds): string => {
  const rows = [...rounds].flatMap(([scenario, samples]) => {
    const [, first = []] = [...samples][0] ?? []
    return [...samples].map(([subject, own]) => {
      const of = (name: keyof Sample) => median(own.map((sample) => sample[name]))
      const compared = (metric: Metric) => (own === first ? "–" : number(median(against(metric, own, first)), 2))
      const shares = against(scenario.stream ? "events" : "requests", own, first)
      return [
        scenario.name,
        subject,
        number(of("requests")),
        scenario.stream ? number(of("events")) : "–",
        compared(scenario.stream ? "events" : "requests"),
        own === first ? "–" : `${number(quantile(shares, 0.25), 2)} to ${number(quantile(shares, 0.75), 2)}`,
        number(of("cpu"), 1),
        compared("cpu"),
        number(of("last"), 2),
        number(of("first"), 2),
        [of("busy"), of("loadBusy"), of("cloudBusy"), of("othersBusy")].map((share) => number(share)).join("/"),
        number(own.reduce((total, { failed }) => total + failed, 0))
      ]
    })
  })
  const head = [
    "scenario",
    "subject",
    "req/s",
    "events/s",
    "share",
    "quartiles",
    "CPU µs",
    "CPU ×",
    "last ms",
    "first ms"
  ]
  return table([...head, "busy %", "failed"], rows, 2)
}

/** How much of the machine something else used. */
export const disturbance = (rounds: Rounds): string => {
  const others = [...rounds.values()].flatMap((samples) =>
    [...samples.values()].flatMap((own) => own.map(({ othersBusy }) => othersBusy))
  )
  return `What is not the bench used ${number(median(others))} % of a core (median of the rounds; at most ${number(quantile(others, 1))} %).`
}
