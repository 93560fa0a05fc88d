/**
 * What is recorded of a request (docs/operation.md#usage-records, docs/decisions.md#usage-records): who, what, where, how much,
 * how it ended. Never a payload, a file name, a header or a secret.
 */
import { Schema } from "effect"
import { ServedCloud } from "../catalog/clouds.ts"
import { surfaceNames } from "../catalog/names.ts"
import { Outcome, type RequestFacts } from "../catalog/RequestFacts.ts"
import { beginningOf, escapeJson } from "../wire/print.ts"

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** What each field holds is the table of docs/operation.md#usage-records, too; a test compares them. */
const count = (description: string) => Count.annotate({ description })
const text = (description: string) => Schema.String.annotate({ description })
const textOrNull = (description: string) => Schema.NullOr(Schema.String).annotate({ description })

export const UsageRecord = Schema.Struct({
  time: text("when the request arrived, ISO 8601 in UTC with milliseconds"),
  request_id: text("the gateway's own ID of the request, as in `x-request-id` and in the log"),
  key_id: textOrNull("whose key it is; null when the key was not known"),
  key_name: Schema.optional(text("as the key file has it")),
  team: Schema.optional(text("the key's team")),
  owner: Schema.optional(text("the key's owner")),
  tags: Schema.optional(Schema.Record(Schema.String, Schema.String).annotate({ description: "the key's tags" })),
  source: textOrNull("the caller's address"),
  surface: Schema.Literals(surfaceNames).annotate({ description: "the endpoint" }),
  model: textOrNull("the ID that was asked for, as the caller wrote it, cut at 256 characters"),
  deployment: Schema.NullOr(
    Schema.Struct({
      cloud: ServedCloud.annotate({ description: "with `sandbox-` before it where the cloud is simulated" }),
      region: text("the region that was asked last"),
      model: text("the base model"),
      tried: Schema.optional(
        Schema.Array(Schema.String).annotate({ description: "all the regions that were asked, when more than one" })
      )
    })
  ).annotate({ description: "who served it; null when no cloud was asked" }),
  level: textOrNull("the level that was asked for; null where the request was refused before its model was found"),
  upstream_request_id: textOrNull("the cloud's own ID of the call"),
  status: Schema.NullOr(Schema.Int).annotate({
    description:
      "the HTTP status that the caller saw, also of a stream that failed later; null when the caller left before it"
  }),
  outcome: Outcome.annotate({ description: "how it ended" }),
  stream: Schema.Boolean.annotate({ description: "whether the cloud was asked for a stream" }),
  stream_end: Schema.NullOr(Schema.Literals(["complete", "error", "cancelled"])).annotate({
    description: "how the stream ended; null where there was none"
  }),
  tokens: Schema.NullOr(
    Schema.Struct({
      input: count("tokens, cached ones included"),
      output: count("tokens, reasoning included"),
      reasoning: Schema.optional(count("tokens of the output")),
      cached: Schema.optional(count("tokens of the input that came from a prompt cache")),
      cache_writes: Schema.optional(count("tokens of the input that were written to one")),
      cache_writes_1h: Schema.optional(count("tokens of these that are kept for an hour; the rest for five minutes")),
      estimated: Schema.optional(
        Schema.Boolean.annotate({
          description:
            "true where the cloud did not count the whole reply: the output is at least a quarter of what it said, in bytes"
        })
      )
    })
  ).annotate({ description: "what is charged; null where nothing is" }),
  cost: Schema.optional(
    count("millionths of the currency of the catalog's prices; absent where there is no price or no charge")
  ),
  bytes: Schema.Struct({
    in: count("bytes of the request's body"),
    out: count("bytes of the reply's body")
  }).annotate({ description: "as sent and received" }),
  counts: Schema.Struct({
    tools: count("tools offered"),
    images: count("images sent"),
    files: count("files sent"),
    flags: count("tool calls flagged for a destination"),
    adjusted: Schema.optional(count("things changed of the request, as `x-gateway-adjusted` names them")),
    guarded: Schema.optional(
      Schema.Record(Schema.String, Count).annotate({
        description: "how often each guard found something, by its name; never what"
      })
    )
  }).annotate({ description: "what the request had" }),
  duration_ms: Schema.Finite.annotate({ description: "milliseconds from arrival to the end of the reply" }),
  first_event_ms: Schema.NullOr(Schema.Finite).annotate({
    description: "milliseconds from arrival to the first event sent to the caller; null where there was none"
  }),
  quota: Schema.NullOr(
    Schema.Struct({
      reserved: count("tokens held before the call"),
      charged: count("tokens charged after it")
    })
  ).annotate({
    description:
      "null where neither the key nor its team has a quota, and where the request was refused before it took any"
  }),
  /** The place in the chain of its process, which the usage log adds (usageChain). */
  instance: Schema.optional(text("the chain of the process that wrote the line")),
  seq: Schema.optional(count("its number in the chain")),
  prev: Schema.optional(text("SHA-256 of the line before, in hexadecimal")),
  after: Schema.optional(
    text("on the first record of a process: chain and number of the last record in the file before, as `instance:seq`")
  )
})
export type UsageRecord = typeof UsageRecord.Type

/** Longest text of a caller's or a cloud's that is kept, in characters. */
const maxText = 256
const cut = (text: string | undefined): string | null => (text === undefined ? null : beginningOf(text, maxText))

/** One line of JSON, without its line feed. What a caller or a cloud chose can neither end the line nor control a terminal. */
export const recordLine = (record: object): string => escapeJson(JSON.stringify(record))

/**
 * The record of a request that is over; undefined for paths that no endpoint answers. `left`: the caller left before the end.
 * `now` is in milliseconds since the epoch.
 */
export const usageRecordOf = (facts: RequestFacts, outcome: Outcome, now: number): UsageRecord | undefined => {
  const { caller, surface, route, cloud, region, charged: tokens, quota, startedAt, firstEventAt } = facts
  if (surface === undefined) return undefined
  return {
    time: new Date(startedAt).toISOString(),
    request_id: facts.id,
    key_id: facts.keyId ?? null,
    key_name: caller?.name,
    team: caller?.team?.name,
    owner: caller?.owner,
    tags: caller?.tags,
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
    outcome,
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
    quota: quota ?? null
  }
}
