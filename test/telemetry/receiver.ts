/** An OTLP receiver over HTTP: decodes the protobuf of real exporters into what a test asks about. */
import { createServer } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import protobuf from "protobufjs"

/** The fields of opentelemetry-proto that are read here. */
const schema = protobuf.parse(`
syntax = "proto3";
message AnyValue { oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; ArrayValue array_value = 5; } }
message ArrayValue { repeated AnyValue values = 1; }
message KeyValue { string key = 1; AnyValue value = 2; }
message Resource { repeated KeyValue attributes = 1; }

message TraceRequest { repeated ResourceSpans resources = 1; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scopes = 2; }
message ScopeSpans { repeated Span spans = 2; }
message Span {
  bytes trace_id = 1; bytes span_id = 2; bytes parent_span_id = 4; string name = 5; int32 kind = 6;
  fixed64 start = 7; fixed64 end = 8; repeated KeyValue attributes = 9; repeated Event events = 11; Status status = 15;
}
message Event { fixed64 time = 1; string name = 2; repeated KeyValue attributes = 3; }
message Status { string message = 2; int32 code = 3; }

message MetricRequest { repeated ResourceMetrics resources = 1; }
message ResourceMetrics { Resource resource = 1; repeated ScopeMetrics scopes = 2; }
message ScopeMetrics { repeated Metric metrics = 2; }
message Metric { string name = 1; string unit = 3; Points gauge = 5; Points sum = 7; Histograms histogram = 9; }
message Points { repeated Point points = 1; int32 temporality = 2; bool monotonic = 3; }
message Point { repeated KeyValue attributes = 7; double as_double = 4; sfixed64 as_int = 6; }
message Histograms { repeated Histogram points = 1; }
message Histogram { repeated KeyValue attributes = 9; fixed64 count = 4; double sum = 5; repeated double bounds = 7; }

message LogRequest { repeated ResourceLogs resources = 1; }
message ResourceLogs { repeated ScopeLogs scopes = 2; }
message ScopeLogs { repeated LogRecord records = 2; }
message LogRecord { string severity = 3; AnyValue body = 5; repeated KeyValue attributes = 6; bytes trace_id = 9; bytes span_id = 10; }
`).root

type Value = string | number | boolean | ReadonlyArray<Value>
type Attributes = Readonly<Record<string, Value>>

export interface Span {
  readonly traceId: string
  readonly spanId: string
  /** Empty for a root. */
  readonly parentId: string
  readonly name: string
  /** 2 server, 3 client, 1 internal. */
  readonly kind: number
  /** Milliseconds since the epoch. */
  readonly start: number
  readonly end: number
  readonly attributes: Attributes
  readonly events: ReadonlyArray<{ readonly name: string; readonly time: number; readonly attributes: Attributes }>
  /** 0 unset, 1 ok, 2 error. */
  readonly status: number
  /** The status's message. */
  readonly failure: string
  readonly resource: Attributes
}

export interface Point {
  readonly name: string
  readonly unit: string
  readonly attributes: Attributes
  /** A counter's or gauge's value, a histogram's sum. */
  readonly value: number
  /** A histogram's number of observations. */
  readonly count: number | undefined
}

export interface LogRecord {
  readonly severity: string
  readonly body: Value
  readonly attributes: Attributes
  readonly traceId: string
}

/** What protobufjs makes of a message; the schema above says what is in it. */
type Fields = ReturnType<typeof JSON.parse>

const value = (any: Fields): Value => {
  const of: string | undefined = any?.value
  if (of === undefined) return ""
  if (of === "arrayValue") return list(any.arrayValue, "values").map(value)
  return of === "intValue" ? Number(any[of]) : any[of]
}
const list = (from: Fields | undefined, name: string): ReadonlyArray<Fields> => from?.[name] ?? []
const attributes = (from: Fields | undefined): Attributes =>
  Object.fromEntries(list(from, "attributes").map((pair) => [pair.key, value(pair.value)]))
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex")
const millis = (nanos: unknown) => Number(BigInt(String(nanos)) / 1000n) / 1000

