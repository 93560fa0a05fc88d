/**
 * What is counted of requests and upstream calls: `gen_ai.*` by the OpenTelemetry GenAI conventions, `gateway_*` of our own.
 * Labels come from closed sets (catalog, settings, our own codes); never a key, a request ID or anything a caller chose.
 */
import { type Context, Effect, Metric, type Scope } from "effect"
import type { Outcome } from "../access/UsageRecord.ts"
import type { Observation } from "../surface/Observation.ts"

type Labels = Readonly<Record<string, string>>

/** Series of one metric, made when first needed: `Metric.withAttributes` would make their keys anew with every update. */
const series = <Input, State>(make: (attributes: Labels) => Metric.Metric<Input, State>) => {
  const known = new Map<string, Metric.Metric<Input, State>>()
  return (labels: Labels, input: Input, context: Context.Context<never>): void => {
    const key = Object.values(labels).join("\n")
    const metric = known.get(key) ?? make(labels)
    known.set(key, metric)
    metric.updateUnsafe(input, context)
  }
}

/** Bounds in seconds that the conventions give for every duration of an inference. */
const boundaries = Array.from({ length: 14 }, (_, n) => Math.round(2 ** n) / 100)

const duration = series((attributes) =>
  Metric.histogram("gen_ai.client.inference.duration", {
    description: "Duration of upstream inference calls, to their last byte",
    boundaries,
    attributes
  })
)
const embeddingsDuration = series((attributes) =>
  Metric.histogram("gen_ai.client.operation.duration", {
    description: "Duration of upstream calls that are no inference: embeddings",
    boundaries,
    attributes
  })
)
const firstChunk = series((attributes) =>
  Metric.histogram("gen_ai.client.inference.time_to_first_chunk", {
    description: "Time from a streamed upstream call to its first chunk",
    boundaries,
    attributes
  })
)
const outputChunk = series((attributes) =>
  Metric.histogram("gen_ai.client.inference.time_per_output_chunk", {
    description: "Time between the chunks of a streamed upstream call",
    boundaries,
    attributes
  })
)
const inputTokens = series((attributes) =>
  Metric.counter("gen_ai.client.inference.usage.input_tokens", {
    description: "Input tokens as the clouds counted them, cached ones included",
    incremental: true,
    attributes
  })
)
const outputTokens = series((attributes) =>
  Metric.counter("gen_ai.client.inference.usage.output_tokens", {
    description: "Output tokens as the clouds counted them, reasoning included",
    incremental: true,
    attributes
  })
)
const cachedTokens = series((attributes) =>
  Metric.counter("gen_ai.client.inference.usage.cache_read.input_tokens", {
    description: "Input tokens that came from a cloud's prompt cache",
    incremental: true,
    attributes
  })
)
const reasoningTokens = series((attributes) =>
  Metric.counter("gen_ai.client.inference.usage.reasoning.output_tokens", {
    description: "Output tokens spent on reasoning, where the cloud counts them",
    incremental: true,
    attributes
  })
)

const requests = series((attributes) =>
  Metric.counter("gateway_requests_total", {
    description: "Requests, by surface, status and outcome",
    incremental: true,
    attributes
  })
)
const requestDuration = series((attributes) =>
  Metric.histogram("gateway_request_duration_seconds", {
    description: "Time from a request's arrival to the end of its reply",
    boundaries,
    attributes
  })
)
const firstEvent = series((attributes) =>
  Metric.histogram("gateway_time_to_first_event_seconds", {
    description: "Time from a request's arrival to the first event of its streamed reply",
    boundaries,
    attributes
  })
)
const flags = series((attributes) =>
  Metric.counter("gateway_governance_flags_total", {
    description: "Tool calls flagged for an outbound destination",
    incremental: true,
    attributes
  })
)
const screenRefusals = series((attributes) =>
  Metric.counter("gateway_screen_refusals_total", {
    description: "Requests refused for a tool parameter that names a destination",
    incremental: true,
    attributes
  })
)

export const requestsInFlight = Metric.gauge("gateway_requests_in_flight", { description: "Requests being served" })
export const streamsInFlight = Metric.gauge("gateway_streams_in_flight", { description: "Streamed replies being sent" })

