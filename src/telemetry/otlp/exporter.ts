/**
 * Sends records to a collector by the means of OpenTelemetry's own exporters: addresses, headers, certificates, compression,
 * retries.
 */
import { convertLegacyHttpOptions, createOtlpHttpExportDelegate } from "@opentelemetry/otlp-exporter-base/node-http"
import {
  type IExporterMetricsHelper,
  type ISerializer,
  MetricsExporterMetricsHelper,
  ProtobufLogsSerializer,
  ProtobufMetricsSerializer,
  ProtobufTraceSerializer
} from "@opentelemetry/otlp-transformer"
import type { Resource } from "@opentelemetry/resources"
import type { PushMetricExporter } from "@opentelemetry/sdk-metrics"
import { Effect } from "effect"
import { service, version } from "../../api/version.ts"
import { writeAttributes } from "./attributes.ts"
import type { Batch } from "./batches.ts"
import { ProtobufWriter } from "./protobuf.ts"

/** What surrounds the records in an OTLP request: the sender. */
const envelope = (resource: Resource) => {
  const unlimited = { count: Number.POSITIVE_INFINITY, length: Number.POSITIVE_INFINITY }
  const writer = new ProtobufWriter()
  const written = (write: () => void) => {
    write()
    return writer.take()
  }
  const message = (write: () => void) => written(() => writer.record(1, { write }))
  const sender = message(() => {
    writeAttributes(writer, 1, resource.attributes, unlimited)
    writer.integer(2, 0)
  })
  const scope = message(() => {
    writer.string(1, service)
    writer.string(2, version)
  })
  return {
    room: sender.length + scope.length + 2 * mostOfHead,
    /** Writes it before the records, where there is room for it. */
    around: (records: Uint8Array): Uint8Array => {
      const inner = written(() => writer.length(2, scope.length + records.length))
      const outer = written(() => writer.length(1, sender.length + inner.length + scope.length + records.length))
      const head = Buffer.concat([outer, sender, inner, scope])
      const whole = new Uint8Array(records.buffer, records.byteOffset - head.length, head.length + records.length)
      whole.set(head)
      return whole
    }
  }
}

/** Bytes of a field's tag and length. */
const mostOfHead = 6

/** `item`: OpenTelemetry's word for what is exported. */
const makeDelegate = <Items, Response>(
  signal: "TRACES" | "LOGS" | "METRICS",
  item: "span" | "log" | "metric",
  serializer: ISerializer<Items, Response>,
  counted: IExporterMetricsHelper<Items>
) =>
  createOtlpHttpExportDelegate(
    convertLegacyHttpOptions({}, signal, `v1/${signal.toLowerCase()}`, { "Content-Type": "application/x-protobuf" }),
    serializer,
    `otlp_http_${item}_exporter`,
    counted,
    undefined
  )

export const makeMetricExporter = (): PushMetricExporter =>
  makeDelegate("METRICS", "metric", ProtobufMetricsSerializer, MetricsExporterMetricsHelper)

const makeExporter = <Response>(
  signal: "TRACES" | "LOGS",
  item: "span" | "log",
  { deserializeResponse }: Pick<ISerializer<never, Response>, "deserializeResponse">,
  resource: Resource
) => {
  const { around, room } = envelope(resource)
  const serializer = { serializeRequest: ({ bytes }: Batch) => around(bytes), deserializeResponse }
  const delegate = makeDelegate(signal, item, serializer, { name: item, countItems: ({ records }) => records })
  const send = (batch: Batch) =>
    Effect.callback<void, { readonly message: string }>((resume) => {
      delegate.export(batch, ({ error }) =>
        resume(error === undefined ? Effect.void : Effect.fail({ message: complaint(error) }))
      )
    })
  return { room, send }
}

export const makeSpanExporter = (resource: Resource) =>
  makeExporter("TRACES", "span", ProtobufTraceSerializer, resource)
export const makeLogExporter = (resource: Resource) => makeExporter("LOGS", "log", ProtobufLogsSerializer, resource)

/** An error's message and code, of all that the libraries make of it. */
export const complaint = (error: unknown): string => {
  if (typeof error !== "object" || error === null) return String(error)
  const parts = [Reflect.get(error, "message"), Reflect.get(error, "code")]
  return parts.filter((part) => typeof part === "string" && part !== "").join(" ") || "export failed"
}
