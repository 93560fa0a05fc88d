/**
 * Export over OTLP (HTTP, protobuf) by the OpenTelemetry SDK, which reads most of the `OTEL_*` variables. This module loads it, so
 * it is imported only where something is exported.
 */
import type { Agent as HttpAgent } from "node:http"
import { Agent } from "node:https"
import * as OtelLogger from "@effect/opentelemetry/OtelLogger"
import * as OtelMetrics from "@effect/opentelemetry/OtelMetrics"
import * as OtelTracer from "@effect/opentelemetry/OtelTracer"
import * as OtelResource from "@effect/opentelemetry/Resource"
import { type DiagLogger, DiagLogLevel, diag, SpanStatusCode } from "@opentelemetry/api"
import { convertLegacyHttpOptions, createOtlpHttpExportDelegate } from "@opentelemetry/otlp-exporter-base/node-http"
import {
  type IExporterMetricsHelper,
  type ISerializer,
  LogsExporterMetricsHelper,
  MetricsExporterMetricsHelper,
  ProtobufLogsSerializer,
  ProtobufMetricsSerializer,
  ProtobufTraceSerializer,
  TraceExporterMetricsHelper
} from "@opentelemetry/otlp-transformer"
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources"
import { BatchLogRecordProcessor, type LogRecordProcessor } from "@opentelemetry/sdk-logs"
import { type MetricProducer, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics"
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  type ReadableSpan,
  type SpanExporter
} from "@opentelemetry/sdk-trace-base"
import { Effect, Layer, Tracer } from "effect"
import { service, version } from "../contract/version.ts"
import type { Environment } from "../Settings.ts"
import { tlsPolicy } from "../tlsPolicy.ts"
import { readObject, textOf } from "../wire/json.ts"
import { withoutQuotes } from "./logs.ts"
import { unitOf } from "./metrics.ts"

export type Signal = "traces" | "metrics" | "logs"

/** Longest wait for what is still to be exported when the server stops. */
const shutdownTimeout = "5 seconds"

/** Sends what is left when the scope closes. A collector that cannot be reached has been reported by then, and fails nothing. */
const untilClosed = <A extends { readonly shutdown: () => Promise<void> }>(make: () => A) =>
  Effect.acquireRelease(Effect.sync(make), (provider) =>
    Effect.tryPromise(() => provider.shutdown()).pipe(
      Effect.ignore,
      Effect.interruptible,
      Effect.timeoutOption(shutdownTimeout)
    )
  )

/** An agent as the standard variables have it. */
const withPolicy = (agent: Agent | HttpAgent): Agent | HttpAgent =>
  agent instanceof Agent ? new Agent({ ...agent.options, ...tlsPolicy }) : agent

/** What the official exporters are made of; of the metrics' there is no version that fits the other packages. */
const makeExporter = <Items, Response>(
  signal: "TRACES" | "METRICS" | "LOGS",
  serializer: ISerializer<Items, Response>,
  counted: IExporterMetricsHelper<Items>
) => {
  const path = `v1/${signal.toLowerCase()}`
  const options = convertLegacyHttpOptions({}, signal, path, { "Content-Type": "application/x-protobuf" })
  const agentFactory = (protocol: string) => Promise.resolve(options.agentFactory(protocol)).then(withPolicy)
  return createOtlpHttpExportDelegate(
    { ...options, agentFactory },
    serializer,
    `otlp_http_${signal.toLowerCase()}_exporter`,
    counted,
    undefined
  )
}

/** Longest time of a timer, in milliseconds: a longer one is over at once. */
const longest = 2 ** 31 - 1

/** A whole number from `least`; undefined where the variable has none. */
const whole = (value: string | undefined, least = 1): number | undefined => {
  const number = Number(value || Number.NaN)
  return Number.isInteger(number) && number >= least ? Math.min(number, longest) : undefined
}

/**
 * A span by the conventions: a success has no status, and a failure no more than its kind, because an exception's message and stack
 * may quote a caller. Effect's bridge sets OK and records exceptions, and there is no option against it.
 */
const byConventions = (span: ReadableSpan): ReadableSpan => {
  const exception = span.events.find(({ name }) => name === "exception")
  const kind = span.attributes["error.type"] ?? exception?.attributes?.["exception.type"]
  return Object.assign(span, {
    events: exception === undefined ? span.events : span.events.filter(({ name }) => name !== "exception"),
    status:
      span.status.code === SpanStatusCode.ERROR
        ? { code: SpanStatusCode.ERROR, message: String(kind) }
        : { code: SpanStatusCode.UNSET }
  })
}

const spanExporter = (): SpanExporter => {
  const exporter = makeExporter("TRACES", ProtobufTraceSerializer, TraceExporterMetricsHelper)
  return {
    export: (spans, done) => exporter.export(spans.map(byConventions), done),
    forceFlush: () => exporter.forceFlush(),
    shutdown: () => exporter.shutdown()
  }
}

/** How spans or log records are gathered; the defaults are those of the specification. The SDK takes times that are too long for timers. */
const batchesOf = (env: Environment, name: "BSP" | "BLRP", delay: number) => ({
  maxExportBatchSize: whole(env[`OTEL_${name}_MAX_EXPORT_BATCH_SIZE`]) ?? 512,
  maxQueueSize: whole(env[`OTEL_${name}_MAX_QUEUE_SIZE`]) ?? 2048,
  scheduledDelayMillis: whole(env[`OTEL_${name}_SCHEDULE_DELAY`]) ?? delay,
  exportTimeoutMillis: whole(env[`OTEL_${name}_EXPORT_TIMEOUT`]) ?? 30_000
})

