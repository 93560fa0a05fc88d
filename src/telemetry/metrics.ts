/**
 * What is counted of requests and upstream calls: `gen_ai.*` by the OpenTelemetry GenAI conventions, `gateway_*` of our own.
 * Labels come from closed sets (catalog, settings, our own codes; teams and IDs of keys where `GATEWAY_METRICS_BY` says so);
 * never a request ID or anything a caller chose.
 */
import { Context, Effect, Metric, type Scope } from "effect"
import { isSimulated } from "../catalog/Catalog.ts"
import type { Outcome } from "../catalog/Outcome.ts"
import type { RequestFacts } from "../catalog/RequestFacts.ts"
import type { Tokens } from "../catalog/Tokens.ts"

type Labels = Readonly<Record<string, string>>

/** Metrics are kept in the registry of the process. */
const registry = Context.empty()

/** What is counted in one series of a metric. Each has a metric of its own, which then looks for its place in the registry once. */
type Series = (labels: Labels) => (value: number) => void
const seriesOf =
  (make: (attributes: Labels) => Metric.Metric<number, unknown>): Series =>
  (labels) => {
    const metric = make(labels)
    return (value) => metric.updateUnsafe(value, registry)
  }

/** Keeps what was made for each key. The keys come from closed sets, so they are few. */
const kept = <A>() => {
  const known = new Map<string, A>()
  return (key: string, make: () => A): A => {
    const found = known.get(key)
    if (found !== undefined) return found
    const made = make()
    known.set(key, made)
    return made
  }
}

/** Bounds in seconds that the conventions give for every duration of an inference. */
const boundaries = Array.from({ length: 14 }, (_, n) => Math.round(2 ** n) / 100)

const histogram = (name: string, description: string, bounds = boundaries) =>
  seriesOf((attributes) => Metric.histogram(name, { description, boundaries: bounds, attributes }))
const counter = (name: string, description: string) =>
  seriesOf((attributes) => Metric.counter(name, { description, incremental: true, attributes }))

const duration = histogram(
  "gen_ai.client.inference.duration",
  "Duration of upstream inference calls, to their last byte"
)
const embeddingsDuration = histogram(
  "gen_ai.client.operation.duration",
  "Duration of upstream calls that are no inference: embeddings"
)
const firstChunk = histogram(
  "gen_ai.client.inference.time_to_first_chunk",
  "Time from a streamed upstream call to its first chunk"
)
const outputChunk = histogram(
  "gen_ai.client.inference.time_per_output_chunk",
  "Time between the chunks of a streamed upstream call"
)
const inputTokens = counter(
  "gen_ai.client.inference.usage.input_tokens",
  "Input tokens as the clouds counted them, cached ones included"
)
const outputTokens = counter(
  "gen_ai.client.inference.usage.output_tokens",
  "Output tokens as the clouds counted them, reasoning included"
)
const cachedTokens = counter(
  "gen_ai.client.inference.usage.cache_read.input_tokens",
  "Input tokens that came from a cloud's prompt cache"
)
const reasoningTokens = counter(
  "gen_ai.client.inference.usage.reasoning.output_tokens",
  "Output tokens spent on reasoning, where the cloud counts them"
)

const requests = counter("gateway_requests_total", "Requests, by surface, status and outcome")
const tokensUsed = counter(
  "gateway_tokens_total",
  "Tokens that requests were charged, by type (input, output) and by who sent them"
)
/** Requests without a team, or without a key, have no such label. */
const userLabels = (team: string | undefined, key: string | undefined): Labels => ({
  ...(team === undefined ? {} : { team }),
  ...(key === undefined ? {} : { key })
})
/** What a simulated cloud served is never counted with what a real one did. */
const sandboxLabel = (sandbox: boolean): Labels => (sandbox ? { "gateway.sandbox": "true" } : {})
const requestDuration = histogram(
  "gateway_request_duration_seconds",
  "Time from a request's arrival to the end of its reply"
)
const firstEvent = histogram(
  "gateway_time_to_first_event_seconds",
  "Time from a request's arrival to the first event of its streamed reply"
)
const overhead = histogram(
  "gateway_overhead_seconds",
  "Time of a request that is not a cloud's: what the gateway adds, and what its caller takes to send and to read",
  boundaries.map((seconds) => seconds / 10)
)
const flags = counter("gateway_governance_flags_total", "Tool calls flagged for an outbound destination")
const screenRefusals = counter(
  "gateway_screen_refusals_total",
  "Requests refused for a tool parameter that names a destination"
)

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
export const gaugeOf = (
  gauge: Metric.Metric<number, Metric.GaugeState<number>>,
  read: () => number
): Effect.Effect<void, never, Scope.Scope> =>
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

