/** Sums usage records by what is asked for, in memory that does not grow with their number. */
import { makeHistogram } from "../wire/histogram.ts"
import { canonicalTime, readRecord, type UsedRecord } from "./usedRecord.ts"

export const dimensions = ["key", "team", "model", "level", "cloud", "surface", "day"] as const
export type Dimension = (typeof dimensions)[number]
export const isDimension = (text: string): text is Dimension => dimensions.some((dimension) => dimension === text)

/** Percentiles are right within 1 %. */
export const times = makeHistogram({ smallest: 0.05, largest: 86_400_000, factor: 1.01 ** 2 })

/** Sums of a group. */
export interface Totals {
  requests: number
  readonly outcomes: Map<string, number>
  input: number
  cached: number
  cacheWrites: number
  output: number
  reasoning: number
  /** Input and output of requests whose tokens are an estimate; undefined where there are none. */
  estimated: number | undefined
  flags: number
  /** What the gateway itself refused, by status. */
  refused400: number
  refused403: number
  refused429: number
  readonly duration: Uint32Array
  firstEvent: Uint32Array | undefined
  /** Millionths; undefined when no record has one. */
  cost: number | undefined
}

const emptyTotals = (): Totals => ({
  requests: 0,
  outcomes: new Map(),
  input: 0,
  cached: 0,
  cacheWrites: 0,
  output: 0,
  reasoning: 0,
  estimated: undefined,
  flags: 0,
  refused400: 0,
  refused403: 0,
  refused429: 0,
  duration: times.empty(),
  firstEvent: undefined,
  cost: undefined
})

const count = (value: unknown): number => (typeof value === "number" && Number.isFinite(value) ? value : 0)

/** The gateway's own values are a closed set; other values in a file must not fill the memory. */
const maxOutcomes = 64

const add = (totals: Totals, record: UsedRecord): void => {
  const { cost, outcome, status, tokens } = record
  totals.requests++
  const named = totals.outcomes.has(outcome) || totals.outcomes.size < maxOutcomes ? outcome : "other"
  totals.outcomes.set(named, (totals.outcomes.get(named) ?? 0) + 1)
  if (tokens !== null) {
    totals.input += count(tokens.input)
    totals.cached += count(tokens.cached)
    totals.cacheWrites += count(tokens.cache_writes)
    totals.output += count(tokens.output)
    totals.reasoning += count(tokens.reasoning)
    if (tokens.estimated === true) {
      totals.estimated = (totals.estimated ?? 0) + count(tokens.input) + count(tokens.output)
    }
  }
  totals.flags += record.counts.flags
  // A cloud's own refusals have the outcome upstream_error.
  if (status === 400 && outcome === "invalid") totals.refused400++
  else if (status === 403 && (outcome === "forbidden" || outcome === "unauthenticated")) totals.refused403++
  else if (status === 429 && (outcome === "rate_limited" || outcome === "quota")) totals.refused429++
  times.add(totals.duration, record.duration_ms)
  if (record.first_event_ms !== null) {
    totals.firstEvent ??= times.empty()
    times.add(totals.firstEvent, record.first_event_ms)
  }
  if (typeof cost === "number") totals.cost = (totals.cost ?? 0) + cost
}

/** The base name; of a request that got no cloud, as the caller wrote it. */
const baseModel = ({ deployment, model }: UsedRecord): string | null => {
  if (deployment !== null) return deployment.model
  const at = model?.lastIndexOf(":") ?? -1
  return at < 0 ? model : (model?.slice(0, at) ?? null)
}

const readers: Readonly<Record<Dimension, (record: UsedRecord, time: string) => string | null>> = {
  key: (record) => record.key_id,
  team: (record) => record.team ?? null,
  model: baseModel,
  level: (record) => record.level,
  cloud: (record) => record.deployment?.cloud ?? null,
  surface: (record) => record.surface,
  day: (_, time) => time.slice(0, 10)
}

export interface Group {
  /** One for each dimension; null where the record has none. */
  readonly values: ReadonlyArray<string | null>
  readonly totals: Totals
}

/** Where a line is. */
export interface Place {
  readonly file: string
  readonly line: number
}

export interface SummaryOptions {
  readonly by: ReadonlyArray<Dimension>
  /** Times as `toISOString` writes them: from (inclusive), to (exclusive). */
  readonly from?: string | undefined
  readonly to?: string | undefined
  /** Groups of their own; callers choose model names, so there is a bound. Default 20,000. */
  readonly groups?: number | undefined
}

