/**
 * What is recorded of a request (spec: Usage records; decisions: Access): who, what, where, how much, how it ended. Never a
 * payload, a file name, a header or a secret.
 */
import { Schema } from "effect"
import { Cloud } from "../model/Catalog.ts"
import type { GatewayError } from "../model/GatewayError.ts"

/** How a request ended. */
export const Outcome = Schema.Literals([
  "ok",
  /** The caller's request was wrong: 400, 404, 405, 413, 415. */
  "invalid",
  "unauthenticated",
  "forbidden",
  "rate_limited",
  "quota",
  /** The cloud refused or failed, its own rate limit included. */
  "upstream_error",
  /** The ceiling, or no answer of the cloud in time. */
  "timeout",
  /** The caller was too slow with its headers or body: 408. */
  "caller_timeout",
  /** The caller left. */
  "cancelled",
  /** The cloud's stream broke off. */
  "cut",
  /** The cloud's stream was silent for too long. */
  "idle",
  /** Too much in flight, or the quota could not be checked: 503. */
  "shed",
  /** Ended by the shutdown of the gateway. */
  "drained",
  /** The key was revoked or expired during the stream. */
  "revoked",
  "internal"
])
export type Outcome = typeof Outcome.Type

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

export const UsageRecord = Schema.Struct({
  /** When the request arrived, ISO 8601 in UTC. */
  time: Schema.String,
  request_id: Schema.String,
  /** Null when the key was not known. */
  key_id: Schema.NullOr(Schema.String),
  /** The caller's address. */
  source: Schema.NullOr(Schema.String),
  surface: Schema.Literals(["chat", "messages", "count_tokens", "responses", "embeddings", "models"]),
  /** The ID that was asked for, as the caller wrote it, cut at 256 characters. */
  model: Schema.NullOr(Schema.String),
  /** Who served it; null when the request got no cloud. `model` is the base name. */
  deployment: Schema.NullOr(Schema.Struct({ cloud: Cloud, region: Schema.String, model: Schema.String })),
  level: Schema.NullOr(Schema.String),
  upstream_request_id: Schema.NullOr(Schema.String),
  /** The status line that the caller saw, also of a stream that failed later; null when the caller left before it. */
  status: Schema.NullOr(Schema.Int),
  outcome: Outcome,
  stream: Schema.Boolean,
  stream_end: Schema.NullOr(Schema.Literals(["complete", "error", "cancelled"])),
  /** As the cloud counted them, or as far as it had when a stream broke off; null when it said nothing. */
  tokens: Schema.NullOr(
    Schema.Struct({ input: Count, output: Count, reasoning: Schema.optional(Count), cached: Schema.optional(Count) })
  ),
  bytes: Schema.Struct({ in: Count, out: Count }),
  /** Tools offered, images and files sent, governance flags raised. */
  counts: Schema.Struct({ tools: Count, images: Count, files: Count, flags: Count }),
  duration_ms: Schema.Finite,
  /** From arrival to the first event sent to the caller. */
  first_event_ms: Schema.NullOr(Schema.Finite),
  /** Tokens of the monthly quota; null for a key without one. */
  quota: Schema.NullOr(Schema.Struct({ reserved: Count, charged: Count }))
})
export type UsageRecord = typeof UsageRecord.Type

const reasons = {
  invalid: "invalid",
  "not-found": "invalid",
  method: "invalid",
  "too-large": "invalid",
  "media-type": "invalid",
  unauthenticated: "unauthenticated",
  forbidden: "forbidden",
  "rate-limit": "rate_limited",
  quota: "quota",
  "timeout-caller": "caller_timeout",
  overloaded: "shed",
  timeout: "timeout",
  upstream: "upstream_error",
  internal: "internal"
} as const satisfies Record<GatewayError["reason"], Outcome>

/** The outcome of a request that failed with `error`. */
export const outcomeOf = ({ code, reason, upstreamStatus }: GatewayError): Outcome => {
  if (code === "cut" || code === "idle" || code === "revoked" || code === "drained") return code
  return upstreamStatus === undefined ? reasons[reason] : "upstream_error"
}

const maxText = 256
const cut = (text: string | null): string | null => text?.slice(0, maxText) ?? null

/** One line of JSON with its line feed. What a caller or a cloud chose is cut, and can neither end the line nor steer a terminal. */
export const recordLine = (record: UsageRecord): string => {
  const text = JSON.stringify({
    ...record,
    source: cut(record.source),
    model: cut(record.model),
    upstream_request_id: cut(record.upstream_request_id)
  })
  return `${/^[ -~]*$/.test(text) ? text : escaped(text)}\n`
}

const escaped = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    character.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
  )
