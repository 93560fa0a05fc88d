/** Sums usage records, by what is asked for and as counts of limits, in memory that does not grow with their number. */
import { Array as Arr, Order, Struct } from "effect"
import type { Charge } from "../../limits/Ledger.ts"
import { accountOf, lastUseAccount, periodAt, teamUser } from "../../limits/limits.ts"
import { getOrInsert } from "../../wire/getOrInsert.ts"
import { makeHistogram } from "../histogram.ts"
import { makeRecordReader, type UsedRecord } from "./usedRecord.ts"

/** Percentiles are right within 1 %. */
export const times = makeHistogram({ smallest: 0.05, largest: 86_400_000, factor: 1.01 ** 2 })

/** Sums of a group, by the names of the report in JSON. */
export type Totals = ReturnType<typeof emptyTotals>

const emptyTotals = () => ({
  requests: 0,
  outcomes: new Map<string, number>(),
  /** What the gateway itself refused, by status. */
  refused: { "400": 0, "403": 0, "429": 0 },
  tokens: {
    ...{ input: 0, cached: 0, cache_writes: 0, cache_writes_1h: 0, output: 0, reasoning: 0 },
    /** Input and output of requests whose tokens are an estimate; undefined where there are none. */
    estimated: undefined as number | undefined
  },
  flags: 0,
  duration_ms: times.empty(),
  first_event_ms: undefined as Uint32Array | undefined,
  /** Millionths; undefined when no record has one. */
  cost: undefined as number | undefined
})

/** No sum goes down, whatever a file says. */
const count = (value: unknown): number =>
  typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : 0

/** The gateway's own values are a closed set; other values in a file must not fill the memory. */
const maxOutcomes = 64

/** A cloud's own refusals have the outcome upstream_error. */
const refusals = { "400": ["invalid"], "403": ["forbidden", "unauthenticated"], "429": ["rate_limited", "quota"] }

const add = (totals: Totals, record: UsedRecord): void => {
  const { cost, first_event_ms, outcome, status, tokens } = record
  totals.requests++
  const name = totals.outcomes.has(outcome) || totals.outcomes.size < maxOutcomes ? outcome : "other"
  totals.outcomes.set(name, (totals.outcomes.get(name) ?? 0) + 1)
  for (const refused of Struct.keys(refusals)) {
    if (status === Number(refused) && refusals[refused].includes(outcome)) totals.refused[refused]++
  }
  if (tokens !== null) {
    for (const name of ["input", "cached", "cache_writes", "cache_writes_1h", "output", "reasoning"] as const) {
      totals.tokens[name] += count(tokens[name])
    }
    if (tokens.estimated === true) {
      totals.tokens.estimated = (totals.tokens.estimated ?? 0) + count(tokens.input) + count(tokens.output)
    }
  }
  totals.flags += count(record.counts.flags)
  times.add(totals.duration_ms, record.duration_ms)
  if (first_event_ms !== null) {
    totals.first_event_ms ??= times.empty()
    times.add(totals.first_event_ms, first_event_ms)
  }
  if (typeof cost === "number") totals.cost = (totals.cost ?? 0) + count(cost)
}

const readers = {
  key: (record) => record.key_id,
  team: (record) => record.team ?? null,
  // The base name; of a request that got no cloud, as the caller wrote it.
  model: ({ deployment, model }) => deployment?.model ?? model?.replace(/:[^:]*$/, "") ?? null,
  level: (record) => record.level,
  cloud: (record) => record.deployment?.cloud ?? null,
  surface: (record) => record.surface,
  owner: (record) => record.owner ?? null,
  source: (record) => record.source ?? null,
  day: ({ time }) => time.slice(0, 10),
  // `2026-11-22T10`
  hour: ({ time }) => time.slice(0, 13)
} satisfies Record<string, (record: UsedRecord) => string | null>

const tag = "tag:"
export type Dimension = keyof typeof readers | `${typeof tag}${string}`
const isReader = (text: string): text is keyof typeof readers => Object.hasOwn(readers, text)
export const isDimension = (text: string): text is Dimension =>
  isReader(text) || (text.startsWith(tag) && text.length > tag.length)
