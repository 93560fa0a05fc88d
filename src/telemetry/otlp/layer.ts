/**
 * Export over OTLP (HTTP, protobuf). OpenTelemetry's libraries send, and read the `OTEL_*` variables of the exporters; spans and
 * log records are written by us, because the libraries take several times as long. This module loads them, so it is imported
 * only where something is exported.
 */
import * as OtelMetrics from "@effect/opentelemetry/OtelMetrics"
import * as OtelResource from "@effect/opentelemetry/Resource"
import { type DiagLogger, DiagLogLevel, diag } from "@opentelemetry/api"
import {
  defaultResource,
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes
} from "@opentelemetry/resources"
import { type MetricProducer, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics"
import { Context, Effect, Layer, Logger, Tracer } from "effect"
import { service, version } from "../../api/version.ts"
import type { Environment } from "../../Settings.ts"
import { unitOf } from "../metrics.ts"
import { Spans } from "../spans.ts"
import { makeBatches } from "./batches.ts"
import { attributeLimits, batchLimits, positive, sampling, spanLimits, temporality } from "./environment.ts"
import { complaint, makeLogExporter, makeMetricExporter, makeSpanExporter } from "./exporter.ts"
import { makeIds } from "./ids.ts"
import { makeOtlpLogger } from "./logger.ts"
import { makeTracer } from "./tracer.ts"

export type Signal = "traces" | "metrics" | "logs"

/** Longest wait for what is still to be exported when the server stops. */
const shutdownTimeout = "5 seconds"

interface Flushed {
  forceFlush: () => Promise<void>
  shutdown: () => Promise<void>
}

/** A collector that cannot be reached has been reported by then; it must not make the server's end a failure. */
const forgiving = <P extends Flushed>(processor: P): P => {
  const { forceFlush, shutdown } = processor
  processor.forceFlush = () => forceFlush.call(processor).catch(() => {})
  processor.shutdown = () => shutdown.call(processor).catch(() => {})
  return processor
}

/** `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` override ours. */
const resource = (): Resource =>
  defaultResource()
    .merge(
      resourceFromAttributes({
        "service.name": service,
        "service.version": version,
        "service.instance.id": crypto.randomUUID()
      })
    )
    .merge(detectResources({ detectors: [envDetector] }))

const traces = (env: Environment) =>
  Layer.effectContext(
    Effect.gen(function* () {
      const { sampler, complaint } = sampling(env)
      if (complaint !== undefined) yield* Effect.logWarning(complaint)
      const add = yield* makeBatches({
        limits: batchLimits(env, "BSP"),
        ...makeSpanExporter(yield* OtelResource.Resource),
        shutdownTimeout
      })
      const tracer = makeTracer({ sampler, limits: spanLimits(env), ids: makeIds(), add })
      return Context.make(Tracer.Tracer, tracer).pipe(Context.add(Spans, tracer))
    })
  )

/** With the units of the conventions, which Effect's metrics do not know. */
const withUnits = (producer: MetricProducer): MetricProducer => ({
  collect: async (options) => {
    const collected = await producer.collect(options)
    const { scopeMetrics } = collected.resourceMetrics
    return {
      ...collected,
      resourceMetrics: {
        ...collected.resourceMetrics,
        scopeMetrics: scopeMetrics.map((scope) => ({
          ...scope,
          metrics: scope.metrics.map((metric) => ({
            ...metric,
            descriptor: { ...metric.descriptor, unit: unitOf(metric.descriptor.name) }
          }))
        }))
      }
    }
  }
})

const metrics = (env: Environment) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const { is, complaint } = temporality(env)
      if (complaint !== undefined) yield* Effect.logWarning(complaint)
      const producer = yield* OtelMetrics.makeProducer(is)
      const interval = positive(env.OTEL_METRIC_EXPORT_INTERVAL) ?? 60_000
      const reader = () =>
        forgiving(
          new PeriodicExportingMetricReader({
            exporter: makeMetricExporter(),
            exportIntervalMillis: interval,
            exportTimeoutMillis: Math.min(positive(env.OTEL_METRIC_EXPORT_TIMEOUT) ?? 30_000, interval)
          })
        )
      yield* OtelMetrics.registerProducer(withUnits(producer), reader, { shutdownTimeout })
    })
  )

const logs = (env: Environment) => {
  const logger = Effect.gen(function* () {
    const add = yield* makeBatches({
      limits: batchLimits(env, "BLRP"),
      ...makeLogExporter(yield* OtelResource.Resource),
      shutdownTimeout
    })
    return makeOtlpLogger(add, attributeLimits(env, "LOGRECORD"))
  })
  return Logger.layer([logger], { mergeWithExisting: true })
}

/** Export of these signals until the scope closes; what is left is sent then. */
export const otlpLayer = (signals: ReadonlySet<Signal>, env: Environment) =>
  Layer.mergeAll(
    signals.has("traces") ? traces(env) : Layer.empty,
    signals.has("metrics") ? metrics(env) : Layer.empty,
    signals.has("logs") ? logs(env) : Layer.empty,
    Layer.effectDiscard(reportTrouble)
  ).pipe(Layer.provide(Layer.sync(OtelResource.Resource, resource)))

/** What the libraries report goes to the log: a collector that cannot be reached, a setting that is ignored. */
const reportTrouble = Effect.gen(function* () {
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const warn = (message: string) => {
    run(Effect.logWarning(`telemetry: ${complaint(parsed(message))}`))
  }
  const ignore = () => {}
  const logger: DiagLogger = { error: warn, warn, info: ignore, debug: ignore, verbose: ignore }
  yield* Effect.acquireRelease(
    Effect.sync(() => diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })),
    () => Effect.sync(() => diag.disable())
  )
})

/** The libraries print an error as JSON. */
const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
