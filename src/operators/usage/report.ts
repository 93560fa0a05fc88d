/** Sums and verdicts, as a person, a spreadsheet or a program wants them. */
import { Struct } from "effect"
import { millionths } from "../../limits/limits.ts"
import { plural } from "../../wire/plural.ts"
import { escapeControls, escapeLines } from "../../wire/print.ts"
import { table } from "../table.ts"
import type { Verdict } from "./chainCheck.ts"
import { type Place, showPlace } from "./readFiles.ts"
import { type Dimension, type Summary, type Totals, times } from "./summary.ts"

type KeyNames = ReadonlyMap<string, string>

const percentile = (counts: Uint32Array | undefined, share: number): number | null => {
  const value = counts && times.percentile(counts, share)
  return value === undefined ? null : Number(value.toPrecision(3))
}

/** Millionths, as whole units and six digits; exact up to four billion units. */
const units = (amount: number): string => (amount / millionths).toFixed(6)

const grouped = new Intl.NumberFormat("en").format
const shownPlace = (place: Place): string => escapeControls(showPlace(place))

type Read = (totals: Totals) => number | string | null

const outcome =
  (name: string): Read =>
  ({ outcomes }) =>
    outcomes.get(name) ?? 0

/** What failed, and rarer refusals: the outcomes say which. */
const rest: Read = ({ outcomes, refused, requests }) =>
  requests -
  (outcomes.get("ok") ?? 0) -
  (outcomes.get("cancelled") ?? 0) -
  Object.values(refused).reduce((sum, count) => sum + count, 0)

const always: ReadonlyArray<readonly [table: string, csv: string, Read]> = [
  ["REQUESTS", "requests", ({ requests }) => requests],
  ["OK", "", outcome("ok")],
  ["400", "refused_400", ({ refused }) => refused["400"]],
  ["403", "refused_403", ({ refused }) => refused["403"]],
  ["429", "refused_429", ({ refused }) => refused["429"]],
  ["OTHER", "", rest],
  ["LEFT", "", outcome("cancelled")],
  ["INPUT", "input_tokens", ({ tokens }) => tokens.input],
  ["CACHED", "cached_tokens", ({ tokens }) => tokens.cached],
  ["CACHE WRITES", "cache_write_tokens", ({ tokens }) => tokens.cache_writes],
  ["OUTPUT", "output_tokens", ({ tokens }) => tokens.output],
  ["REASONING", "reasoning_tokens", ({ tokens }) => tokens.reasoning],
  ["FLAGS", "flags", ({ flags }) => flags],
  ["MS P50", "duration_ms_p50", ({ duration_ms }) => percentile(duration_ms, 0.5)],
  ["MS P95", "duration_ms_p95", ({ duration_ms }) => percentile(duration_ms, 0.95)],
  ["FIRST P50", "first_event_ms_p50", ({ first_event_ms }) => percentile(first_event_ms, 0.5)],
  ["FIRST P95", "first_event_ms_p95", ({ first_event_ms }) => percentile(first_event_ms, 0.95)]
]
/** A part of the cache writes. */
const hourly = ["WRITES 1H", "cache_write_1h_tokens", ({ tokens }: Totals) => tokens.cache_writes_1h] as const
const estimated = ["ESTIMATED", "estimated_tokens", ({ tokens }: Totals) => tokens.estimated ?? 0] as const
const cost = ["COST", "cost", ({ cost }: Totals) => (cost === undefined ? null : units(cost))] as const

/** In tables, and in CSV, where every outcome has a column of its own. The last ones only where any record has such a thing. */
const columnsOf = (total: Totals) => [
  ...always,
  ...(total.tokens.cache_writes_1h === 0 ? [] : [hourly]),
  ...(total.tokens.estimated === undefined ? [] : [estimated]),
  ...(total.cost === undefined ? [] : [cost])
]

const rowsOf = ({ by, groups, rest }: Summary) =>
  rest === undefined ? groups : [...groups, { values: by.map(() => "(other)"), totals: rest }]

/** For a person who asked for CSV, beside it. */
export const damageText = ({ damagedAt, lines: { damaged } }: Summary): string =>
  `Damaged lines: ${grouped(damaged)} (${damagedAt.map(shownPlace).join(", ")}${damaged > damagedAt.length ? ", …" : ""})`

/** A line for what there is any of. */
const notes = (...lines: ReadonlyArray<readonly [count: number, text: string]>): string =>
  lines.map(([count, text]) => (count === 0 ? "" : `${grouped(count)} ${text}.\n`)).join("")

const asTable = (summary: Summary, names: KeyNames): string => {
  const { by, lines, total } = summary
  const columns = columnsOf(total)
  const cells = (totals: Totals) =>
    columns.map(([, , read]) => {
      const value = read(totals)
      return typeof value === "number" ? grouped(value) : (value ?? "-")
    })
  const label = (dimension: Dimension | undefined, value: string | null): string => {
    const name = dimension === "key" && value !== null ? names.get(value) : undefined
    return name === undefined ? (value ?? "-") : `${name} (${value})`
  }
  const rows = rowsOf(summary).map(({ values, totals }) => [
    ...values.map((value, at) => label(by[at], value)),
    ...cells(totals)
  ])
  const heads = [...by.map((dimension) => dimension.toUpperCase()), ...columns.map(([head]) => head)]
  const sum = [...by.map((_, at) => (at === 0 ? "TOTAL" : "")), ...cells(total)]
  const outcomes = [...total.outcomes].sort(([, left], [, right]) => right - left)
  return [
    table(rows.length === 1 ? [heads, ...rows] : [heads, ...rows, sum], by.length),
    outcomes.length === 0
      ? "\nNo records.\n"
      : `\nOutcomes: ${outcomes.map(([name, count]) => `${escapeControls(name)} ${grouped(count)}`).join(", ")}\n`,
    notes([lines.other, "lines are no usage records"], [lines.repeated, "records were there before and counted once"]),
    lines.damaged === 0 ? "" : `${damageText(summary)}\n`
  ].join("")
}

