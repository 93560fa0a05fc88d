/** Takes what a gateway exports over OTLP and counts the bytes of each signal. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

const signals = { traces: 0, metrics: 0, logs: 0 }
/** Bytes that came of each. */
export type Signals = Readonly<typeof signals>

const server = createServer((request, response) => {
  const signal = request.url?.split("/").at(-1) as keyof Signals
  request.on("data", (bytes: Buffer) => {
    signals[signal] += bytes.length
  })
  const type = request.headers["content-type"] ?? "application/json"
  request.on("end", () => response.writeHead(200, { "content-type": type }).end(type.endsWith("json") ? "{}" : ""))
})
process.on("disconnect", () => process.exit(0))
process.on("message", () => process.send?.(signals))
server.keepAliveTimeout = 600_000
server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }))
