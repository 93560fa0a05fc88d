/**
 * Tracing, metrics and logs, as one layer. Nothing leaves the process unless an OTLP endpoint or `GATEWAY_METRICS_PORT` is set,
 * and nothing of what a caller or a model said leaves it then (docs/operation.md#observing has the variables).
 */
import { Effect, Layer, Option, References } from "effect"
import { HttpMiddleware } from "effect/http"
import { type Environment, environment, type GatewaySettings } from "../Settings.ts"
import type { OperatorError } from "../wire/OperatorError.ts"
import { logsLayer } from "./logs.ts"
import type { Signal } from "./otlp.ts"
import { processGauges } from "./processGauges.ts"
import { prometheusLayer } from "./prometheus.ts"

const signals: ReadonlyArray<Signal> = ["traces", "metrics", "logs"]

/** A variable of the exporter; the one for the signal takes precedence over the general one. */
export const exporterVariable = (env: Environment, signal: Signal, name: string): string | undefined =>
  env[`OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_${name}`]?.trim() ||
  env[`OTEL_EXPORTER_OTLP_${name}`]?.trim() ||
  undefined

const exporters = (env: Environment, signal: Signal): ReadonlyArray<string> =>
  (env[`OTEL_${signal.toUpperCase()}_EXPORTER`] || "otlp").split(",").map((name) => name.trim())

/** What is exported over OTLP: nothing without an endpoint. */
export const exportedSignals = (env: Environment): ReadonlySet<Signal> => {
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === "true") return new Set()
  const hasEndpoint = (signal: Signal) => exporterVariable(env, signal, "ENDPOINT") !== undefined
  return new Set(signals.filter((signal) => hasEndpoint(signal) && exporters(env, signal).includes("otlp")))
}

/** Values that we do not support are logged and ignored, as the OpenTelemetry specification wants it. */
export const telemetryWarnings = (env: Environment, exported: ReadonlySet<Signal>): ReadonlyArray<string> =>
  [...exported].flatMap((signal) => {
    const protocol = exporterVariable(env, signal, "PROTOCOL")
    const others = exporters(env, signal).filter((name) => name !== "otlp" && name !== "none")
    return [
      ...(protocol === undefined || protocol === "http/protobuf"
        ? []
        : [`OTEL_EXPORTER_OTLP_PROTOCOL: ${signal} go by http/protobuf, not by ${protocol}`]),
      ...others.map((name) => `OTEL_${signal.toUpperCase()}_EXPORTER: there is no ${name}, only otlp and none`)
    ]
  })

const exportLayer = (env: Environment) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const exported = exportedSignals(env)
      yield* Effect.forEach(telemetryWarnings(env, exported), (text) => Effect.logWarning(text))
      // Without a tracer no span is built at all.
      const enabled = Layer.succeed(References.TracerEnabled, exported.has("traces"))
      if (exported.size === 0) return enabled
      const { otlpLayer } = yield* Effect.promise(() => import("./otlp.ts"))
      const measured = exported.has("metrics") ? processGauges : Layer.empty
      return Layer.mergeAll(enabled, otlpLayer(exported, env), measured)
    })
  )

/** What is reported of the running gateway. Provide it last: it starts before the rest and ends after it. */
export const telemetryLayer = (
  settings: Pick<GatewaySettings, "logFormat" | "logLevel" | "metricsHost" | "metricsPort">,
  env: Environment = environment()
): Layer.Layer<never, OperatorError> =>
  Layer.mergeAll(
    exportLayer(env),
    Option.match(settings.metricsPort, {
      onNone: () => Layer.empty,
      onSome: (port) => Layer.merge(prometheusLayer({ host: settings.metricsHost, port }), processGauges)
    }),
    // The request middleware makes the server span: the router's would have query strings, and no word of a stream that broke off.
    Layer.succeed(HttpMiddleware.TracerDisabledWhen, () => true)
  ).pipe(Layer.provideMerge(logsLayer(settings)))