const decode = (type: string, body: Buffer): Fields => {
  const message = schema.lookupType(type)
  return message.toObject(message.decode(body), { defaults: true, longs: String, oneofs: true })
}

const spansOf = (body: Buffer): ReadonlyArray<Span> =>
  list(decode("TraceRequest", body), "resources").flatMap((resource) =>
    list(resource, "scopes").flatMap((scope) =>
      list(scope, "spans").map((span) => ({
        traceId: hex(span.traceId),
        spanId: hex(span.spanId),
        parentId: hex(span.parentSpanId),
        name: span.name,
        kind: span.kind,
        start: millis(span.start),
        end: millis(span.end),
        attributes: attributes(span),
        events: list(span, "events").map((event) => ({
          name: event.name,
          time: millis(event.time),
          attributes: attributes(event)
        })),
        status: span.status?.code ?? 0,
        failure: span.status?.message ?? "",
        resource: attributes(resource.resource)
      }))
    )
  )

const pointsOf = (body: Buffer): ReadonlyArray<Point> =>
  list(decode("MetricRequest", body), "resources")
    .flatMap((resource) => list(resource, "scopes").flatMap((scope) => list(scope, "metrics")))
    .flatMap((metric) => {
      const { name, unit } = metric
      const numbers = [...list(metric.sum, "points"), ...list(metric.gauge, "points")].map((point) => ({
        name,
        unit,
        attributes: attributes(point),
        value: Number(point.asDouble) || Number(point.asInt),
        count: undefined
      }))
      const histograms = list(metric.histogram, "points").map((point) => ({
        name,
        unit,
        attributes: attributes(point),
        value: Number(point.sum),
        count: Number(point.count)
      }))
      return [...numbers, ...histograms]
    })

const recordsOf = (body: Buffer): ReadonlyArray<LogRecord> =>
  list(decode("LogRequest", body), "resources").flatMap((resource) =>
    list(resource, "scopes").flatMap((scope) =>
      list(scope, "records").map((record) => ({
        severity: record.severity,
        body: value(record.body),
        attributes: attributes(record),
        traceId: hex(record.traceId)
      }))
    )
  )

export interface Receiver {
  readonly url: string
  readonly spans: Array<Span>
  /** The last export of each series. */
  readonly points: () => ReadonlyArray<Point>
  readonly records: Array<LogRecord>
  /** Headers of the requests, in order. */
  readonly headers: Array<Readonly<Record<string, unknown>>>
  /** All bytes that came, as text. */
  readonly text: () => string
  /** Waits until there is what a test looks for; fails after five seconds. */
  readonly until: <A>(find: () => A | undefined) => Promise<A>
  readonly stop: () => Promise<void>
}

export const startReceiver = async (): Promise<Receiver> => {
  const spans: Array<Span> = []
  const series = new Map<string, Point>()
  const records: Array<LogRecord> = []
  const headers: Array<Readonly<Record<string, unknown>>> = []
  const bodies: Array<Buffer> = []
  const server = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const body = Buffer.concat(chunks)
      bodies.push(body)
      headers.push(request.headers)
      if (request.url === "/v1/traces") spans.push(...spansOf(body))
      else if (request.url === "/v1/logs") records.push(...recordsOf(body))
      else for (const point of pointsOf(body)) series.set(point.name + JSON.stringify(point.attributes), point)
      response.writeHead(200, { "content-type": "application/x-protobuf" }).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    points: () => [...series.values()],
    records,
    headers,
    text: () => bodies.map((body) => body.toString("latin1")).join("\n"),
    until: async (find) => {
      const end = Date.now() + 5000
      while (true) {
        const found = find()
        if (found !== undefined) return found
        if (Date.now() > end) {
          throw new Error(`it did not come; spans: ${spans.map(({ name }) => name).join(", ")}`)
        }
        await sleep(10)
      }
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}
