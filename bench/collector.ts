/** Takes what a gateway exports over OTLP, and counts it: bytes of each signal, spans, and log records. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

export interface Collected {
  readonly traces: number
  readonly metrics: number
  readonly logs: number
  /** Spans that came, to see whether the exporter dropped some. */
  readonly spans: number
  readonly records: number
}

let collected: Collected = { traces: 0, metrics: 0, logs: 0, spans: 0, records: 0 }

/** How often a trace ID of 16 bytes is followed by a span ID of 8: once in a span and once in a log record, by these tags. */
const occurrences = (bytes: Buffer, traceTag: number, spanTag: number): number => {
  const mark = Buffer.from([spanTag, 8])
  let count = 0
  for (let at = bytes.indexOf(mark, 18); at >= 0; at = bytes.indexOf(mark, at + 1)) {
    if (bytes[at - 18] === traceTag && bytes[at - 17] === 16) count++
  }
  return count
}

const server = createServer((req, res) => {
  const signal = /\/v1\/(traces|metrics|logs)$/.exec(req.url ?? "")?.[1] as "traces" | "metrics" | "logs" | undefined
  const body: Array<Buffer> = []
  req.on("data", (part: Buffer) => body.push(part))
  req.on("end", () => {
    res.writeHead(signal === undefined ? 404 : 200, { "content-type": "application/x-protobuf" }).end()
    if (signal === undefined) return
    const bytes = Buffer.concat(body)
    collected = {
      ...collected,
      [signal]: collected[signal] + bytes.length,
      spans: collected.spans + (signal === "traces" ? occurrences(bytes, 0x0a, 0x12) : 0),
      records: collected.records + (signal === "logs" ? occurrences(bytes, 0x4a, 0x52) : 0)
    }
  })
})

process.on("disconnect", () => process.exit(0))
process.on("message", () => process.send?.(collected))
server.keepAliveTimeout = 600_000
server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }))
