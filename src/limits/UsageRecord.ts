/**
 * What is recorded of a request (docs/operation.md#usage-records, docs/decisions.md#usage-records): who, what, where, how much,
 * how it ended. Never a payload, a file name, a header or a secret.
 */
import { Schema } from "effect"
import { ServedCloud } from "../catalog/Catalog.ts"
import { Outcome } from "../catalog/Outcome.ts"
import type { RequestFacts } from "../catalog/RequestFacts.ts"
import { surfaceNames } from "../catalog/Route.ts"
import { escapeJson } from "../wire/escape.ts"

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

export const UsageRecord = Schema.Struct({
  /** When the request arrived, ISO 8601 in UTC. */
  time: Schema.String,
  request_id: Schema.String,
  /** Null when the key was not known. */
  key_id: Schema.NullOr(Schema.String),
  /** As the key file has them; absent where it has none. */
  key_name: Schema.optional(Schema.String),
  team: Schema.optional(Schema.String),
  owner: Schema.optional(Schema.String),
  tags: Schema.optional(Schema.Record(Schema.String, Schema.String)),
  /** The caller's address. */
  source: Schema.NullOr(Schema.String),
  surface: Schema.Literals(surfaceNames),
  /** The ID that was asked for, as the caller wrote it, cut at 256 characters. */
  model: Schema.NullOr(Schema.String),
  /** Who served it; null when the request got no cloud. `model` is the base name. */
  deployment: Schema.NullOr(
    Schema.Struct({
      cloud: ServedCloud,
      region: Schema.String,
      model: Schema.String,
      /** All the regions that were asked, when it was more than one. */
      tried: Schema.optional(Schema.Array(Schema.String))
    })
  ),
  level: Schema.NullOr(Schema.String),
  upstream_request_id: Schema.NullOr(Schema.String),
  /** The status line that the caller saw, also of a stream that failed later; null when the caller left before it. */
  status: Schema.NullOr(Schema.Int),
  outcome: Outcome,
  stream: Schema.Boolean,
  stream_end: Schema.NullOr(Schema.Literals(["complete", "error", "cancelled"])),
  /** What is charged: as the cloud counted it, or an estimate where it did not come to that; null where nothing is. */
  tokens: Schema.NullOr(
    Schema.Struct({
      input: Count,
      output: Count,
      reasoning: Schema.optional(Count),
      /** Of the input: what came from a prompt cache, and what was written to one. */
      cached: Schema.optional(Count),
      cache_writes: Schema.optional(Count),
      /** Of what was written: for an hour; the rest is for five minutes. */
      cache_writes_1h: Schema.optional(Count),
      /** Set where the cloud has not counted the whole reply: then the output is at least a quarter of what it said, in bytes. */
      estimated: Schema.optional(Schema.Boolean)
    })
  ),
  /** Millionths of the catalog's currency, also of a request that broke off; absent where there is no price or no charge. */
  cost: Schema.optional(Count),
  bytes: Schema.Struct({ in: Count, out: Count }),
  /** Tools offered, images and files sent, governance flags raised; and things changed of the request, where there were any. */
  counts: Schema.Struct({
    tools: Count,
    images: Count,
    files: Count,
    flags: Count,
    adjusted: Schema.optional(Count),
    /** How often each guard found something, by its name; never what. */
    guarded: Schema.optional(Schema.Record(Schema.String, Count))
  }),
  duration_ms: Schema.Finite,
  /** From arrival to the first event sent to the caller. */
  first_event_ms: Schema.NullOr(Schema.Finite),
  /** Tokens of the quota; null where neither the key nor its team has one. */
  quota: Schema.NullOr(Schema.Struct({ reserved: Count, charged: Count })),
  /** The place in the chain of its process, which the usage log adds (usageChain). */
  instance: Schema.optional(Schema.String),
  seq: Schema.optional(Count),
  prev: Schema.optional(Schema.String),
  after: Schema.optional(Schema.String)
})
export type UsageRecord = typeof UsageRecord.Type

/** Longest text of a caller's or a cloud's that is kept, in characters. */
const maxText = 256
/** Copied, because a slice keeps the whole text for as long as the record waits. */
const cut = (text: string | undefined): string | null =>
  text === undefined || text.length <= maxText
    ? (text ?? null)
    : Buffer.from(text.slice(0, maxText), "utf16le").toString("utf16le")

/** One line of JSON, without its line feed. What a caller or a cloud chose can neither end the line nor control a terminal. */
export const recordLine = (record: object): string => escapeJson(JSON.stringify(record))

/**
 * The record of a request that is over; undefined for paths that no endpoint answers. `left`: the caller left before the end.
 * `now` is in milliseconds since the epoch.
 */
export const usageRecordOf = (facts: RequestFacts, left: boolean, now: number): UsageRecord | undefined => {
  const { surface, route, cloud, region, charged: tokens, quota, startedAt, firstEventAt } = facts
  if (surface === undefined) return undefined
  return {
    time: new Date(startedAt).toISOString(),
    request_id: facts.id,
    key_id: facts.keyId ?? null,
    key_name: facts.keyName,
    team: facts.team,
    owner: facts.owner,
    tags: facts.tags,
    source: cut(facts.source),
    surface,
    model: cut(facts.modelId),
    deployment:
      route === undefined || cloud === undefined || region === undefined
        ? null
        : { cloud, region, model: route.model.id, tried: facts.tried.length > 1 ? facts.tried : undefined },
    level: route?.level ?? null,
    upstream_request_id: cut(facts.upstreamRequestId),
    status: facts.status === 0 ? null : facts.status,
    outcome: facts.outcome ?? (left ? "cancelled" : "ok"),
    stream: facts.stream,
    stream_end: facts.streamEnd ?? null,
    // What is undefined is not printed.
    tokens:
      tokens === undefined
        ? null
        : {
            input: tokens.input,
            output: tokens.output,
            reasoning: tokens.reasoning,
            cached: tokens.cached,
            cache_writes: tokens.cacheWrites,
            cache_writes_1h: tokens.cacheWrites1h,
            estimated: tokens.estimated
          },
    cost: facts.cost,
    bytes: { in: facts.bytesIn, out: facts.bytesOut },
    counts: {
      tools: facts.tools,
      images: facts.images,
      files: facts.files,
      flags: facts.flags,
      adjusted: facts.adjusted === 0 ? undefined : facts.adjusted,
      guarded: facts.guardCounts
    },
    duration_ms: now - startedAt,
    first_event_ms: firstEventAt === undefined ? null : firstEventAt - startedAt,
    quota: quota === undefined ? null : { reserved: quota.reserved, charged: quota.charged }
  }
}
