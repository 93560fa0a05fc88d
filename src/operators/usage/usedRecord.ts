/** What sums need of a usage record, read from its line. Fields that later releases add, or that older ones lack, may be absent. */
import { Schema } from "effect"
import { recordIn } from "../../limits/ocsf.ts"
import { isObject, readObject } from "../../wire/json.ts"
import type { Place } from "./readFiles.ts"

const Text = Schema.NullOr(Schema.String)

const UsedRecord = Schema.Struct({
  time: Schema.String,
  request_id: Schema.String,
  key_id: Text,
  key_name: Schema.optional(Text),
  team: Schema.optional(Text),
  owner: Schema.optional(Text),
  tags: Schema.optional(Schema.NullOr(Schema.Record(Schema.String, Schema.String))),
  source: Schema.optional(Text),
  surface: Schema.String,
  model: Text,
  deployment: Schema.NullOr(Schema.Struct({ cloud: Schema.String, model: Schema.String })),
  level: Text,
  status: Schema.NullOr(Schema.Number),
  outcome: Schema.String,
  tokens: Schema.NullOr(Schema.declare(isObject)),
  counts: Schema.Struct({ flags: Schema.Number }),
  duration_ms: Schema.Number,
  first_event_ms: Schema.NullOr(Schema.Number),
  /** Millionths of the currency. */
  cost: Schema.optional(Schema.NullOr(Schema.Number)),
  instance: Schema.optional(Text),
  seq: Schema.optional(Schema.NullOr(Schema.Number))
})
export type UsedRecord = typeof UsedRecord.Type

const isUsed = Schema.is(UsedRecord)

/** `other`: whole, but something else, such as a log line. `damaged`: cut, or no record of ours. */
const readRecord = (line: string): UsedRecord | "other" | "damaged" => {
  const value = recordIn(readObject(line))
  if (isUsed(value)) {
    const date = new Date(value.time)
    if (Number.isNaN(date.getTime())) return "damaged"
    // Times are compared as texts.
    const time = date.toISOString()
    return time === value.time ? value : { ...value, time }
  }
  // The gateway's log lines have a timestamp, and audit events a name.
  return isObject(value) && ("audit" in value || !("time" in value && "outcome" in value)) ? "other" : "damaged"
}

/** What earlier versions wrote again after a failed write, a batch as a whole, is at most a batch behind. */
const repeatWindow = 1024
const maxInstances = 256

/** Whether a chained record was read among the last of its chain. */
const makeRepeats = () => {
  const seen = new Map<string, Float64Array>()
  return ({ instance, seq }: UsedRecord): boolean => {
    if (typeof instance !== "string" || typeof seq !== "number") return false
    const known = seen.get(instance)
    if (known === undefined && seen.size >= maxInstances) seen.delete(seen.keys().next().value ?? "")
    const ring = known ?? new Float64Array(repeatWindow)
    seen.set(instance, ring)
    const slot = seq % repeatWindow
    if (ring[slot] === seq) return true
    ring[slot] = seq
    return false
  }
}

const maxNamed = 5

/** Gives the records among lines to `take`, their times as `toISOString` writes them, and counts the other lines. */
export const makeRecordReader = (take: (record: UsedRecord) => void) => {
  const isRepeat = makeRepeats()
  /** `other`: lines that are no records, such as log lines; `repeated`: written twice after a failed write, and taken once. */
  const lines = { read: 0, damaged: 0, other: 0, repeated: 0 }
  const damagedAt: Array<Place> = []

  /** Names also what is no line, such as the end of a cut archive. */
  const damage = (place: Place): void => {
    lines.damaged++
    if (damagedAt.length < maxNamed) damagedAt.push(place)
  }
  const line = (line: string | undefined, place: Place): void => {
    lines.read++
    // A failed write leaves half a line and an empty one at most.
    if (line === "") return
    const record = line === undefined ? "damaged" : readRecord(line)
    if (record === "damaged") damage(place)
    else if (record === "other") lines.other++
    else if (isRepeat(record)) lines.repeated++
    else take(record)
  }
  return { line, damage, lines, damagedAt }
}