/** Units by metric (UCUM). A metric that is not here has none: Prometheus would make a suffix of it. */
const units: Readonly<Record<string, string>> = {
  "gen_ai.client.inference.duration": "s",
  "gen_ai.client.operation.duration": "s",
  "gen_ai.client.inference.time_to_first_chunk": "s",
  "gen_ai.client.inference.time_per_output_chunk": "s",
  "gen_ai.client.inference.usage.input_tokens": "{token}",
  "gen_ai.client.inference.usage.output_tokens": "{token}",
  "gen_ai.client.inference.usage.cache_read.input_tokens": "{token}",
  "gen_ai.client.inference.usage.reasoning.output_tokens": "{token}",
  gateway_request_duration_seconds: "s",
  gateway_time_to_first_event_seconds: "s"
}

export const unitOf = (metric: string): string => units[metric] ?? ""

/** A metric's name in Prometheus, the same as the OpenTelemetry collector would give it. */
export const prometheusName = (metric: string): string => {
  const name = metric.replaceAll(".", "_")
  const suffix = { s: "_seconds", "{token}": "_total" }[unitOf(metric)] ?? ""
  return name.endsWith(suffix) ? name : name + suffix
}

/** A gauge that is read when it is exported; nothing is done in between. */
export const gaugeOf = (gauge: Metric.Gauge<number>, read: () => number): Effect.Effect<void, never, Scope.Scope> =>
  Effect.flatMap(Effect.context<never>(), (context) =>
    Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(() =>
          Metric.registerUnsafe(gauge, context, { get: () => ({ value: read() }), update: () => {}, modify: () => {} })
        ),
        (registration) => Effect.sync(() => registration.remove())
      )
    )
  )

/** Counts a request that is over. */
export const recordRequest = (
  observation: Observation,
  outcome: Outcome,
  /** Milliseconds since the epoch. */
  endedAt: number,
  context: Context.Context<never>
): void => {
  const surface = observation.surface ?? "other"
  const status = observation.status === 0 ? "none" : String(observation.status)
  requests({ surface, status, outcome }, 1, context)
  requestDuration({ surface, stream: String(observation.stream) }, (endedAt - observation.startedAt) / 1000, context)
  if (observation.firstEventAt !== undefined) {
    firstEvent({ surface }, (observation.firstEventAt - observation.startedAt) / 1000, context)
  }
  if (observation.flags > 0) flags({ surface }, observation.flags, context)
  if (observation.failure === "screen") screenRefusals({ surface }, 1, context)
}

/** What an upstream call is counted under. */
export interface CallLabels {
  readonly operation: string
  readonly provider: string
  readonly model: string
  readonly address: string
  readonly port: number
  readonly level: string
}

const labelsOf = (call: CallLabels): Labels => ({
  "gen_ai.operation.name": call.operation,
  "gen_ai.provider.name": call.provider,
  "gen_ai.request.model": call.model,
  "server.address": call.address,
  "server.port": String(call.port),
  "gateway.level": call.level
})

export interface CallTokens {
  readonly input: number
  readonly output: number
  readonly cached: number
  readonly reasoning: number
}

/** Counts one upstream call; of token counts, which are free, nothing is counted (spec: count_tokens). */
export const callRecorder = (call: CallLabels, context: Context.Context<never>) => {
  const labels = labelsOf(call)
  const counting = call.operation === "count_tokens"
  const embeddings = call.operation === "embeddings"
  return {
    firstChunk: (seconds: number) => firstChunk(labels, seconds, context),
    outputChunk: (seconds: number) => outputChunk(labels, seconds, context),
    end: (seconds: number, errorType: string | undefined, tokens: CallTokens) => {
      if (counting) return
      const ended = errorType === undefined ? labels : { ...labels, "error.type": errorType }
      if (embeddings) embeddingsDuration(ended, seconds, context)
      else duration(ended, seconds, context)
      // No cloud says which of the tokens were images.
      const counted = { ...labels, "gen_ai.token.modality": "unknown" }
      inputTokens(counted, tokens.input, context)
      if (embeddings) return
      outputTokens(counted, tokens.output, context)
      if (tokens.cached > 0) cachedTokens(counted, tokens.cached, context)
      if (tokens.reasoning > 0) reasoningTokens(counted, tokens.reasoning, context)
    }
  }
}