/** Made once: what counts a request that is over; `endedAt` is in milliseconds since the epoch, `used` what it was charged. */
export const makeRecordRequest = (by: MetricsBy) => {
  const recorderOf = kept<ReturnType<typeof makeRequestRecorder>>()
  return (facts: RequestFacts, outcome: Outcome, endedAt: number, used: Tokens | undefined): void => {
    const { firstEventAt, startedAt, stream, surface = "other" } = facts
    const status = facts.status === 0 ? "none" : String(facts.status)
    const user = userLabels(by === "none" ? undefined : facts.team, by === "key" ? facts.keyId : undefined)
    const sandbox = isSimulated(facts.cloud)
    const record = recorderOf(JSON.stringify([surface, status, outcome, stream, user, sandbox]), () =>
      makeRequestRecorder(surface, status, outcome, stream, user, sandboxLabel(sandbox))
    )
    record.request(1)
    if (used !== undefined) {
      record.input(positive(used.input))
      record.output(positive(used.output))
    }
    record.duration((endedAt - startedAt) / 1000)
    if (firstEventAt !== undefined) record.firstEvent((firstEventAt - startedAt) / 1000)
    if (facts.overhead !== undefined) record.overhead(facts.overhead / 1000)
    if (facts.flags > 0) record.flags(facts.flags)
    if (facts.failure === "screen") record.screenRefusal(1)
  }
}

const makeRequestRecorder = (
  surface: string,
  status: string,
  outcome: Outcome,
  stream: boolean,
  user: Labels,
  sandbox: Labels
) => ({
  request: requests({ surface, status, outcome, ...user, ...sandbox }),
  input: tokensUsed({ type: "input", ...user, ...sandbox }),
  output: tokensUsed({ type: "output", ...user, ...sandbox }),
  duration: requestDuration({ surface, stream: String(stream), ...sandbox }),
  firstEvent: firstEvent({ surface, ...sandbox }),
  overhead: overhead({ surface, stream: String(stream), ...sandbox }),
  flags: flags({ surface, ...sandbox }),
  screenRefusal: screenRefusals({ surface })
})

/** What an upstream call is counted under. */
export interface CallLabels {
  /** `gen_ai.operation.name` */
  readonly operation: string
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

/** Counts calls of one kind. */
export interface CallRecorder {
  readonly firstChunk: (seconds: number) => void
  readonly outputChunk: (seconds: number) => void
  readonly end: (seconds: number, error: string | undefined, tokens: Tokens | undefined) => void
}

const makeCallRecorder = ({ operation, provider, model, level, sandbox, address, port }: CallLabels): CallRecorder => {
  const labels = {
    "gen_ai.operation.name": operation,
    "gen_ai.provider.name": provider,
    "gen_ai.request.model": model,
    "server.address": address,
    "server.port": String(port),
    "gateway.level": level,
    ...sandboxLabel(sandbox)
  }
  // No cloud says which of the tokens were images.
  const counted = { ...labels, "gen_ai.token.modality": "unknown" }
  const embeddings = operation === "embeddings"
  const ended = embeddings ? embeddingsDuration : duration
  const succeeded = ended(labels)
  const input = inputTokens(counted)
  const output = outputTokens(counted)
  const cached = cachedTokens(counted)
  const reasoning = reasoningTokens(counted)
  return {
    firstChunk: firstChunk(labels),
    outputChunk: outputChunk(labels),
    /** Of token counts, which are free and no inference, nothing is counted. */
    end: (seconds, error, tokens) => {
      if (operation === "count_tokens") return
      const record = error === undefined ? succeeded : ended({ ...labels, "error.type": error })
      record(seconds)
      input(positive(tokens?.input))
      if (embeddings) return
      output(positive(tokens?.output))
      if (positive(tokens?.cached) > 0) cached(positive(tokens?.cached))
      if (positive(tokens?.reasoning) > 0) reasoning(positive(tokens?.reasoning))
    }
  }
}

/** Made once: finds what counts calls of one kind. */
export const makeCallRecorders = () => {
  const recorderOf = kept<CallRecorder>()
  return (labels: CallLabels): CallRecorder => {
    const { operation, provider, model, level, address, port } = labels
    return recorderOf([operation, provider, model, level, address, port].join(" "), () => makeCallRecorder(labels))
  }
}

const guardDuration = histogram(
  "gateway_guard_duration_seconds",
  "Time that a guard took for the texts of a request or a reply"
)

/** Made once: finds what counts the calls of a guard. Names of guards are the operator's; outcomes are few. */
export const makeGuardRecorders = () => {
  const recorderOf = kept<(seconds: number) => void>()
  return (guard: string, input: "request" | "response", outcome: string) =>
    recorderOf([guard, input, outcome].join(" "), () => guardDuration({ guard, input, outcome }))
}

/** An absurd number from a cloud must not spoil a count. */
const positive = (count: number | undefined): number => (count !== undefined && count > 0 ? count : 0)
