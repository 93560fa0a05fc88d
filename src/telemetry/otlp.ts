/**
 * Export over OTLP (HTTP, protobuf) with OpenTelemetry's own libraries, which read the `OTEL_*` variables. This module loads
 * them, so it is imported only where something is exported.
 */

import * as NodeSdk from "@effect/opentelemetry/NodeSdk"
import * as OtelLogger from "@effect/opentelemetry/OtelLogger"
import * as OtelMetrics from "@effect/opentelemetry/OtelMetrics"
import * as OtelTracer from "@effect/opentelemetry/OtelTracer"
import * as OtelResource from "@effect/opentelemetry/Resource"
import { type DiagLogger, DiagLogLevel, diag } from "@opentelemetry/api"
import { OTLPLogExporter } from "@opentelemetry/exporter-logs-otlp-proto"
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-proto"
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto"
import {
  defaultResource,
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes
} from "@opentelemetry/resources"
import { BatchLogRecordProcessor, type LogRecordProcessor } from "@opentelemetry/sdk-logs"
import { type MetricProducer, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics"
import { BatchSpanProcessor } from "@opentelemetry/sdk-trace-base"
import { Effect, Layer, Tracer } from "effect"
import { service, version } from "../api/version.ts"
import type { Environment } from "../Settings.ts"
import { withoutQuotes } from "./logs.ts"
import { unitOf } from "./metrics.ts"
import { makeTracer } from "./tracer.ts"

export type Signal = "traces" | "metrics" | "logs"

/** Longest wait for what is still to be exported when the server stops. */
const shutdownTimeout = "5 seconds"

const milliseconds = (value: string | undefined): number | undefined => {
  const number = Number(value)
  return value === undefined || !Number.isInteger(number) || number <= 0 ? undefined : number
}

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

/** `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` go over ours. */
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

/** Spans by the SDK's own provider, which reads the sampler and the limits. */
const traces = () =>
  Layer.effect(
    Tracer.Tracer,
    Effect.map(OtelTracer.OtelTracerProvider, (provider) => makeTracer(provider.getTracer(service, version)))
  ).pipe(
    Layer.provide(
      NodeSdk.layerTracerProvider(forgiving(new BatchSpanProcessor(new OTLPTraceExporter())), { shutdownTimeout })
    )
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
    Effect.flatMap(
      OtelMetrics.makeProducer(
        env.OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE?.toLowerCase() === "delta" ? "delta" : "cumulative"
      ),
      (producer) => {
        const interval = milliseconds(env.OTEL_METRIC_EXPORT_INTERVAL) ?? 60_000
        return OtelMetrics.registerProducer(
          withUnits(producer),
          () =>
            forgiving(
              new PeriodicExportingMetricReader({
                exporter: new OTLPMetricExporter(),
                exportIntervalMillis: interval,
                exportTimeoutMillis: Math.min(milliseconds(env.OTEL_METRIC_EXPORT_TIMEOUT) ?? 30_000, interval)
              })
            ),
          { shutdownTimeout }
        )
      }
    )
  )

/** What the lines on the console leave out, too. */
const scrub: LogRecordProcessor = {
  onEmit: (record) => {
    const stack = record.attributes["exception.stacktrace"]
    if (typeof stack === "string") record.setAttribute("exception.stacktrace", withoutQuotes(stack))
    if (record.attributes["exception.type"] === "SyntaxError") record.setAttribute("exception.message", "")
  },
  forceFlush: () => Promise.resolve(),
  shutdown: () => Promise.resolve()
}

const logs = (env: Environment) => {
  const delay = milliseconds(env.OTEL_BLRP_SCHEDULE_DELAY)
  const processor = new BatchLogRecordProcessor({
    exporter: new OTLPLogExporter(),
    ...(delay === undefined ? {} : { scheduledDelayMillis: delay })
  })
  return OtelLogger.layer({ mergeWithExisting: true }).pipe(
    Layer.provide(OtelLogger.layerLoggerProvider([scrub, forgiving(processor)], { shutdownTimeout }))
  )
}

/** Export of these signals until the scope closes; what is left is sent then. */
export const otlpLayer = (signals: ReadonlySet<Signal>, env: Environment) =>
  Layer.mergeAll(
    signals.has("traces") ? traces() : Layer.empty,
    signals.has("metrics") ? metrics(env) : Layer.empty,
    signals.has("logs") ? logs(env) : Layer.empty,
    Layer.effectDiscard(reportTrouble)
  ).pipe(Layer.provide(Layer.sync(OtelResource.Resource, resource)))

/** What the libraries complain of goes to the log: a collector that cannot be reached, spans dropped, a setting ignored. */
const reportTrouble = Effect.gen(function* () {
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

/** An error's message and code, of all that the libraries make of it. */
const complaint = (text: string): string => {
  try {
    const error: unknown = JSON.parse(text)
    if (typeof error !== "object" || error === null) return text
    const parts = [Reflect.get(error, "message"), Reflect.get(error, "code")]
    return parts.filter((part) => typeof part === "string" && part !== "").join(" ") || "export failed"
  } catch {
    return text
  }
}
