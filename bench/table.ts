/** What was measured, as markdown: one table a scenario, or one short table for a page that has little room. */
import type { Aim, Scenario, Subject } from "./scenarios.ts"

export interface Row {
  readonly scenario: string
  readonly subject: Subject
  readonly callers: number
  readonly requestsPerSecond: number
  readonly eventsPerSecond: number
  readonly p50: number
  readonly p99: number
  readonly first: number
  readonly failed: number
  /** Resident memory after the last round, MiB. */
  readonly rss: number
  /** The subject's processor time, microseconds for each event of a stream or each whole reply. */
  readonly cpu: number
  /** Processor use of the subject, the load generator and the fake upstream, percent of a core. */
  readonly busy: number
  readonly loadBusy: number
  readonly upstreamBusy: number
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

const called: Record<Subject, string> = {
  upstream: "upstream alone",
  proxy: "bare proxy",
  gateway: "**gateway**",
  traced: "**gateway**, traces exported",
  portkey: "Portkey"
}

const number = (value: number, digits = 0) =>
  Number.isFinite(value)
    ? value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })
    : "–"
const line = (cells: ReadonlyArray<string>) => `| ${cells.join(" | ")} |`
const table = (head: ReadonlyArray<string>, body: ReadonlyArray<ReadonlyArray<string>>) =>
  [line(head), line(head.map((_, i) => (i < 2 ? "---" : "---:"))), ...body.map(line)].join("\n")

const yardstick = (scenario: Scenario): Subject => Object.keys(scenario.calls)[0] as Subject

const find = (report: Report, scenario: Scenario, subject: Subject, callers: number) =>
  report.rows.find((row) => row.scenario === scenario.name && row.subject === subject && row.callers === callers)

const measure = (metric: Aim["metric"], row: Row, other: Row): number => {
  switch (metric) {
    case "req/s":
      return row.requestsPerSecond / other.requestsPerSecond
    case "events/s":
      return row.eventsPerSecond / other.eventsPerSecond
    case "wall":
      return row.p50 / other.p50
    case "added":
      return row.first - other.first
  }
}

const share = (scenario: Scenario, row: Row, other: Row | undefined) =>
  other === undefined ? Number.NaN : measure(scenario.stream ? "events/s" : "req/s", row, other)

/** Whether a row meets its aims, in words; empty where there are none. */
const judged = (report: Report, scenario: Scenario, row: Row): string =>
  scenario.aims
    .filter((aim) => aim.subject === row.subject && (aim.callers ?? row.callers) === row.callers)
    .flatMap((aim) => {
      const other = find(report, scenario, aim.against, row.callers)
      if (other === undefined) return []
      const value = measure(aim.metric, row, other)
      const met =
        value >= (aim.atLeast ?? Number.NEGATIVE_INFINITY) && value <= (aim.atMost ?? Number.POSITIVE_INFINITY)
      const bound = aim.atLeast === undefined ? `≤ ${aim.atMost}` : `≥ ${aim.atLeast}`
      const unit = aim.metric === "added" ? " ms added" : `× ${called[aim.against]}`
      return [`${met ? "met" : "**missed**"}: ${number(value, 2)} (${bound}${unit})`]
    })
    .join("; ")

const section = (report: Report, scenario: Scenario): string => {
  const rows = report.rows
    .filter((row) => row.scenario === scenario.name)
    .map((row) => {
      const other =
        row.subject === yardstick(scenario) ? undefined : find(report, scenario, yardstick(scenario), row.callers)
      return [
        String(row.callers),
        called[row.subject],
        number(row.requestsPerSecond, row.requestsPerSecond < 20 ? 1 : 0),
        scenario.stream ? number(row.eventsPerSecond) : "–",
        number(row.p50, 2),
        number(row.p99, 2),
        number(row.first, 2),
        number(other === undefined ? Number.NaN : row.first - other.first, 2),
        number(row.rss),
        number(row.cpu),
        [row.busy, row.loadBusy, row.upstreamBusy].map((share) => number(share)).join("/"),
        number(share(scenario, row, other), 2),
        judged(report, scenario, row) + (row.failed > 0 ? ` ${row.failed} failed` : "")
      ]
    })
  const skips = report.skips
    .filter((skip) => skip.scenario === scenario.name)
    .map((skip) => `- ${called[skip.subject]} not measured: ${skip.why}`)
  const head = ["callers", "subject", "req/s", "events/s", "p50 ms", "p99 ms", "first ms", "added ms", "RSS MiB"]
  const tail = [scenario.stream ? "CPU µs/event" : "CPU µs/req", "busy %", `of ${called[yardstick(scenario)]}`, "aim"]
  const parts = [
    `### ${scenario.name}: ${scenario.title}`,
    ...(rows.length > 0 ? [table([...head, ...tail], rows)] : [])
  ]
  return [...parts, ...(skips.length > 0 ? [skips.join("\n")] : [])].join("\n\n")
}

const measured = (report: Report, scenarios: ReadonlyArray<Scenario>) =>
  scenarios.filter((scenario) => [...report.rows, ...report.skips].some((one) => one.scenario === scenario.name))

const footer = (report: Report) => [report.machine, ...report.notes].join("\n\n")

const legend =
  "First: milliseconds to the first text event (of a whole reply: to its first byte), median. Added: that, minus the yardstick's. Busy: subject/load generator/upstream, percent of a core."

export const full = (report: Report, scenarios: ReadonlyArray<Scenario>): string =>
  [...measured(report, scenarios).map((scenario) => section(report, scenario)), legend, footer(report)].join("\n\n")

/** The gateway against its yardstick, a line a scenario and number of callers. */
export const brief = (report: Report, scenarios: ReadonlyArray<Scenario>): string => {
  const rows = measured(report, scenarios).flatMap((scenario) =>
    report.rows
      .filter(
        (row) => row.scenario === scenario.name && row.subject !== yardstick(scenario) && row.subject !== "portkey"
      )
      .map((row) => {
        const other = find(report, scenario, yardstick(scenario), row.callers)
        const peer = find(report, scenario, "portkey", row.callers)
        const rate = (one: Row | undefined) =>
          number(one === undefined ? Number.NaN : scenario.stream ? one.eventsPerSecond : one.requestsPerSecond)
        return [
          scenario.title,
          String(row.callers),
          `${rate(row)} ${scenario.stream ? "events/s" : "req/s"}`,
          rate(other),
          number(share(scenario, row, other), 2),
          rate(peer),
          number(row.p50, 1),
          number(row.p99, 1),
          number(other === undefined ? Number.NaN : row.first - other.first, 2),
          number(row.rss)
        ]
      })
  )
  const head = [
    "what",
    "callers",
    "gateway",
    "yardstick",
    "share",
    "Portkey",
    "p50 ms",
    "p99 ms",
    "first event added ms",
    "RSS MiB"
  ]
  const yards =
    "The yardstick is a bare Node proxy that parses nothing; for embeddings the upstream alone, for tracing the gateway without."
  return [table(head, rows), yards, footer(report)].join("\n\n")
}
