/**
 * What is counted of requests and upstream calls: `gen_ai.*` by the OpenTelemetry GenAI conventions, `gateway_*` of our own.
 * Labels come from closed sets (catalog, settings, our own codes; teams and IDs of keys where `GATEWAY_METRICS_BY` says so);
 * never a request ID or anything a caller chose.
 */
import { Context, Effect, Metric, type Scope } from "effect"
import type { Outcome } from "../model/Outcome.ts"
import type { RequestFacts } from "../model/RequestFacts.ts"
import type { Tokens } from "../model/Tokens.ts"

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

/** What was made for the parts up to here, and where it goes on with the next part. */
class Known<A> {
  made: A | undefined
  readonly next = new Map<unknown, Known<A>>()
}

const differ = (some: ReadonlyArray<unknown>, others: ReadonlyArray<unknown>): boolean => {
  for (let index = 0; index < some.length; index++) if (some[index] !== others[index]) return true
  return false
}

/** Remembers what was made for these parts. They come from closed sets, or nearly, so there are few; `most` are remembered. */
export const remembered = <Parts extends ReadonlyArray<unknown>, A>(make: (...parts: Parts) => A, most = 10_000) => {
  const root = new Known<A>()
  let size = 0
  const find = (parts: Parts): A => {
    let known = root
    for (const part of parts) {
      let next = known.next.get(part)
      if (next === undefined) {
        if (size >= most) return make(...parts)
        size++
        next = new Known()
        known.next.set(part, next)
      }
      known = next
    }
    known.made ??= make(...parts)
    return known.made
  }
  // Mostly it is the same again.
  let last: { readonly parts: Parts; readonly made: A } | undefined
  return (...parts: Parts): A => {
    if (last === undefined || differ(last.parts, parts)) last = { parts, made: find(parts) }
    return last.made
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
const tokensUsed = series((attributes) =>
  Metric.counter("gateway_tokens_total", {
    description: "Tokens that requests were charged, by type (input, output) and by who sent them",
    incremental: true,
    attributes
  })
)
/** Requests without a team, or without a key, have no such label. */
const userLabels = (team: string | undefined, key: string | undefined): Labels => ({
  ...(team === undefined ? {} : { team }),
  ...(key === undefined ? {} : { key })
})
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

/** The label by which requests and tokens are counted (`GATEWAY_METRICS_BY`). `key` is by team and key. */
export type MetricsBy = "team" | "key" | "none"

/** Made once: what counts a request that is over; `endedAt` is in milliseconds since the epoch, `used` what it was charged. */
export const makeRecordRequest = (by: MetricsBy) => {
  const recorders = remembered(
    (
      surface: string,
      status: number,
      outcome: Outcome,
      stream: boolean,
      team: string | undefined,
      key: string | undefined
    ) => ({
      request: requests({ surface, status: status === 0 ? "none" : String(status), outcome, ...userLabels(team, key) }),
      input: tokensUsed({ type: "input", ...userLabels(team, key) }),
      output: tokensUsed({ type: "output", ...userLabels(team, key) }),
      duration: requestDuration({ surface, stream: String(stream) }),
      firstEvent: firstEvent({ surface }),
      flags: flags({ surface }),
      screenRefusal: screenRefusals({ surface })
    })
  )
  return (facts: RequestFacts, outcome: Outcome, endedAt: number, used: Tokens | undefined): void => {
    const { status, stream, startedAt, firstEventAt } = facts
    const team = by === "none" ? undefined : facts.team
    const key = by === "key" ? facts.keyId : undefined
    const record = recorders(facts.surface ?? "other", status, outcome, stream, team, key)
    record.request(1)
    if (used !== undefined) {
      record.input(positive(used.input))
      record.output(positive(used.output))
    }
    record.duration((endedAt - startedAt) / 1000)
    if (firstEventAt !== undefined) record.firstEvent((firstEventAt - startedAt) / 1000)
    if (facts.flags > 0) record.flags(facts.flags)
    if (facts.failure === "screen") record.screenRefusal(1)
  }
}

/** What an upstream call is counted under. */
export interface CallLabels {
  /** `gen_ai.operation.name` */
  readonly operation: string
  /** `gen_ai.provider.name` */
  readonly provider: string
  /** `gen_ai.request.model`: the base model's ID. */
  readonly model: string
  readonly level: string
  /** The host that is asked first. */
  readonly address: string
  readonly port: number
}

/** So many times are counted at once: the metric is in no cache of the processor when it is needed for one. */
const together = 64

const nothingUsed: Tokens = { input: 0, output: 0 }

/** Counts calls of one kind; made once. */
export const makeCallRecorder = ({ operation, provider, model, level, address, port }: CallLabels) => {
  const labels = {
    "gen_ai.operation.name": operation,
    "gen_ai.provider.name": provider,
    "gen_ai.request.model": model,
    "server.address": address,
    "server.port": String(port),
    "gateway.level": level
  }
  // No cloud says which of the tokens were images.
  const counted = { ...labels, "gen_ai.token.modality": "unknown" }
  const embeddings = operation === "embeddings"
  const ended = embeddings ? embeddingsDuration : duration
  const succeeded = ended(labels)
  const failed = remembered((error: string) => ended({ ...labels, "error.type": error }))
  const input = inputTokens(counted)
  const output = outputTokens(counted)
  const cached = cachedTokens(counted)
  const reasoning = reasoningTokens(counted)
  const gap = outputChunk(labels)
  /** Of all calls: what one would have of its own is in no cache, either. */
  let gaps: Array<number> = []
  const countGaps = () => {
    for (const seconds of gaps) gap(seconds)
    gaps = []
  }
  return {
    firstChunk: firstChunk(labels),
    outputChunk: (seconds: number) => {
      if (gaps.push(seconds) === together) countGaps()
    },
    /** Of token counts, which are free and no inference, nothing is counted. */
    end: (seconds: number, error: string | undefined, tokens: Tokens = nothingUsed) => {
      if (operation === "count_tokens") return
      countGaps()
      const record = error === undefined ? succeeded : failed(error)
      record(seconds)
      input(positive(tokens.input))
      if (embeddings) return
      output(positive(tokens.output))
      if (positive(tokens.cached) > 0) cached(positive(tokens.cached))
      if (positive(tokens.reasoning) > 0) reasoning(positive(tokens.reasoning))
    }
  }
}

/** An absurd number from a cloud must not spoil a count. */
const positive = (count: number | undefined): number => (count !== undefined && count > 0 ? count : 0)

export type CallRecorder = ReturnType<typeof makeCallRecorder>
