/** What sums need of a usage record, read from its line. Fields that later releases add, or that older ones lack, may be absent. */
import { isObject } from "../wire/isObject.ts"

export interface UsedRecord {
  readonly time: string
  readonly request_id: string
  readonly key_id: string | null
  readonly key_name?: string | undefined
  readonly team?: string | null | undefined
  readonly surface: string
  readonly model: string | null
  readonly deployment: { readonly cloud: string; readonly model: string } | null
  readonly level: string | null
  readonly status: number | null
  readonly outcome: string
  readonly tokens: Readonly<Record<string, unknown>> | null
  readonly counts: { readonly flags: number }
  readonly duration_ms: number
  readonly first_event_ms: number | null
  /** Millionths of the currency. */
  readonly cost?: number | null | undefined
  readonly instance?: string | undefined
  readonly seq?: number | undefined
}

type Fields = Readonly<Record<string, unknown>>

const isText = (value: unknown): boolean => value === null || typeof value === "string"
const isNumber = (value: unknown): boolean => value === null || typeof value === "number"
const isOptional = (value: unknown, type: "string" | "number"): boolean =>
  value === undefined || value === null || typeof value === type

const isUsed = (value: Fields): value is Fields & UsedRecord =>
  typeof value.time === "string" &&
  typeof value.request_id === "string" &&
  typeof value.surface === "string" &&
  typeof value.outcome === "string" &&
  typeof value.duration_ms === "number" &&
  isText(value.key_id) &&
  isText(value.model) &&
  isText(value.level) &&
  isNumber(value.status) &&
  isNumber(value.first_event_ms) &&
  (value.tokens === null || isObject(value.tokens)) &&
  isObject(value.counts) &&
  typeof value.counts.flags === "number" &&
  (value.deployment === null ||
    (isObject(value.deployment) &&
      typeof value.deployment.cloud === "string" &&
      typeof value.deployment.model === "string")) &&
  isOptional(value.key_name, "string") &&
  isOptional(value.team, "string") &&
  isOptional(value.cost, "number") &&
  isOptional(value.instance, "string") &&
  isOptional(value.seq, "number")

/** `other`: whole, but something else, such as a log line. `damaged`: cut, or no record of ours. */
export type Read = UsedRecord | "other" | "damaged"

export const readRecord = (line: string): Read => {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return "damaged"
  }
  if (!isObject(value)) return "damaged"
  if (isUsed(value)) return value
  // The gateway's log lines have a timestamp.
  return "time" in value && "outcome" in value ? "damaged" : "other"
}

/** The time as `toISOString` writes it, so that times can be compared as texts; undefined for what is no time. */
export const canonicalTime = (time: string): string | undefined => {
  if (time.length === 24 && time.charCodeAt(10) === 84 && time.charCodeAt(23) === 90) return time
  const date = new Date(time)
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString()
}