export const dimensions: ReadonlyArray<string> = [...Object.keys(readers), "tag:NAME"]

const valueOf = (dimension: Dimension, record: UsedRecord): string | null => {
  if (isReader(dimension)) return readers[dimension](record)
  const name = dimension.slice(tag.length)
  const { tags } = record
  return tags !== undefined && tags !== null && Object.hasOwn(tags, name) ? (tags[name] ?? null) : null
}

export interface SummaryOptions {
  readonly by: ReadonlyArray<Dimension>
  /** Times as `toISOString` writes them: from (inclusive), to (exclusive). */
  readonly from?: string | undefined
  readonly to?: string | undefined
  /** Groups of their own; callers choose model names, so there is a bound. Default 20,000. */
  readonly groups?: number | undefined
}

export type Summary = ReturnType<ReturnType<typeof makeSumming>["result"]>

export const makeSumming = ({ by, from, to, groups: maxGroups = 20_000 }: SummaryOptions) => {
  /** With a value for each dimension; null where the record has none. */
  const groups = new Map<string, { readonly values: ReadonlyArray<string | null>; readonly totals: Totals }>()
  const total = emptyTotals()
  /** What came after the bound on groups. */
  let rest: Totals | undefined
  const keyNames = new Map<string, string>()

  const totalsOf = (record: UsedRecord): Totals => {
    const values = by.map((dimension) => valueOf(dimension, record))
    const key = JSON.stringify(values)
    if (groups.has(key) || groups.size < maxGroups) {
      return getOrInsert(groups, key, () => ({ values, totals: emptyTotals() })).totals
    }
    rest ??= emptyTotals()
    return rest
  }

  const { damage, damagedAt, line, lines } = makeRecordReader((record) => {
    const { key_id, key_name, time } = record
    if ((from !== undefined && time < from) || (to !== undefined && time >= to)) return
    add(total, record)
    add(totalsOf(record), record)
    if (key_id !== null && typeof key_name === "string" && keyNames.size < maxGroups) keyNames.set(key_id, key_name)
  })
  return {
    line,
    damage,
    result: () => {
      const sorted = Arr.sortWith(groups.values(), ({ values }) => values.join("\u0000"), Order.String)
      return { by, from, to, groups: sorted, rest, total, keyNames, lines, damagedAt }
    }
  }
}

// Counts of this month and of today, rebuilt from usage records (docs/operation.md#redis).

/** Keys and teams of their own; a gateway has as many. */
const maxAccounts = 1_000_000

/** `now` is in milliseconds since the epoch. */
export const makeRestoring = (now: number) => {
  const sums = new Map<string, Charge>()
  let records = 0

  const put = ({ account, amount }: Charge, merge: (before: number, amount: number) => number): void => {
    const before = sums.get(account.name)
    if (amount === 0 || (before === undefined && sums.size >= maxAccounts)) return
    sums.set(account.name, { account, amount: merge(before?.amount ?? 0, amount) })
  }
  const plus = (before: number, amount: number) => before + amount

  const { damage, line, lines } = makeRecordReader(({ cost, key_id, outcome, team, time, tokens }) => {
    // A secret that works no more is no use of its key.
    if (key_id === null || outcome === "unauthenticated") return
    records++
    put({ account: lastUseAccount(key_id), amount: Date.parse(time) }, Math.max)
    const used = count(tokens?.input) + count(tokens?.output)
    for (const period of [periodAt("month", now), periodAt("day", now)].filter(({ name }) => time.startsWith(name))) {
      for (const user of [key_id, ...(typeof team === "string" ? [teamUser(team)] : [])]) {
        put({ account: accountOf(user, period, "tokens"), amount: used }, plus)
        put({ account: accountOf(user, period, "cost"), amount: count(cost) }, plus)
      }
    }
  })
  return { line, damage, result: () => ({ counts: [...sums.values()], records, damaged: lines.damaged }) }
}
