/**
 * What is counted of requests and upstream calls: `gen_ai.*` by the OpenTelemetry GenAI conventions, `gateway_*` of our own.
 * Labels come from closed sets (catalog, settings, our own codes); never a key, a request ID or anything a caller chose.
 */
import { Context, Effect, Metric, type Scope } from "effect"
import type { Outcome } from "../access/UsageRecord.ts"
import type { Observation } from "../surface/Observation.ts"

type Labels = Readonly<Record<string, string>>

/** Metrics are kept in the registry of the process. */
const registry = Context.empty()

type Series<Input> = (labels: Labels) => (input: Input) => void

/** Series of one metric, made when first needed: `Metric.withAttributes` would make their keys anew with every update. */
const series =
  <Input, State>(make: (attributes: Labels) => Metric.Metric<Input, State>): Series<Input> =>
  (labels) => {
    let metric: Metric.Metric<Input, State> | undefined
    return (input) => {
      metric ??= make(labels)
      metric.updateUnsafe(input, registry)
    }
  }

/** Remembers what was made for a key. The keys come from closed sets, so there are few. */
const remembered = <A>(make: (...key: ReadonlyArray<string>) => A) => {
  const known = new Map<string, A>()
  return (...key: ReadonlyArray<string>): A => {
    const name = key.join("\n")
    const value = known.get(name) ?? make(...key)
    known.set(name, value)
    return value
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
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.sync(() =>
        Metric.registerUnsafe(gauge, registry, { get: () => ({ value: read() }), update: () => {}, modify: () => {} })
      ),
      (registration) => Effect.sync(() => registration.remove())
    )
  )

const requestRecorder = remembered((surface, status, outcome, stream) => ({
  request: requests({ surface, status, outcome }),
  duration: requestDuration({ surface, stream }),
  firstEvent: firstEvent({ surface }),
  flags: flags({ surface }),
  screenRefusal: screenRefusals({ surface })
}))

/** Counts a request that is over; `endedAt` is in milliseconds since the epoch. */
export const recordRequest = (observation: Observation, outcome: Outcome, endedAt: number): void => {
  const { surface, status, stream, startedAt, firstEventAt } = observation
  const record = requestRecorder(surface ?? "other", status === 0 ? "none" : String(status), outcome, String(stream))
  record.request(1)
  record.duration((endedAt - startedAt) / 1000)
  if (firstEventAt !== undefined) record.firstEvent((firstEventAt - startedAt) / 1000)
  if (observation.flags > 0) record.flags(observation.flags)
  if (observation.failure === "screen") record.screenRefusal(1)
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

export interface CallTokens {
  readonly input: number
  readonly output: number
  readonly cached: number
  readonly reasoning: number
}

const makeCallRecorder = (operation = "", provider = "", model = "", address = "", port = "", level = "") => {
  const labels = {
    "gen_ai.operation.name": operation,
    "gen_ai.provider.name": provider,
    "gen_ai.request.model": model,
    "server.address": address,
    "server.port": port,
    "gateway.level": level
  }
  // No cloud says which of the tokens were images.
  const counted = { ...labels, "gen_ai.token.modality": "unknown" }
  const embeddings = operation === "embeddings"
  const ended = embeddings ? embeddingsDuration : duration
  const durations = remembered((error = "") => ended(error === "" ? labels : { ...labels, "error.type": error }))
  const input = inputTokens(counted)
  const output = outputTokens(counted)
  const cached = cachedTokens(counted)
  const reasoning = reasoningTokens(counted)
  return {
    firstChunk: firstChunk(labels),
    outputChunk: outputChunk(labels),
    /** Of token counts, which are free and no inference, nothing is counted. */
    end: (seconds: number, error: string | undefined, tokens: CallTokens) => {
      if (operation === "count_tokens") return
      durations(error ?? "")(seconds)
      input(tokens.input)
      if (embeddings) return
      output(tokens.output)
      if (tokens.cached > 0) cached(tokens.cached)
      if (tokens.reasoning > 0) reasoning(tokens.reasoning)
    }
  }
}
const recorders = remembered(makeCallRecorder)

/** Counts an upstream call. */
export const callRecorder = ({ operation, provider, model, address, port, level }: CallLabels) =>
  recorders(operation, provider, model, address, String(port), level)
