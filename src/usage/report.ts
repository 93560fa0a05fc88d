/** Sums and verdicts, as a person, a spreadsheet or a program wants them. */
import { escapeControls } from "../wire/escape.ts"
import type { Verdict } from "./chainCheck.ts"
import { type Dimension, type Place, type Summary, type Totals, times } from "./summary.ts"

export const formats = ["table", "csv", "json"] as const
export type Format = (typeof formats)[number]

/** Names of keys by their IDs. */
export type KeyNames = ReadonlyMap<string, string>

const round = (value: number | undefined): number | null => (value === undefined ? null : Number(value.toPrecision(3)))
const p50 = (totals: Totals) => round(times.percentile(totals.duration, 0.5))
const p95 = (totals: Totals) => round(times.percentile(totals.duration, 0.95))
const first50 = ({ firstEvent }: Totals) => round(firstEvent && times.percentile(firstEvent, 0.5))
const first95 = ({ firstEvent }: Totals) => round(firstEvent && times.percentile(firstEvent, 0.95))
/** Millionths, as whole units and six digits. */
const money = (millionths: number): string => {
  const text = String(Math.abs(millionths)).padStart(7, "0")
  return `${millionths < 0 ? "-" : ""}${text.slice(0, -6)}.${text.slice(-6)}`
}

const grouped = (value: number): string => String(value).replace(/\B(?=(\d{3})+$)/g, ",")
const shown = (place: Place): string => `${escapeControls(place.file)}:${place.line}`

interface Column {
  readonly head: string
  readonly of: (totals: Totals) => number | string | null
}

const outcome =
  (...names: ReadonlyArray<string>) =>
  ({ outcomes }: Totals) =>
    names.reduce((sum, name) => sum + (outcomes.get(name) ?? 0), 0)

/** What failed, and rarer refusals: the outcomes say which. */
const rest = (totals: Totals): number =>
  totals.requests - outcome("ok", "cancelled")(totals) - totals.refused400 - totals.refused403 - totals.refused429

const columns: ReadonlyArray<Column> = [
  { head: "REQUESTS", of: ({ requests }) => requests },
  { head: "OK", of: outcome("ok") },
  { head: "400", of: ({ refused400 }) => refused400 },
  { head: "403", of: ({ refused403 }) => refused403 },
  { head: "429", of: ({ refused429 }) => refused429 },
  { head: "OTHER", of: rest },
  { head: "LEFT", of: outcome("cancelled") },
  { head: "INPUT", of: ({ input }) => input },
  { head: "CACHED", of: ({ cached }) => cached },
  { head: "CACHE WRITES", of: ({ cacheWrites }) => cacheWrites },
  { head: "OUTPUT", of: ({ output }) => output },
  { head: "REASONING", of: ({ reasoning }) => reasoning },
  { head: "FLAGS", of: ({ flags }) => flags },
  { head: "MS P50", of: p50 },
  { head: "MS P95", of: p95 },
  { head: "FIRST P50", of: first50 },
  { head: "FIRST P95", of: first95 }
]
const costColumn: Column = { head: "COST", of: ({ cost }) => (cost === undefined ? null : money(cost)) }
const estimatedColumn: Column = { head: "ESTIMATED", of: ({ estimated = 0 }) => estimated }
/** Only where any record has such a thing. */
const rareColumns = ({ cost, estimated }: Totals): ReadonlyArray<Column> => [
  ...(estimated === undefined ? [] : [estimatedColumn]),
  ...(cost === undefined ? [] : [costColumn])
]

interface Row {
  readonly values: ReadonlyArray<string | null>
  readonly totals: Totals
}

const restName = "(other)"
const rowsOf = ({ by, groups, rest }: Summary): ReadonlyArray<Row> =>
  rest === undefined ? groups : [...groups, { values: by.map(() => restName), totals: rest }]