/** A text that a caller chose must not become a formula in a spreadsheet. */
const csvCell = (value: string): string => {
  const text = escapeControls(/^[=+\-@\t\r]/.test(value) ? `'${value}` : value)
  return /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

const asCsv = (summary: Summary, names: KeyNames): string => {
  const { by, total } = summary
  const [requests, ...others] = columnsOf(total).filter(([, name]) => name !== "")
  const outcomes = [...total.outcomes.keys()].sort().map((name) => ["", `outcome_${name}`, outcome(name)] as const)
  const columns = [...(requests === undefined ? [] : [requests]), ...outcomes, ...others]
  const heads = by.flatMap((dimension) => (dimension === "key" ? ["key", "key_name"] : [dimension]))
  const rows = rowsOf(summary).map(({ values, totals }) => [
    ...values
      .flatMap((value, at) => (by[at] === "key" ? [value, names.get(value ?? "")] : [value]))
      .map((value) => csvCell(value ?? "")),
    // A sum of money is a number, below zero or not.
    ...columns.map(([, , read]) => String(read(totals) ?? ""))
  ])
  return [[...heads, ...columns.map(([, name]) => name)].map(csvCell), ...rows]
    .map((row) => `${row.join(",")}\n`)
    .join("")
}

const percentiles = (counts: Uint32Array | undefined) => ({
  p50: percentile(counts, 0.5),
  p95: percentile(counts, 0.95)
})
/** What is undefined is not printed. */
const totalsJson = (totals: Totals) => ({
  ...totals,
  outcomes: Object.fromEntries([...totals.outcomes].sort(([left], [right]) => (left < right ? -1 : 1))),
  duration_ms: percentiles(totals.duration_ms),
  first_event_ms: percentiles(totals.first_event_ms)
})

const asJson = (summary: Summary, names: KeyNames): string => {
  const { by, damagedAt, from = null, lines, to = null, total } = summary
  const rows = rowsOf(summary).map(({ values, totals }) => ({
    ...Object.fromEntries(
      values.flatMap((value, at) => [
        [by[at] ?? "", value],
        ...(by[at] === "key" && value !== null && names.has(value) ? [["key_name", names.get(value)]] : [])
      ])
    ),
    ...totalsJson(totals)
  }))
  const { damaged, other, read, repeated } = lines
  const report = {
    ...{ from, to, by, rows, total: totalsJson(total) },
    lines: { read, records: total.requests, damaged, other, repeated },
    damaged: damagedAt
  }
  return `${escapeLines(JSON.stringify(report, null, 2))}\n`
}

const printers = { table: asTable, csv: asCsv, json: asJson }
export const formats = Struct.keys(printers)
export const showSummary = (summary: Summary, format: keyof typeof printers, names: KeyNames): string =>
  printers[format](summary, names)

/** The first lines of a list, and how many more there are. */
const atMost = (most: number, count: number, lines: ReadonlyArray<string>, what: string): string =>
  [...lines.slice(0, most), ...(count > most ? [`… and ${grouped(count - most)} more${what}\n`] : [])].join("")

export const showVerdict = (verdict: Verdict): string => {
  const { breaks, breaksAt, chains, covered, open, records } = verdict
  const rows = chains.map(({ anchors, digest, first, instance, last, records }) => [
    ...[instance, grouped(records), `${first} to ${last}`, String(anchors), digest]
  ])
  const breakLines = breaksAt.map(({ instance, place, seq, text, through = seq }) => {
    const numbers = seq === through ? `record ${seq}` : `records ${seq} to ${through}`
    const chain = instance === undefined || seq === undefined ? "" : ` chain ${instance}, ${numbers},`
    return `BREAK ${shownPlace(place)}:${chain} ${escapeControls(text)}\n`
  })
  const openLines = open.map((text) => `open: ${escapeControls(text)}\n`)
  const whole = records === 0 ? "nothing was checked" : "no break"
  const result = breaks === 0 ? whole : `${grouped(breaks)} ${plural(breaks, "break")}`
  return [
    rows.length === 0 ? "" : `${table([["CHAIN", "RECORDS", "NUMBERS", "ANCHORS", "DIGEST OF THE LAST"], ...rows])}\n`,
    atMost(breakLines.length, breaks, breakLines, " breaks"),
    atMost(20, openLines.length, openLines, ""),
    notes(
      [verdict.torn, "halves of lines were left by failed writes, and their records follow"],
      [verdict.repeated, "records were written twice, unchanged, after a failed write"],
      [verdict.other, "lines are no usage records"],
      [verdict.unchained, "records are of a release that did not chain them: not checked"]
    ),
    `${grouped(records)} records in ${grouped(chains.length)} ${plural(chains.length, "chain")}: ${result}.\n`,
    notes([verdict.unchecked, "heads are signed, and were not checked: give the key with --public-key"]),
    covered === undefined ? "" : `Signatures of this key cover ${grouped(covered)} of ${grouped(records)} records.\n`
  ].join("")
}
