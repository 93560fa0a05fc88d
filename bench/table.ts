/** What was measured, as markdown: a table for each scenario, with everything. */
import { against, type Bottleneck, bottleneckOf, judge, type Report, type Row, rowOf, yardstickOf } from "./judge.ts"
import type { Aim, Scenario, Subject } from "./scenarios.ts"

export const called: Record<Subject, string> = {
  upstream: "upstream alone",
  proxy: "bare proxy",
  gateway: "**gateway**",
  exporting: "**gateway**, exporting",
  portkey: "Portkey"
}

export const limits: Record<Bottleneck, string> = {
  subject: "subject",
  cloud: "fake cloud",
  load: "load generator",
  machine: "machine",
  pace: "pace",
  turns: "turns",
  unclear: "unclear"
}

export const number = (value: number, digits = 0) =>
  Number.isFinite(value)
    ? value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })
    : "–"
const line = (cells: ReadonlyArray<string>) => `| ${cells.join(" | ")} |`
/** Markdown, with the first `text` columns to the left and the rest, numbers, to the right. */
export const table = (head: ReadonlyArray<string>, body: ReadonlyArray<ReadonlyArray<string>>, text = 1) =>
  [line(head), line(head.map((_, i) => (i < text ? "---" : "---:"))), ...body.map(line)].join("\n")

const units: Record<Aim["metric"], string> = {
  "req/s": "req/s of",
  "events/s": "events/s of",
  cpu: "CPU of",
  wall: "time of",
  later: "ms after",
  added: "ms to the first event after"
}
export const bound = ({ atLeast, atMost }: Aim) => (atLeast === undefined ? `≤ ${atMost}` : `≥ ${atLeast}`)

/** Whether a row meets its aims, in words; empty where there are none. */
const judged = (report: Report, scenario: Scenario, row: Row): string =>
  judge(report, scenario, row)
    .map(({ aim, met, value }) => {
      const verdict = met ? "met" : "**missed**"
      return `${verdict}: ${number(value, 2)} (${bound(aim)}, ${units[aim.metric]} ${called[aim.against]})`
    })
    .join("; ")

const cells = (report: Report, scenario: Scenario, row: Row): ReadonlyArray<string> => {
  const of = row.median
  const yardstick = yardstickOf(scenario)
  const other = row.subject === yardstick ? undefined : rowOf(report, scenario.name, yardstick, row.callers)
  const share = against(scenario.stream ? "events/s" : "req/s", row, other)
  return [
    called[row.subject],
    String(row.callers),
    number(of.requestsPerSecond, of.requestsPerSecond < 20 ? 1 : 0),
    scenario.stream ? number(of.eventsPerSecond) : "–",
    number(share.value, 2),
    number((share.upper - share.lower) / 2, 2),
    number(of.cpu, of.cpu < 100 ? 1 : 0),
    number(against("cpu", row, other).value, 2),
    number(of.p50, 2),
    number(of.p99, 2),
    number(of.first, 2),
    number(against("added", row, other).value, 2),
    number(of.rss),
    [of.busy, of.loadBusy, of.upstreamBusy, of.othersBusy].map((share) => number(share)).join("/"),
    limits[bottleneckOf(scenario, row)],
    judged(report, scenario, row) + (of.failed > 0 ? ` **${of.failed} failed**` : "")
  ]
}

const section = (report: Report, scenario: Scenario): string => {
  const rows = report.rows.filter((row) => row.scenario === scenario.name).map((row) => cells(report, scenario, row))
  const skips = report.skips
    .filter((skip) => skip.scenario === scenario.name)
    .map((skip) => `- ${called[skip.subject]} not measured: ${skip.why}`)
  const head = [
    "subject",
    "callers",
    "req/s",
    "events/s",
    "share",
    "±",
    scenario.stream ? "CPU µs/event" : "CPU µs/req",
    "CPU ×",
    "p50 ms",
    "p99 ms",
    "first ms",
    "added ms",
    "RSS MiB",
    "busy %",
    "bottleneck",
    "aim"
  ]
  return [
    `### ${scenario.name} (${scenario.title})`,
    ...(rows.length > 0 ? [table(head, rows)] : []),
    ...(skips.length > 0 ? [skips.join("\n")] : [])
  ].join("\n\n")
}

export const measured = (report: Report, scenarios: ReadonlyArray<Scenario>) =>
  scenarios.filter((scenario) => [...report.rows, ...report.skips].some((one) => one.scenario === scenario.name))

/** What the machine did beside the bench, so that a reader knows how far to trust the rest. */
export const disturbance = (report: Report): string => {
  const others = report.rows.flatMap((row) => row.rounds.map(({ othersBusy }) => othersBusy)).sort((a, b) => a - b)
  const [middle = 0, most = 0] = [others[others.length >> 1], others.at(-1)]
  return `What is not the bench took ${number(middle)} % of a core (median of the rounds), ${number(most)} % at most.`
}

const legend =
  "Share, CPU × and added compare with the first subject of the table, round by round; ± is half the way between their quartiles. First: milliseconds to the first text event (of a whole reply: to its first byte). Busy: subject/load generator/fake cloud/what is not the bench, percent of a core. bench/README.md says how to read the rest."

export const full = (report: Report, scenarios: ReadonlyArray<Scenario>): string =>
  [
    ...measured(report, scenarios).map((scenario) => section(report, scenario)),
    legend,
    report.machine,
    disturbance(report),
    ...report.notes
  ].join("\n\n")
