/** What was measured, as markdown: short tables for the "Numbers" of bench/README.md, with the aims in its heading. */
import { against, bottleneckOf, type Judgement, judge, type Metric, type Report, rowOf } from "./judge.ts"
import { type Scenario, type Subject, type Surface, surfaces } from "./scenarios.ts"
import { bound, called, disturbance, limits, measured, number, table } from "./table.ts"

const plain = (subject: Subject) => called[subject].replaceAll("*", "")

/** A number with the quartiles of its rounds, bold when it misses an aim. */
const ranged = ({ value, lower, upper, met }: Judgement): string => {
  const text = met ? number(value, 2) : `**${number(value, 2)}**`
  return `${text} (${number(lower, 2)} to ${number(upper, 2)})`
}

/** A comparison in a cell. What has aims is shown with its range. */
const cell = (
  report: Report,
  scenario: Scenario | undefined,
  subject: Subject,
  other: Subject,
  metric: Metric,
  callers: number
): string => {
  if (scenario === undefined) return "–"
  const row = rowOf(report, scenario.name, subject, callers)
  if (row === undefined) return "–"
  const judged = judge(report, scenario, row).find(({ aim }) => aim.metric === metric && aim.against === other)
  // What was not measured is a dash.
  return judged === undefined
    ? number(against(metric, row, rowOf(report, scenario.name, other, callers)).value, 2)
    : ranged(judged)
}

type Scenarios = ReadonlyArray<Scenario>
type Row = (report: Report, scenarios: Scenarios, surface: Surface) => ReadonlyArray<string>

const find = (scenarios: Scenarios, { name }: Surface, way: string) =>
  scenarios.find((scenario) => scenario.name === `${name}-${way}`)

const wholeHead = ["whole replies", "req/s", "of the bare proxy (aim ≥ 0.40)", "of Portkey (≥ 2.7)"]
const wholeRow: Row = (report, scenarios, surface) => {
  const whole = find(scenarios, surface, "whole")
  return [
    surface.title,
    number(rowOf(report, `${surface.name}-whole`, "gateway", 32)?.median.requestsPerSecond ?? Number.NaN),
    cell(report, whole, "gateway", "proxy", "req/s", 32),
    cell(report, whole, "gateway", "portkey", "req/s", 32)
  ]
}

const streamHead = [
  "streams",
  "in bursts: events/s",
  "of the bare proxy (≥ 0.30; chat 0.18)",
  "as clouds send: CPU an event × bare proxy (≤ 1.4)",
  "first event: ms later, one caller (≤ 1.5)"
]
const streamRow: Row = (report, scenarios, surface) => {
  const [bursts, sent, first] = ["bursts", "sent", "first"].map((way) => find(scenarios, surface, way))
  return [
    surface.title,
    number(rowOf(report, `${surface.name}-bursts`, "gateway", 32)?.median.eventsPerSecond ?? Number.NaN),
    cell(report, bursts, "gateway", "proxy", "events/s", 32),
    cell(report, sent, "gateway", "proxy", "cpu", 200),
    cell(report, first, "gateway", "proxy", "added", 1)
  ]
}

const words: Partial<Record<Metric, string>> = {
  "req/s": "req/s",
  "events/s": "events/s",
  cpu: "CPU an event",
  wall: "time"
}

/** The aims that belong to no surface, a line each. */
const rest = (report: Report, scenarios: Scenarios) =>
  scenarios
    .filter(({ name }) => !surfaces.some((surface) => name.startsWith(`${surface.name}-`)))
    .flatMap((scenario) =>
      report.rows
        .filter((row) => row.scenario === scenario.name)
        .flatMap((row) =>
          judge(report, scenario, row).map((judged) => [
            `${scenario.title}, ${row.callers === 1 ? "one caller" : `${row.callers} callers`}`,
            `${ranged(judged)} × the ${words[judged.aim.metric]} of the ${plain(judged.aim.against)}`,
            bound(judged.aim)
          ])
        )
    )

/** Rows in which something else than the subject, and no pace, held the subject up. */
const held = (report: Report, scenarios: Scenarios): string => {
  const rows = scenarios
    .filter(({ pace }) => pace.every === 0 && pace.delay === 0)
    .flatMap((scenario) =>
      report.rows.filter((row) => row.scenario === scenario.name).map((row) => [scenario, row] as const)
    )
  const others = rows.flatMap(([scenario, row]) => {
    const limit = bottleneckOf(scenario, row)
    if (limit === "subject" || limit === "turns") return []
    return [`${row.scenario} of the ${plain(row.subject)} (${limits[limit]})`]
  })
  if (rows.length === 0) return ""
  if (others.length === 0) return "In every row without a pace the subject itself was the bottleneck."
  const named = others.length > 8 ? "; the long table says which" : `: ${others.join(", ")}`
  return `In ${others.length} of ${rows.length} rows without a pace something else than the subject was the bottleneck${named}.`
}

export const brief = (report: Report, scenarios: Scenarios): string => {
  const chosen = measured(report, scenarios)
  const shown = surfaces.filter(({ name }) => chosen.some((scenario) => scenario.name.startsWith(`${name}-`)))
  const rows = (row: Row) => shown.map((surface) => row(report, chosen, surface))
  const others = rest(report, chosen)
  const judgements = chosen.flatMap((scenario) =>
    report.rows.filter((row) => row.scenario === scenario.name).flatMap((row) => judge(report, scenario, row))
  )
  const met = judgements.filter((one) => one.met).length
  return [
    ...(shown.length > 0 ? [table(wholeHead, rows(wholeRow)), table(streamHead, rows(streamRow))] : []),
    ...(others.length > 0 ? [table(["beyond the surfaces", "measured", "aim"], others, 3)] : []),
    `${met} of ${judgements.length} aims are met; what misses one is **bold**. ${held(report, chosen)}`,
    report.machine,
    disturbance(report),
    ...report.notes
  ].join("\n\n")
}