export interface Summary {
  readonly by: ReadonlyArray<Dimension>
  readonly from: string | undefined
  readonly to: string | undefined
  /** Sorted by their values. */
  readonly groups: ReadonlyArray<Group>
  /** What came after the bound on groups. */
  readonly rest: Totals | undefined
  readonly total: Totals
  /** Names that records give their keys. */
  readonly keyNames: ReadonlyMap<string, string>
  readonly lines: number
  readonly damaged: number
  /** The first few. */
  readonly damagedAt: ReadonlyArray<Place>
  /** Lines that are no records, such as log lines. */
  readonly other: number
  /** Records that were written twice after a failed write, and counted once. */
  readonly repeated: number
}

/** A failed batch is written again as a whole, so a repeated record is at most a batch behind. */
const repeatWindow = 1024
const maxInstances = 256

/** Whether a chained record was seen among the last of its chain. */
const makeRepeats = () => {
  const seen = new Map<string, Float64Array>()
  return (instance: string, seq: number): boolean => {
    let ring = seen.get(instance)
    if (ring === undefined) {
      if (seen.size >= maxInstances) {
        const oldest = seen.keys().next()
        if (oldest.done !== true) seen.delete(oldest.value)
      }
      ring = new Float64Array(repeatWindow)
      seen.set(instance, ring)
    }
    const slot = seq % repeatWindow
    if (ring[slot] === seq) return true
    ring[slot] = seq
    return false
  }
}

const maxNamed = 5

const compare = (left: ReadonlyArray<string | null>, right: ReadonlyArray<string | null>): number => {
  for (const [at, value] of left.entries()) {
    const a = value ?? ""
    const b = right[at] ?? ""
    if (a !== b) return a < b ? -1 : 1
  }
  return 0
}

export interface Summing {
  /** A line, its file and its number. */
  readonly add: (line: string | undefined, file: string, number: number) => void
  /** Names something that is no line, such as the end of a cut archive. */
  readonly damage: (place: Place) => void
  readonly records: () => number
  readonly result: () => Summary
}

export const makeSumming = ({ by, from, to, groups: maxGroups = 20_000 }: SummaryOptions): Summing => {
  const groups = new Map<string, Group>()
  const total = emptyTotals()
  const keyNames = new Map<string, string>()
  const isRepeat = makeRepeats()
  const damagedAt: Array<Place> = []
  let rest: Totals | undefined
  let lines = 0
  let damaged = 0
  let other = 0
  let repeated = 0

  const damage = (place: Place) => {
    damaged++
    if (damagedAt.length < maxNamed) damagedAt.push(place)
  }

  const groupOf = (record: UsedRecord, time: string): Totals => {
    const values = by.map((dimension) => readers[dimension](record, time))
    const key = values.length === 1 ? (values[0] ?? "\u0000") : JSON.stringify(values)
    const found = groups.get(key)
    if (found !== undefined) return found.totals
    if (groups.size >= maxGroups) {
      rest ??= emptyTotals()
      return rest
    }
    const group: Group = { values, totals: emptyTotals() }
    groups.set(key, group)
    return group.totals
  }

  return {
    add: (line, file, number) => {
      lines++
      // A failed write leaves half a line and an empty one at most.
      if (line === "") return
      const record = line === undefined ? "damaged" : readRecord(line)
      if (record === "other") {
        other++
        return
      }
      if (record === "damaged") return damage({ file, line: number })
      const time = canonicalTime(record.time)
      if (time === undefined) return damage({ file, line: number })
      if (record.instance !== undefined && record.seq !== undefined && isRepeat(record.instance, record.seq)) {
        repeated++
        return
      }
      if ((from !== undefined && time < from) || (to !== undefined && time >= to)) return
      add(total, record)
      add(groupOf(record, time), record)
      if (record.key_id !== null && typeof record.key_name === "string" && keyNames.size < maxGroups) {
        keyNames.set(record.key_id, record.key_name)
      }
    },
    damage,
    records: () => total.requests,
    result: () => ({
      by,
      from,
      to,
      groups: [...groups.values()].sort((left, right) => compare(left.values, right.values)),
      rest,
      total,
      keyNames,
      lines,
      damaged,
      damagedAt,
      other,
      repeated
    })
  }
}