const table = (rows: ReadonlyArray<ReadonlyArray<string>>, texts: number): string => {
  const widths = (rows[0] ?? []).map((_, column) =>
    rows.reduce((width, row) => Math.max(width, (row[column] ?? "").length), 0)
  )
  return rows
    .map((row) => {
      const cells = row.map((cell, at) => (at < texts ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      return `${cells.join("  ").trimEnd()}\n`
    })
    .join("")
}

const cell = (value: number | string | null): string =>
  value === null ? "-" : typeof value === "number" ? grouped(value) : value

const asTable = (summary: Summary, names: KeyNames): string => {
  const { by, damaged, damagedAt, other, repeated, total } = summary
  const numbers = [...columns, ...rareColumns(total)]
  const label = (dimension: Dimension | undefined, value: string | null): string => {
    const name = dimension === "key" && value !== null ? names.get(value) : undefined
    return escapeControls(value === null ? "-" : name === undefined ? value : `${name} (${value})`)
  }
  const rows = rowsOf(summary).map(({ values, totals }) => [
    ...values.map((value, at) => label(by[at], value)),
    ...numbers.map(({ of }) => cell(of(totals)))
  ])
  const heads = [...by.map((dimension) => dimension.toUpperCase()), ...numbers.map(({ head }) => head)]
  const sum = [...by.map((_, at) => (at === 0 ? "TOTAL" : "")), ...numbers.map(({ of }) => cell(of(total)))]
  const outcomes = [...total.outcomes].sort(([, left], [, right]) => right - left)
  return [
    table(rows.length === 1 ? [heads, ...rows] : [heads, ...rows, sum], by.length),
    outcomes.length === 0
      ? "\nNo records.\n"
      : `\nOutcomes: ${outcomes.map(([name, count]) => `${escapeControls(name)} ${grouped(count)}`).join(", ")}\n`,
    other === 0 ? "" : `${grouped(other)} lines are no usage records.\n`,
    repeated === 0 ? "" : `${grouped(repeated)} records were written twice and counted once.\n`,
    damaged === 0 ? "" : `Damaged lines: ${grouped(damaged)} (${placesText(damaged, damagedAt)})\n`
  ].join("")
}

const placesText = (count: number, places: ReadonlyArray<Place>): string =>
  `${places.map(shown).join(", ")}${count > places.length ? ", …" : ""}`

/** A text that a caller chose must not become a formula in a spreadsheet. */
const csvCell = (value: number | string | null): string => {
  if (value === null) return ""
  if (typeof value === "number") return String(value)
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Every outcome that occurs has a column. */
const asCsv = (summary: Summary, names: KeyNames): string => {
  const { by, total } = summary
  const outcomes = [...total.outcomes.keys()].sort()
  const numbers: ReadonlyArray<Column> = [
    { head: "requests", of: ({ requests }) => requests },
    ...outcomes.map((name) => ({ head: `outcome_${name}`, of: outcome(name) })),
    { head: "refused_400", of: ({ refused400 }) => refused400 },
    { head: "refused_403", of: ({ refused403 }) => refused403 },
    { head: "refused_429", of: ({ refused429 }) => refused429 },
    { head: "input_tokens", of: ({ input }) => input },
    { head: "cached_tokens", of: ({ cached }) => cached },
    { head: "cache_write_tokens", of: ({ cacheWrites }) => cacheWrites },
    { head: "output_tokens", of: ({ output }) => output },
    { head: "reasoning_tokens", of: ({ reasoning }) => reasoning },
    { head: "flags", of: ({ flags }) => flags },
    { head: "duration_ms_p50", of: p50 },
    { head: "duration_ms_p95", of: p95 },
    { head: "first_event_ms_p50", of: first50 },
    { head: "first_event_ms_p95", of: first95 },
    ...rareColumns(total).map((column) => ({ ...column, head: column === costColumn ? "cost" : "estimated_tokens" }))
  ]
  const heads = [...by.flatMap((dimension) => (dimension === "key" ? ["key", "key_name"] : [dimension]))]
  const lines = rowsOf(summary).map(({ values, totals }) => [
    ...values.flatMap((value, at) =>
      by[at] === "key" ? [csvCell(value), csvCell(names.get(value ?? "") ?? null)] : [csvCell(value)]
    ),
    // A sum of money is a number, below zero or not.
    ...numbers.map(({ of }) => String(of(totals) ?? ""))
  ])
  return [[...heads, ...numbers.map(({ head }) => csvCell(head))], ...lines]
    .map((line) => `${line.join(",")}\n`)
    .join("")
}

const totalsJson = (totals: Totals) => ({
  requests: totals.requests,
  outcomes: Object.fromEntries([...totals.outcomes].sort(([left], [right]) => (left < right ? -1 : 1))),
  refused: { "400": totals.refused400, "403": totals.refused403, "429": totals.refused429 },
  tokens: {
    input: totals.input,
    cached: totals.cached,
    cache_writes: totals.cacheWrites,
    output: totals.output,
    reasoning: totals.reasoning,
    // What is undefined is not printed.
    estimated: totals.estimated
  },
  flags: totals.flags,
  duration_ms: { p50: p50(totals), p95: p95(totals) },
  first_event_ms: { p50: first50(totals), p95: first95(totals) },
  cost: totals.cost
})

const asJson = (summary: Summary, names: KeyNames): string => {
  const { by, damaged, damagedAt, from, lines, other, repeated, total } = summary
  const rows = rowsOf(summary).map(({ values, totals }) => ({
    ...Object.fromEntries(
      values.flatMap((value, at) => [
        [by[at] ?? "", value],
        ...(by[at] === "key" && value !== null && names.has(value) ? [["key_name", names.get(value)]] : [])
      ])
    ),
    ...totalsJson(totals)
  }))
  const report = {
    from: from ?? null,
    to: summary.to ?? null,
    by,
    rows,
    total: totalsJson(total),
    lines: { read: lines, records: total.requests, damaged, other, repeated },
    damaged: damagedAt
  }
  return `${JSON.stringify(report, null, 2).split("\n").map(escapeControls).join("\n")}\n`
}

export const showSummary = (summary: Summary, format: Format, names: KeyNames): string => {
  if (format === "json") return asJson(summary, names)
  return format === "csv" ? asCsv(summary, names) : asTable(summary, names)
}

/** Damaged lines, for a person who asked for CSV. */
export const damageText = ({ damaged, damagedAt }: Summary): string =>
  `Damaged lines: ${grouped(damaged)} (${placesText(damaged, damagedAt)})`

export const showVerdict = (verdict: Verdict): string => {
  const { breaks, breaksAt, chains, open, other, records, repeated, torn, unchained } = verdict
  const rows = chains.map((chain) => [
    chain.instance,
    grouped(chain.records),
    `${chain.first} to ${chain.last}`,
    String(chain.anchors),
    chain.digest
  ])
  return [
    chains.length === 0 ? "" : table([["CHAIN", "RECORDS", "NUMBERS", "ANCHORS", "DIGEST OF THE LAST"], ...rows], 5),
    chains.length === 0 ? "" : "\n",
    ...breaksAt.map(({ instance, place, seq, text, through = seq }) => {
      const numbers = seq === through ? `record ${seq}` : `records ${seq} to ${through}`
      const what = instance === undefined || seq === undefined ? "" : ` chain ${instance}, ${numbers},`
      return `BREAK ${shown(place)}:${what} ${escapeControls(text)}\n`
    }),
    breaks > breaksAt.length ? `… and ${grouped(breaks - breaksAt.length)} more breaks\n` : "",
    ...open.slice(0, 20).map((text) => `open: ${escapeControls(text)}\n`),
    open.length > 20 ? `… and ${grouped(open.length - 20)} more\n` : "",
    torn === 0 ? "" : `${grouped(torn)} halves of lines were left by failed writes, and their records follow.\n`,
    repeated === 0 ? "" : `${grouped(repeated)} records were written twice, unchanged, after a failed write.\n`,
    other === 0 ? "" : `${grouped(other)} lines are no usage records.\n`,
    unchained === 0 ? "" : `${grouped(unchained)} records are of a release that did not chain them: not checked.\n`,
    `${grouped(records)} records in ${grouped(chains.length)} ${chains.length === 1 ? "chain" : "chains"}: ${
      breaks === 0 ? "no break" : `${grouped(breaks)} ${breaks === 1 ? "break" : "breaks"}`
    }.\n`
  ].join("")
}
