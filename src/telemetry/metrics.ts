/**
 * What is counted of requests and upstream calls: `gen_ai.*` by the OpenTelemetry GenAI conventions, `gateway_*` of our own.
 * Labels come from closed sets (catalog, settings, our own codes; teams and IDs of keys where `GATEWAY_METRICS_BY` says so);
 * never a request ID or anything a caller chose.
 */
import { Context, Effect, Metric, Predicate, Record } from "effect"
import type { ServedCloud } from "../catalog/clouds.ts"
import { type Operation, operations } from "../catalog/names.ts"
import type { Outcome, RequestFacts } from "../catalog/RequestFacts.ts"
import type { Tokens } from "../catalog/Tokens.ts"
import { isCallerId } from "../contract/Security.ts"
import { getOrInsert } from "../wire/getOrInsert.ts"

/** In seconds; with their descriptions. */
export const histograms = {
  "gen_ai.client.inference.duration": "Duration of upstream inference calls, to their last byte",
  "gen_ai.client.operation.duration": "Duration of upstream calls that are no inference: embeddings",
  "gen_ai.client.inference.time_to_first_chunk": "Time from a streamed upstream call to its first chunk",
  "gen_ai.client.inference.time_per_output_chunk": "Time between the chunks of a streamed upstream call",
  gateway_request_duration_seconds: "Time from a request's arrival to the end of its reply",
  gateway_time_to_first_event_seconds: "Time from a request's arrival to the first event of its streamed reply",
  gateway_overhead_seconds:
    "Time of a request that is not a cloud's: what the gateway adds, and what its caller takes to send and to read",
  gateway_guard_duration_seconds: "Time that a guard took for the texts of a request or a reply"
}
export const counters = {
  "gen_ai.client.inference.usage.input_tokens":
    "Input tokens as the clouds counted them, cached ones included; estimates of streams without a count",
  "gen_ai.client.inference.usage.output_tokens":
    "Output tokens as the clouds counted them, reasoning included; estimates of streams without a count",
  "gen_ai.client.inference.usage.cache_read.input_tokens": "Input tokens that came from a cloud's prompt cache",
  "gen_ai.client.inference.usage.cache_write.input_tokens": "Input tokens that were written to a cloud's prompt cache",
  "gen_ai.client.inference.usage.reasoning.output_tokens":
    "Output tokens spent on reasoning, where the cloud counts them",
  gateway_requests_total: "Requests, by surface, status and outcome",
  gateway_tokens_total: "Tokens that requests were charged, by type (input, output) and by who sent them",
  gateway_governance_flags_total: "Tool calls flagged for an outbound destination",
  gateway_screen_refusals_total: "Requests refused for a tool parameter that names a destination"
}

type Name = keyof typeof histograms | keyof typeof counters
const isCounter = (name: Name): name is keyof typeof counters => Object.hasOwn(counters, name)

/** What is undefined is no label. */
type Labels = Readonly<Record<string, string | undefined>>

/** Metrics are kept in the registry of the process. */
const registry = Context.empty()

/** Bounds in seconds that the conventions give for every duration of an inference. */
const bounds = Array.from({ length: 14 }, (_, n) => Math.round(2 ** n) / 100)
const smallBounds = bounds.map((seconds) => seconds / 10)

const makeSeries = (name: Name, labels: Labels): Metric.Metric<number, unknown> => {
  const attributes = Record.filter(labels, Predicate.isNotUndefined)
  // An absurd number from a cloud spoils no count: what is less than 0 is not added.
  if (isCounter(name)) return Metric.counter(name, { description: counters[name], incremental: true, attributes })
  const boundaries = name === "gateway_overhead_seconds" ? smallBounds : bounds
  return Metric.histogram(name, { description: histograms[name], boundaries, attributes })
}

const made = new Map<string, Metric.Metric<number, unknown>>()

/**
 * Each series is made once: labels come from closed sets, so they are few. A metric that is given its labels at each update has them
 * sorted and joined each time, which was a twelfth of a whole reply's processor time.
 */
const seriesOf = (name: Name, labels: Labels) =>
  getOrInsert(made, name + JSON.stringify(labels), () => makeSeries(name, labels))

const add = (name: Name, labels: Labels, value: number): void => seriesOf(name, labels).updateUnsafe(value, registry)

export const isSimulated = (cloud: ServedCloud | undefined): boolean => cloud?.startsWith("sandbox-") ?? false
/** What a simulated cloud served is never counted with what a real one did. */
const sandboxLabel = (sandbox: boolean): Labels => ({ "gateway.sandbox": sandbox ? "true" : undefined })

export const requestsInFlight = Metric.gauge("gateway_requests_in_flight", { description: "Requests being served" })
export const streamsInFlight = Metric.gauge("gateway_streams_in_flight", { description: "Streamed replies being sent" })

/** The unit of a metric (UCUM). Counts of our own have none: Prometheus would make a suffix of it. */
export const unitOf = (metric: string): string => {
  if (metric.includes(".usage.")) return "{token}"
  return metric.startsWith("gen_ai.") || metric.endsWith("_seconds") ? "s" : ""
}

/** A metric's name in Prometheus, the same as the OpenTelemetry collector would give it. */
export const prometheusName = (metric: string): string => {
  const name = metric.replaceAll(".", "_")
  const suffix = { s: "_seconds", "{token}": "_total" }[unitOf(metric)] ?? ""
  return name.endsWith(suffix) ? name : name + suffix
}