const traces = (env: Environment) =>
  Layer.effect(
    Tracer.Tracer,
    Effect.gen(function* () {
      const resource = yield* OtelResource.Resource
      const provider = yield* untilClosed(
        () =>
          new BasicTracerProvider({
            resource,
            spanProcessors: [new BatchSpanProcessor(spanExporter(), batchesOf(env, "BSP", 5000))]
          })
      )
      const tracer = yield* Effect.provideService(
        OtelTracer.make,
        OtelTracer.OtelTracer,
        provider.getTracer(service, version)
      )
      // Without its `context`, which would set OpenTelemetry's own context around each step of a fiber, for libraries that ask for it.
      return Tracer.make({ span: (options) => tracer.span(options) })
    })
  )

/** With the units of the conventions, which Effect's metrics do not know. */
const withUnits = (producer: MetricProducer): MetricProducer => ({
  collect: async (options) => {
    const collected = await producer.collect(options)
    for (const { metrics } of collected.resourceMetrics.scopeMetrics)
      for (const { descriptor } of metrics) Object.assign(descriptor, { unit: unitOf(descriptor.name) })
    return collected
  }
})

/** Whether metrics are totals or what was added since the last time. */
const temporality = Effect.fnUntraced(function* (env: Environment) {
  const name = "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE"
  const given = env[name]?.toLowerCase() || "cumulative"
  if (given === "cumulative" || given === "delta") return given
  yield* Effect.logWarning(`${name} is neither cumulative nor delta: cumulative is taken`)
  return "cumulative"
})

const metrics = (env: Environment) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const producer = yield* OtelMetrics.makeProducer(yield* temporality(env))
      const interval = whole(env.OTEL_METRIC_EXPORT_INTERVAL) ?? 60_000
      const reader = yield* untilClosed(
        () =>
          new PeriodicExportingMetricReader({
            exporter: makeExporter("METRICS", ProtobufMetricsSerializer, MetricsExporterMetricsHelper),
            exportIntervalMillis: interval,
            exportTimeoutMillis: Math.min(whole(env.OTEL_METRIC_EXPORT_TIMEOUT) ?? 30_000, interval)
          })
      )
      reader.setMetricProducer(withUnits(producer))
    })
  )

/** Leaves out what the lines on the console leave out, and what says nothing outside of Effect. */
const asOnConsole: LogRecordProcessor = {
  onEmit: ({ attributes }) => {
    for (const name of ["effect.fiberId", "spanId", "traceId"]) delete attributes[name]
    if (attributes["exception.type"] === "SyntaxError") attributes["exception.message"] = ""
    const stack = attributes["exception.stacktrace"]
    if (typeof stack === "string") attributes["exception.stacktrace"] = withoutQuotes(stack)
  },
  forceFlush: () => Promise.resolve(),
  shutdown: () => Promise.resolve()
}

/** The SDK of logs reads no variables. */
const logs = (env: Environment) => {
  const limit = (name: string, least: number) =>
    whole(env[`OTEL_LOGRECORD_${name}`], least) ?? whole(env[`OTEL_${name}`], least)
  const provider = Layer.suspend(() => {
    const batches = new BatchLogRecordProcessor({
      exporter: makeExporter("LOGS", ProtobufLogsSerializer, LogsExporterMetricsHelper),
      ...batchesOf(env, "BLRP", 1000)
    })
    const logRecordLimits = {
      attributeCountLimit: limit("ATTRIBUTE_COUNT_LIMIT", 0) ?? 128,
      attributeValueLengthLimit: limit("ATTRIBUTE_VALUE_LENGTH_LIMIT", 1) ?? Number.POSITIVE_INFINITY
    }
    return OtelLogger.layerLoggerProvider([asOnConsole, batches], { logRecordLimits, shutdownTimeout })
  })
  return Layer.provide(OtelLogger.layer({ mergeWithExisting: true }), provider)
}

/** `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` override ours. */
const resource = Layer.sync(OtelResource.Resource, () =>
  defaultResource()
    .merge(
      resourceFromAttributes({
        "service.name": service,
        "service.version": version,
        "service.instance.id": crypto.randomUUID()
      })
    )
    .merge(detectResources({ detectors: [envDetector] }))
)

/** The libraries print an error as JSON. Of all that is in it, its message and code. */
const complaint = (text: string): string => {
  const error = readObject(text)
  if (error === undefined) return text
  const [message = "", code = ""] = [error.message, error.code].map((part) => textOf(part))
  const why = message.includes(code) ? message : `${message} ${code}`.trim()
  return `an export failed${why === "" ? "" : ` (${why})`}; check the collector and its OTEL_ settings`
}

/** What the libraries report goes to the log: a collector that cannot be reached, a setting that is ignored. */
const reportTrouble = Layer.effectDiscard(
  Effect.gen(function* () {
    const run = Effect.runForkWith(yield* Effect.context<never>())
    const warn = (message: string) => {
      run(Effect.logWarning(`telemetry: ${complaint(message)}`))
    }
    const ignore = () => {}
    const logger: DiagLogger = { error: warn, warn, info: ignore, debug: ignore, verbose: ignore }
    yield* Effect.acquireRelease(
      Effect.sync(() => diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })),
      () => Effect.sync(() => diag.disable())
    )
  })
)

export const otlpLayer = (signals: ReadonlySet<Signal>, env: Environment) =>
  Layer.mergeAll(
    signals.has("traces") ? traces(env) : Layer.empty,
    signals.has("metrics") ? metrics(env) : Layer.empty,
    signals.has("logs") ? logs(env) : Layer.empty
  ).pipe(Layer.provide(resource), Layer.provide(reportTrouble))
