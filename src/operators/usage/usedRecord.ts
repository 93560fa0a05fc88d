/** What sums need of a usage record, read from its line. Fields that later releases add, or that older ones lack, may be absent. */
import { Schema } from "effect"
import { recordIn } from "../../limits/ocsf.ts"
import { getOrInsert } from "../../wire/getOrInsert.ts"
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

/** A bit is kept of each record, in blocks; of those that were begun first none is, beyond 67 million records. */
const blockSize = 4096
const maxBlocks = 16_384

/**
 * Whether a chained record was read before: a copy of a file may be among those that are given, such as an archive beside what was
 * packed into it, and a failed write may have been repeated.
 */
const makeRepeats = () => {
  const blocks = new Map<string, Uint8Array>()
  return ({ instance, seq }: UsedRecord): boolean => {
    // Chains have short names, and numbers from 1.
    if (typeof instance !== "string" || instance.length > 64) return false
    if (typeof seq !== "number" || !Number.isSafeInteger(seq) || seq < 1) return false
    const block = getOrInsert(blocks, `${instance}:${Math.floor(seq / blockSize)}`, () => new Uint8Array(blockSize / 8))
    if (blocks.size > maxBlocks) blocks.delete(blocks.keys().next().value ?? "")
    const [at, bit] = [Math.floor((seq % blockSize) / 8), 1 << (seq % 8)]
    const byte = block[at] ?? 0
    block[at] = byte | bit
    return (byte & bit) !== 0
  }
}

const maxNamed = 5

/** Gives the records among lines to `take`, their times as `toISOString` writes them, and counts the other lines. */
export const makeRecordReader = (take: (record: UsedRecord) => void) => {
  const isRepeat = makeRepeats()
  /** `other`: lines that are no records, such as log lines; `repeated`: read before, and taken once. */
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