/** A gauge that is read when it is exported; nothing is done in between. */
export const gaugeOf = (gauge: Metric.Metric<number, Metric.GaugeState<number>>, read: () => number) =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.sync(() =>
        Metric.registerUnsafe(gauge, registry, { get: () => ({ value: read() }), update: () => {}, modify: () => {} })
      ),
      (registration) => Effect.sync(() => registration.remove())
    )
  )

/** The label by which requests and tokens are counted (`GATEWAY_METRICS_BY`). `key` is by team and key. */
export type MetricsBy = "team" | "key" | "none"

/** Counts a request that is over; `endedAt` is in milliseconds since the epoch, `used` what it was charged. */
export const recordRequest = (
  by: MetricsBy,
  facts: RequestFacts,
  outcome: Outcome,
  endedAt: number,
  used: Tokens | undefined
): void => {
  const { caller, firstEventAt, startedAt, surface = "other" } = facts
  // Of callers with tokens and certificates there may be any number: every subject of a trusted issuer has an ID.
  const hasKey = by === "key" && caller !== undefined && !isCallerId(facts.keyId ?? "")
  const user = { team: by === "none" ? undefined : caller?.team?.name, key: hasKey ? facts.keyId : undefined }
  const sandbox = sandboxLabel(isSimulated(facts.cloud))
  const timed = { surface, stream: String(facts.stream), ...sandbox }
  const status = facts.status === 0 ? "none" : String(facts.status)
  add("gateway_requests_total", { surface, status, outcome, ...user, ...sandbox }, 1)
  if (used !== undefined) {
    add("gateway_tokens_total", { type: "input", ...user, ...sandbox }, used.input)
    add("gateway_tokens_total", { type: "output", ...user, ...sandbox }, used.output)
  }
  add("gateway_request_duration_seconds", timed, (endedAt - startedAt) / 1000)
  if (firstEventAt !== undefined) {
    add("gateway_time_to_first_event_seconds", { surface, ...sandbox }, (firstEventAt - startedAt) / 1000)
  }
  if (facts.overhead !== undefined) add("gateway_overhead_seconds", timed, facts.overhead / 1000)
  if (facts.flags > 0) add("gateway_governance_flags_total", { surface, ...sandbox }, facts.flags)
  if (facts.failure === "screen") add("gateway_screen_refusals_total", { surface }, 1)
}

/** Takes each request that is over, for the status page; `endedAt` is in milliseconds since the epoch. */
export type RecordRequest = (facts: RequestFacts, outcome: Outcome, endedAt: number) => void

/** Undefined where there is no page: then nothing is kept. */
export const RecordActivity = Context.Reference<RecordRequest | undefined>("gateway/telemetry/RecordActivity", {
  defaultValue: () => undefined
})

/** What an upstream call is counted under. */
export interface CallLabels {
  readonly operation: Operation
  /** `gen_ai.provider.name` */
  readonly provider: string
  /** `gen_ai.request.model`: the base model's ID. */
  readonly model: string
  readonly level: string
  /** Whether the cloud is simulated. */
  readonly sandbox: boolean
  /** The host that is asked first. */
  readonly address: string
  readonly port: number
}

export const makeCallRecorder = (call: CallLabels) => {
  const { name, output } = operations[call.operation]
  const labels = {
    "gen_ai.operation.name": name,
    "gen_ai.provider.name": call.provider,
    "gen_ai.request.model": call.model,
    "server.address": call.address,
    "server.port": String(call.port),
    "gateway.level": call.level,
    ...sandboxLabel(call.sandbox)
  }
  // No cloud says which of the tokens were images.
  const counted = { ...labels, "gen_ai.token.modality": "unknown" }
  const chunks = seriesOf("gen_ai.client.inference.time_per_output_chunk", labels)
  return {
    firstChunk: (seconds: number): void => add("gen_ai.client.inference.time_to_first_chunk", labels, seconds),
    outputChunk: (seconds: number): void => chunks.updateUnsafe(seconds, registry),
    /** Of token counts, which are free and no inference, nothing is counted. */
    end: (seconds: number, error: string | undefined, tokens: Tokens | undefined): void => {
      if (output === "count") return
      const ended = { ...labels, "error.type": error }
      if (output === "text") add("gen_ai.client.inference.duration", ended, seconds)
      else add("gen_ai.client.operation.duration", ended, seconds)
      add("gen_ai.client.inference.usage.input_tokens", counted, tokens?.input ?? 0)
      if (output !== "text") return
      add("gen_ai.client.inference.usage.output_tokens", counted, tokens?.output ?? 0)
      const { cached = 0, cacheWrites = 0, reasoning = 0 } = tokens ?? {}
      if (cached > 0) add("gen_ai.client.inference.usage.cache_read.input_tokens", counted, cached)
      if (cacheWrites > 0) add("gen_ai.client.inference.usage.cache_write.input_tokens", counted, cacheWrites)
      if (reasoning > 0) add("gen_ai.client.inference.usage.reasoning.output_tokens", counted, reasoning)
    }
  }
}

/** Counts a call of a guard. Names of guards are the operator's; outcomes are few. */
export const recordGuard = (guard: string, input: "request" | "response", outcome: string, seconds: number): void =>
  add("gateway_guard_duration_seconds", { guard, input, outcome }, seconds)
